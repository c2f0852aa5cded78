"""Mean, spread and interval over base models, the units of replication."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.randomness import stream

DRAWS = 10_000
LEVEL = 0.95


class Summary(NamedTuple):
    """A metric over base models; undefined (NaN) ones are left out and not counted."""

    mean: float
    std: float
    low: float
    high: float
    base_models: int


def summarise(values: npt.ArrayLike, *, draws: int = DRAWS, level: float = LEVEL) -> Summary:
    """Return mean, sample standard deviation and bootstrap interval of the mean.

    The interval resamples base models. With one base model there is no spread to speak of:
    standard deviation and interval are NaN.
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
    # Slow to import, and commands that only summarise need not wait for it.
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def known_at_best(trials: float) -> tuple[float, float]:
    """Return how much of a share so many trials can show at best: Wilson's bounds of all and none.

    Returns
    -------
    The lower end of the 95 % interval where all trials succeed, and the upper end where none does.
    """
    if trials == 0:
        return np.nan, np.nan
    square = NormalDist().inv_cdf((1.0 + LEVEL) / 2.0) ** 2
    return trials / (trials + square), square / (trials + square)
