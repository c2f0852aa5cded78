"""Kernels: the nearest feasible row, and all feasible rows one feature away from one.

What a person may have comes as `Limits`, in the units of the data; rows are standardised. Features
of two values are numbers here, 0 or 1 with a step of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.feasible.rules import CATEGORIES, NONE

# How far from a whole number of steps a value still counts as one.
STEP_SLACK = 1e-6


@compiled
def stepped(
    wanted: float, own: float, low: float, high: float, base: float, step: float, power: float
) -> Any:
    """Return the nearest number that is a whole step inside the limits, or the person's own."""
    least = np.ceil((low - base) / step - STEP_SLACK)
    most = np.floor((high - base) / step + STEP_SLACK)
    if least > most:
        return own
    steps = min(max(np.rint((wanted - base) / step), least), most)
    value = np.rint((base + steps * step) * power) / power
    if abs(wanted - own) <= abs(wanted - value) or abs(value - own) <= STEP_SLACK * step:
        return own
    return value


@compiled
def project_row(
    row: Any, factual: Any, owns: Any, lows: Any, highs: Any, rules: Any, savings: Any
) -> None:
    """Replace a row by the nearest feasible one, given a person's limits; `savings` is scratch."""
    # Handing all the rules on to a function costs more than what most of them do.
    features, means, scales, weights = rules.features, rules.mean, rules.scale, rules.weight
    bases, steps, powers = rules.base, rules.step, rules.power
    changed = 0
    for f in range(len(features)):
        first, width, kind = features[f, 0], features[f, 1], features[f, 2]
        savings[f] = -1.0
        if kind != CATEGORIES:
            mean, scale, own = means[first], scales[first], owns[first]
            wanted = row[first] * scale + mean
            value = own
            if row[first] != factual[first]:
                low, high = lows[first], highs[first]
                value = stepped(wanted, own, low, high, bases[f], steps[f], powers[f])
            if value == own:
                row[first] = factual[first]
                continue
            row[first] = (value - mean) / scale
            savings[f] = weights[first] * (abs(wanted - own) - abs(wanted - value))
        else:
            best, chosen, at_own, own_column = np.inf, first, 0.0, first
            for j in range(first, first + width):
                share = row[j] * scales[j] + means[j]
                extra = weights[j] * (abs(1.0 - share) - abs(share))
                if owns[j] > 0.0:
                    at_own, own_column = extra, j
                if highs[j] > 0.0 and (extra < best or (extra == best and owns[j] > 0.0)):
                    best, chosen = extra, j
            for j in range(first, first + width):
                row[j] = factual[j]
            if chosen == own_column:
                continue
            for j in range(first, first + width):
                row[j] = ((1.0 if j == chosen else 0.0) - means[j]) / scales[j]
            savings[f] = at_own - best
        changed += 1
    while changed > rules.most:
        least = -1
        for f in range(len(savings)):
            if savings[f] >= 0.0 and (least < 0 or savings[f] <= savings[least]):
                least = f
        first, width = features[least, 0], features[least, 1]
        for j in range(first, first + width):
            row[j] = factual[j]
        savings[least] = -1.0
        changed -= 1


@compiled
def project_rows(rows: Any, factuals: Any, limits: Any, rules: Any) -> None:
    """Project, in place, the rows [people, rows, columns] of every person."""
    savings = np.empty(len(rules.features))
    for i in range(rows.shape[0]):
        own, low, high = limits.own[i], limits.low[i], limits.high[i]
        for k in range(rows.shape[1]):
            project_row(rows[i, k], factuals[i], own, low, high, rules, savings)


@compiled
def fill_distances(
    lengths: Any, factuals: Any, rows: Any, weights: Any, limits: Any, rules: Any
) -> None:
    """Fill in how far every row [people, rows] is once it is projected for a person."""
    savings = np.empty(len(rules.features))
    row = np.empty(rows.shape[1])
    for i in range(len(factuals)):
        own, low, high = limits.own[i], limits.low[i], limits.high[i]
        for k in range(len(rows)):
            for j in range(len(row)):
                row[j] = rows[k, j]
            project_row(row, factuals[i], own, low, high, rules, savings)
            length = 0.0
            for j in range(len(row)):
                length += abs(row[j] - factuals[i, j]) * weights[j]
            lengths[i, k] = length


@compiled
def lengths(factuals: Any, rows: Any, weights: Any) -> Any:
    """Return how far rows [people, rows, columns] are from people: a weighted sum of changes."""
    result = np.zeros(rows.shape[:2])
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            for j in range(rows.shape[2]):
                result[i, k] += weights[j] * abs(rows[i, k, j] - factuals[i, j])
    return result


@compiled
def _differs(row: Any, factual: Any, rules: Any, f: int) -> bool:
    first, width = rules.features[f, 0], rules.features[f, 1]
    same = True
    for j in range(first, first + width):
        same = same and row[j] == factual[j]
    return not same


@compiled
def _one_step(here: float, way: float, base: float, step: float) -> Any:
    """Return how far the next whole step up or down is from a number, which may be between two."""
    steps = (here - base) / step
    if way > 0.0:
        return (np.floor(steps + STEP_SLACK) + 1.0 - steps) * step
    return (steps - np.ceil(steps - STEP_SLACK) + 1.0) * step


@compiled
def _take_category(row: Any, factual: Any, own: Any, chosen: int, rules: Any, f: int) -> bool:
    """Give a row a category; return whether it had another one."""
    first, width, moved = rules.features[f, 0], rules.features[f, 1], False
    for j in range(first, first + width):
        before = row[j]
        row[j] = ((1.0 if j == chosen else 0.0) - rules.mean[j]) / rules.scale[j]
        if own[chosen] > 0.0:
            row[j] = factual[j]
        moved = moved or row[j] != before
    return moved


@compiled
def fill_neighbours(
    rows: Any,
    factuals: Any,
    limits: Any,
    fixed: Any,
    rules: Any,
    slots: Any,
    jumps: Any,
    tried: Any,
    possible: Any,
) -> None:
    """Fill in rows [people, slots, columns] with one feature changed, and which are possible.

    A feature has as many slots as categories, or one per jump upwards and then downwards.
    """
    for i in range(len(rows)):
        row, factual, own = rows[i], factuals[i], limits.own[i]
        changed = 0
        for f in range(len(rules.features)):
            changed += _differs(row, factual, rules, f)
        for f in range(len(rules.features)):
            first, width, kind, change = rules.features[f]
            full = changed >= rules.most and not _differs(row, factual, rules, f)
            if full or fixed[i, f] or change == NONE:
                continue
            if kind == CATEGORIES:
                for k in range(width):
                    j, slot = first + k, slots[f] + k
                    if limits.high[i, j] > 0.0:
                        possible[i, slot] = _take_category(
                            tried[i, slot], factual, own, j, rules, f
                        )
                continue
            mean, scale = rules.mean[first], rules.scale[first]
            base, step, power = rules.base[f], rules.step[f], rules.power[f]
            here = row[first] * scale + mean
            low, high = limits.low[i, first], limits.high[i, first]
            n_jumps = (slots[f + 1] - slots[f]) // 2
            for side in range(2):
                room = high - here if side == 0 else low - here
                way = 1.0 if side == 0 else -1.0
                nearest, last = _one_step(here, way, base, step), -1.0
                for k in range(n_jumps):
                    slot = slots[f] + side * n_jumps + k
                    size = max(jumps[k] * abs(room), nearest)
                    if abs(room) == 0.0 or size == last:
                        continue
                    last = size
                    value = stepped(here + way * size, own[first], low, high, base, step, power)
                    new = factual[first] if value == own[first] else (value - mean) / scale
                    tried[i, slot, first] = new
                    possible[i, slot] = new != row[first]
