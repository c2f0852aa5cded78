"""From a plan to objects: what its names mean, without what does not fit.

Names become objects here and nowhere else. From here on the objects travel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from changeproof import changes, methods
from changeproof.adapters.tables import read_choices
from changeproof.changes import HASH_SIGN, SUCCESSOR
from changeproof.changes.family import Family
from changeproof.changes.successors import Successors, read_successors
from changeproof.datasets.custom import Taken
from changeproof.datasets.find import find_task
from changeproof.datasets.grouping import columns_of
from changeproof.datasets.groups import groups_of
from changeproof.datasets.oddities import is_about_advice
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.evaluation.counting import counting_families
from changeproof.files import safe_name
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Method
from changeproof.model import Access
from changeproof.models.find import (
    AbsentLearner,
    advised_by,
    load_model,
    object_reference,
    shipped_learner,
    taken_columns,
    with_alternatives,
)
from changeproof.models.learner import Learner
from changeproof.models.shipped import ShippedModel
from changeproof.models.thresholds import at_threshold
from changeproof.runs.content import table_from_bytes
from changeproof.runs.judged import judged_by
from changeproof.runs.manifest import KEPT_TABLE, Judged, located, read_manifest
from changeproof.runs.plan import Plan

LIMIT = "the limit"
TRAINED_HERE = (
    "today's model ({}) is trained here; to use a fitted one as it is, name it: pickle:FILE, "
    "python:module:name or onnx:FILE"
)


@dataclass(frozen=True)
class Given:
    """Objects that somebody has at hand already, by the names that a plan has for them."""

    tasks: Mapping[str, Task] = field(default_factory=dict)
    learner: Learner | None = None
    methods: Mapping[str, Method] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ResolvedRun:
    """Everything that a run is made with, by the names that tables show.

    What does not fit the model is left out of the plan, too. Counterfactuals from elsewhere are
    methods. `renewer` is the method that renews letters, if that is asked for. `judged` says which
    model is judged; None of one that is not at hand, where its run does not say.
    """

    plan: Plan
    tasks: Mapping[str, Task]
    learner: Learner
    methods: Mapping[str, Method]
    families: Mapping[str, Family]
    renewer: Method | None = None
    judged: Judged | None = None

    @property
    def letters(self) -> tuple[str, ...]:
        """Whose answers are letters: those from elsewhere or, without any, all."""
        return tuple(self.plan.counterfactuals) or tuple(self.methods)

    @cached_property
    def counting_families(self) -> tuple[str, ...]:
        """The families that averages are about, as far as is known before anything is trained.

        The limit is searched over these and, where some change nothing, over the others.
        """
        return counting_families(self.families)

    def without(self, names: Mapping[str, str]) -> ResolvedRun:
        """Return the run without some methods and families, by name with the reasons."""
        methods = {name: method for name, method in self.methods.items() if name not in names}
        families = {name: family for name, family in self.families.items() if name not in names}
        plan = self.plan.without(names, names)
        return replace(self, plan=plan, methods=methods, families=families)


def resolve(plan: Plan, folder: Path | None = None, given: Given | None = None) -> ResolvedRun:
    """Turn the names of a plan into objects; what does not fit the model is left out.

    Files that the plan names are looked for in `folder`, the run directory, first; what is `given`
    is not looked for.
    """
    given = given if given is not None else Given()
    model = given.learner or load_model(plan.model)
    tasks = dict(given.tasks)
    if not tasks:
        loaded = load_tasks(plan, folder, taken_columns(model))
        tasks = {name: advised_by(model, task) for name, task in loaded.items()}
    every = list(tasks.values())
    _check_tasks(plan, every)
    learner = given.learner
    if learner is None:
        learner = learner_of(
            model,
            every,
            threshold=plan.threshold,
            grid=plan.grid,
            replacements=plan.replacements,
            refit=plan.refit,
        )
    judged = _judged(learner, plan, folder, every)
    if learner.traits.only_seed is not None:
        plan = plan.model_copy(update={"model": object_reference(learner)})

    def method(name: str) -> Method:
        return given.methods.get(name) or methods.REGISTRY.make(name)

    found = {name: method(name) for name in plan.methods}
    for name, path in plan.counterfactuals.items():
        if name in given.methods:
            found[name] = given.methods[name]
            continue
        tables = _answers(name, located(path, folder), every)
        found |= tables
        # Of several for a person, each has a name and a file of its own from now on.
        files = plan.counterfactuals | dict.fromkeys(tables, path)
        plan = plan.model_copy(update={"counterfactuals": files})
    families = {
        name: given.families.get(name) or changes.REGISTRY.make(name) for name in plan.families
    }
    if plan.successors:
        successors = given.families.get(SUCCESSOR)
        if not isinstance(successors, Successors):
            successors = given_successors(plan.successors, every, found, plan.threshold)
        families[SUCCESSOR] = successors
        plan = plan.model_copy(update={"successors": successors.records})
    renewer = None if plan.renew is None else method(plan.renew)
    if not plan.methods and renewer is None:
        tasks = {name: _without_hints(task) for name, task in tasks.items()}
    run = ResolvedRun(plan, tasks, learner, found, families, renewer, judged)
    return run if isinstance(learner, AbsentLearner) else _fitting(_under_successors(run))


def _without_hints(task: Task) -> Task:
    """Return a task without notes on what to rule out: nobody is advised.

    Letters that are out would be refused by a rule that they did not have to keep.
    """
    silent = copy(task)
    silent.notes = tuple(note for note in task.notes if not is_about_advice(note))
    return silent


def _judged(
    learner: Learner, plan: Plan, folder: Path | None, tasks: Sequence[Task]
) -> Judged | None:
    """Say which model is judged; of one that is not at hand, what its run says."""
    if not isinstance(learner, AbsentLearner):
        return judged_by(learner, plan.model, plan.refit or "", tasks)
    try:
        there = None if folder is None else read_manifest(folder)
    except InputError:  # it is going to be written again
        return None
    return there.judged if there is not None and there.plan.model == plan.model else None


def load_tasks(plan: Plan, folder: Path | None, taken: Taken | None = None) -> dict[str, Task]:
    """Return the tasks of a plan by name, with the columns that a fitted model takes.

    Files are looked for in the run directory first.
    """
    tasks: dict[str, Task] = {}
    references: dict[str, str] = {}
    for reference in plan.datasets:
        where = located(reference, folder) if "." in reference else reference
        task = find_task(where, columns_of(plan.by), taken)
        if task.name in tasks:
            raise InputError(
                f"datasets {references[task.name]} and {reference} are both called "
                f"{task.name!r}; give one of them another name"
            )
        tasks[task.name], references[task.name] = task, reference
    return {n: task.over_time() for n, task in tasks.items()} if plan.over_time else tasks


def _check_tasks(plan: Plan, tasks: Sequence[Task]) -> None:
    for task in tasks:
        safe_name(task.name, "a dataset")
        for by in plan.by:
            groups_of(task, by)
        unknown_rows = pd.Index(plan.rows or ()).difference(task.frame.index, sort=False)
        if len(unknown_rows):
            raise InputError(f"rows: task {task.name!r} has no row {unknown_rows[0]}")


def learner_of(
    model: Learner | ShippedModel,
    tasks: Sequence[Task],
    *,
    threshold: str | None,
    grid: Mapping[str, Sequence[Any]] | None,
    replacements: Sequence[str] | None,
    refit: str | None,
) -> Learner:
    """Return today's model: used as it is, if it is fitted, or trained."""
    if isinstance(model, ShippedModel):
        task = _only(tasks, "today's model: a fitted model belongs")
        return shipped_learner(model, task, grid, replacements, threshold, refit)
    if refit is not None:
        raise InputError(
            f"refit {refit!r} is for a fitted model; {model.name} is trained here anyway"
        )
    rows = max((len(task.split.train) for task in tasks), default=0)
    for task in tasks:
        model.check(task)
    varied = with_alternatives(model, grid, replacements).sized(rows)
    return varied if isinstance(varied, AbsentLearner) else at_threshold(varied, threshold)


def given_successors(
    given: Mapping[str, Any] | None,
    tasks: Sequence[Task],
    methods: Mapping[str, Method],
    threshold: str | None = None,
    id_column: str | None = None,
) -> Successors:
    """Return the successors that somebody names or brings.

    Of those that a run has recorded, only what it says of them.
    """
    if not given or any(isinstance(each, str) and HASH_SIGN in each for each in given.values()):
        return Successors(records=given or {})
    letters = {n: m.table for n, m in methods.items() if isinstance(m, GivenCounterfactuals)}
    task = _only(tasks, "successors: a fitted model belongs")
    return read_successors(given, task, letters, threshold, id_column)


def _answers(name: str, path: str, tasks: Sequence[Task]) -> dict[str, Method]:
    task = _only(tasks, f"counterfactuals {name!r}: they belong")
    kept = path.endswith(KEPT_TABLE)
    try:
        source = table_from_bytes(Path(path).read_bytes()) if kept else path
        tables = read_choices(name, source, task)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read counterfactuals {path}: {one_line(error)}") from None
    return {
        called: GivenCounterfactuals.named(called, {"table": table})
        for called, table in tables.items()
    }


def _under_successors(run: ResolvedRun) -> ResolvedRun:
    """Return the run without what cannot be put to its successors, with the reasons."""
    family = run.families.get(SUCCESSOR)
    if not isinstance(family, Successors) or family.models is None:
        return run
    if reason := family.only_letters:
        others = [name for name in run.methods if name not in run.plan.counterfactuals]
        run = run.without(dict.fromkeys(others, reason))
        if run.plan.limit:
            plan = run.plan.without((), {LIMIT: reason}).model_copy(update={"limit": False})
            run = replace(run, plan=plan)
    if run.renewer is None:
        return run
    task = next(iter(run.tasks.values()))
    reasons = {
        f"renewals under {name}": reason
        for name, successor in family.models.items()
        if (reason := successor.reason_against(run.renewer, task))
    }
    if len(reasons) == len(family.models):
        raise InputError(f"letters cannot be renewed: {'; '.join(reasons.values())}")
    return run.without(reasons)


def _only(tasks: Sequence[Task], what: str) -> Task:
    if len(tasks) > 1:
        names = ", ".join(task.name for task in tasks)
        raise InputError(f"{what} to one dataset; the plan has {names}")
    return tasks[0]


class NothingFitsError(InputError):
    """No method, or no family, fits the model; `reasons` says why, by name."""

    def __init__(self, message: str, reasons: Mapping[str, str]) -> None:
        super().__init__(message)
        self.reasons = reasons


def _fitting(run: ResolvedRun) -> ResolvedRun:
    """Return the run without what the model cannot support, and with the reasons."""
    learner = run.learner
    seed, seeds = learner.traits.only_seed, run.plan.base_seeds
    if seed is not None and seeds != (seed,):
        raise InputError(
            f"{learner.name} is fitted already, and so is one base model; expected the base seed "
            f"{seed}, got {', '.join(map(str, seeds))}"
        )
    traits = learner.traits
    offers = traits.offers
    if any(method.needs is not Access.PREDICTIONS for method in run.methods.values()):
        offers = reduce(and_, (learner.offers_on(task) for task in run.tasks.values()))
    several = [name for name, task in run.tasks.items() if task.classes is not None]
    reasons = {}
    for name, method in run.methods.items():
        if method.trains and traits.no_training:
            reasons[name] = f"trains models of its own; {traits.no_training}"
        elif method.needs not in offers:
            reasons[name] = f"needs {method.needs} of a model; {learner.name} offers {offers}"
            if method.needs in traits.offers and several:
                reasons[name] = f"is for two classes; the outcome of {several[0]} has more"
    for name, family in run.families.items():
        if reason := family.left_out(learner, run.tasks.values()):
            reasons[name] = reason
    fitting = run.without(reasons)
    for what, kept in (("method", fitting.methods), ("family", fitting.families)):
        if not kept:
            why = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            raise NothingFitsError(f"no {what} of the plan fits the model: {why}", reasons)
    return fitting
