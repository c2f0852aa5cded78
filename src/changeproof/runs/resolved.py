"""A resolved run: what a plan names, as objects, and the pieces that follow from it.

Names become objects here and nowhere else. From here on the objects travel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from changeproof import changes, methods
from changeproof.adapters.tables import read_counterfactuals
from changeproof.changes.family import Family
from changeproof.datasets.find import find_task
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.fingerprints.sources import code_digest
from changeproof.fingerprints.things import fingerprint
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Method
from changeproof.methods.tuning import candidates
from changeproof.models.find import AbsentLearner, find_learner
from changeproof.models.learner import Learner
from changeproof.runs.costs import answering_cost, bank_cost, training_cost
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import TUNING_SEED, Plan

# Counterfactuals from elsewhere, as run directories keep them.
KEPT_TABLE = ".counterfactuals.parquet"


@dataclass(frozen=True)
class Known:
    """What a plan names and somebody has at hand as objects already, by name."""

    tasks: Mapping[str, Task] = field(default_factory=dict)
    learner: Learner | None = None
    methods: Mapping[str, Method] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ResolvedRun:
    """Everything that a run is made with.

    Attributes
    ----------
    plan
        What was asked, without what does not fit the model.
    tasks, methods, families
        By the names that tables show; counterfactuals from elsewhere are methods.
    learner
        The kind of model.
    """

    plan: Plan
    tasks: Mapping[str, Task]
    learner: Learner
    methods: Mapping[str, Method]
    families: Mapping[str, Family]

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Every piece, each once and after its inputs."""
        pieces = dict.fromkeys(piece for name in self.tasks for piece in _pieces(self, name))
        order = list(Kind)
        return tuple(sorted(pieces, key=lambda piece: order.index(piece.kind)))

    def without(self, names: Mapping[str, str]) -> ResolvedRun:
        """Return the run without some methods and families, by name with the reasons."""
        plan = self.plan.model_copy(
            update={
                "methods": tuple(name for name in self.plan.methods if name not in names),
                "families": tuple(name for name in self.plan.families if name not in names),
                "counterfactuals": {
                    name: path
                    for name, path in self.plan.counterfactuals.items()
                    if name not in names
                },
                "left_out": self.plan.left_out | dict(names),
            }
        )
        methods = {name: method for name, method in self.methods.items() if name not in names}
        families = {name: family for name, family in self.families.items() if name not in names}
        return replace(self, plan=plan, methods=methods, families=families)


def resolve(plan: Plan, folder: Path | None = None, known: Known | None = None) -> ResolvedRun:
    """Turn the names of a plan into objects; what does not fit the model is left out.

    Parameters
    ----------
    folder
        The run directory, where files that the plan names are looked for first.
    known
        What need not be looked for.
    """
    known = known if known is not None else Known()
    learner = known.learner
    if learner is None:
        learner = find_learner(plan.model, grid=plan.grid, replacements=plan.replacements)
    tasks = dict(known.tasks) or _tasks(plan, folder)
    found: dict[str, Method] = {
        name: known.methods.get(name) or methods.REGISTRY.make(name) for name in plan.methods
    }
    for name, path in plan.counterfactuals.items():
        found[name] = known.methods.get(name) or _given(name, located(path, folder), tasks)
    families = {
        name: known.families.get(name) or changes.REGISTRY.make(name) for name in plan.families
    }
    run = ResolvedRun(plan, tasks, learner, found, families)
    return run if isinstance(learner, AbsentLearner) else _fitting(run)


def located(reference: str, folder: Path | None) -> str:
    """Return where a file of a plan is: in the run directory, or else as named."""
    inside = folder / reference if folder is not None else None
    return str(inside) if inside is not None and inside.exists() else reference


def _tasks(plan: Plan, folder: Path | None) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    references: dict[str, str] = {}
    for reference in plan.datasets:
        task = find_task(located(reference, folder) if "." in reference else reference)
        if task.name in tasks:
            raise InputError(
                f"datasets {references[task.name]} and {reference} are both called "
                f"{task.name!r}; give one of them another name"
            )
        tasks[task.name], references[task.name] = task, reference
    return tasks


def _given(name: str, path: str, tasks: Mapping[str, Task]) -> Method:
    if len(tasks) > 1:
        raise InputError(
            f"counterfactuals {name!r} belong to one dataset; the plan has {', '.join(tasks)}"
        )
    (task,) = tasks.values()
    kept = path.endswith(KEPT_TABLE)
    table = read_counterfactuals(pd.read_parquet(path) if kept else path, task)
    return GivenCounterfactuals.named(name, {"table": table})


def _fitting(run: ResolvedRun) -> ResolvedRun:
    """Return the run without what the model cannot support, and with the reasons."""
    learner = run.learner
    reasons = {
        name: f"needs {method.needs} of a model; {learner.name} offers {learner.offers}"
        for name, method in run.methods.items()
        if method.needs > learner.offers
    }
    for name, family in run.families.items():
        if (reason := family.reason_against(learner)) is not None:
            reasons[name] = reason
    fitting = run.without(reasons)
    for what, kept in (("method", fitting.methods), ("family", fitting.families)):
        if not kept:
            why = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            raise InputError(f"no {what} of the plan fits the model: {why}")
    return fitting


def _pieces(run: ResolvedRun, dataset: str) -> Iterator[Piece]:
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
        for family in run.families:
            bank = _bank(run, base, family)
            yield bank
            yield from (_survival(answer, bank) for answer in answers)


def _base(run: ResolvedRun, dataset: str, seed: int) -> Piece:
    """Return the piece of a base model."""
    task, model = run.tasks[dataset], run.learner.fingerprint[:12]
    mark = fingerprint(kind=Kind.BASE, task=task.fingerprint, seed=seed, model=model)
    return Piece(Kind.BASE, dataset, seed, mark, cost=training_cost(task, 1))


def _bank(run: ResolvedRun, base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed models, and their magnitudes.

    Models that cannot be kept are made in the last wave, by the worker that asks them.
    """
    bank = replace(
        base,
        kind=Kind.BANK,
        family=family,
        inputs=(base,),
        wave=1 if run.learner.stores_models else 3,
        cost=bank_cost(run.tasks[base.dataset], run.learner, family),
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
        wave=1,
        cost=1.0,
    )
    maker = run.methods[method].fingerprint
    return _marked(tuning, maker, "methods.tuning", "evaluation.factuals")


def _answers(run: ResolvedRun, base: Piece, method: str, tuning: Piece | None) -> Piece:
    """Return the piece of a method's counterfactuals."""
    plan, task = run.plan, run.tasks[base.dataset]
    asked = plan.factuals if plan.rows is None else len(plan.rows)
    answers = replace(
        base,
        kind=Kind.COUNTERFACTUALS,
        method=method,
        inputs=(base,) if tuning is None else (base, tuning),
        factuals=plan.factuals,
        rows=plan.rows,
        realisable=plan.realisable,
        wave=2,
        cost=answering_cost(task, run.learner, method, asked),
    )
    maker = run.methods[method].fingerprint
    return _marked(answers, maker, "methods.tuning", "evaluation.factuals")


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
        wave=3,
        cost=0.02,
    )
    return _marked(survival, "", "evaluation.survival")


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
