"""A resolved run: what a plan names, as objects, and the pieces that follow from it.

Names become objects here and nowhere else. From here on the objects travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from changeproof import changes, methods
from changeproof.adapters.tables import read_counterfactuals
from changeproof.changes.family import Family
from changeproof.datasets.find import find_task
from changeproof.datasets.grouping import columns_of
from changeproof.datasets.groups import groups_of
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Method
from changeproof.models.find import AbsentLearner, find_learner
from changeproof.models.learner import Learner
from changeproof.runs.listing import pieces_of
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import Plan

# Counterfactuals from elsewhere, as run directories keep them.
KEPT_TABLE = ".counterfactuals.parquet"
LIMIT = "the limit"


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
        pieces = dict.fromkeys(piece for name in self.tasks for piece in pieces_of(self, name))
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

    def without_limit(self, reason: str) -> ResolvedRun:
        """Return the run without the limit, for a reason."""
        left_out = self.plan.left_out | {LIMIT: reason}
        plan = self.plan.model_copy(update={"limit": False, "left_out": left_out})
        return replace(self, plan=plan)


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
    for task in tasks.values():
        for by in plan.by:
            groups_of(task, by)
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
        where = located(reference, folder) if "." in reference else reference
        task = find_task(where, columns_of(plan.by))
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
        against = [family.reason_against_task(task) for task in run.tasks.values()]
        if reason := family.reason_against(learner) or next(filter(None, against), None):
            reasons[name] = reason
    fitting = run.without(reasons)
    for what, kept in (("method", fitting.methods), ("family", fitting.families)):
        if not kept:
            why = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            raise InputError(f"no {what} of the plan fits the model: {why}")
    return fitting
