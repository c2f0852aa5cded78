"""The smallest threshold with which advice fails seldom enough, by conformal risk control.

A pool accepts a row from a threshold on: a larger one is more careful, and sends people farther.
Thresholds of a short list are tried from the largest down, on people who are none of those that
will ask. What a person loses with a threshold is the share of judges who refuse the advice. It
counts as the most that the person loses with this threshold or a larger one of the list. So what is
counted never falls on the way down, even where a larger threshold does lose more. The smallest
threshold is taken with which

    (what n people lose + 1) / (n + 1) <= 1 - target.

The 1 is the next person, who may lose everything. If that person and the n are exchangeable, and
the list was fixed before they were looked at, then the next person is expected to lose no more than
1 - target (Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal risk control", 2022, with the
losses made monotone in their way). If even the largest threshold loses too much, nothing is
promised.

People whom the base model was fitted to are not exchangeable with those who ask. They choose the
list: its thresholds lie close together where these people lose as much as is allowed. Where there
are too few others for the rule above, the n others must lose no more than (n + 1) (1 - target)
together. By the same theorem, at another level, that promises target - 1 / (n + 1). The rule above
then takes in everybody, as an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from changeproof.model import Floats

# Tries a threshold on some of the people. Returns what each loses, from 0 to 1, and what each may
# be expected to lose, judged by how narrowly models accept.
Losses = Callable[[float, slice], tuple[Floats, Floats]]
Tried = Callable[[float, int, int], tuple[Floats, Floats]]

# People are tried in turns, so that a threshold that fails is known to fail early.
PEOPLE_AT_ONCE = 64
# How many of the people whom the base model was fitted to choose the list of thresholds.
CHOOSING = 128
# With so many times the people that a target needs at least, the next one, who may lose everything,
# takes half of what is allowed. With fewer, people would be sent far for the sake of that one.
ENOUGH = 2.0
ROUNDING = 1e-9


class Calibrated(NamedTuple):
    """A threshold, and what is known of advice with it.

    `promised` is a share of judges: in expectation at least so many accept the next person's
    advice; NaN where nothing is proven. `estimate` is the share that accepts the advice of the
    people it was tried on, with one more whom all refuse. To `unfitted` of these `people` the base
    model was not fitted.
    """

    threshold: float
    promised: float
    estimate: float
    people: int
    unfitted: int


class Counts(NamedTuple):
    """How many people there are to try thresholds on, those first whom the base model did not fit.

    The last `fitted` are people whom it was fitted to. Of all, the first `counted` take part in the
    rule; fitted people choose the list in any case.
    """

    unfitted: int
    fitted: int
    counted: int

    @classmethod
    def of(cls, unfitted: int, fitted: int, most: int, target: float) -> Counts:
        """Count no fitted people if the others are enough; otherwise fill up to the most."""
        enough = unfitted >= people_needed(target)
        return cls(unfitted, fitted, unfitted if enough else min(unfitted + fitted, most))


def people_needed(target: float) -> int:
    """Return how many people are enough whom the base model was not fitted to."""
    return math.ceil(ENOUGH / (1.0 - target) - ROUNDING) - 1


def smallest_threshold(
    grid: Sequence[float], losses: Losses, counts: Counts, target: float
) -> Calibrated:
    """Return the smallest threshold that suffices, of those that are tried.

    If none does, the largest of the grid is returned. With too few people for one of them to lose
    everything, they must be expected to lose at most 1 - target on average.

    Parameters
    ----------
    grid
        Thresholds, from small to large.
    losses
        What people lose. What a person loses must not depend on who is tried together.
    counts
        How many people there are.
    target
        The share of models that shall accept.
    """
    rule = _Rule(target, counts.unfitted, counts.counted)
    if not rule.people:
        return Calibrated(grid[-1], math.nan, 0.0, 0, 0)

    @cache
    def tried(threshold: float, first: int, last: int) -> tuple[Floats, Floats]:
        return losses(threshold, slice(first, last))

    blocks = _blocks(0, counts.unfitted) + _blocks(counts.unfitted, counts.counted)
    last = counts.unfitted + min(counts.fitted, CHOOSING)
    choosing = _blocks(counts.unfitted, last)
    lost, expected = np.zeros((2, rule.people))
    best: Calibrated | None = None
    for threshold in _list_around(grid, _located(grid, tried, choosing, rule)):
        for first, last in blocks:
            now, likely = tried(threshold, first, last)
            lost[first:last] = np.maximum(lost[first:last], now)
            expected[first:last] = np.maximum(expected[first:last], likely)
            # Those who are still to come will have lost no less.
            if best is not None and not rule.suffices(lost, expected):
                return best
        promised = rule.promised if rule.proven(lost) else math.nan
        found = Calibrated(
            threshold, promised, 1.0 - rule.bounded(lost), rule.people, rule.unfitted
        )
        if not rule.suffices(lost, expected):
            return found
        best = found
    assert best is not None
    return best


@dataclass(frozen=True)
class _Rule:
    """What people may lose, if the unfitted come first."""

    target: float
    unfitted: int
    people: int

    @property
    def enough(self) -> bool:
        return self.unfitted >= people_needed(self.target)

    @property
    def allowed(self) -> float:
        return 1.0 - self.target

    @property
    def countable(self) -> bool:
        """Whether one of the people may lose everything."""
        return (self.people + 1.0) * self.allowed >= 1.0

    @property
    def promised(self) -> float:
        return self.target if self.enough else self.target - 1.0 / (self.unfitted + 1.0)

    @property
    def room(self) -> float:
        """What people may lose or be expected to lose on average, for the rule to suffice."""
        return (self.people + 1.0) / self.people * self.allowed - self.countable / self.people

    def proven(self, lost: Floats) -> bool:
        if not self.unfitted:
            return False
        known = float(lost[: self.unfitted].sum()) + self.enough
        return known / (self.unfitted + 1.0) <= self.allowed

    def suffices(self, lost: Floats, expected: Floats) -> bool:
        if self.enough or (self.unfitted and not self.proven(lost)):
            return self.proven(lost)
        if self.countable:
            return self.bounded(lost) <= self.allowed
        return float(expected.mean()) <= self.allowed

    def bounded(self, lost: Floats) -> float:
        return (float(lost.sum()) + 1.0) / (self.people + 1.0)


def _blocks(first: int, last: int) -> list[tuple[int, int]]:
    starts = range(first, last, PEOPLE_AT_ONCE)
    return [(start, min(start + PEOPLE_AT_ONCE, last)) for start in starts]


def _located(
    grid: Sequence[float], tried: Tried, choosing: list[tuple[int, int]], rule: _Rule
) -> int:
    """Return where in the grid some people lose about as much as is allowed, by halving."""
    count = sum(last - first for first, last in choosing)

    def suffices(place: int) -> bool:
        total = 0.0
        for first, last in choosing:
            total += float(tried(grid[place], first, last)[0 if rule.countable else 1].sum())
            if not total <= rule.room * count:
                return False
        return True

    low, high = -1, len(grid) - 1
    while choosing and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high if choosing else 0


def _list_around(grid: Sequence[float], place: int) -> list[float]:
    """Return thresholds from large to small: the largest, and by doubled steps around a place."""
    steps = [2**power for power in range(len(grid).bit_length())]
    above = {place + step for step in steps if step <= len(grid) // 4}
    below = {place - step for step in steps}
    places = {place, *above, *below, 0, len(grid) - 1} & set(range(len(grid)))
    return [grid[each] for each in sorted(places, reverse=True)]
