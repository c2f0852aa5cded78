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
# The only place where the words are: the page fills the same templates. Values of several words
# are quoted: from “1 to 4 years” to “4 to 7 years”.
TEMPLATES = {
    (direction, quoted): f"{direction.capitalize()} {QUOTED if quoted else PLAIN}"
    for quoted in (False, True)
    for direction in (RAISE, LOWER, CHANGE)
}
# Where nobody knows what a person has, advice names the goal alone: what was tested, and that the
# person may be there already. A number comes with the side on which what was filled in is not.
GOALS = {
    AT_LEAST: "{feature} of at least {after} (unknown now; tested at {after})",
    AT_MOST: "{feature} of at most {after} (unknown now; tested at {after})",
    BECOME: "{feature}: {after} (unknown now)",
    BECOME_QUOTED: "{feature}: “{after}” (unknown now)",
}
MOST_DECIMALS = 12
# So many zeros are written for both numbers of a change to have the same digits: 20.05 to 31.00.
MOST_ZEROS = 2
# So many changes are told at length; the others are folded.
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
        Its values in original units. Of a row that is feasible they are exactly what was
        tested, with as many digits as the feature has in the data. Of a row as published they are
        rounded to those, or more where the method said something finer: an integer feature that
        is to become 70.6 is shown as 70.6.
    size
        What the change adds to the sum that the distance is the mean of: typical deviations of a
        number, 1 for another category.
    filled
        Whether `before` was filled in, as nobody knows it: it is no fact about the person, and
        words leave it out.
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
        """Which template says it."""
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
    """Puts recourse on a task into words.

    Parameters
    ----------
    task
        The task that rows belong to.
    feasible
        Whether rows are feasible, so that words can be exact; if not, they are as published.
    """

    def __init__(self, task: Task, feasible: bool = False) -> None:
        self.task = task
        self.feasible = feasible
        self.names = [feature.name for feature in task.features]
        self._categorical = [feature for feature in task.features if feature.categories]
        self.decimals = task.actions.decimals
        self._ranks = [
            ranks(feature, action) if action.order is not None else None
            for feature, action in zip(task.features, task.actions.of, strict=True)
        ]

    def values(self, rows: Floats) -> list[list[str]]:
        """Return standardised rows as text, in original units."""
        return [self._texts(values) for values in self._original(rows)]

    def changes(
        self, factual: Floats, counterfactual: Floats, row_id: int | None = None
    ) -> list[Change]:
        """Return what changes between two standardised rows, the largest change first."""
        who = None if row_id is None else np.array([row_id])
        return self.all_changes(factual[None], counterfactual[None], who)[0]

    def all_changes(
        self, factuals: Floats, counterfactuals: Floats, row_ids: Integers | None = None
    ) -> list[list[Change]]:
        """Return the changes of every person; both as rows.

        Parameters
        ----------
        factuals, counterfactuals
            What people have, and what they are told, standardised.
        row_ids
            Who they are: of what was filled in about them, only the goal is told. By default
            nothing was.
        """
        moves = np.abs(counterfactuals - factuals)
        sizes = (moves / self.task.distance_scale).tolist()
        told = zip(self._original(factuals), self._original(counterfactuals), strict=True)
        each = zip(told, moves.tolist(), sizes, strict=True)
        said = [self._person(before, after, move, size) for (before, after), move, size in each]
        if row_ids is None:
            return said
        unknown = self.unknown(row_ids, factuals)
        return [
            [change._replace(filled=change.feature in mine) for change in changes]
            if mine
            else changes
            for changes, mine in zip(said, unknown, strict=True)
        ]

    def unknown(self, row_ids: Integers, factuals: Floats) -> list[dict[str, str]]:
        """Return of every person what was filled in, by feature, as nobody knows it."""
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
        """Return the features that have a category in part in a row: nobody can be told those."""
        if self.feasible or not self._categorical:
            return []
        raw = row * self.task.scale + self.task.mean
        whole = np.rint(raw)
        partly = (np.abs(raw - whole) > PART) | ((whole != 0.0) & (whole != 1.0))
        return [
            feature.name for feature in self._categorical if partly[list(feature.columns)].any()
        ]

    def _person(
        self, before: list[Any], after: list[Any], move: list[float], sizes: list[float]
    ) -> list[Change]:
        changes = []
        for place, feature in enumerate(self.task.features):
            old, new = before[place], after[place]
            if feature.categories:
                if old != new:
                    size = math.fsum(sizes[column] for column in feature.columns)
                    direction = self._direction(place, old, new)
                    words = (str(old), str(new))
                    changes.append(Change(feature.name, direction, *words, size, number=False))
            elif self.feasible:
                if old != new:
                    changes.append(self._told(place, old, new, sizes[feature.columns[0]]))
            elif move[feature.columns[0]] > SMALLEST_SCALE:
                changes.append(self._rounded(place, old, new, sizes[feature.columns[0]]))
        return sorted(changes, key=attrgetter("size"), reverse=True)

    def _direction(self, place: int, old: Any, new: Any) -> str:
        order, feature = self._ranks[place], self.task.features[place]
        if order is None:
            return CHANGE
        return RAISE if order[feature.code_of(new)] > order[feature.code_of(old)] else LOWER

    def _original(self, rows: Floats) -> list[list[Any]]:
        """Return standardised rows as values of the original features."""
        told = self.task.readable(rows) if self.feasible else None
        raw = rows * self.task.scale + self.task.mean
        columns: list[list[Any]] = []
        for feature in self.task.features:
            if not feature.categories:
                own = raw[:, feature.columns[0]] if told is None else told[feature.name]
                columns.append(own.tolist())
                continue
            block = raw[:, list(feature.columns)]
            codes = block[:, 0] >= 0.5 if feature.kind == "binary" else block.argmax(axis=1)
            columns.append([feature.categories[int(code)] for code in codes])
        return [list(values) for values in zip(*columns, strict=True)]

    def _texts(self, values: list[Any]) -> list[str]:
        written = self._exact if self.feasible else self._plain
        return [
            str(value) if feature.categories else written(place, value)
            for place, (value, feature) in enumerate(zip(values, self.task.features, strict=True))
        ]

    def _exact(self, feature: int, value: float) -> str:
        """Return a number with the digits of the data, and more if it has more."""
        return _text(value, max(self.decimals[feature], decimals_of(value)))

    def _plain(self, feature: int, value: float) -> str:
        return _text(value, self.decimals[feature])

    def _told(self, feature: int, before: float, after: float, size: float) -> Change:
        own = self.decimals[feature]
        digits = [max(own, decimals_of(value)) for value in (before, after)]
        if max(digits) <= own + MOST_ZEROS:
            digits = [max(digits)] * 2
        elif digits[0] > digits[1]:
            # What a person has is no advice: it is rounded, unless that would hide the difference.
            digits[0] = digits[1]
            while _text(before, digits[0]) == _text(after, digits[1]):
                digits[0] += 1
        texts = _text(before, digits[0]), _text(after, digits[1])
        return Change(self.names[feature], RAISE if after > before else LOWER, *texts, size)

    def _rounded(self, feature: int, before: float, after: float, size: float) -> Change:
        own = self.decimals[feature]
        decimals = 1 if own == 0 and not _is_whole(after) else own
        start, goal = _text(before, decimals), _text(after, decimals)
        while start == goal and decimals < MOST_DECIMALS:
            decimals += 1
            start, goal = _text(before, decimals), _text(after, decimals)
        if decimals > own:
            # What a person has is written as in the data, unless that would hide the difference.
            texts = (_text(before, places) for places in range(own, decimals + 1))
            start = next(text for text in texts if float(text) == float(start))
        direction = RAISE if after > before else LOWER
        return Change(self.names[feature], direction, start, goal, size)


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
