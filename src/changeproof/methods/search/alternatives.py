"""Rows one feature away from a realisable row, for searches in realisable rows.

Every person has the same slots, one alternative in each; some of them are not possible. What may
change comes as arrays (`Rules`). What is filled in is what `project_row` would leave as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.actions import Actions
from changeproof.datasets.realising import (
    STEP_SLACK,
    may_be,
    number_limits,
    own_category,
    whole_steps,
)
from changeproof.datasets.rules import ANY, BINARY, INCREASE, NONE, NUMBER
from changeproof.model import Booleans, Floats, Integers

# How far a number goes, as shares of the room that it has; 0 stands for one step.
JUMPS = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
# How much of its change a number takes back: all of it, a half, a quarter, ..., one step.
CUTS = np.array([*0.5 ** np.arange(10), 0.0])


def further(
    actions: Actions, factuals: Floats, rows: Floats, fixed: Booleans
) -> tuple[Floats, Booleans]:
    """Return rows [people, slots, columns] with one feature changed, and which are possible.

    Numbers move by one step or by shares of their room, either way; categories become any other.
    Features that are `fixed` [people, features] stay as they are.
    """
    slots = _slots(actions, 2 * len(JUMPS))
    tried = np.repeat(rows[:, None], slots[-1], axis=1)
    possible = np.zeros(tried.shape[:2], dtype=np.bool_)
    _further(rows, factuals, fixed, actions.rules, slots, JUMPS, tried, possible)
    return tried, possible


def back(
    actions: Actions, factuals: Floats, rows: Floats, cuts: Floats = CUTS
) -> tuple[Floats, Booleans]:
    """Return rows [people, slots, columns] with one change smaller, and which are possible.

    Numbers go back towards the person's own, by these shares of their change (0 is one step);
    categories become their own or another one.
    """
    slots = _slots(actions, len(cuts))
    tried = np.repeat(rows[:, None], slots[-1], axis=1)
    possible = np.zeros(tried.shape[:2], dtype=np.bool_)
    _back(rows, factuals, actions.rules, slots, cuts, tried, possible)
    return tried, possible


def undone(actions: Actions, factuals: Floats, rows: Floats) -> tuple[Floats, Booleans]:
    """Return rows [people, features, columns] with one feature put back, and where it differed."""
    tried = np.repeat(rows[:, None], len(actions.features), axis=1)
    for place, feature in enumerate(actions.features):
        columns = list(feature.columns)
        tried[:, place, columns] = factuals[:, columns]
    return tried, np.asarray((tried != rows[:, None]).any(axis=2))


@compiled
def lengths(factuals: Any, rows: Any, weights: Any) -> Any:
    """Return how far rows [people, rows, columns] are from people: a weighted sum of changes."""
    result = np.zeros(rows.shape[:2])
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            for j in range(rows.shape[2]):
                result[i, k] += weights[j] * abs(rows[i, k, j] - factuals[i, j])
    return result


def _slots(actions: Actions, per_number: int) -> Integers:
    """Return the first slot of every feature and, last, how many there are."""
    kinds = actions.rules.features
    sizes = np.where(kinds[:, 2] == NUMBER, per_number, kinds[:, 1])
    sizes[kinds[:, 3] == NONE] = 0
    return np.concatenate([[0], np.cumsum(sizes)])


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
        allowed = change == ANY or (
            change != NONE and (change == INCREASE) == (rules.ranks[first] == old)
        )
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
def _further(
    rows: Any,
    factuals: Any,
    fixed: Any,
    rules: Any,
    slots: Any,
    jumps: Any,
    tried: Any,
    possible: Any,
) -> None:
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


@compiled
def _back(
    rows: Any, factuals: Any, rules: Any, slots: Any, cuts: Any, tried: Any, possible: Any
) -> None:
    for i in range(len(rows)):
        row, factual = rows[i], factuals[i]
        for f in range(len(rules.features)):
            first, width, kind, change = rules.features[f]
            if change == NONE or not _differs(row, factual, rules, f):
                continue
            if kind != NUMBER:
                for k in range(width):
                    slot = slots[f] + k
                    possible[i, slot] = _take_category(tried[i, slot], factual, first + k, rules, f)
                continue
            mean, scale = rules.mean[first], rules.scale[first]
            here, own = row[first] * scale + mean, factual[first] * scale + mean
            way = 1.0 if own > here else -1.0
            step = min(_one_step(here, way, rules, first), abs(own - here))
            for k in range(len(cuts)):
                slot = slots[f] + k
                size = max(cuts[k] * abs(own - here), step)
                possible[i, slot] = _take_number(
                    tried[i, slot], factual, here + way * size, rules, f
                )
                if size <= step:
                    break
