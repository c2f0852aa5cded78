"""Metrics with intervals over people, and differences between them.

An interval says what another draw of people would have shown. The paper's intervals are over base
models. An audit often has one; then people are the units. With several base models both vary, and
both count. People add their spread around the value of their base model, summed over base models,
as the same people may ask several. Base models add the spread of their values. Where each base
model is asked by other people, the second contains the first, and intervals are a little wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np

from changeproof.evaluation.metrics import METRICS, Metric, People
from changeproof.evaluation.uncertainty import (
    FEWEST_PEOPLE,
    LEVEL,
    Value,
    mean_interval,
    rate_interval,
    student_reach,
)
from changeproof.model import Floats, Integers


class Estimate(NamedTuple):
    """A value with its 95 % interval, and how many different people stand behind it."""

    value: float
    low: float
    high: float
    people: int


class Sampled(NamedTuple):
    """A metric of the people of some base models.

    `bases` are the places of the base models for which it is defined, and `means` those of their
    people; rates are shares, from 0 to 1. Each of `row_ids` has moved the mean over base models by
    what is `added`.
    """

    metric: Metric
    bases: tuple[int, ...]
    means: Floats
    added: Floats
    row_ids: Integers

    @classmethod
    def of(cls, groups: Sequence[People], name: str) -> Self:
        """Return a metric of the people of each base model."""
        metric = METRICS[name]
        counted = [
            np.ones(len(people.found), np.bool_)
            if metric.over is None
            else getattr(people, metric.over) > 0
            for people in groups
        ]
        bases = tuple(base for base, behind in enumerate(counted) if behind.any())
        means, added, row_ids = [], [np.empty(0)], [np.empty(0, np.int64)]
        for base in bases:
            values = getattr(groups[base], metric.averaged)[counted[base]]
            means.append(values.mean())
            added.append((values - values.mean()) / (len(values) * len(bases)))
            row_ids.append(groups[base].row_ids[counted[base]])
        return cls(metric, bases, np.array(means), np.concatenate(added), np.concatenate(row_ids))

    @property
    def value(self) -> float:
        """The mean over base models; NaN if nobody stands behind it."""
        return float(self.means.mean()) if len(self.means) else math.nan

    @property
    def people(self) -> int:
        return len(np.unique(self.row_ids))

    @property
    def unit(self) -> float:
        return 100.0 if self.metric.rate else 1.0

    @property
    def estimate(self) -> Estimate:
        """The metric with its interval; rates in percent."""
        value, people = self.value, self.people
        reach = math.hypot(
            _people_reach(self.added, self.row_ids, LEVEL), _base_reach(self.means, LEVEL)
        )
        if not self.metric.rate:
            return Estimate(value, *mean_interval(value, reach), people)
        low, high = rate_interval(value, reach, people)
        return Estimate(self.unit * value, self.unit * low, self.unit * high, people)


def estimates(groups: Sequence[People]) -> dict[str, Estimate]:
    """Return every metric with its interval, given the people of each base model."""
    return {metric: Sampled.of(groups, metric).estimate for metric in METRICS}


def difference(
    before: Sampled, after: Sampled, *, same_people: bool, same_bases: bool, level: float = LEVEL
) -> Value:
    """Return after minus before with its interval; rates in percent.

    What the same people or base models have in common does not blur it. Other people are
    independent, and so are other base models. A difference of rates among other people is at least
    as uncertain as people of a kind that nobody met leave both rates (Newcombe's way of combining
    two intervals).
    """
    apart = after.value - before.value
    reach = _difference_reach(before, after, same_people, same_bases, level)
    low, high = apart - reach, apart + reach
    if not before.metric.rate:
        return Value(apart, *((low, high) if math.isfinite(reach) else (math.nan, math.nan)))
    if not same_people:
        one, two = before.value, after.value
        one_low, one_high = rate_interval(one, 0.0, before.people, level)
        two_low, two_high = rate_interval(two, 0.0, after.people, level)
        low = min(low, apart - math.hypot(two - two_low, one_high - one))
        high = max(high, apart + math.hypot(two_high - two, one - one_low))
    unit = before.unit
    return Value(unit * apart, unit * max(low, -1.0), unit * min(high, 1.0))


def _difference_reach(
    before: Sampled, after: Sampled, same_people: bool, same_bases: bool, level: float
) -> float:
    if same_people:
        added = np.concatenate([before.added, -after.added])
        people = _people_reach(added, np.concatenate([before.row_ids, after.row_ids]), level)
    else:
        people = math.hypot(
            *(_people_reach(one.added, one.row_ids, level) for one in (before, after))
        )
    if same_bases and before.bases == after.bases:
        return math.hypot(people, _base_reach(before.means - after.means, level))
    return math.hypot(people, *(_base_reach(one.means, level) for one in (before, after)))


def _people_reach(added: Floats, row_ids: Integers, level: float) -> float:
    """Return how far a mean may be off because of who was asked."""
    _, which = np.unique(row_ids, return_inverse=True)
    each = np.bincount(which, weights=added).astype(np.float64)
    number = len(each)
    return student_reach(number / max(number - 1, 1) * float((each**2).sum()), number, level)


def _base_reach(means: Floats, level: float) -> float:
    """Return how far a mean may be off because of the base models; one has no spread."""
    number = len(means)
    if number < 2:
        return 0.0
    return student_reach(float(means.var(ddof=1)) / number, number, level)


class Verdict(StrEnum):
    """What the difference between two evaluations says."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "no clear difference"
    UNDEFINED = "undefined"


class MetricChange(NamedTuple):
    """A metric before and after, and the difference with its interval over people."""

    before: float
    after: float
    difference: float
    low: float
    high: float
    verdict: Verdict


def metric_changes(
    before: Sequence[People], after: Sequence[People], *, paired: bool
) -> dict[str, MetricChange]:
    """Return what became of every metric, given the people of each base model.

    If `paired`, these are the same base models and people in the same order.
    """
    if paired:
        # Two runs may number their rows differently.
        pairs = zip(before, after, strict=True)
        after = [two._replace(row_ids=one.row_ids) for one, two in pairs]
    return {
        metric: _change(Sampled.of(before, metric), Sampled.of(after, metric), paired)
        for metric in METRICS
    }


def _change(before: Sampled, after: Sampled, paired: bool) -> MetricChange:
    values = (before.unit * before.value, before.unit * after.value)
    if math.isnan(before.value) or math.isnan(after.value):
        return MetricChange(*values, math.nan, math.nan, math.nan, Verdict.UNDEFINED)
    found = difference(before, after, same_people=paired, same_bases=paired)
    verdict = Verdict.UNCLEAR
    enough = min(before.people, after.people) >= FEWEST_PEOPLE
    if enough and (found.low > 0.0 or found.high < 0.0):
        verdict = Verdict.BETTER if (found.low > 0.0) == before.metric.rate else Verdict.WORSE
    return MetricChange(*values, *found, verdict)
