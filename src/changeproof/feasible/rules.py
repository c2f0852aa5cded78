"""What may change, as arrays that kernels can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from changeproof.feasible.action import Action, ranks
from changeproof.feasible.decimals import decimals_of
from changeproof.feasible.feature import Feature
from changeproof.model import Floats, Integers

NUMBER, BINARY, CATEGORIES = 0, 1, 2
ANY, NONE, INCREASE, DECREASE = 0, 1, 2, 3
KINDS = {"numeric": NUMBER, "integer": NUMBER, "binary": BINARY, "categorical": CATEGORIES}
CHANGES = {"any": ANY, "none": NONE, "increase": INCREASE, "decrease": DECREASE}


class Rules(NamedTuple):
    """What may change, per feature and per encoded column.

    `features` has one row per feature: its first column, how many columns, its kind and how it
    may change. Columns: `mean`, `scale` and `weight` (distance per unit), the range, by how
    much they may change (of categories: by how many places, at the first column), where steps
    begin, their size and 10 to the power of their decimals; `ranks` of categories (of two values:
    which is the lower one). `most` features may change at once.
    """

    features: Integers
    mean: Floats
    scale: Floats
    weight: Floats
    low: Floats
    high: Floats
    by: Floats
    base: Floats
    step: Floats
    power: Floats
    ranks: Integers
    most: int


class Scales(NamedTuple):
    """Per encoded column: training mean and deviation, and what is one unit of distance."""

    mean: Floats
    scale: Floats
    distance: Floats


def as_rules(
    features: Sequence[Feature],
    actions: Sequence[Action],
    scales: Scales,
    data_range: tuple[Floats, Floats],
    decimals: Sequence[int],
    most_changes: int | None,
) -> Rules:
    """Return what may happen to features, one action for each, as arrays."""
    mean, scale, distance = scales
    low, high = (limit.copy() for limit in data_range)
    base, step, power = np.zeros(len(mean)), np.ones(len(mean)), np.ones(len(mean))
    order = np.zeros(len(mean), dtype=np.int64)
    by = np.full(len(mean), np.inf)
    table = []
    for place, (feature, action) in enumerate(zip(features, actions, strict=True)):
        first, columns = feature.columns[0], list(feature.columns)
        change = CHANGES[action.change]
        table.append((first, len(columns), KINDS[feature.kind], change))
        known = ranks(feature, action) if feature.categories else None
        if feature.kind == "binary":
            # The code of the lower of the two.
            order[first] = 0 if known is None else known.index(0)
        elif known is not None:
            order[columns] = known
        by[first] = np.inf if action.by is None else action.by
        if feature.categories:
            continue
        low[first] = low[first] if action.low is None else action.low
        high[first] = high[first] if action.high is None else action.high
        base[first] = 0.0 if action.low is None or action.step is None else action.low
        digits = decimals[place]
        step[first] = 10.0**-digits if action.step is None else action.step
        if action.step is not None:
            digits = max(decimals_of(action.step), decimals_of(base[first]))
        power[first] = 10.0**digits
    most = len(features) if most_changes is None else most_changes
    weight = 1.0 / (scale * distance)
    kinds = np.array(table, dtype=np.int64)
    return Rules(kinds, mean, scale, weight, low, high, by, base, step, power, order, most)
