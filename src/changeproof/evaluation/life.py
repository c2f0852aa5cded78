"""The life of advice: through how many updates it holds, one after the other.

Advice lives until the first update at which it does not hold. If it holds to the end, its life is
censored there. Only advice that the base model accepts has a life.

Curves are Kaplan and Meier's. With one base model, intervals are over people and futures at once:
both are samples, and answers that share a person or a future are not independent. So the variance
is that of people as clusters, plus that of futures as clusters, less that of single answers, which
both contain (Cameron, Gelbach and Miller, 2011). A bootstrap over both would count single answers
three times. With several base models, these are the units. All intervals are those of
`evaluation.uncertainty`: few people leave room for others, whom nobody met, so that 0 or 100 % is
never certain. With one future, an interval is over people alone: it says nothing of other futures.

A lender tests an update before it is deployed. One that loses more than `MOST_LOST` of the base
model's balanced accuracy is not: the model before it stays, and no advice breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from changeproof.evaluation.uncertainty import Value, rate_interval, student_reach
from changeproof.model import Booleans, Floats, Integers

MEDIAN, FEW = 0.5, 0.95
MOST_LOST, ROUNDING = 0.05, 1e-9


def deployed(accuracies: Floats, base: float) -> Booleans:
    """Return which updates are deployed, by their balanced accuracy and that of the base model.

    One whose accuracy is not known (NaN) is.
    """
    return np.asarray(~(base - accuracies > MOST_LOST + ROUNDING))


class Lives(NamedTuple):
    """What became of valid advice under the updates of a sequence, for one base model.

    `holds` is [people, futures, updates]; a future has its first `lengths` updates.
    """

    holds: Booleans
    lengths: Integers

    @classmethod
    def of(cls, survived: Booleans, replicates: Sequence[int]) -> Self:
        """Return the lives of people's advice, given what held under which model [people, models].

        `replicates` has the future of each model; those of one future are in the order of updates.
        """
        future, which = np.unique(np.asarray(replicates), return_inverse=True)
        number = pd.Series(which).groupby(which).cumcount().to_numpy()
        lengths = np.bincount(which, minlength=len(future))
        holds = np.zeros((len(survived), len(future), lengths.max(initial=0)), np.bool_)
        holds[:, which, number] = survived
        return cls(holds, lengths)

    @property
    def there(self) -> Booleans:
        """Which futures have which updates [futures, updates]."""
        return np.asarray(np.arange(self.holds.shape[2]) < self.lengths[:, None])

    @property
    def held_through(self) -> Integers:
        """How many updates advice held through before the first that broke it."""
        return np.asarray(np.logical_and.accumulate(self.holds, axis=2).sum(axis=2))

    @property
    def broken(self) -> Booleans:
        """Which advice was broken [people, futures]; other lives are censored."""
        return self.held_through < self.lengths


class Curve(NamedTuple):
    """A share at every update, with its interval."""

    mean: Floats
    low: Floats
    high: Floats

    def at(self, place: int) -> Value:
        return Value(*(float(part[place]) for part in self))

    def first_at_most(self, share: float) -> Value:
        """Return the first update by which at most a share is left; infinite if more is.

        Its interval is where that of the curve crosses the share.
        """
        return Value(*(_first(values, share) for values in self))


class Life(NamedTuple):
    """How long advice lasts, for so many people with valid advice and so many futures.

    `held_so_far` is the share that held through every update so far (Kaplan and Meier), `holds` the
    share that holds at each update, whatever happened before. The `hazard` is the share of advice
    that held so far and that an update breaks, over all updates.
    """

    held_so_far: Curve
    holds: Curve
    hazard: Value
    people: int
    futures: int

    @property
    def few_broken_by(self) -> Value:
        """The update by which 5 % are broken; infinite if it is beyond the last."""
        return self.held_so_far.first_at_most(FEW)

    @property
    def median(self) -> Value:
        """How many updates half of the advice holds through; infinite if more holds to the end."""
        return Value(*(number - 1.0 for number in self.held_so_far.first_at_most(MEDIAN)))


def life_of(groups: Sequence[Lives]) -> Life:
    """Return how long advice lasts, given the lives under each base model."""
    people = sum(len(lives.holds) for lives in groups)
    futures = sum(len(lives.lengths) for lives in groups)
    length = max(lives.holds.shape[2] for lives in groups)
    each = [_curves(lives) for lives in groups if len(lives.holds)]
    if not each:
        held, holds, hazard = (Curve(*np.full((3, size), np.nan)) for size in (length, length, 1))
    elif len(each) == 1:
        held, holds, hazard = each[0]
    else:
        # The same people may ask several base models.
        asked = people // len(each)
        held, holds, hazard = (
            _over_base_models([curve.mean for curve in curves], asked)
            for curves in zip(*each, strict=True)
        )
    return Life(held, holds, hazard.at(0), people, futures)


def _over_base_models(curves: Sequence[Floats], people: int) -> Curve:
    values = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(values, curves, strict=True):
        row[: len(curve)] = curve
    found = []
    for column in values.T:
        there = column[np.isfinite(column)]
        variance = float(there.var(ddof=1)) / len(there) if len(there) > 1 else 0.0
        found.append((there.mean(), student_reach(variance, len(there))))
    means, reaches = np.array(found).T
    return _curve(means, reaches, people)


def _curves(lives: Lives) -> tuple[Curve, Curve, Curve]:
    """Return what held so far, what holds, and the hazard (of length 1) under one base model."""
    held, at_risk, breaks = _kaplan_meier(lives)
    total, number = at_risk.sum(axis=(0, 1)), breaks.sum(axis=(0, 1))
    rates = number / np.maximum(total, 1)
    safe = np.where(rates < 1.0, (1.0 - rates) * np.maximum(total, 1), np.inf)
    influence = -held * np.cumsum((breaks - at_risk * rates) / safe, axis=2)
    rate = number.sum() / total.sum()
    of_rate = (breaks.sum(axis=2) - rate * at_risk.sum(axis=2)) / total.sum()
    present = np.broadcast_to(lives.there, lives.holds.shape)
    each = present.sum(axis=(0, 1))
    share = (lives.holds & present).sum(axis=(0, 1)) / each
    of_share = np.where(present, lives.holds - share, 0.0) / each
    return (
        _with_interval(held, influence),
        _with_interval(share, of_share),
        _with_interval(np.array([rate]), of_rate[:, :, None]),
    )


def _kaplan_meier(lives: Lives) -> tuple[Floats, Booleans, Booleans]:
    """Return the curve, who was at risk at each update and who was broken by it."""
    # Slow to import, and commands that only summarise need not wait for it.
    from scipy.stats import CensoredData, ecdf

    numbers = np.arange(1, lives.holds.shape[2] + 1)
    broken = lives.broken
    # The update that broke it, or the last that it was seen to hold through.
    until = np.where(broken, lives.held_through + 1, lives.lengths)
    data = CensoredData(uncensored=until[broken], right=until[~broken])
    held = np.asarray(ecdf(data).sf.evaluate(numbers))
    at_risk = until[:, :, None] >= numbers
    breaks = broken[:, :, None] & (until[:, :, None] == numbers)
    return held, at_risk, breaks


def _with_interval(shares: Floats, influence: Floats) -> Curve:
    """Return shares with intervals, from what single answers [people, futures, …] add to them."""
    sizes = influence.shape[:2]
    single = (influence**2).sum(axis=(0, 1))
    clustered = [
        size / (size - 1) * (influence.sum(axis=1 - axis) ** 2).sum(axis=0)
        for axis, size in enumerate(sizes)
        if size > 1
    ]
    both = sum(clustered) - single if len(clustered) == 2 else sum(clustered)
    variances = np.maximum(both, single)
    # One person says nothing of others; one future may be all there is.
    units = min(sizes) if sizes[1] > 1 else sizes[0]
    reaches = np.array([student_reach(float(variance), units) for variance in variances])
    return _curve(shares, reaches, sizes[0])


def _curve(shares: Floats, reaches: Floats, people: int) -> Curve:
    pairs = zip(shares, reaches, strict=True)
    ends = [rate_interval(float(share), float(reach), people) for share, reach in pairs]
    return Curve(shares, *np.array(ends).T)


def _first(values: Floats, share: float) -> float:
    """Return the number, from 1 on, of the first value of at most a share."""
    if not np.isfinite(values).all():
        return np.nan
    # Means of many ones and zeros may miss a share by a rounding.
    (places,) = np.nonzero(values <= share + 1e-12)
    return float(places[0] + 1) if len(places) else np.inf
