"""Intervals of a share or a mean, also from few people: for groups, people, life and the gate.

There are two kinds of interval.

*95 % intervals* (`share_interval`, `rate_interval`, `mean_interval`) cover the truth in about 95 %
of cases, also with few people: Student's t instead of the normal distribution, Wilson's form for
shares, and room for people of a kind that was not met. They decide, and they are what is shown.

*The paper's bootstrap over base models* (`summarise`) is what the published tables have. It covers
less than its level says: a mean of 2, 3, 5, 10, 25 base models in about 50, 73, 83, 90, 93 % of
cases, where values are normal (`tests/evaluation/test_uncertainty.py` counts). It decides nothing.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.datasets.grouping import SMALLEST_GROUP
from changeproof.randomness import stream

DRAWS = 10_000
LEVEL = 0.95
# Nothing is decided from fewer people than a group has to have to be shown.
FEWEST_PEOPLE = SMALLEST_GROUP
NEGLIGIBLE = 1e-9


class Summary(NamedTuple):
    """A metric over base models; undefined (NaN) ones are left out and not counted."""

    mean: float
    std: float
    low: float
    high: float
    base_models: int


def summarise(values: npt.ArrayLike, *, draws: int = DRAWS, level: float = LEVEL) -> Summary:
    """Return mean, sample standard deviation and the paper's bootstrap interval of the mean.

    The interval resamples base models, as the paper does. With few base models it is too narrow for
    its level: see above. With one base model there is no spread to speak of: standard deviation and
    interval are NaN.
    """
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    count = len(array)
    if count == 0:
        return Summary(np.nan, np.nan, np.nan, np.nan, 0)
    mean = float(array.mean())
    if count == 1:
        return Summary(mean, np.nan, np.nan, np.nan, 1)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(array[_resamples(count, draws)].mean(axis=1), [tail, 1.0 - tail])
    return Summary(mean, float(array.std(ddof=1)), float(low), float(high), count)


@cache
def _resamples(count: int, draws: int) -> npt.NDArray[np.int64]:
    """Return which base models each draw takes; every metric is resampled alike."""
    return stream("interval", count, draws).integers(0, count, (draws, count))


def share_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, as of changed models under which advice holds."""
    if trials == 0:
        return np.nan, np.nan
    # The digits of scipy.stats.binomtest, which takes longer to import than all of this to compute.
    from scipy.special import ndtri

    z = ndtri(0.5 + 0.5 * LEVEL)
    share, whole = successes / trials, 2 * (trials + z**2)
    centre = (2 * trials * share + z**2) / whole
    reach = z / whole * math.sqrt(4 * trials * share * (1 - share) + z**2)
    low = float(centre - reach) if successes else 0.0
    return low, float(centre + reach) if successes < trials else 1.0


class Value(NamedTuple):
    """A number with its 95 % interval; NaN where it is not known."""

    value: float
    low: float
    high: float


def student_reach(variance: float, units: int, level: float = LEVEL) -> float:
    """Return how far a mean may be off: Student's t times the standard deviation of the mean.

    Its `variance` was estimated from so many independent `units`. One unit shows no spread, so that
    the mean may be off by anything: infinite.
    """
    if units < 2:
        return math.inf
    return _student(units - 1, level) * math.sqrt(variance)


def mean_interval(mean: float, reach: float) -> tuple[float, float]:
    """Return the interval of a mean that is not negative; NaN if its spread is unknown."""
    if not math.isfinite(reach):
        return math.nan, math.nan
    return max(mean - reach, min(mean, 0.0)), mean + reach


def rate_interval(
    share: float, reach: float, people: int, level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of a share, or of a mean of shares: numbers from 0 to 1.

    It is the widest of three. Wilson's, with the spread that was found and Student's t instead of
    the normal distribution. Clopper and Pearson's for as many trials as have that spread (Korn and
    Graubard, 1998), which matters near 0 and 1. And one that leaves room for people whom nobody
    met: a share `_unmet` of people may be of another kind, for whom everything holds or nothing
    does. So 0 or 100 % of a few people is never certain.

    The `share` was found from so many `people`, and may be off by `reach` (`student_reach`). In a
    share `level` of cases, the interval covers the truth.
    """
    if people == 0 or not math.isfinite(share):
        return math.nan, math.nan
    other = _unmet(people, level)
    low, high = share * (1.0 - other), share + (1.0 - share) * other
    spread = share * (1.0 - share)
    if spread <= 0.0 or reach < NEGLIGIBLE:
        return low, high
    if not math.isfinite(reach):
        return 0.0, 1.0
    # Wilson's interval where z**2 / n is `ratio`.
    ratio = reach**2 / spread
    middle = (share + ratio / 2.0) / (1.0 + ratio)
    half = math.sqrt(ratio * (spread + ratio / 4.0)) / (1.0 + ratio)
    exact = _exact(share, _student(people - 1, level) ** 2 / ratio, level)
    lows, highs = (low, middle - half, exact[0]), (high, middle + half, exact[1])
    return max(min(lows), 0.0), min(max(highs), 1.0)


def _unmet(people: int, level: float) -> float:
    """Return how large a kind of people can be with none of them among so many, drawn by chance.

    Clopper and Pearson's bound for none of so many.
    """
    return float(1.0 - ((1.0 - level) / 2.0) ** (1.0 / people))


def _exact(share: float, trials: float, level: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval; the number of trials need not be whole."""
    from scipy.special import betaincinv

    held, failed, tail = share * trials, (1.0 - share) * trials, (1.0 - level) / 2.0
    low, high = betaincinv([held, held + 1.0], [failed + 1.0, failed], [tail, 1.0 - tail])
    return float(low), float(high)


@cache
def _student(degrees: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1.0 + level) / 2.0))
