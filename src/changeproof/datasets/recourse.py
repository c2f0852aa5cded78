"""Recourse in words: what a person is told to change, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from changeproof.datasets.task import SMALLEST_SCALE, Task
from changeproof.feasible.action import ranks
from changeproof.feasible.actions import PART
from changeproof.feasible.decimals import decimals_of
from changeproof.model import Floats, Integers

RAISE, LOWER, CHANGE = "raise", "lower", "change"
AT_LEAST, AT_MOST = ("at least", False), ("at most", False)
BECOME, BECOME_QUOTED = ("become", False), ("become", True)
PLAIN, QUOTED = "{feature} from {before} to {after}", "{feature} from “{before}” to “{after}”"
# The page fills the same templates. Values of several words are quoted: from “1 to 4 years” to
# “4 to 7 years”.
TEMPLATES = {
    (direction, quoted): f"{direction.capitalize()} {QUOTED if quoted else PLAIN}"
    for quoted in (False, True)
    for direction in (RAISE, LOWER, CHANGE)
}
# Where the present value is unknown, advice names the goal alone, which the person may have reached
# already. A number comes with the direction away from the value that was filled in.
GOALS = {
    AT_LEAST: "{feature} of at least {after} (unknown now; tested at {after})",
    AT_MOST: "{feature} of at most {after} (unknown now; tested at {after})",
    BECOME: "{feature}: {after} (unknown now)",
    BECOME_QUOTED: "{feature}: “{after}” (unknown now)",
}
MOST_DECIMALS = 12
# So many zeros are added to give both numbers of a change the same decimals: 20.05 to 31.00.
MOST_ZEROS = 2
# So many changes get a sentence each; the others share one.
MOST_CHANGES = 5
NOTHING_ELSE = "Nothing else changes."


class Change(NamedTuple):
    """One feature that a counterfactual changes.

    Attributes
    ----------
    feature
        Its name.
    direction
        "raise" or "lower"; "change" where the values are categories without a stated order.
    before, after
        Its values in original units. In a feasible row they are exactly what was tested, with at
        least the decimals of the data. In a row as published they are rounded to those, or to more
        where the method is finer: an integer feature that is to become 70.6 is shown as 70.6.
    size
        What the change adds to the sum that the distance is the mean of: a number in typical
        deviations, 1 for another category.
    filled
        Whether `before` is unknown and was filled in; sentences then leave it out.
    number
        Whether the values are numbers.
    """

    feature: str
    direction: str
    before: str
    after: str
    size: float
    filled: bool = False
    number: bool = True

    def __str__(self) -> str:
        return (TEMPLATES | GOALS)[self.template].format(**self._asdict())

    @property
    def template(self) -> tuple[str, bool]:
        if not self.filled:
            return self.direction, " " in self.before or " " in self.after
        if not self.number:
            return BECOME_QUOTED if " " in self.after else BECOME
        return AT_LEAST if self.direction == RAISE else AT_MOST

    @property
    def short(self) -> str:
        """The same in fewer words."""
        if self.filled:
            return str(self)
        return (QUOTED if self.template[1] else PLAIN).format(**self._asdict())


class Wording:
    """Puts recourse on a task into words, exactly if rows are `feasible`, else as published."""

    def __init__(self, task: Task, feasible: bool = False) -> None:
        self.task = task
        self.feasible = feasible
        self.names = [feature.name for feature in task.features]
        self.decimals = task.actions.decimals
        self._ranks = [
            ranks(feature, action) if action.order is not None else None
            for feature, action in zip(task.features, task.actions.of, strict=True)
        ]

    def values(self, rows: Floats) -> list[list[str]]:
        """Return standardised rows as text, in original units."""
        return [
            [self._value(place, value) for place, value in enumerate(values)]
            for values in self._original(rows)
        ]

    def _value(self, place: int, value: Any) -> str:
        if self.task.features[place].categories:
            return str(value)
        own = self.decimals[place]
        return _text(value, max(own, decimals_of(value)) if self.feasible else own)

    def changes(
        self, factual: Floats, counterfactual: Floats, row_id: int | None = None
    ) -> list[Change]:
        """Return what changes between two standardised rows, the largest change first."""
        row_ids = None if row_id is None else np.array([row_id])
        return self.all_changes(factual[None], counterfactual[None], row_ids)[0]

    def all_changes(
        self, factuals: Floats, counterfactuals: Floats, row_ids: Integers | None = None
    ) -> list[list[Change]]:
        """Return the changes of every person, given standardised rows.

        Where a value of one of `row_ids` was filled in, advice names only the goal.
        """
        moves = np.abs(counterfactuals - factuals)
        people = zip(
            self._original(factuals),
            self._original(counterfactuals),
            moves.tolist(),
            (moves / self.task.distance_scale).tolist(),
            [{}] * len(factuals) if row_ids is None else self.unknown(row_ids, factuals),
            strict=True,
        )
        return [self._person(*person) for person in people]

    def unknown(self, row_ids: Integers, factuals: Floats) -> list[dict[str, str]]:
        """Return for every person the values that were filled in, by feature."""
        filled = self.task.filled_of(row_ids, factuals)
        people = np.flatnonzero(filled.any(axis=1))
        found: list[dict[str, str]] = [{} for _ in range(len(factuals))]
        if not len(people):
            return found
        for person, values in zip(people.tolist(), self.values(factuals[people]), strict=True):
            places = np.flatnonzero(filled[person]).tolist()
            found[person] = {self.names[place]: values[place] for place in places}
        return found

    def parts(self, row: Floats) -> list[str]:
        """Return the features that have parts of categories in a row, which nobody can act on."""
        if self.feasible:
            return []
        raw = row * self.task.scale + self.task.mean
        whole = np.rint(raw)
        partly = (np.abs(raw - whole) > PART) | ((whole != 0.0) & (whole != 1.0))
        categorical = (feature for feature in self.task.features if feature.categories)
        return [feature.name for feature in categorical if partly[list(feature.columns)].any()]

    def _person(
        self,
        before: list[Any],
        after: list[Any],
        moves: list[float],
        sizes: list[float],
        unknown: dict[str, str],
    ) -> list[Change]:
        changes = []
        for place, feature in enumerate(self.task.features):
            old, new = before[place], after[place]
            number = not feature.categories
            if number and not self.feasible:
                changed = moves[feature.columns[0]] > SMALLEST_SCALE
            else:
                changed = old != new
            if not changed:
                continue
            # A page has hundreds of thousands of changes: a number, in one column, needs no sum.
            if number:
                written = _exact_texts if self.feasible else _rounded_texts
                texts = written(old, new, self.decimals[place])
                size = sizes[feature.columns[0]]
            else:
                texts = str(old), str(new)
                size = math.fsum(sizes[column] for column in feature.columns)
            direction = self._direction(place, old, new)
            filled = feature.name in unknown
            changes.append(Change(feature.name, direction, *texts, size, filled, number))
        return sorted(changes, key=attrgetter("size"), reverse=True)

    def _direction(self, place: int, old: Any, new: Any) -> str:
        order, feature = self._ranks[place], self.task.features[place]
        if feature.categories:
            if order is None:
                return CHANGE
            old, new = order[feature.code_of(old)], order[feature.code_of(new)]
        return RAISE if new > old else LOWER

    def _original(self, rows: Floats) -> list[list[Any]]:
        """Return standardised rows as values of the original features."""
        exact = self.task.readable(rows) if self.feasible else None
        raw = rows * self.task.scale + self.task.mean
        columns: list[list[Any]] = []
        for feature in self.task.features:
            if not feature.categories:
                own = raw[:, feature.columns[0]] if exact is None else exact[feature.name]
                columns.append(own.tolist())
                continue
            block = raw[:, list(feature.columns)]
            codes = block[:, 0] >= 0.5 if feature.kind == "binary" else block.argmax(axis=1)
            columns.append([feature.categories[int(code)] for code in codes])
        return [list(values) for values in zip(*columns, strict=True)]


def _exact_texts(before: float, after: float, own: int) -> tuple[str, str]:
    """Return both numbers exactly, with at least the data's `own` number of decimals."""
    start, goal = (max(own, decimals_of(value)) for value in (before, after))
    if max(start, goal) <= own + MOST_ZEROS:
        start = goal = max(start, goal)
    elif start > goal:
        # What a person has is no advice: it is rounded, unless that would hide the difference.
        start = goal
        while _text(before, start) == _text(after, goal):
            start += 1
    return _text(before, start), _text(after, goal)


def _rounded_texts(before: float, after: float, own: int) -> tuple[str, str]:
    """Return both numbers rounded to the data's `own` decimals, or to more if `after` is finer."""
    decimals = 1 if own == 0 and not _is_whole(after) else own
    start, goal = _text(before, decimals), _text(after, decimals)
    while start == goal and decimals < MOST_DECIMALS:
        decimals += 1
        start, goal = _text(before, decimals), _text(after, decimals)
    if decimals > own:
        # What a person has is written as in the data, unless that would hide the difference.
        texts = (_text(before, places) for places in range(own, decimals + 1))
        start = next(text for text in texts if float(text) == float(start))
    return start, goal


def folded(changes: Sequence[Change]) -> str:
    """Return the smaller changes of advice in one sentence; nothing where there are few."""
    rest = changes[MOST_CHANGES:]
    what = "change" if len(rest) == 1 else "changes"
    listed = "; ".join(change.short for change in rest)
    return f"And {len(rest)} smaller {what}: {listed}." if rest else ""


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= 1e-9 * max(1.0, abs(value))


def _text(value: float, decimals: int) -> str:
    return f"{value:z.{decimals}f}"
