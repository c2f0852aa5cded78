"""What came next: fitted models, or their scores of the letters, as people name or bring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from changeproof.adapters.scores import ScoreTable
from changeproof.changes.successor import MARK, Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.method import Method
from changeproof.model import Access, Model
from changeproof.models.decided import at_threshold
from changeproof.models.fixed import Fixed, FixedLearner, as_fixed, check_judges
from changeproof.models.learner import Learner
from changeproof.models.thresholds import Threshold
from changeproof.models.todays import FORMS, find_fixed

SCORES = "scores:"


@dataclass(frozen=True, eq=False)
class Successor:
    """A model that came after today's, or its scores of the letters, and where it decides."""

    source: Fixed | ScoreTable
    threshold: Threshold | None

    @property
    def record(self) -> str:
        """What plans say of it: where it is from, its threshold, and the hash of what it is."""
        at = "" if self.threshold is None else f"@{self.threshold}"
        return f"{self.source.reference}{at}{MARK}{self.source.mark[:12]}"

    @property
    def only_letters(self) -> str:
        """Why nothing but letters can be put to it; "" if anything can."""
        if not isinstance(self.source, ScoreTable):
            return ""
        return f"{self.source.name} is a table of scores, which is known on the letters only"

    def model(self, task: Task) -> Model:
        """Return it as a model."""
        return self.source.model(task, self.threshold)

    def learner(self, task: Task) -> Learner:
        """Return it as a learner, whose clones a method may train."""
        if isinstance(self.source, ScoreTable):
            raise InputError(self.only_letters)
        learner = FixedLearner(self.source, task, self.source.refits(task))
        return at_threshold(learner, self.threshold)

    def reason_against(self, method: Method, task: Task) -> str:
        """Return why a method cannot renew advice under it; "" if it can."""
        if isinstance(self.source, ScoreTable):
            return self.only_letters
        if method.needs > Access.PREDICTIONS:
            offered = f"a fitted model offers {Access.PREDICTIONS}"
            return f"{method.name} needs {method.needs} of a model; {offered}"
        if method.trains and self.source.refits(task) is None:
            return (
                f"{method.name} trains models of its own; {self.learner(task).traits.no_training}"
            )
        return ""


def read_successors(
    given: Mapping[str, Any],
    task: Task,
    letters: Mapping[str, pd.DataFrame],
    threshold: str | None = None,
    id_column: str | None = None,
) -> Successors:
    """Return the successors that people name or bring, checked on the task.

    Parameters
    ----------
    given
        By name: a reference ("python:module:name", "onnx:FILE", "scores:FILE", with @THRESHOLD
        behind it where the threshold is another), a fitted estimator, a function of a DataFrame, a
        DataFrame of scores, or one of these with a threshold.
    letters
        The tables of counterfactuals, as `read_counterfactuals` returns them, by name.
    threshold
        The threshold of those that have none of their own.
    id_column
        The column with the ids, where score tables have one.
    """
    models = {}
    for name, thing in given.items():
        source, own = _with_threshold(thing)
        at = own if own is not None else threshold
        if isinstance(source, str) and source.startswith(SCORES):
            source = ScoreTable.read(source.removeprefix(SCORES), name, id_column)
        elif isinstance(source, pd.DataFrame):
            source = ScoreTable.read(source, name, id_column)
        if isinstance(source, ScoreTable):
            source = source.of_letters(task, _the_letters(source, letters))
        else:
            source = _fixed(source)
        successor = Successor(source, None if at is None else Threshold.of(at))
        model = successor.model(task)
        if not isinstance(source, ScoreTable):
            check_judges(name, model, task)
        models[name] = successor
    return Successors.of(models)


def split_threshold(reference: str) -> tuple[str, str | None]:
    """Return a reference without the threshold behind it, and the threshold.

    >>> split_threshold("pickle:next.pkl@0.55")
    ('pickle:next.pkl', '0.55')
    """
    before, sign, after = reference.rpartition("@")
    if not sign:
        return reference, None
    try:
        Threshold.of(after)
    except InputError:
        if "." in after or "/" in after:  # a file or a folder with an @ in its name
            return reference, None
        raise
    return before, after


def _with_threshold(thing: Any) -> tuple[Any, str | None]:
    if isinstance(thing, tuple):
        source, threshold = thing
        return source, None if threshold is None else str(Threshold.of(threshold))
    return split_threshold(thing) if isinstance(thing, str) else (thing, None)


def _fixed(source: Any) -> Fixed:
    if not isinstance(source, str):
        return as_fixed(source)
    if source.partition(":")[0] not in ("pickle", "python", "onnx"):
        raise InputError(f"unknown successor {source!r}; expected {FORMS}, or scores:FILE")
    return find_fixed(source)


def _the_letters(scores: ScoreTable, letters: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    if len(letters) != 1:
        raise InputError(
            f"{scores.reference} has scores of letters; expected one table of counterfactuals that "
            f"they are about, and there {'is none' if not letters else f'are {len(letters)}'}"
        )
    (table,) = letters.values()
    return table
