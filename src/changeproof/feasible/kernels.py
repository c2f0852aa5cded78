"""Kernels: the nearest row that a person may be told, and all rows one feature away from one.

What may change comes as arrays (`Rules`). Rows are standardised; steps and ranges are in the
units of the data. What a rule allows stands here once: `follows` for categories, `may_flip` for
two values, `limited` and `stepped` for numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.feasible.rules import ANY, BINARY, DECREASE, INCREASE, NONE, NUMBER

# How far from a whole number of steps a value still counts as one.
STEP_SLACK = 1e-6


@compiled
def follows(change: int, own_rank: int, rank: int, by: float) -> bool:
    """Return whether a category of this rank may follow the person's own."""
    return bool(
        abs(rank - own_rank) <= by
        and (
            change == ANY
            or (change == INCREASE and rank > own_rank)
            or (change == DECREASE and rank < own_rank)
        )
    )


@compiled
def may_flip(change: int, lower: int, own: int) -> bool:
    """Return whether one of two values may become the other; `lower` is the code of the lower."""
    return bool(change == ANY or (change != NONE and (change == INCREASE) == (lower == own)))


@compiled
def may_be(rules: Any, change: int, own: int, other: int, first: int) -> bool:
    """Return whether a category may become another one; `first` is the feature's first column."""
    by = rules.by[first]
    return bool(other == own or follows(change, rules.ranks[own], rules.ranks[other], by))


@compiled
def own_category(factual: Any, first: int, width: int, rules: Any) -> int:
    """Return the column of the category that a person has."""
    best, found = -np.inf, first
    for j in range(first, first + width):
        share = factual[j] * rules.scale[j] + rules.mean[j]
        if share > best:
            best, found = share, j
    return found


@compiled
def limited(change: int, low: float, high: float, by: float, own: float) -> Any:
    """Return the least and the most that a number may become, from its range."""
    low, high = max(min(low, own), own - by), min(max(high, own), own + by)
    if change in (NONE, INCREASE):
        low = own
    if change in (NONE, DECREASE):
        high = own
    return low, high


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
def number_limits(rules: Any, j: int, change: int, own: float) -> Any:
    """Return the least and the most that a number may become for a person who has `own`."""
    return limited(change, rules.low[j], rules.high[j], rules.by[j], own)


@compiled
def whole_steps(wanted: float, own: float, low: float, high: float, rules: Any, j: int) -> Any:
    """Return the nearest whole step of a column inside the limits, or the person's own."""
    return stepped(wanted, own, low, high, rules.base[j], rules.step[j], rules.power[j])


@compiled
def project_row(row: Any, factual: Any, rules: Any, savings: Any) -> None:
    """Replace a row by the nearest that the person may be told; `savings` is room to work in."""
    # Handing all the rules on to a function costs more than what most of them do.
    features, means, scales, weights = rules.features, rules.mean, rules.scale, rules.weight
    lows, highs, bys, ranks = rules.low, rules.high, rules.by, rules.ranks
    bases, steps, powers = rules.base, rules.step, rules.power
    changed = 0
    for f in range(len(features)):
        first, width = features[f, 0], features[f, 1]
        kind, change = features[f, 2], features[f, 3]
        savings[f] = -1.0
        if kind == NUMBER:
            mean, scale = means[first], scales[first]
            own = factual[first] * scale + mean
            wanted = row[first] * scale + mean
            value = own
            if row[first] != factual[first]:
                low, high = limited(change, lows[first], highs[first], bys[first], own)
                value = stepped(wanted, own, low, high, bases[first], steps[first], powers[first])
            if value == own:
                row[first] = factual[first]
                continue
            row[first] = (value - mean) / scale
            savings[f] = weights[first] * (abs(wanted - own) - abs(wanted - value))
        elif kind == BINARY:
            mean, scale = means[first], scales[first]
            share = row[first] * scale + mean
            old = 1 if factual[first] * scale + mean >= 0.5 else 0
            new = 1 - old
            if not may_flip(change, ranks[first], old) or abs(share - old) <= abs(share - new):
                row[first] = factual[first]
                continue
            row[first] = (new - mean) / scale
            savings[f] = weights[first] * (abs(share - old) - abs(share - new))
        else:
            largest, own_column = -np.inf, first
            for j in range(first, first + width):
                share = factual[j] * scales[j] + means[j]
                if share > largest:
                    largest, own_column = share, j
            best, chosen, at_own = np.inf, own_column, 0.0
            for j in range(first, first + width):
                share = row[j] * scales[j] + means[j]
                extra = weights[j] * (abs(1.0 - share) - abs(share))
                if j == own_column:
                    at_own = extra
                if (
                    j == own_column or follows(change, ranks[own_column], ranks[j], bys[first])
                ) and (extra < best or (extra == best and j == own_column)):
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
def project_rows(rows: Any, factuals: Any, rules: Any) -> None:
    """Project, in place, the rows [people, rows, columns] of every person."""
    savings = np.empty(len(rules.features))
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            project_row(rows[i, k], factuals[i], rules, savings)


@compiled
def fill_distances(
    lengths: Any, factuals: Any, rows: Any, centres: Any, weights: Any, rules: Any
) -> None:
    """Fill in how far every row [people, rows] is once it is projected for a person."""
    savings = np.empty(len(rules.features))
    told = np.empty(rows.shape[1])
    for i in range(len(factuals)):
        for k in range(len(rows)):
            for j in range(len(told)):
                told[j] = rows[k, j]
            project_row(told, factuals[i], rules, savings)
            length = 0.0
            for j in range(len(told)):
                length += abs(told[j] - centres[i, j]) * weights[j]
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
def _take_number(row: Any, factual: Any, wanted: float, rules: Any, f: int) -> bool:
    """Set a number to the whole step nearest to what is wanted; return whether it moved."""
    j, change = rules.features[f, 0], rules.features[f, 3]
    mean, scale, before = rules.mean[j], rules.scale[j], row[j]
    own = factual[j] * scale + mean
    low, high = number_limits(rules, j, change, own)
    value = whole_steps(wanted, own, low, high, rules, j)
    row[j] = factual[j] if value == own else (value - mean) / scale
    return bool(row[j] != before)


@compiled
def _one_step(here: float, way: float, rules: Any, j: int) -> Any:
    """Return how far the next whole step up or down is from a number, which may be between two."""
    steps = (here - rules.base[j]) / rules.step[j]
    if way > 0.0:
        return (np.floor(steps + STEP_SLACK) + 1.0 - steps) * rules.step[j]
    return (steps - np.ceil(steps - STEP_SLACK) + 1.0) * rules.step[j]


@compiled
def _take_category(row: Any, factual: Any, chosen: int, rules: Any, f: int) -> bool:
    """Give a person a category, if it is another one and allowed; return whether it is."""
    first, width, kind, change = rules.features[f]
    if kind == BINARY:
        if row[first] != factual[first]:
            row[first] = factual[first]
            return True
        mean, scale = rules.mean[first], rules.scale[first]
        old = 1 if factual[first] * scale + mean >= 0.5 else 0
        allowed = may_flip(change, rules.ranks[first], old)
        if allowed:
            row[first] = ((1 - old) - mean) / scale
        return bool(allowed)
    own = own_category(factual, first, width, rules)
    if chosen == own_category(row, first, width, rules) or not may_be(
        rules, change, own, chosen, first
    ):
        return False
    for j in range(first, first + width):
        row[j] = ((1.0 if j == chosen else 0.0) - rules.mean[j]) / rules.scale[j]
        if chosen == own:
            row[j] = factual[j]
    return True


@compiled
def fill_neighbours(
    rows: Any,
    factuals: Any,
    fixed: Any,
    rules: Any,
    slots: Any,
    jumps: Any,
    tried: Any,
    possible: Any,
) -> None:
    """Fill in rows [people, slots, columns] with one feature changed, and which are possible."""
    for i in range(len(rows)):
        row, factual = rows[i], factuals[i]
        changed = 0
        for f in range(len(rules.features)):
            changed += _differs(row, factual, rules, f)
        for f in range(len(rules.features)):
            first, width, kind, change = rules.features[f]
            full = changed >= rules.most and not _differs(row, factual, rules, f)
            if full or fixed[i, f] or change == NONE:
                continue
            if kind != NUMBER:
                for k in range(width):
                    slot = slots[f] + k
                    possible[i, slot] = _take_category(tried[i, slot], factual, first + k, rules, f)
                continue
            mean, scale = rules.mean[first], rules.scale[first]
            here = row[first] * scale + mean
            low, high = number_limits(rules, first, change, factual[first] * scale + mean)
            for side in range(2):
                room = high - here if side == 0 else low - here
                way = 1.0 if side == 0 else -1.0
                step, last = _one_step(here, way, rules, first), -1.0
                for k in range(len(jumps)):
                    slot = slots[f] + side * len(jumps) + k
                    size = max(jumps[k] * abs(room), step)
                    if abs(room) == 0.0 or size == last:
                        continue
                    last = size
                    possible[i, slot] = _take_number(
                        tried[i, slot], factual, here + way * size, rules, f
                    )
