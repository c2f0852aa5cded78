"""Models that are asked, and answer with scores or with probabilities of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import agreeing
from changeproof.model import Floats
from changeproof.models.classes import are_among, favourable_classes, favourable_share
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
