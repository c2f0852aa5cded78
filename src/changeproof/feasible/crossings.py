"""The numbers at which models made of splits change their mind, as values that people may have.

Between two splits nothing changes, so the only values worth trying are the ones just across a
split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.feasible.kernels import STEP_SLACK
from changeproof.feasible.rules import NONE, NUMBER, Rules
from changeproof.model import Floats, Integers


class Crossings(NamedTuple):
    """The splits of every feature that is a number and may change.

    `first` says where the splits of each feature begin and, last, how many there are. Per split, in
    order: the encoded number that it splits `at`, and the last value up to there and the first one
    above, in the units of the data. Of splits between the same two values, one is kept.
    """

    first: Integers
    at: Floats
    below: Floats
    above: Floats

    @classmethod
    def of(cls, splits: Sequence[Floats], rules: Rules) -> Crossings:
        """Return the crossings of sorted splits, given for every encoded column."""
        found = [_of_feature(splits, rules, f) for f in range(len(rules.features))]
        first = np.concatenate([[0], np.cumsum([len(at) for at, _, _ in found])])
        at, below, above = (np.concatenate(each) for each in zip(*found, strict=True))
        return cls(first, at, below, above)


def _of_feature(splits: Sequence[Floats], rules: Rules, f: int) -> tuple[Floats, Floats, Floats]:
    column, _, kind, change = rules.features[f]
    if kind != NUMBER or change == NONE:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    mean, scale, at = rules.mean[column], rules.scale[column], splits[column]

    def value(steps: Floats) -> Floats:
        return np.asarray(
            np.rint((rules.base[f] + steps * rules.step[f]) * rules.power[f]) / rules.power[f]
        )

    steps = np.floor((at * scale + mean - rules.base[f]) / rules.step[f])
    # The last step up to a split may be the one before or after, for rounding.
    steps -= (value(steps) - mean) / scale > at
    steps += (value(steps + 1.0) - mean) / scale <= at
    steps, kept = np.unique(steps, return_index=True)
    return at[kept], value(steps), value(steps + 1.0)


@compiled
def _encoded(
    value: float,
    own: float,
    low: float,
    high: float,
    factual: float,
    mean: float,
    scale: float,
    slack: float,
) -> Any:
    """Return a value as rows have it, a person's own to the byte; NaN where it is not allowed."""
    if abs(value - own) <= slack:
        return factual
    if value < low - slack or value > high + slack:
        return np.nan
    return (value - mean) / scale


@compiled
def take_back_to_splits(
    rows: Any,
    factuals: Any,
    limits: Any,
    rules: Any,
    slots: Any,
    crossings: Any,
    tried: Any,
    possible: Any,
) -> None:
    """Take the numbers of neighbours [people, slots, columns] back to the last split they cross.

    Those that cross none, or are the same as the one before, are not possible any more.
    """
    # Handing tuples on to a function costs more than what it does.
    owns, lows, highs = limits
    starts, every, below, above = crossings
    for f in range(len(rules.features)):
        column, kind = rules.features[f, 0], rules.features[f, 2]
        if kind != NUMBER:
            continue
        start, at = starts[f], every[starts[f] : starts[f + 1]]
        mean, scale, slack = rules.mean[column], rules.scale[column], STEP_SLACK * rules.step[f]
        for i in range(len(rows)):
            own, low, high = owns[i, column], lows[i, column], highs[i, column]
            here, old, last = rows[i, column], factuals[i, column], -1
            nearest = np.searchsorted(at, here)
            for slot in range(slots[f], slots[f + 1]):
                if not possible[i, slot]:
                    continue
                up, split = (
                    tried[i, slot, column] > here,
                    np.searchsorted(at, tried[i, slot, column]),
                )
                crosses = split != nearest
                split -= up
                if not crosses or split == last:
                    possible[i, slot] = False
                    continue
                last = split
                value = above[start + split] if up else below[start + split]
                tried[i, slot, column] = _encoded(value, own, low, high, old, mean, scale, slack)


@compiled
def count_crossed(rows: Any, factuals: Any, features: Any, rules: Any, crossings: Any) -> Any:
    """Return how many splits of the given feature lie between every row and its person."""
    counts = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        f, column = features[i], rules.features[features[i], 0]
        at = crossings.at[crossings.first[f] : crossings.first[f + 1]]
        far, own = np.searchsorted(at, rows[i, column]), np.searchsorted(at, factuals[i, column])
        counts[i] = abs(far - own)
    return counts


@compiled
def nearer_values(
    rows: Any, factuals: Any, limits: Any, features: Any, crossed: Any, rules: Any, crossings: Any
) -> Any:
    """Return values [rows, numbers] of features that have just crossed so many splits.

    NaN where the person may not have it, or where it is no nearer than what the row has.
    """
    values = np.full(crossed.shape, np.nan)
    owns, lows, highs = limits
    starts, every, below, above = crossings
    for i in range(len(rows)):
        f, column = features[i], rules.features[features[i], 0]
        start, end = starts[f], starts[f + 1]
        mean, scale, slack = rules.mean[column], rules.scale[column], STEP_SLACK * rules.step[f]
        own, low, high = owns[i, column], lows[i, column], highs[i, column]
        far, old = rows[i, column], factuals[i, column]
        place, up = start + np.searchsorted(every[start:end], old), far > old
        for k in range(crossed.shape[1]):
            count = crossed[i, k]
            if count < 1:
                continue
            value = above[place + count - 1] if up else below[place - count]
            new = _encoded(value, own, low, high, old, mean, scale, slack)
            if old < new < far or far < new < old:
                values[i, k] = new
    return values
