"""Counterfactuals that methods start from, and the nearest points that satisfy what a method asks.

Points are found by quorum's search, by linear programmes. It takes whatever a model says of rows,
as long as that has slopes: its log odds, or what is left of them after something is taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from changeproof.methods.method import Context, Factuals, WarmUp
from changeproof.methods.quorum.points import Room, nearest_accepted_points, pulled
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.methods.wachter import Wachter
from changeproof.model import Booleans, DifferentiableModel, Floats, Integers

Base = Literal["nearest", "wachter"]
# Log odds are at least this far beyond what is asked for, so that no rounding turns a decision.
MARGIN = 1e-6

NONE_ACCEPTED = "no point that the base model accepts was found"
# The kernels of the search, the same for all methods that begin with it.
SEARCH_WARM_UP = WarmUp(seconds=3)

# Returns what is said of rows [rows, values] and its derivatives [rows, values, features].
ValuesAndSlopes = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class NotNegative:
    """Numbers that are said of a row, for the search of points where none is below nought."""

    values_and_slopes: ValuesAndSlopes

    def satisfied(self, rows: Floats) -> Booleans:
        return np.asarray(self.least(self.scores(rows)) >= 0.0)

    def scores(self, rows: Floats) -> Floats:
        return self.values_and_slopes(rows)[0]

    def least(self, scores: Floats, failures: int = 0) -> Floats:
        return np.asarray(scores.min(axis=1))

    def linear(
        self, rows: Floats, scores: Floats, margin: float, failures: int
    ) -> tuple[Floats, Floats]:
        return self.values_and_slopes(rows)

    def at_most(self, before: Floats, rows: Floats, failures: int) -> Floats:
        return np.full(len(rows), np.inf)

    def fill(self, rows: Floats, places: Integers, scores: Floats) -> None:
        scores[places] = self.scores(rows[places])


def nearest_points(
    values_and_slopes: ValuesAndSlopes, context: Context, factuals: Floats
) -> Floats:
    """Return the nearest points found where no value is below nought; NaN where there is none.

    One search begins with the people, one with the nearest training row that will do, pulled
    towards them; the nearer of both answers counts.
    """
    asked, task = NotNegative(values_and_slopes), context.task
    low, high = task.training_range
    room = Room(task.distance_weights, np.minimum(low, factuals), np.maximum(high, factuals))
    rows = task.rows("train")
    rows = rows[asked.satisfied(rows)]
    starts = [factuals]
    if len(rows):
        nearest = nearest_rows(factuals * room.weights, rows * room.weights, 1).places[:, 0]
        starts.append(pulled(factuals, rows[nearest], asked.satisfied))
    found = [nearest_accepted_points(asked, factuals, start, room, margin=0.0) for start in starts]
    best = found[0].rows
    for other in found[1:]:
        nearer = other.lengths < found[0].lengths
        best[nearer] = other.rows[nearer]
    return best


def first_counterfactuals(base: Base, context: Context, factuals: Factuals) -> Floats:
    """Return where a method with gradients starts; NaN where there is nothing to start from.

    "nearest" is the point of the least distance that the search finds inside the training range,
    "wachter" what that method answers with its published settings.
    """
    model = context.model
    assert isinstance(model, DifferentiableModel)
    if base == "wachter":
        return Wachter().fit(replace(context, actions=None))._search(factuals).rows

    def left(rows: Floats) -> tuple[Floats, Floats]:
        logits, slopes = model.logits_and_gradients(rows)
        return logits[:, None] - MARGIN, slopes[:, None]

    return nearest_points(left, context, factuals.rows)
