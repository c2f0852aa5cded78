"""The smallest threshold with which advice fails seldom enough, by conformal risk control.

A pool accepts a row from a threshold on: a larger one is more careful, and sends people farther.
Thresholds of a short list are tried from the largest down, on people who are none of those that
will ask. What a person loses with a threshold is the share of judges who refuse the advice. It
counts as the most that the person loses with this threshold or a larger one of the list. So what is
counted never falls on the way down, even where a larger threshold does lose more. The smallest
threshold is taken with which

    (what n people lose + 1) / (n + 1) <= 1 - target.

The 1 is the next person, who may lose everything. If that person and the n are exchangeable, and
nothing but the threshold was chosen by a look at them, then the next person is expected to lose no
more than 1 - target (Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal risk control", 2022,
with the losses made monotone in their way). If even the largest threshold loses too much, nothing
is promised.

People whom the base model was fitted to are not exchangeable with those who ask. Where there are
too few others for the rule above, the n others must lose no more than (n + 1) (1 - target)
together. By the same theorem, at another level, that promises target - 1 / (n + 1). The target is
then an estimate: fitted people are added, and `caution` times what all together lose on average
must be no more than 1 - target. With a caution of 2, that is what just enough people might lose by
the rule above; with 1, what everybody may lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from changeproof.model import Floats

# Tries a threshold on some of the people. Returns what each loses, from 0 to 1, and what each may
# be expected to lose, judged by how narrowly models accept.
Losses = Callable[[float, slice], tuple[Floats, Floats]]

# People are tried in turns, so that a threshold that fails is known to fail early.
PEOPLE_AT_ONCE = 64
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


def people_needed(target: float, taken: float = 0.0) -> float:
    """Return how many people are enough whom the base model was not fitted to.

    Something else may have `taken` a part of what they may lose on average.
    """
    left = 1.0 - target - ENOUGH * taken
    return math.ceil(ENOUGH / left - ROUNDING) - 1 if left > 0.0 else math.inf


def smallest_threshold(
    thresholds: Sequence[float],
    losses: Losses,
    people: int,
    unfitted: int,
    target: float,
    taken: float = 0.0,
    caution: float = ENOUGH,
) -> Calibrated:
    """Return the smallest threshold that suffices, as all larger ones do.

    If none does, the largest is returned. With too few people for one of them to lose everything,
    they must be expected to lose at most 1 - target on average.

    Parameters
    ----------
    thresholds
        From large to small. Each that is tried costs advice for all people, so a dozen will do.
    losses
        What people lose, those first whom the base model was not fitted to. What a person loses
        must not depend on who is tried together.
    people, unfitted
        How many people there are, and how many of them the base model was not fitted to.
    target
        The share of models that shall accept.
    taken
        What is not left of what people may lose, when it is asked whether they are enough.
    caution
        So many times what people lose on average has to be allowed, where too few are unfitted.
    """
    if not people:
        return Calibrated(thresholds[0], math.nan, 0.0, 0, 0)
    rule = _Rule(target, people, unfitted, taken, caution)
    lost, expected = np.zeros((2, people))
    best: Calibrated | None = None
    for threshold in thresholds:
        for first in range(0, people, PEOPLE_AT_ONCE):
            some = slice(first, min(first + PEOPLE_AT_ONCE, people))
            now, likely = losses(threshold, some)
            lost[some] = np.maximum(lost[some], now)
            expected[some] = np.maximum(expected[some], likely)
            # Those who are still to come will have lost no less.
            if best is not None and not rule.suffices(lost, expected):
                return best
        promised = rule.promised if rule.proven(lost) else math.nan
        found = Calibrated(threshold, promised, 1.0 - rule.bounded(lost), people, unfitted)
        if not rule.suffices(lost, expected):
            return found
        best = found
    assert best is not None
    return best


@dataclass(frozen=True)
class _Rule:
    """What people may lose, if the unfitted come first."""

    target: float
    people: int
    unfitted: int
    taken: float
    caution: float

    @property
    def enough(self) -> bool:
        return self.unfitted >= people_needed(self.target, self.taken)

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

    def proven(self, lost: Floats) -> bool:
        if not self.unfitted:
            return False
        known = float(lost[: self.unfitted].sum()) + self.enough
        return known / (self.unfitted + 1.0) <= self.allowed

    def suffices(self, lost: Floats, expected: Floats) -> bool:
        if self.enough or (self.unfitted and not self.proven(lost)):
            return self.proven(lost)
        if self.countable:
            return min(self.caution * float(lost.mean()), self.bounded(lost)) <= self.allowed
        return float(expected.mean()) <= self.allowed

    def bounded(self, lost: Floats) -> float:
        return (float(lost.sum()) + 1.0) / (self.people + 1.0)
