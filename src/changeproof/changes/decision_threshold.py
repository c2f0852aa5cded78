"""Another threshold, with the same model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from changeproof.changes.family import BaseModel, Family, Label, Several, Variant, either
from changeproof.datasets.task import Task
from changeproof.models.altered import MovedThreshold, adjusted
from changeproof.models.learner import Learner

POINTS = (2, 5)


def _thresholds(points: Sequence[float]) -> list[float]:
    return [(50 + side * each) / 100 for each in points for side in (-1, 1)]


def _summary(points: Sequence[float]) -> str:
    return f"the same model with a threshold of {either(_thresholds(points))} instead of 0.5"


class DecisionThreshold(Family):
    """Move the threshold: the favourable side begins at another probability than 0.5.

    Parameters
    ----------
    points
        By how many percentage points the threshold is moved, in both directions.
    """

    name = "decision-threshold"
    label = Label("Decision threshold", "thresh", "Decision threshold")
    summary = _summary(POINTS)
    source = "changeproof, docs/beyond.md"
    trains = False

    def __init__(self, *, points: Several[Annotated[float, Field(gt=0, lt=50)]] = POINTS) -> None:
        self.points = tuple(points)
        self.summary = _summary(self.points)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Move the threshold down and up by each number of points."""
        return [
            Variant(f"{threshold:g}", 0, adjusted(base.model, MovedThreshold(threshold)))
            for threshold in _thresholds(self.points)
        ]
