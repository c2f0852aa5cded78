"""Kernels: the nearest row that a person may be told, and rows near one.

What may change comes as arrays (`Rules`). Rows are standardised; steps and ranges are in the
units of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.rules import ANY, BINARY, DECREASE, INCREASE, NONE, NUMBER

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
            allowed = change == ANY or (
                change != NONE and (change == INCREASE) == (ranks[first] == old)
            )
            if not allowed or abs(share - old) <= abs(share - new):
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
def near_rows(
    rows: Any, factuals: Any, draws: Any, order: Any, counts: Any, radii: Any, norm: int, rules: Any
) -> None:
    """Move every row [people, samples, columns], in place, by about its radius, and project it.

    `order` are the features of each sample in a random order, of which the first `counts` move;
    `draws` gives the sign and size of each move, or which category is taken. A change of
    category is as long as it is; numbers share what is left of the radius.
    """
    features, means, scales, ranks = rules.features, rules.mean, rules.scale, rules.ranks
    savings = np.empty(len(features))
    for i in range(rows.shape[0]):
        factual = factuals[i]
        for k in range(rows.shape[1]):
            row = rows[i, k]
            left = radii[k] if norm == 1 else radii[k] ** 2
            total = 0.0
            for place in range(counts[k]):
                f = order[k, place]
                draw = draws[k, f]
                if features[f, 2] == NUMBER:
                    total += abs(draw) if norm == 1 else draw**2
                    continue
                by = rules.by[features[f, 0]]
                here, there = switched(row, factual, features[f], draw, means, scales, ranks, by)
                length = np.inf
                if there >= 0:
                    length = 1.0 / scales[here] if norm == 1 else (1.0 / scales[here]) ** 2
                    if there != here:
                        back = 1.0 / scales[there]
                        length = back + length if norm == 1 else back**2 + length
                if length > left:
                    continue
                left -= length
                if there == here:
                    share = row[here] * scales[here] + means[here]
                    new = 0.0 if share >= 0.5 else 1.0
                    row[here] = (new - means[here]) / scales[here]
                else:
                    first = features[f, 0]
                    for j in range(first, first + features[f, 1]):
                        row[j] = ((1.0 if j == there else 0.0) - means[j]) / scales[j]
            if total > 0.0:
                factor = left / total if norm == 1 else np.sqrt(left / total)
                for place in range(counts[k]):
                    f = order[k, place]
                    if features[f, 2] == NUMBER:
                        row[features[f, 0]] += factor * draws[k, f]
            project_row(row, factual, rules, savings)


@compiled
def switched(
    row: Any,
    factual: Any,
    feature: Any,
    draw: float,
    means: Any,
    scales: Any,
    ranks: Any,
    by: float,
) -> Any:
    """Return the columns of a row's category and of the drawn one.

    They are one and the same where the feature has two values; -1 where there is no other.
    """
    first, width, kind, change = feature
    if kind == BINARY:
        return first, first
    own, here, most_own, most_here = first, first, -np.inf, -np.inf
    for j in range(first, first + width):
        share = factual[j] * scales[j] + means[j]
        if share > most_own:
            most_own, own = share, j
        share = row[j] * scales[j] + means[j]
        if share > most_here:
            most_here, here = share, j
    allowed = 0
    for j in range(first, first + width):
        if j != here and (j == own or follows(change, ranks[own], ranks[j], by)):
            allowed += 1
    if allowed == 0:
        return here, -1
    # Whatever the draw's distribution, its last digits choose evenly.
    part = abs(draw) * 1e6
    nth = min(int((part - np.floor(part)) * allowed), allowed - 1)
    chosen = here
    for j in range(first, first + width):
        if j != here and (j == own or follows(change, ranks[own], ranks[j], by)):
            if nth == 0:
                chosen = j
            nth -= 1
    return here, chosen
