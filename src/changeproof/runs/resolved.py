"""A resolved run: what a plan names, as objects, and the pieces that follow from it.

Names become objects here and nowhere else. From here on the objects travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa

from changeproof import changes, methods
from changeproof.adapters.tables import read_counterfactuals
from changeproof.changes.family import Family
from changeproof.changes.successor import SUCCESSOR, Successors
from changeproof.datasets.find import find_task
from changeproof.datasets.grouping import columns_of
from changeproof.datasets.groups import groups_of
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.evaluation.counting import counted
from changeproof.files import safe_name
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Method
from changeproof.models.find import AbsentLearner, object_reference
from changeproof.models.learner import Learner
from changeproof.runs.content import table_from_bytes
from changeproof.runs.listing import pieces_of
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import Plan
from changeproof.runs.successors import given_successors, learner_of, with_successors

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
    renewer
        The method that renews letters, if that is asked for.
    """

    plan: Plan
    tasks: Mapping[str, Task]
    learner: Learner
    methods: Mapping[str, Method]
    families: Mapping[str, Family]
    renewer: Method | None = None

    @property
    def letters(self) -> tuple[str, ...]:
        """Whose answers are letters: those from elsewhere or, without any, all."""
        return tuple(self.plan.counterfactuals) or tuple(self.methods)

    @cached_property
    def averaged(self) -> tuple[str, ...]:
        """The families that averages are about, as far as is known before anything is trained.

        The limit is searched over these and, where some change nothing, over the others.
        """
        return counted(self.families)

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
                "successors": {} if SUCCESSOR in names else self.plan.successors,
                "left_out": self.plan.left_out | dict(names),
            }
        )
        methods = {name: method for name, method in self.methods.items() if name not in names}
        families = {name: family for name, family in self.families.items() if name not in names}
        return replace(self, plan=plan, methods=methods, families=families)

    def without_renewals(self, reason: str) -> ResolvedRun:
        """Return the run without renewals, for a reason."""
        left_out = self.plan.left_out | {"renewals": reason}
        plan = self.plan.model_copy(update={"renew": None, "left_out": left_out})
        return replace(self, plan=plan, renewer=None)

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
    tasks = dict(known.tasks) or _tasks(plan, folder)
    if plan.over_time:
        # Of a task that a directory has kept so, nothing changes.
        tasks = {name: task.over_time() for name, task in tasks.items()}
    every = list(tasks.values())
    for task in every:
        safe_name(task.name, "a dataset")
        for by in plan.by:
            groups_of(task, by)
        unknown_rows = pd.Index(plan.rows or ()).difference(task.frame.index, sort=False)
        if len(unknown_rows):
            raise InputError(f"rows: task {task.name!r} has no row {unknown_rows[0]}")
    learner = known.learner
    if learner is None:
        learner = learner_of(
            plan.model,
            every,
            successors=bool(plan.successors),
            threshold=plan.threshold,
            grid=plan.grid,
            replacements=plan.replacements,
        )
    if learner.traits.only_seed is not None:
        plan = plan.model_copy(update={"model": object_reference(learner)})
    found: dict[str, Method] = {
        name: known.methods.get(name) or methods.REGISTRY.make(name) for name in plan.methods
    }
    for name, path in plan.counterfactuals.items():
        found[name] = known.methods.get(name) or _given(name, located(path, folder), tasks)
    families = {
        name: known.families.get(name) or changes.REGISTRY.make(name) for name in plan.families
    }
    if plan.successors:
        successors = known.families.get(SUCCESSOR)
        if not isinstance(successors, Successors):
            successors = given_successors(plan.successors, every, found, plan.threshold)
        families[SUCCESSOR] = successors
        plan = plan.model_copy(update={"successors": successors.records})
    renewer = None
    if plan.renew is not None:
        renewer = known.methods.get(plan.renew) or methods.REGISTRY.make(plan.renew)
    run = ResolvedRun(plan, tasks, learner, found, families, renewer)
    return run if isinstance(learner, AbsentLearner) else _fitting(with_successors(run))


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
    try:
        source = table_from_bytes(Path(path).read_bytes()) if kept else path
        table = read_counterfactuals(source, task)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read counterfactuals {path}: {one_line(error)}") from None
    return GivenCounterfactuals.named(name, {"table": table})


def _fitting(run: ResolvedRun) -> ResolvedRun:
    """Return the run without what the model cannot support, and with the reasons."""
    learner = run.learner
    if learner.traits.only_seed is not None and run.plan.base_seeds != (learner.traits.only_seed,):
        raise InputError(
            f"{learner.name} is fitted already, and so is one base model; expected the base seed "
            f"{learner.traits.only_seed}, got {', '.join(map(str, run.plan.base_seeds))}"
        )
    reasons = {
        name: f"needs {method.needs} of a model; {learner.name} offers {learner.traits.offers}"
        for name, method in run.methods.items()
        if method.needs > learner.traits.offers
    }
    if learner.traits.no_training:
        reasons |= {
            name: f"trains models of its own; {learner.traits.no_training}"
            for name, method in run.methods.items()
            if method.trains
        }
    for name, family in run.families.items():
        if reason := family.left_out(learner, run.tasks.values()):
            reasons[name] = reason
    fitting = run.without(reasons)
    for what, kept in (("method", fitting.methods), ("family", fitting.families)):
        if not kept:
            why = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            raise InputError(f"no {what} of the plan fits the model: {why}")
    return fitting
