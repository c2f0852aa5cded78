"""Successors in a plan: from their names to models, and what cannot be asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from changeproof.changes.successors import MARK, SUCCESSOR, Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Method
from changeproof.models.find import (
    AbsentLearner,
    as_learner,
    find_learner,
    is_shipped,
    with_alternatives,
)
from changeproof.models.learner import Learner
from changeproof.models.thresholds import at_threshold

if TYPE_CHECKING:
    from changeproof.runs.resolved import ResolvedRun

TRAINED_HERE = (
    "today's model ({}) is trained here; to use a fitted one as it is, name it: pickle:FILE, "
    "python:module:name or onnx:FILE"
)


def learner_of(
    model: Any,
    tasks: Sequence[Task],
    *,
    successors: bool,
    threshold: str | None,
    grid: Mapping[str, Sequence[Any]] | None,
    replacements: Sequence[str] | None,
) -> Learner:
    """Return today's model: used as it is, if it is fitted and has a successor, or trained."""
    if is_shipped(model, successors):
        from changeproof.models.find import shipped_learner

        task = _only(tasks, "today's model")
        return shipped_learner(model, task, grid, replacements, threshold)
    found = find_learner(model) if isinstance(model, str) else as_learner(model)
    rows = max((len(task.split.train) for task in tasks), default=0)
    varied = with_alternatives(found, grid, replacements).sized(rows)
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
    if not given or any(isinstance(each, str) and MARK in each for each in given.values()):
        return Successors(records=given or {})
    from changeproof.changes.successors import read_successors

    letters = {n: m.table for n, m in methods.items() if isinstance(m, GivenCounterfactuals)}
    return read_successors(given, _only(tasks, "successors"), letters, threshold, id_column)


def with_successors(run: ResolvedRun) -> ResolvedRun:
    """Return the run without what cannot be put to its successors, with the reasons."""
    family = run.families.get(SUCCESSOR)
    if not isinstance(family, Successors) or family.models is None:
        return run
    if reason := family.only_letters:
        others = [name for name in run.methods if name not in run.plan.counterfactuals]
        run = run.without(dict.fromkeys(others, reason))
        run = run.without_limit(reason) if run.plan.limit else run
    if run.renewer is None:
        return run
    task = _only(list(run.tasks.values()), "successors")
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
        raise InputError(f"{what}: a fitted model belongs to one dataset; got {names}")
    return tasks[0]
