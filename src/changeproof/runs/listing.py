"""The pieces that follow from a resolved run: what goes into each, and its fingerprint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from changeproof.changes.successor import SUCCESSOR
from changeproof.fingerprints.sources import code_digest
from changeproof.fingerprints.things import fingerprint
from changeproof.methods.tuning import candidates
from changeproof.runs.costs import (
    answering_cost,
    bank_cost,
    limit_cost,
    training_cost,
    tuning_cost,
)
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import TUNING_SEED, Plan

if TYPE_CHECKING:
    from changeproof.runs.resolved import ResolvedRun


def pieces_of(run: ResolvedRun, dataset: str) -> Iterator[Piece]:
    """Yield the pieces of a task: base models, then what is made from them."""
    plan = run.plan
    choices = {name: candidates(method) for name, method in run.methods.items()}
    tuned = [name for name, found in choices.items() if len(found) > 1]
    tunings: dict[str, Piece] = {}
    if tuned:
        tuning_base = _base(run, dataset, TUNING_SEED)
        yield tuning_base
        tunings = {name: _tuning(run, tuning_base, name) for name in tuned}
        yield from tunings.values()
    for seed in plan.base_seeds:
        base = _base(run, dataset, seed)
        yield base
        answers = [_answers(run, base, name, tunings.get(name)) for name in run.methods]
        yield from answers
        banks = [_bank(run, base, family) for family in run.families]
        for bank in banks:
            yield bank
            yield from (_survival(answer, bank) for answer in answers)
            if bank.family == SUCCESSOR:
                yield from _of_letters(run, answers, bank)
        if plan.limit:
            yield _limit(run, base, [bank for bank in banks if bank.family in run.averaged])


def _base(run: ResolvedRun, dataset: str, seed: int) -> Piece:
    """Return the piece of a base model."""
    task, model = run.tasks[dataset], run.learner.fingerprint[:12]
    mark = fingerprint(kind=Kind.BASE, task=task.fingerprint, seed=seed, model=model)
    return Piece(Kind.BASE, dataset, seed, mark, cost=training_cost(task, 1))


def _bank(run: ResolvedRun, base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed models, and their magnitudes.

    Models that cannot be kept are made by the worker that asks them.
    """
    bank = replace(
        base,
        kind=Kind.BANK,
        family=family,
        inputs=(base,),
        alone=run.learner.stores_models,
        cost=bank_cost(run.tasks[base.dataset], run.learner, run.families[family]),
    )
    return _marked(bank, run.families[family].fingerprint, "changes.bank", "changes.magnitude")


def _tuning(run: ResolvedRun, base: Piece, method: str) -> Piece:
    """Return the piece of a method's tuning table."""
    tuning = replace(
        base,
        kind=Kind.TUNING,
        method=method,
        inputs=(base,),
        realisable=run.plan.realisable,
        cost=tuning_cost(run.tasks[base.dataset], method, run.plan.realisable),
    )
    maker = run.methods[method].fingerprint
    return _marked(tuning, maker, "methods.tuning", "evaluation.factuals")


def _answers(run: ResolvedRun, base: Piece, method: str, tuning: Piece | None) -> Piece:
    """Return the piece of a method's counterfactuals."""
    plan, task = run.plan, run.tasks[base.dataset]
    answers = replace(
        base,
        kind=Kind.COUNTERFACTUALS,
        method=method,
        inputs=(base,) if tuning is None else (base, tuning),
        factuals=plan.factuals,
        rows=plan.rows,
        realisable=plan.realisable,
        cost=answering_cost(task, run.learner, method, _asked(plan), plan.realisable),
    )
    maker = run.methods[method].fingerprint
    return _marked(answers, maker, "methods.tuning", "evaluation.factuals")


def _asked(plan: Plan) -> int:
    return plan.factuals if plan.rows is None else len(plan.rows)


def _survival(answers: Piece, bank: Piece) -> Piece:
    """Return the piece that says which counterfactuals survive one family's changed models."""
    survival = replace(
        answers,
        kind=Kind.SURVIVAL,
        family=bank.family,
        inputs=(answers, bank),
        factuals=0,
        rows=None,
        realisable=False,
        cost=0.02,
    )
    return _marked(survival, "", "evaluation.survival")


def _limit(run: ResolvedRun, base: Piece, banks: Sequence[Piece]) -> Piece:
    """Return the piece with the limit of the people of a base model.

    Changed models that cannot be kept are made again for it.
    """
    plan = run.plan
    limit = replace(
        base,
        kind=Kind.LIMIT,
        inputs=(base, *banks),
        factuals=plan.factuals,
        rows=plan.rows,
        realisable=plan.realisable,
        cost=limit_cost(
            run.tasks[base.dataset],
            run.learner,
            [run.families[name] for name in run.averaged],
            _asked(plan),
            plan.realisable,
        ),
    )
    return _marked(limit, "", "evaluation.limit", "evaluation.factuals", "evaluation.counting")


def _of_letters(run: ResolvedRun, answers: Sequence[Piece], bank: Piece) -> Iterator[Piece]:
    """Yield the pieces about letters: their scores and, where it is asked for, their renewals."""
    for answer in answers:
        if answer.method not in run.letters:
            continue
        survival = _survival(answer, bank)
        yield _marked(replace(survival, kind=Kind.LETTERS), "", "evaluation.letters")
        if run.renewer is not None:
            name = run.renewer.name
            renewals = replace(
                survival,
                kind=Kind.RENEWALS,
                realisable=run.plan.realisable,
                cost=answering_cost(
                    run.tasks[bank.dataset],
                    run.learner,
                    name,
                    _asked(run.plan),
                    run.plan.realisable,
                ),
            )
            maker = f"{name} {run.renewer.fingerprint}"
            yield _marked(renewals, maker, "evaluation.renewal")


def _marked(piece: Piece, maker: str, *modules: str) -> Piece:
    """Return a piece with the fingerprint of all that goes into it.

    `maker` is the fingerprint of its method or family, `modules` is the code of ours beside it.
    """
    # Answers as published need not know that there are others.
    realisable = {"realisable": True} if piece.realisable else {}
    mark = fingerprint(
        **realisable,
        kind=piece.kind,
        inputs=[part.fingerprint for part in piece.inputs],
        method=piece.method,
        family=piece.family,
        factuals=piece.factuals,
        rows=piece.rows,
        maker=maker,
        code=code_digest(*(f"changeproof.{module}" for module in modules)),
    )
    return replace(piece, fingerprint=mark)
