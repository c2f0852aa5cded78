"""The smallest margin with which advice fails seldom enough, in the way of conformal risk control.

A margin is tried on people who are none of those that will ask. What is lost on each of them, and
1 for the one who asks next, must not be more on average than what is allowed. If these people and
the next are exchangeable, and a larger margin never loses more, then the next person loses no more
than that in expectation (Angelopoulos, Bates, Fisch, Lei and Schuster, 2022). Whether both are so
is up to the caller. Where they are not, what is returned is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from changeproof.arithmetic.functions import log
from changeproof.model import Floats

# People are tried in turns, so that a margin that fails is known to fail early.
PEOPLE_AT_ONCE = 64
# How much larger a margin mostly is for a tenth of the risk.
DIGIT = 0.45
LOG_TEN = 2.302585092994046
TURNS_OF_INTERPOLATION = 4
LEAST_RISK = 1e-9


class Calibrated(NamedTuple):
    """A margin, the share that is estimated to accept, and how many people it was tried on."""

    margin: float
    estimate: float
    people: int


class Tried(NamedTuple):
    """Whether a margin suffices, its bounded loss, and its risk as a multiple of what is allowed.

    People who were not tried count in the risk like those before, and in the loss as nothing.
    """

    suffices: bool
    bounded: float
    risk: float


def smallest_margin(
    grid: Sequence[float],
    losses: Callable[[float, slice], tuple[Floats, Floats]],
    people: int,
    target: float,
    guess: int = 0,
) -> Calibrated:
    """Return a margin of a grid that just suffices: its bounded loss is at most 1 - target.

    The bounded loss of the next smaller margin is more. With too few people for any margin to
    suffice, whatever they lose, what they are expected to lose has to be at most 1 - target on
    average, and the estimate is below the target. If no margin suffices, the one of the least loss
    is returned, of every eighth; without anybody, the guess, with an estimate of 0.

    Parameters
    ----------
    grid
        Margins, from small to large.
    losses
        Tries a margin on some of the people. Returns what each loses, from 0 to 1, and what each
        may be expected to lose, judged by how narrowly models accept.
    people, target
        How many people there are, and the share of models that shall accept.
    guess
        Where in the grid to look first. If a larger margin never loses more, it changes how many
        margins are tried, and not the result. Otherwise several margins may qualify, and the
        guess decides which of them is found.
    """
    if people == 0:
        return Calibrated(grid[guess], 0.0, 0)
    allowed = 1.0 - target
    enough_people = 1.0 / (people + 1.0) <= allowed

    @cache
    def tried(place: int, to_the_end: bool = False) -> Tried:
        lost = expected = 0.0
        for first in range(0, people, PEOPLE_AT_ONCE):
            some = losses(grid[place], slice(first, first + PEOPLE_AT_ONCE))
            lost += float(some[0].sum())
            expected += float(some[1].sum())
            bounded = (lost + 1.0) / (people + 1.0)
            suffices = (bounded if enough_people else expected / people) <= allowed
            if not suffices and not to_the_end:
                break
        seen = min(first + PEOPLE_AT_ONCE, people)
        likely = (lost / seen * people + 1.0) / (people + 1.0) if enough_people else expected / seen
        return Tried(suffices, bounded, max(likely / allowed, LEAST_RISK))

    low, high, place = -1, len(grid), guess
    for turn in count():
        low, high = (low, place) if tried(place).suffices else (place, high)
        if high - low <= 1:
            break
        between = (low + high) // 2
        if turn < TURNS_OF_INTERPOLATION:
            between = _interpolated(grid, tried, low, high, turn)
        place = min(max(between, low + 1), high - 1)
    if high == len(grid):
        high = min(range(0, len(grid), 8), key=lambda other: tried(other, True).bounded)
        return Calibrated(grid[high], 1.0 - tried(high, True).bounded, people)
    return Calibrated(grid[high], 1.0 - tried(high).bounded, people)


def _interpolated(
    grid: Sequence[float], tried: Callable[[int], Tried], low: int, high: int, turn: int
) -> int:
    """Return where the risk is what is allowed, if its logarithm falls evenly with the margin.

    As long as only one side is known, steps double from turn to turn.
    """
    if low >= 0 and high < len(grid):
        lack, excess = log(tried(low).risk), -log(tried(high).risk)
        margin = grid[low] + (grid[high] - grid[low]) * lack / (lack + excess + LEAST_RISK)
    else:
        known = low if low >= 0 else high
        margin = grid[known] + 2.0**turn * DIGIT * log(tried(known).risk) / LOG_TEN
    return int(np.searchsorted(grid, margin))
