"""What is not realisable about a row: which rule it breaks, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from changeproof.datasets.decimals import written
from changeproof.model import Booleans, Floats, Integers

if TYPE_CHECKING:
    from changeproof.datasets.actions import Actions

# The ways to break a rule, from the gravest to the mildest.
FIXED, DIRECTION, RANGE, MOST, CATEGORY, STEP = (
    "changes what may not change",
    "changes in the wrong direction",
    "outside the range",
    "too many changes",
    "category in part",
    "no whole step",
)
WAYS = (FIXED, DIRECTION, RANGE, MOST, CATEGORY, STEP)
PART = 1e-6


@dataclass(frozen=True, eq=False)
class Breaches:
    """Which rules [people, ways] rows break, and words for the first of each row's."""

    ways: Booleans
    words: Sequence[str]

    @property
    def any(self) -> Booleans:
        """Which rows break a rule."""
        return np.asarray(self.ways.any(axis=1))

    @property
    def first(self) -> list[str]:
        """The gravest way of every row; "" where there is none."""
        return [WAYS[int(way.argmax())] if way.any() else "" for way in self.ways]


class _Record:
    def __init__(self, n_rows: int) -> None:
        self.ways = np.zeros((n_rows, len(WAYS)), dtype=np.bool_)
        self.words = np.full((n_rows, len(WAYS)), "", dtype=object)

    def note(self, way: str, which: Booleans, words: str) -> None:
        place = WAYS.index(way)
        self.words[which & ~self.ways[:, place], place] = words
        self.ways[which, place] = True

    def result(self) -> Breaches:
        first = self.ways.argmax(axis=1)
        return Breaches(self.ways, self.words[np.arange(len(first)), first].tolist())


def find_breaches(actions: Actions, factuals: Floats, rows: Floats) -> Breaches:
    """Return what is not realisable about rows, one per person."""
    record = _Record(len(rows))
    changed = actions.changed(factuals, rows)
    before, after = actions.raw(factuals), actions.raw(rows)
    for place, feature in enumerate(actions.features):
        find = _number if not feature.categories else _category
        find(record, actions, place, before, after, changed[:, place])
    most = actions.most_changes
    if most is not None:
        record.note(MOST, changed.sum(axis=1) > most, f"more than {most} features change")
    return record.result()


def _number(
    record: _Record,
    actions: Actions,
    place: int,
    before: Floats,
    after: Floats,
    changed: Booleans,
) -> None:
    feature, action, rules = actions.features[place], actions.of[place], actions.rules
    column = feature.columns[0]
    old, new = before[:, column], after[:, column]
    slack = actions.slack(after, column)
    low, high = rules.low[column], rules.high[column]
    outside = changed & ((new < low - slack) | (new > high + slack))
    _direction(record, action.change, feature.name, changed, np.sign(new - old))
    # A range that nobody stated is that of the data, and includes what a person has.
    stated = action.low is not None or action.high is not None
    if not stated:
        outside &= (new < np.minimum(low, old)) | (new > np.maximum(high, old))
    if action.by is not None:
        words = f"{feature.name} may change by at most {written(action.by)}"
        record.note(RANGE, np.abs(new - old) > action.by + slack, words)
    record.note(
        RANGE, outside, f"{feature.name} leaves its range, {written(low)} to {written(high)}"
    )
    if action.step is None and feature.kind != "integer":
        return
    step, base = rules.step[column], rules.base[column]
    steps = (new - base) / step
    partly = changed & (np.abs(new - (base + np.rint(steps) * step)) > slack)
    record.note(STEP, partly, f"{feature.name} is no whole step of {written(step)}")


def _category(
    record: _Record,
    actions: Actions,
    place: int,
    before: Floats,
    after: Floats,
    changed: Booleans,
) -> None:
    feature, action = actions.features[place], actions.of[place]
    columns = list(feature.columns)
    before, after = before[:, columns], after[:, columns]
    whole = np.rint(after)
    partly = (np.abs(after - whole) > PART).any(axis=1) | ((whole != 0) & (whole != 1)).any(axis=1)
    if feature.kind == "categorical":
        partly |= whole.sum(axis=1) != 1
    record.note(CATEGORY, partly, f"{feature.name} is between its categories")
    ranks = actions.rules.ranks[columns]
    if feature.kind == "binary":
        up = np.where(ranks[0] == 0, 1, -1)
        moves = up * ((after[:, 0] >= 0.5).astype(int) - (before[:, 0] >= 0.5).astype(int))
    else:
        moves = np.sign(ranks[after.argmax(axis=1)] - ranks[before.argmax(axis=1)])
        if action.by is not None:
            far = np.abs(ranks[after.argmax(axis=1)] - ranks[before.argmax(axis=1)]) > action.by
            words = f"{feature.name} may change by at most {written(action.by)} in its order"
            record.note(RANGE, changed & far, words)
    _direction(record, action.change, feature.name, changed, moves)


def _direction(
    record: _Record, change: str, name: str, changed: Booleans, moves: Floats | Integers
) -> None:
    if change == "none":
        record.note(FIXED, changed, f"{name} may not change")
    elif change == "increase":
        record.note(DIRECTION, changed & (moves <= 0), f"{name} may only increase")
    elif change == "decrease":
        record.note(DIRECTION, changed & (moves >= 0), f"{name} may only decrease")
