"""The bar: in which share of the changed models advice is to hold, and whether that is known."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from itertools import count

from changeproof.evaluation.uncertainty import share_interval

# Advice that holds in fewer of 100 changed models is not recommended.
LEAST_PERCENT = 95


class Standing(StrEnum):
    """Where advice stands: above the bar, below it, or too close to tell."""

    ABOVE = "above"
    BELOW = "below"
    UNDECIDED = "undecided"


def reaches(held: int, models: int) -> bool:
    """Say whether advice holds in enough of the changed models that were tested."""
    return 100 * held >= LEAST_PERCENT * models > 0


@cache
def interval(held: int, models: int, trials: int | None = None) -> tuple[float, float]:
    """Return the 95 % interval of the share of changed models in which advice holds.

    Parameters
    ----------
    held, models
        In how many of how many changed models it holds.
    trials
        How many of those are independent, where not all are: models of one future are not.

    Without any, the share may be anything.
    """
    independent = models if trials is None else trials
    if not models or not independent:
        return 0.0, 1.0
    return share_interval(round(held * independent / models), independent)


def standing(held: int, models: int, trials: int | None = None) -> Standing:
    """Return where advice stands, by its interval; as for `interval`."""
    low, high = interval(held, models, trials)
    if 100.0 * low >= LEAST_PERCENT:
        return Standing.ABOVE
    return Standing.BELOW if 100.0 * high < LEAST_PERCENT else Standing.UNDECIDED


@cache
def models_needed() -> int:
    """Return how many changed models it takes before any advice can be known to be above."""
    return next(n for n in count(1) if 100.0 * share_interval(n, n)[0] >= LEAST_PERCENT)
