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


class Calibrated(NamedTuple):
    """A margin, the share that it promises to hold, and how many people it was tried on."""

    margin: float
    promised: float
    people: int


def bounded_loss(losses: Floats) -> float:
    """Return the mean of losses (0 to 1) and of one more that is 1."""
    return (float(np.sum(losses)) + 1.0) / (len(losses) + 1.0)


def smallest_margin(
    grid: Sequence[float],
    losses: Callable[[float], Floats],
    people: int,
    target: float,
    guess: int = 0,
) -> Calibrated:
    """Return the smallest margin of a grid whose bounded loss is at most 1 - target.

    With too few people for the target, none of them may lose anything, and less is promised. If
    no margin suffices, that of the least loss is returned with what it promises.

    Parameters
    ----------
    grid
        Margins, from small to large.
    losses
        Tries a margin on everybody, and returns what each loses: from 0 to 1, and the less the
        larger the margin is.
    people
        How many there are.
    target
        The share that shall hold.
    guess
        Where in the grid to look first; it changes how many margins are tried, not the result.
    """
    allowed = max(1.0 - target, 1.0 / (people + 1.0)) + 1e-12

    @cache
    def bounded(place: int) -> float:
        return bounded_loss(losses(grid[place]))

    place = guess
    while bounded(place) > allowed and place + 1 < len(grid):
        place += 1
    while place > 0 and bounded(place) <= allowed and bounded(place - 1) <= allowed:
        place -= 1
    if bounded(place) > allowed:
        place = min(range(guess, len(grid)), key=bounded)
    return Calibrated(grid[place], 1.0 - bounded(place), people)


def lower_bounds(accepted: Integers, asked: int, confidence: float) -> Floats:
    """Return exact (Clopper-Pearson) lower bounds on the share that accepts."""
    some = np.maximum(accepted, 1)
    bounds = beta.ppf(1.0 - confidence, some, asked - some + 1)
    return np.where(accepted > 0, bounds, 0.0)
