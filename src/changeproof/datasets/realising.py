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
def may_be(rules: Any, change: int, own: int, other: int) -> bool:
    """Return whether a category may become another one."""
    if other == own or change == ANY:
        return True
    if change == INCREASE:
        return bool(rules.ranks[other] > rules.ranks[own])
    return bool(change == DECREASE and rules.ranks[other] < rules.ranks[own])


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
def number_limits(rules: Any, j: int, change: int, own: float) -> Any:
    """Return the least and the most that a number may become for a person who has `own`."""
    low, high = min(rules.low[j], own), max(rules.high[j], own)
    if change in (NONE, INCREASE):
        low = own
    if change in (NONE, DECREASE):
        high = own
    return low, high


@compiled
def whole_steps(wanted: float, own: float, low: float, high: float, rules: Any, j: int) -> Any:
    """Return the nearest number that is a whole step inside the limits, or the person's own."""
    base, step = rules.base[j], rules.step[j]
    least = np.ceil((low - base) / step - STEP_SLACK)
    most = np.floor((high - base) / step + STEP_SLACK)
    if least > most:
        return own
    steps = min(max(np.rint((wanted - base) / step), least), most)
    value = np.rint((base + steps * step) * rules.power[j]) / rules.power[j]
    if abs(wanted - own) <= abs(wanted - value) or abs(value - own) <= STEP_SLACK * step:
        return own
    return value


@compiled
def project_row(row: Any, factual: Any, rules: Any, savings: Any) -> None:
    """Replace a row by the nearest that the person may be told; `savings` is room to work in."""
    changed = 0
    for f in range(len(rules.features)):
        first, width, kind, change = rules.features[f]
        savings[f] = -1.0
        if kind == NUMBER:
            mean, scale = rules.mean[first], rules.scale[first]
            own = factual[first] * scale + mean
            low, high = number_limits(rules, first, change, own)
            wanted = row[first] * scale + mean
            value = own
            if row[first] != factual[first]:
                value = whole_steps(wanted, own, low, high, rules, first)
            if value == own:
                row[first] = factual[first]
                continue
            row[first] = (value - mean) / scale
            savings[f] = rules.weight[first] * (abs(wanted - own) - abs(wanted - value))
        elif kind == BINARY:
            mean, scale = rules.mean[first], rules.scale[first]
            share = row[first] * scale + mean
            old = 1 if factual[first] * scale + mean >= 0.5 else 0
            new = 1 - old
            allowed = change == ANY or (
                change != NONE and (change == INCREASE) == (rules.ranks[first] == old)
            )
            if not allowed or abs(share - old) <= abs(share - new):
                row[first] = factual[first]
                continue
            row[first] = (new - mean) / scale
            savings[f] = rules.weight[first] * (abs(share - old) - abs(share - new))
        else:
            own_column = own_category(factual, first, width, rules)
            best, chosen, at_own = np.inf, own_column, 0.0
            for j in range(first, first + width):
                share = row[j] * rules.scale[j] + rules.mean[j]
                extra = rules.weight[j] * (abs(1.0 - share) - abs(share))
                if j == own_column:
                    at_own = extra
                if may_be(rules, change, own_column, j) and (
                    extra < best or (extra == best and j == own_column)
                ):
                    best, chosen = extra, j
            for j in range(first, first + width):
                row[j] = factual[j]
            if chosen == own_column:
                continue
            for j in range(first, first + width):
                row[j] = ((1.0 if j == chosen else 0.0) - rules.mean[j]) / rules.scale[j]
            savings[f] = at_own - best
        changed += 1
    while changed > rules.most:
        least = -1
        for f in range(len(savings)):
            if savings[f] >= 0.0 and (least < 0 or savings[f] <= savings[least]):
                least = f
        first, width = rules.features[least, 0], rules.features[least, 1]
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
    savings = np.empty(len(rules.features))
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            row = rows[i, k]
            left = radii[k] if norm == 1 else radii[k] ** 2
            total = 0.0
            for place in range(counts[k]):
                f = order[k, place]
                first, width, kind, change = rules.features[f]
                draw = draws[k, f]
                if kind == NUMBER:
                    total += abs(draw) if norm == 1 else draw**2
                    continue
                length = _switch(row, factuals[i], first, width, kind, change, draw, rules, norm)
                if length <= left:
                    left -= length
                    _switch(row, factuals[i], first, width, kind, change, draw, rules, 0)
            if total > 0.0:
                factor = left / total if norm == 1 else np.sqrt(left / total)
                for place in range(counts[k]):
                    first, width, kind, change = rules.features[order[k, place]]
                    if kind == NUMBER:
                        row[first] += factor * draws[k, order[k, place]]
            project_row(row, factuals[i], rules, savings)


@compiled
def _switch(
    row: Any,
    factual: Any,
    first: int,
    width: int,
    kind: int,
    change: int,
    draw: float,
    rules: Any,
    norm: int,
) -> Any:
    """Return how long the drawn change of category is; with norm 0, make it."""
    if kind == BINARY:
        length = 1.0 / rules.scale[first]
        if norm == 0:
            share = row[first] * rules.scale[first] + rules.mean[first]
            row[first] = ((0.0 if share >= 0.5 else 1.0) - rules.mean[first]) / rules.scale[first]
        return length if norm < 2 else length**2
    own = own_category(factual, first, width, rules)
    here = own_category(row, first, width, rules)
    allowed = 0
    for j in range(first, first + width):
        if j != here and may_be(rules, change, own, j):
            allowed += 1
    if allowed == 0:
        return np.inf
    # Whatever the draw's distribution, its last digits choose evenly.
    part = abs(draw) * 1e6
    nth = min(int((part - np.floor(part)) * allowed), allowed - 1)
    chosen = here
    for j in range(first, first + width):
        if j != here and may_be(rules, change, own, j):
            if nth == 0:
                chosen = j
            nth -= 1
    if norm == 0:
        for j in range(first, first + width):
            row[j] = ((1.0 if j == chosen else 0.0) - rules.mean[j]) / rules.scale[j]
    there, back = 1.0 / rules.scale[chosen], 1.0 / rules.scale[here]
    return there + back if norm < 2 else there**2 + back**2
