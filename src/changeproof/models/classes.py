"""Models that give probabilities of classes: which are favourable, and what a model decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF, agreeing
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.model import Booleans, Floats
from changeproof.models.learner import FittedModel


class Answers(NamedTuple):
    """Scores [rows], or probabilities [rows, classes]; with the classes, or a label per row."""

    numbers: Floats
    classes: tuple[Any, ...] | None = None
    labels: npt.NDArray[Any] | None = None


Ask = Callable[[Floats], Answers]


def asked_model(name: str, ask: Ask, classes: Sequence[Any] | None, task: Task) -> FittedModel:
    """Return a model that is asked: for probabilities of classes or, without any, for scores."""
    if classes is None:
        return FittedModel(lambda rows: ask(rows).numbers, name, gives_scores=True)
    return ClassesModel(name, ask, classes, favourable_classes(name, classes, task))


class ClassesModel(FittedModel):
    """A model that gives probabilities of classes.

    At a threshold, the favourable ones at `places` count together. Without, its labels say what it
    decides or, if it gives none, the best favourable class is compared with the best other one.
    """

    def __init__(self, name: str, ask: Ask, classes: Sequence[Any], places: Sequence[int]) -> None:
        super().__init__(lambda rows: ask(rows).numbers[:, places].sum(axis=1), name)
        self.ask, self.places = ask, places
        self.wanted = [classes[place] for place in places]

    def probabilities(self, rows: Floats) -> Floats:
        return self._checked(self._numbers(self._decided, rows))

    def _decided(self, rows: Floats) -> Floats:
        shares, _, labels = self.ask(rows)
        found, leads = favourable_share(shares, self.places)
        return agreeing(found, leads >= 0.0 if labels is None else are_among(labels, self.wanted))


def favourable_classes(name: str, classes: Sequence[Any], task: Task) -> list[int]:
    """Return which of a model's classes are favourable: those of the data, or 1 of 0 and 1."""
    texts = [text_of(value) for value in classes]
    wanted = {text_of(value) for value in task.favourable_values}
    if (numbers := task.favourable_range) is not None:
        values = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(np.float64)
        found = np.flatnonzero(numbers.accepts(values)).tolist()
    else:
        found = [place for place, text in enumerate(texts) if text in wanted]
    if 0 < len(found) < len(texts):
        return found
    if texts in (["0", "1"], ["False", "True"]):
        return [1]
    expected = f"{', '.join(sorted(wanted))} and others, or 0 and 1" if wanted else "0 and 1"
    raise InputError(
        f"model {name} knows the outcomes {', '.join(texts)}; expected {expected}, to tell which "
        "is favourable"
    )


def favourable_share(shares: Floats, places: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the probability of the best favourable class against the best other one; its lead.

    `shares` are probabilities of classes [rows, classes]. The log odds of what is returned are the
    difference of the logarithms of the two. Of two classes, it is the probability as it is.
    """
    best, other = shares[:, places].max(axis=1), np.delete(shares, places, axis=1).max(axis=1)
    if shares.shape[1] == 2:
        return best, best - other
    together = best + other
    even = np.full_like(best, HALF)
    return np.divide(best, together, out=even, where=together > 0.0), best - other


def are_among(outcomes: npt.NDArray[Any], wanted: Sequence[Any]) -> Booleans:
    """Return which outcomes are wanted, compared by their texts."""
    texts = set(map(text_of, wanted))
    codes, different = pd.factorize(outcomes)
    return np.array([text_of(each) in texts for each in different], dtype=np.bool_)[codes]
