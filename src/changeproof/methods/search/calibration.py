"""The smallest margin with which advice fails seldom enough, by conformal risk control.

A margin is tried on people who are none of those that will ask. What is lost on each of them, and
1 for the one who asks next, must not be more on average than what is allowed. If people are
exchangeable, and a larger margin never loses more, then the next person loses no more than that in
expectation (Angelopoulos, Bates, Fisch, Lei and Schuster, 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from changeproof.model import Floats, Integers

# People are tried in turns, so that a margin that fails is known to fail early.
PEOPLE_AT_ONCE = 64


class Losses(NamedTuple):
    """What people lose, from 0 to 1, and what they may be expected to, judged by how narrowly."""

    lost: Floats
    expected: Floats


class Calibrated(NamedTuple):
    """A margin, the share that it promises to hold, and how many people it was tried on."""

    margin: float
    promised: float
    people: int


def smallest_margin(
    grid: Sequence[float],
    losses: Callable[[float, slice], Losses],
    people: int,
    target: float,
    guess: int = 0,
) -> Calibrated:
    """Return the smallest margin of a grid whose bounded loss is at most 1 - target.

    With too few people for that, whatever they lose, what they are expected to lose has to be at
    most 1 - target on average, and less is promised. If no margin suffices, that of the least
    loss is returned with what it promises. Without anybody, the guess is, and nothing is promised.

    Parameters
    ----------
    grid
        Margins, from small to large.
    losses
        Tries a margin on some of the people, and returns what each loses.
    people
        How many there are.
    target
        The share that shall hold.
    guess
        Where in the grid to look first; it changes how many margins are tried, not the result.
    """
    if people == 0:
        return Calibrated(grid[guess], 0.0, 0)
    enough_people = 1.0 / (people + 1.0) <= 1.0 - target

    @cache
    def tried(place: int, to_the_end: bool = False) -> tuple[bool, float]:
        """Return whether a margin suffices, and its bounded loss as far as it was tried."""
        lost, expected = 1.0, 0.0
        for first in range(0, people, PEOPLE_AT_ONCE):
            found = losses(grid[place], slice(first, first + PEOPLE_AT_ONCE))
            lost += float(found.lost.sum())
            expected += float(found.expected.sum())
            risk = lost / (people + 1.0) if enough_people else expected / people
            if risk > 1.0 - target and not to_the_end:
                return False, lost / (people + 1.0)
        return risk <= 1.0 - target, lost / (people + 1.0)

    # Near the guess at first, then farther and farther away, and by halves when it is surrounded.
    low, high, place, step = 0, len(grid), guess, 1
    while low < high:
        if tried(place)[0]:
            high, following = place, place - step
        else:
            low, following = place + 1, place + step
        place = following if low <= following < high else (low + high) // 2
        step *= 2
    if low == len(grid):
        low = min(range(len(grid)), key=lambda other: tried(other, True)[1])
        return Calibrated(grid[low], 1.0 - tried(low, True)[1], people)
    return Calibrated(grid[low], 1.0 - tried(low)[1], people)


def lower_bounds(accepted: Integers, asked: int, confidence: float) -> Floats:
    """Return exact (Clopper-Pearson) lower bounds on the share that accepts."""
    some = np.maximum(accepted, 1)
    bounds = beta.ppf(1.0 - confidence, some, asked - some + 1)
    return np.where(accepted > 0, bounds, 0.0)
