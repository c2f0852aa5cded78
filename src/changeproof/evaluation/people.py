"""Metrics with intervals over people: what another draw of people would have shown.

The paper's intervals are over base models. An audit often has one; then people are the units. They
are drawn again, with replacement, within each base model. Several base models are drawn again, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from changeproof.datasets.task import Task
from changeproof.evaluation.metrics import METRICS, family_weights
from changeproof.evaluation.uncertainty import LEVEL
from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans, Floats
from changeproof.randomness import stream

DRAWS = 2_000
# Methods and families ask for the same draws, one after the other.
KEPT = 8


class People(NamedTuple):
    """What became of the people of one base model, one entry each.

    `held` is the share of changed models under which advice holds, every family counting the same,
    and 0 without valid advice; `distance` is 0 there, too.
    """

    found: Floats
    valid: Floats
    held: Floats
    distance: Floats

    @classmethod
    def of(
        cls, task: Task, answers: Counterfactuals, survived: Booleans, families: Sequence[str]
    ) -> Self:
        """Return what became of the people whom a method answered."""
        valid = answers.base_valid
        held = np.where(valid, survived @ family_weights(families), 0.0)
        distance = np.zeros(len(answers))
        distance[valid] = task.distances(answers.factuals[valid], answers.rows[valid])
        return cls(answers.found.astype(np.float64), valid.astype(np.float64), held, distance)

    def of_some(self, chosen: Booleans) -> People:
        """Return what became of some of them."""
        return People(*(values[chosen] for values in self))

    def metrics(self, counts: Floats) -> Floats:
        """Return the metrics [METRICS, draws] where people count so often [draws, people]."""
        everybody = counts.sum(axis=1)
        found, valid, held, distance = (counts @ values for values in self)
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.array([found / everybody, valid / found, held / valid, held / everybody])
            return np.vstack([100.0 * rates, distance / valid])


class Estimate(NamedTuple):
    """A value with its interval over draws of people, and how many people stand behind it."""

    value: float
    low: float
    high: float
    people: int


def estimates(groups: Sequence[People], address: Sequence[str | int]) -> dict[str, Estimate]:
    """Return every metric with its interval: the mean over base models of that of their people.

    Parameters
    ----------
    groups
        The people of each base model.
    address
        Names the draws; equal addresses and numbers of people draw the same people, so that
        methods can be compared person by person.
    """
    everything = drawn(groups, address)
    number = sum(len(people.found) for people in groups)
    return {
        metric: Estimate(float(values[0]), *interval(values[1:]), number)
        for metric, values in everything.items()
    }


def drawn(
    groups: Sequence[People], address: Sequence[str | int], whose: Sequence[str | int] = ()
) -> Mapping[str, Floats]:
    """Return every metric as it is and, behind that, in each draw [1 + DRAWS].

    `whose` is part of the address of the people, but not of the base models: people of different
    groups are drawn by themselves, under the same base models.
    """
    each = np.array([_of_one(people, (*address, *whose, i)) for i, people in enumerate(groups)])
    again = each[0, :, 1:]
    if len(each) > 1:
        generator = stream("base models drawn again", *address)
        which = generator.integers(0, len(each), (DRAWS, len(each)))
        again = _mean_of_defined(each[which, :, 1 + np.arange(DRAWS)[:, None]], axis=1).T
    found = _mean_of_defined(each[:, :, :1], axis=0)
    return dict(zip(METRICS, np.hstack([found, again]), strict=True))


def _mean_of_defined(values: Floats, axis: int) -> Floats:
    """Return means without what is undefined; NaN where nothing else is there."""
    defined = np.isfinite(values)
    total = np.where(defined, values, 0.0).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / defined.sum(axis=axis))


def interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of drawn values; NaN where none is defined."""
    there = values[np.isfinite(values)]
    if not len(there):
        return np.nan, np.nan
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(there, [tail, 1.0 - tail])
    return float(low), float(high)


def _of_one(people: People, address: Sequence[str | int]) -> Floats:
    """Return the metrics of one base model's people, as they are and drawn again."""
    number = len(people.found)
    if number == 0:
        return np.full((len(METRICS), 1 + DRAWS), np.nan)
    return people.metrics(_counts(number, *address))


@lru_cache(maxsize=KEPT)
def _counts(number: int, *address: str | int) -> Floats:
    """Return how often each of so many people counts: once, then as drawn [1 + DRAWS, people]."""
    shares = np.full(number, 1.0 / number)
    counts = stream("people drawn again", *address).multinomial(number, shares, DRAWS)
    every = np.vstack([np.ones(number), counts])
    every.flags.writeable = False
    return every
