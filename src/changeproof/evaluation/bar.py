"""The bar: the share of changed models in which advice has to hold, and whether it surely does."""

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
    """Return whether advice holds in enough of the changed models that were tested."""
    return 100 * held >= LEAST_PERCENT * models > 0


@cache
def interval(held: int, models: int, trials: int | None = None) -> tuple[float, float]:
    """Return the 95 % interval of the share of changed models in which advice holds.

    It holds in `held` of `models`, of which `trials` are independent, where not all are: models of
    one future are not. Without any, the share may be anything.
    """
    independent = models if trials is None else trials
    if not models or not independent:
        return 0.0, 1.0
    return share_interval(round(held * independent / models), independent)


def standing(held: int, models: int, trials: int | None = None) -> Standing:
    low, high = interval(held, models, trials)
    if 100.0 * low >= LEAST_PERCENT:
        return Standing.ABOVE
    return Standing.BELOW if 100.0 * high < LEAST_PERCENT else Standing.UNDECIDED


@cache
def models_needed() -> int:
    """Return how many changed models it takes until advice can surely be above the bar."""
    return next(n for n in count(1) if 100.0 * share_interval(n, n)[0] >= LEAST_PERCENT)
