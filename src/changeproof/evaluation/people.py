"""Metrics with intervals over people: what another draw of people would have shown.

The paper's intervals are over base models. An audit often has one; then people are the units. With
several base models both vary, and both count: what people add to a mean is their spread around the
value of their base model, summed over base models as the same people meet several; what base models
add is the spread of their values. Where each base model is asked by other people, the second holds
the first as well, and intervals are a little wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from changeproof.datasets.task import Task
from changeproof.evaluation.metrics import METRICS, RATES, family_weights
from changeproof.evaluation.uncertainty import (
    LEVEL,
    mean_interval,
    rate_interval,
    student_reach,
)
from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans, Floats, Integers

PERCENT = 100.0


class People(NamedTuple):
    """What became of the people of one base model, one entry each.

    `held` is the share of changed models under which advice holds, every family counting the same,
    and 0 without valid advice; `distance` is 0 there, too. `row_ids` says who they are: the same
    people may ask several base models.
    """

    found: Floats
    valid: Floats
    held: Floats
    distance: Floats
    row_ids: Integers

    @classmethod
    def of(
        cls, task: Task, answers: Counterfactuals, survived: Booleans, families: Sequence[str]
    ) -> Self:
        """Return what became of the people whom a method answered."""
        valid = answers.base_valid
        held = np.where(valid, survived @ family_weights(families), 0.0)
        distance = np.zeros(len(answers))
        distance[valid] = task.distances(answers.factuals[valid], answers.rows[valid])
        found = answers.found.astype(np.float64)
        return cls(found, valid.astype(np.float64), held, distance, np.asarray(answers.row_ids))

    def of_some(self, chosen: Booleans | Integers) -> People:
        """Return what became of some of them."""
        found, valid, held, distance = (values[chosen] for values in self[:4])
        return People(found, valid, held, distance, self.row_ids[chosen])

    def behind(self, metric: str) -> Booleans:
        """Return who stands behind a metric: whom its mean is over."""
        counted = METRICS[metric].over
        return np.ones(len(self.found), np.bool_) if counted is None else getattr(self, counted) > 0


class Estimate(NamedTuple):
    """A value with its 95 % interval, and how many different people stand behind it."""

    value: float
    low: float
    high: float
    people: int


class Sampled(NamedTuple):
    """A metric of the people of some base models: a mean for each, and what each person adds to it.

    Attributes
    ----------
    bases
        The base models, by place, for which it is defined.
    means
        The mean of their people. Rates are shares, from 0 to 1.
    added
        By how much the mean over base models is off for each person, one after the other.
    row_ids
        Who these people are.
    """

    bases: tuple[int, ...]
    means: Floats
    added: Floats
    row_ids: Integers

    @classmethod
    def of(cls, groups: Sequence[People], metric: str) -> Self:
        """Return a metric of the people of each base model."""
        there = [(base, each) for base, each in enumerate(groups) if each.behind(metric).any()]
        means, added, who = [], [np.empty(0)], [np.empty(0, np.int64)]
        for _, people in there:
            behind = people.behind(metric)
            values = getattr(people, METRICS[metric].averaged)[behind]
            means.append(values.mean())
            added.append((values - values.mean()) / (len(values) * len(there)))
            who.append(people.row_ids[behind])
        bases = tuple(base for base, _ in there)
        return cls(bases, np.array(means), np.concatenate(added), np.concatenate(who))

    @property
    def value(self) -> float:
        """The mean over base models; NaN if nobody stands behind it."""
        return float(self.means.mean()) if len(self.means) else math.nan

    @property
    def people(self) -> int:
        """How many different people stand behind it."""
        return len(np.unique(self.row_ids))

    def reach(self, level: float = LEVEL) -> float:
        """Return how far the mean may be off, by people and by base models."""
        return math.hypot(
            _people_reach(self.added, self.row_ids, level), _base_reach(self.means, level)
        )

    def apart_reach(
        self, other: Sampled, *, same_people: bool, same_bases: bool, level: float = LEVEL
    ) -> float:
        """Return how far the difference from another may be off.

        What the same base models or people have in common does not blur it. Other people are
        independent, and so are other base models.
        """
        if same_people:
            added = np.concatenate([self.added, -other.added])
            people = _people_reach(added, np.concatenate([self.row_ids, other.row_ids]), level)
        else:
            each = (_people_reach(one.added, one.row_ids, level) for one in (self, other))
            people = math.hypot(*each)
        if same_bases and self.bases == other.bases:
            return math.hypot(people, _base_reach(self.means - other.means, level))
        return math.hypot(people, *(_base_reach(one.means, level) for one in (self, other)))


def estimates(groups: Sequence[People]) -> dict[str, Estimate]:
    """Return every metric with its interval: the mean over base models of that of their people.

    Parameters
    ----------
    groups
        The people of each base model.
    """
    return {metric: estimate(metric, Sampled.of(groups, metric)) for metric in METRICS}


def estimate(metric: str, sampled: Sampled) -> Estimate:
    """Return a metric with its interval; rates in percent."""
    value, people = sampled.value, sampled.people
    if metric not in RATES:
        return Estimate(value, *mean_interval(value, sampled.reach()), people)
    low, high = rate_interval(value, sampled.reach(), people)
    return Estimate(PERCENT * value, PERCENT * low, PERCENT * high, people)


def _people_reach(added: Floats, row_ids: Integers, level: float) -> float:
    """Return how far a mean may be off by who was asked."""
    _, which = np.unique(row_ids, return_inverse=True)
    each = np.bincount(which, weights=added).astype(np.float64)
    number = len(each)
    return student_reach(number / max(number - 1, 1) * float((each**2).sum()), number, level)


def _base_reach(means: Floats, level: float) -> float:
    """Return how far a mean may be off by which base models there are; one has no spread."""
    number = len(means)
    if number < 2:
        return 0.0
    return student_reach(float(means.var(ddof=1)) / number, number, level)
