"""The pieces of a plan: what is computed and kept as one file, and what each is made from.

Networks of ours are kept: a bank per family, and one piece of survival per method over all of
them. Models of any other kind cannot be kept (that would take unpickling), so they are trained
when they are needed: a family's changed models are made once per worker for the table of their
magnitudes and for the survival of every method's counterfactuals under that family.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from changeproof import changes, methods
from changeproof.changes import get_family
from changeproof.datasets.find import find_task
from changeproof.fingerprints.fingerprint import code_digest, fingerprint
from changeproof.fingerprints.own_code import own_code
from changeproof.methods import get_method
from changeproof.runs.costs import answering_cost, bank_cost, changes_cost, training_cost
from changeproof.runs.piece import Kind, Piece, Subject
from changeproof.runs.plan import DEFAULT_MODEL, TUNING_SEED, Plan


def plan_pieces(plan: Plan, folder: Path | None = None) -> list[Piece]:
    """Return every piece of a plan, each after its inputs.

    Files that the plan names are looked for in the run directory first.
    """
    pieces = [
        piece for about in plan_subjects(plan, folder) for piece in _pieces(plan, about, folder)
    ]
    order = list(Kind)
    return sorted(dict.fromkeys(pieces), key=lambda piece: order.index(piece.kind))


def plan_subjects(plan: Plan, folder: Path | None = None) -> list[Subject]:
    """Return the task and kind of model of every dataset of a plan."""
    alternatives = {"grid": plan.grid, "replacements": plan.replacements}
    text = json.dumps({k: v for k, v in alternatives.items() if v is not None}, sort_keys=True)
    subjects = []
    for reference in plan.datasets:
        source = located(reference, folder) if reference.endswith(".toml") else reference
        subjects.append(Subject(find_task(source).name, source, plan.model, text))
    return subjects


def located(reference: str, folder: Path | None) -> str:
    """Return where a file of a plan is: in the run directory, or else as named."""
    inside = folder / reference if folder is not None else None
    return str(inside) if inside is not None and inside.exists() else reference


def _pieces(plan: Plan, about: Subject, folder: Path | None) -> Iterator[Piece]:
    tables = {name: located(path, folder) for name, path in plan.counterfactuals.items()}
    tuned = [name for name in plan.methods if get_method(name).tuning_candidates()]
    tuning_base = base_piece(about, TUNING_SEED)
    if tuned:
        yield tuning_base
    tunings = {name: tuning_piece(tuning_base, name) for name in tuned}
    yield from tunings.values()
    for seed in plan.base_seeds:
        base = base_piece(about, seed)
        yield base
        answers = [
            counterfactuals_piece(base, method, tunings.get(method), plan.factuals, plan.rows)
            for method in plan.methods
        ]
        answers += [given_piece(base, *table, plan) for table in tables.items()]
        yield from answers
        if about.keeps_networks:
            banks = tuple(bank_piece(base, family) for family in plan.families)
            yield from banks
            yield from (survival_piece(answer, banks) for answer in answers)
        else:
            for family in plan.families:
                yield changes_piece(base, family)
                yield from (own_survival_piece(base, answer, family) for answer in answers)


def base_piece(about: Subject, seed: int) -> Piece:
    """Return the piece of a base model."""
    mark = fingerprint(
        kind=Kind.BASE,
        task=about.task.fingerprint,
        seed=seed,
        code=_code("networks.training"),
        **_model_mark(about),
    )
    return Piece(Kind.BASE, about, seed, "", mark, cost=training_cost(about.task, 1))


def bank_piece(base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed networks, and their magnitudes."""
    code = _code("changes.bank", "changes.magnitude", family=family)
    mark = fingerprint(kind=Kind.BANK, base=base.fingerprint, family=family, code=code)
    cost = bank_cost(base.about.task, family)
    return Piece(Kind.BANK, base.about, base.base_seed, family, mark, (base,), cost=cost)


def changes_piece(base: Piece, family: str) -> Piece:
    """Return the piece of the magnitudes of one family's changed models of any kind."""
    mark = fingerprint(
        kind=Kind.CHANGES,
        base=base.fingerprint,
        family=family,
        code=_code("changes.own", "changes.magnitude", family=family),
    )
    kind, cost = Kind.CHANGES, changes_cost()
    return Piece(kind, base.about, base.base_seed, family, mark, (base,), family=family, cost=cost)


def tuning_piece(base: Piece, method: str) -> Piece:
    """Return the piece of a method's tuning table."""
    code = _code("methods.tuning", "evaluation.factuals", method=method)
    mark = fingerprint(kind=Kind.TUNING, base=base.fingerprint, method=method, code=code)
    return Piece(Kind.TUNING, base.about, base.base_seed, method, mark, (base,), cost=1.0)


def counterfactuals_piece(
    base: Piece,
    method: str,
    tuning: Piece | None,
    factuals: int,
    rows: tuple[int, ...] | None = None,
) -> Piece:
    """Return the piece of a method's counterfactuals."""
    inputs = (base,) if tuning is None else (base, tuning)
    mark = fingerprint(
        kind=Kind.COUNTERFACTUALS,
        inputs=[piece.fingerprint for piece in inputs],
        method=method,
        factuals=factuals,
        code=_code("evaluation.factuals", method=method),
        **({} if rows is None else {"rows": rows}),
    )
    kind = Kind.COUNTERFACTUALS
    cost = answering_cost(base.about, method, factuals if rows is None else len(rows))
    return Piece(
        kind, base.about, base.base_seed, method, mark, inputs, "", factuals, rows, cost=cost
    )


def given_piece(base: Piece, name: str, path: str, plan: Plan) -> Piece:
    """Return the piece of counterfactuals that come from a table."""
    mark = fingerprint(
        kind=Kind.COUNTERFACTUALS,
        inputs=[base.fingerprint],
        table=hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        factuals=plan.factuals,
        rows=plan.rows,
        code=_code("evaluation.factuals", "methods.given"),
    )
    answers = Piece(Kind.COUNTERFACTUALS, base.about, base.base_seed, name, mark, (base,))
    return replace(answers, factuals=plan.factuals, rows=plan.rows, table=path)


def survival_piece(answers: Piece, banks: tuple[Piece, ...]) -> Piece:
    """Return the piece that says which counterfactuals survive which changed networks."""
    inputs = (answers, *banks)
    mark = fingerprint(
        kind=Kind.SURVIVAL,
        inputs=[piece.fingerprint for piece in inputs],
        code=_code("evaluation.survival"),
    )
    kind = Kind.SURVIVAL
    return Piece(kind, answers.about, answers.base_seed, answers.subject, mark, inputs, cost=0.1)


def own_survival_piece(base: Piece, answers: Piece, family: str) -> Piece:
    """Return the piece that says which counterfactuals survive one family's changed models."""
    inputs = (answers, base)
    mark = fingerprint(
        kind=Kind.SURVIVAL,
        inputs=[piece.fingerprint for piece in inputs],
        family=family,
        code=_code("evaluation.survival", "changes.own", family=family),
    )
    return Piece(
        Kind.SURVIVAL, base.about, base.base_seed, answers.subject, mark, inputs, family, cost=0.2
    )


def _model_mark(about: Subject) -> dict[str, str]:
    """Say what kind of model it is; nothing for the protocol's own networks."""
    if about.model == DEFAULT_MODEL and about.keeps_networks:
        return {}
    if about.model.startswith("object:"):
        return {"model": about.model, "alternatives": about.alternatives}
    learner = about.learner
    others = [
        (level, other.fingerprint)
        for level, other in (*learner.configurations(), *learner.replacements())
    ]
    code = _code("models.learner", "models.function", "models.estimator", "models.module")
    return {"model": learner.fingerprint, "alternatives": repr(others), "model_code": code}


def _code(*rooms: str, family: str | None = None, method: str | None = None) -> str:
    """Hash the code that a piece is computed with, be it ours or people's own."""
    modules, own = [f"changeproof.{room}" for room in rooms], ""
    if family is not None:
        cls = type(get_family(family))
        if changes.REGISTRY.is_builtin(family):
            modules.append(cls.__module__)
        else:
            own = own_code(getattr(cls, "author", cls))
    if method is not None:
        if methods.REGISTRY.is_builtin(method):
            modules.append(get_method(method).__module__)
        else:
            own = own_code(get_method(method))
    return code_digest(*modules) + own
