"""Recourse in words: what a person is told to change, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from operator import attrgetter, ne
from typing import Any, NamedTuple

import numpy as np

from changeproof.datasets.task import SMALLEST_SCALE, Task
from changeproof.datasets.words import Catalogue, FeatureWords, Told, english, fill
from changeproof.feasible.action import ranks
from changeproof.feasible.actions import PART
from changeproof.feasible.decimals import decimals_of
from changeproof.model import Booleans, Floats, Integers

RAISE, LOWER, CHANGE = "raise", "lower", "change"
# What nobody does: it follows from other changes, by a rule between features.
FOLLOW = "follow"
# What people read where nothing is known.
MISSING = "missing"
MOST_DECIMALS = 12
# So many zeros are added to give both numbers of a change the same decimals: 20.05 to 31.00.
MOST_ZEROS = 2
# So many changes get a sentence each; the others share one.
MOST_CHANGES = 5


class Change(NamedTuple):
    """One feature that a counterfactual changes.

    Attributes
    ----------
    feature
        Its name.
    direction
        "raise" or "lower"; "change" where the values are categories without a stated order;
        "follow" where the change follows from the others.
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
    told
        What people read of it: `str` of a change is the sentence.
    """

    feature: str
    direction: str
    before: str
    after: str
    size: float
    filled: bool = False
    number: bool = True
    told: Told | None = None

    def __str__(self) -> str:
        told = self.words
        return fill(told.template, told.values)

    @property
    def short(self) -> str:
        """The same in fewer words."""
        told = self.words
        return fill(told.short, told.values)

    @property
    def words(self) -> Told:
        """What people read; of a change that nobody put into words, plain English."""
        if self.told is not None:
            return self.told
        several = not self.number and " " in self.before + self.after
        key = Kind(self.direction, self.after, self.filled, self.number, several)
        return Told(self.feature, self.before, self.after, *_templates(english(), None, key))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        plain = self._asdict()
        del plain["told"]
        return plain | {"label": self.words.label, "sentence": str(self)}


class Kind(NamedTuple):
    """What the sentence of a change depends on."""

    direction: str
    after: str
    filled: bool
    number: bool
    several: bool  # whether values have several words, and so stand in quotes


def _templates(language: Catalogue, words: FeatureWords | None, kind: Kind) -> tuple[str, str]:
    """Return the sentences of a change, the usual one and the short one.

    Nobody raises a category: it changes, unless the feature has a sentence of its own for that.
    """
    sentences, words = language.sentences, words or FeatureWords()
    if kind.direction == FOLLOW:
        template = short = sentences[FOLLOW]
    elif kind.filled:
        goal = "at_least" if kind.direction == RAISE else "at_most"
        template = short = sentences[goal if kind.number else "become"]
    else:
        usual = sentences[kind.direction if kind.number else CHANGE]
        own = {RAISE: words.raised, LOWER: words.lowered}.get(kind.direction)
        template = words.to.get(kind.after) or own or words.changed or usual
        short = sentences["short"]
    if not kind.several:
        return template, short
    return language.quoted(template), language.quoted(short)


class Wording:
    """Puts recourse on a task into words, exactly if rows are `feasible`, else as published.

    In the language of the task, or in another one.
    """

    def __init__(
        self, task: Task, feasible: bool = False, language: Catalogue | None = None
    ) -> None:
        self.task = task
        self.feasible = feasible
        self.language = task.words.catalogue if language is None else language
        self.names = [feature.name for feature in task.features]
        self.words = task.words.of(task.features, language)
        both = zip(self.words, self.names, strict=True)
        self.labels = [words.label or name for words, name in both]
        self._categories = [
            {
                str(feature.categories[feature.code_of(name)]): label
                for name, label in words.categories.items()
            }
            for words, feature in zip(self.words, task.features, strict=True)
        ]
        self._known: dict[tuple[int, Kind], tuple[str, str]] = {}
        self.decimals = task.actions.decimals
        self._ranks = [
            ranks(feature, action) if action.order is not None else None
            for feature, action in zip(task.features, task.actions.of, strict=True)
        ]

    def values(self, rows: Floats) -> list[list[str]]:
        """Return standardised rows as text, in original units."""
        texts = []
        for place, values in enumerate(self._columns(rows)):
            if self.task.features[place].categories:
                texts.append(
                    [MISSING if value is None else self._category(place, value) for value in values]
                )
            else:
                texts.append([self._number(value, place) for value in values])
        return [list(person) for person in zip(*texts, strict=True)]

    def _number(self, value: Any, place: int) -> str:
        """Return a number as people read it, or what is in its place: a date, a text, nothing."""
        if not isinstance(value, int | float):
            return MISSING if value is None else str(value)
        own = self.decimals[place]
        text = _text(value, max(own, decimals_of(value)) if self.feasible else own)
        return self.language.measured(text, self.words[place])

    def _category(self, place: int, value: Any) -> str:
        return self._categories[place].get(str(value), str(value))

    def has_order(self, place: int) -> bool:
        """Say whether there can be more or less of a feature."""
        return not self.task.features[place].categories or self._ranks[place] is not None

    def label(self, name: str) -> str:
        """Return what people call a feature."""
        return self.labels[self.names.index(name)]

    def _told(
        self, place: int, direction: str, before: str, after: str, filled: bool, number: bool
    ) -> Told:
        """Return a change as people read it."""
        words = self.words[place]
        if number:
            old = self.language.unmeasured(before, words)
            new = self.language.measured(after, words)
        else:
            old, new = self._category(place, before), self._category(place, after)
        several = not number and " " in (new if filled else old + new)
        kind = Kind(direction, "" if number else after, filled, number, several)
        if (place, kind) not in self._known:
            self._known[place, kind] = _templates(self.language, words, kind)
        return Told(self.labels[place], old, new, *self._known[place, kind])

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
        done, acted = self._done(factuals, counterfactuals)
        sizes = np.abs(done - factuals) / self.task.distance_scale
        known = np.zeros((len(factuals), len(self.names)), dtype=np.bool_)
        filled = known if row_ids is None else self.task.filled_of(row_ids, factuals)
        columns = zip(self._columns(factuals), self._columns(counterfactuals), strict=True)
        found: list[list[Change]] = [[] for _ in range(len(factuals))]
        # Feature by feature: a page has hundreds of thousands of changes.
        for place, (before, after) in enumerate(columns):
            feature, number = self.task.features[place], not self.task.features[place].categories
            if number and not self.feasible:
                changed = moves[:, feature.columns[0]] > SMALLEST_SCALE
            else:
                changed = np.fromiter(map(ne, before, after), np.bool_, len(before))
            people = np.flatnonzero(changed)
            old, new = (list(compress(values, changed)) for values in (before, after))
            rows = zip(
                people.tolist(),
                self._directions(place, old, new, acted[people, place]),
                self._texts(place, old, new),
                sizes[people][:, list(feature.columns)].tolist(),
                filled[people, place].tolist(),
                strict=True,
            )
            for person, direction, texts, parts, unknown in rows:
                size = math.fsum(parts)
                told = self._told(place, direction, *texts, unknown, number)
                change = Change(feature.name, direction, *texts, size, unknown, number, told)
                found[person].append(change)
        return [sorted(changes, key=attrgetter("size"), reverse=True) for changes in found]

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
        categorical = [feature for feature in self.task.features if feature.categories]
        if self.feasible or not categorical:
            return []
        raw = row * self.task.scale + self.task.mean
        whole = np.rint(raw)
        partly = (np.abs(raw - whole) > PART) | ((whole != 0.0) & (whole != 1.0))
        return [feature.name for feature in categorical if partly[list(feature.columns)].any()]

    def _texts(self, place: int, before: list[Any], after: list[Any]) -> list[tuple[str, str]]:
        """Return what a feature is before and after each change, as text."""
        pairs, own = zip(before, after, strict=True), self.decimals[place]
        if self.task.features[place].categories:
            return [(str(old), str(new)) for old, new in pairs]
        written = _exact_texts if self.feasible else _rounded_texts
        return [written(old, new, own) for old, new in pairs]

    def _done(self, factuals: Floats, rows: Floats) -> tuple[Floats, Booleans]:
        """Return what people do for rows, and which features [people, features] they change."""
        actions = self.task.actions
        done = actions.doing(factuals, rows)
        if self.task.relations is None or not self.feasible:
            return done, np.ones((len(rows), len(self.names)), dtype=np.bool_)
        return done, actions.changed(factuals, done, done=True)

    def _directions(
        self, place: int, before: list[Any], after: list[Any], acted: Booleans
    ) -> list[str]:
        ways = self._ways(place, before, after)
        return [way if own else FOLLOW for way, own in zip(ways, acted.tolist(), strict=True)]

    def _ways(self, place: int, before: list[Any], after: list[Any]) -> list[str]:
        order, feature = self._ranks[place], self.task.features[place]
        if feature.categories:
            if order is None:
                return [CHANGE] * len(before)
            before, after = (
                [order[feature.code_of(value)] for value in values] for values in (before, after)
            )
        return [RAISE if new > old else LOWER for old, new in zip(before, after, strict=True)]

    def _columns(self, rows: Floats) -> list[list[Any]]:
        """Return standardised rows as values of the original features, feature by feature."""
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
        for place, missing in enumerate(self.task.missing_of(rows).T.tolist()):
            if any(missing):
                hidden = zip(columns[place], missing, strict=True)
                columns[place] = [None if unknown else value for value, unknown in hidden]
        return columns


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
    decimals = own or int(not _is_whole(after))
    start, goal = _text(before, decimals), _text(after, decimals)
    while start == goal and decimals < MOST_DECIMALS:
        decimals += 1
        start, goal = _text(before, decimals), _text(after, decimals)
    # What a person has is written as in the data, unless that would hide the difference.
    if decimals == 1 > own:
        start = start.removesuffix(".0")
    elif decimals > own:
        texts = (_text(before, places) for places in range(own, decimals + 1))
        start = next(text for text in texts if float(text) == float(start))
    return start, goal


def folded(changes: Sequence[Change], language: Catalogue | None = None) -> str:
    """Return the smaller changes of advice in one sentence; nothing where there are few."""
    language, rest = language or english(), changes[MOST_CHANGES:]
    if not rest:
        return ""
    listed = "; ".join(change.short for change in rest)
    which = "smaller_one" if len(rest) == 1 else "smaller"
    return language.say(which, count=len(rest), changes=listed)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= 1e-9 * max(1.0, abs(value))


def _text(value: float, decimals: int) -> str:
    return f"{value:z.{decimals}f}"
