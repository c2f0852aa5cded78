"""Which of the points that were tried is best, without asking all networks about all of them.

A point is worth its length and what it costs to miss the margin. Its length, and what a few
networks say, tell how little it can be worth. The most promising point of every person is asked
about first, and what it turns out to be worth may rule out the others. The result is as if all
networks had been asked about all points.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Floats, Integers


class Aim(NamedTuple):
    """The value to reach, by all networks but so many, and what it costs to miss it."""

    margin: float
    failures: int
    penalty: float


class Tried(NamedTuple):
    """Points [people, points, columns], how far they are, and what would be of use.

    The best point matters only if it is worth less than `enough` [people], and an accepted one
    only if it is nearer than the `limits`.
    """

    points: Floats
    far: Floats
    enough: Floats
    limits: Floats


class Chosen(NamedTuple):
    """Everybody's best point, its worth and scores, and the nearest accepted point; -1 for none.

    If no point is of use, the worth is too much to matter, or infinite.
    """

    best: Integers
    worths: Floats
    scores: Floats
    nearest: Integers


class Judged(Protocol):
    """What can be asked about points, all or a part of it."""

    def at_most(self, before: Floats, rows: Floats, failures: int) -> Floats:
        """Return what the values of rows can be at most.

        They are several rows per person, and `before` are the scores of where people are.
        """

    def fill(self, rows: Floats, places: Integers, scores: Floats) -> None:
        """Fill in the scores of the rows at some places."""

    def least(self, scores: Floats, failures: int) -> Floats:
        """Return the value of every line of scores."""


def choose(judged: Judged, before: Floats, tried: Tried, aim: Aim) -> Chosen:
    n_people, n_points, n_columns = tried.points.shape
    rows = tried.points.reshape(-1, n_columns)
    scores = np.empty((len(rows), before.shape[1]))
    highest = judged.at_most(before, rows, aim.failures).reshape(n_people, n_points)
    worths = tried.far + aim.penalty * np.maximum(aim.margin - highest, 0.0)
    asked = np.zeros(worths.shape, dtype=np.bool_)
    best, nearest = np.zeros(n_people, np.int64), np.full(n_people, -1)
    least_worth, reached = np.full(n_people, np.inf), tried.limits.copy()
    state = best, least_worth, nearest, reached
    promise = worths, highest, tried.far, tried.enough
    for _ in range(n_points):
        places = _most_promising(*promise, asked, least_worth, reached, aim.margin)
        if not len(places):
            break
        judged.fill(rows, places, scores)
        values = judged.least(scores[places], aim.failures)
        _compare(places, values, tried.far, asked, *state, aim.margin, aim.penalty)
    chosen = scores.reshape(n_people, n_points, -1)[np.arange(n_people), best]
    return Chosen(best, least_worth, chosen, nearest)


@compiled
def _most_promising(
    worths: Any,
    highest: Any,
    far: Any,
    enough: Any,
    asked: Any,
    least_worth: Any,
    reached: Any,
    margin: float,
) -> Any:
    """Return the places of the points to ask about next, at most one per person."""
    n_people, n_points = worths.shape
    places, n_places = np.empty(n_people, np.int64), 0
    for p in range(n_people):
        following, least = -1, np.inf
        for i in range(n_points):
            may_win = worths[p, i] < enough[p] and worths[p, i] <= least_worth[p]
            may_end = highest[p, i] >= margin and far[p, i] <= reached[p]
            if not asked[p, i] and (may_win or may_end) and worths[p, i] < least:
                following, least = i, worths[p, i]
        if following >= 0:
            places[n_places] = p * n_points + following
            n_places += 1
    return places[:n_places]


@compiled
def _compare(
    places: Any,
    values: Any,
    far: Any,
    asked: Any,
    best: Any,
    least_worth: Any,
    nearest: Any,
    reached: Any,
    margin: float,
    penalty: float,
) -> None:
    """Remember what is best and what is nearest; of equal points the first."""
    n_points = far.shape[1]
    for n in range(len(places)):
        p, i = places[n] // n_points, places[n] % n_points
        worth = far[p, i] + penalty * max(margin - values[n], 0.0)
        asked[p, i] = True
        if worth < least_worth[p] or (worth == least_worth[p] and i < best[p]):
            least_worth[p], best[p] = worth, i
        nearer = far[p, i] < reached[p] or (far[p, i] == reached[p] and i < nearest[p])
        if values[n] >= margin and nearer:
            reached[p], nearest[p] = far[p, i], i
