"""What people may be told on a task: which rows are feasible for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from changeproof.feasible.action import Action
from changeproof.feasible.decimals import unscaled, written, written_decimals
from changeproof.feasible.feature import Feature
from changeproof.feasible.rules import Rules, Scales, as_rules
from changeproof.model import Booleans, Floats, Integers

# A number within this share of its size (and of its deviation) of another is that number.
SAME = 1e-9
OUTSIDE = "outside the allowed range"
# How a value is told that nobody knows.
FILLED_IN = "unknown; {value} was filled in"


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


class Actions:
    """What may change about the people of a task.

    A row is feasible for a person if it has exactly one of each feature's categories, whole
    steps, nothing outside of the range, and no change that is not allowed. What a person has now
    may always stay.

    Parameters
    ----------
    features
        The features of the task.
    raw
        All its rows, encoded, in the units of the data.
    scales
        How its columns are standardised.
    declared
        What was said of features, by name. Others may change freely, in the data's range.
    most_changes
        The most features that may change at once.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        raw: Floats,
        scales: Scales,
        declared: Mapping[str, Action],
        most_changes: int | None = None,
    ) -> None:
        self.features = tuple(features)
        self.declared = dict(declared)
        self.most_changes = most_changes
        self.scales = scales
        self.of = [self.declared.get(feature.name, Action()) for feature in features]
        self.data_range = raw.min(axis=0), raw.max(axis=0)
        self.decimals = written_decimals(features, raw, scales.scale)

    @cached_property
    def changeable(self) -> tuple[bool, ...]:
        """Which features may change at all; a constant one may not."""
        low, high = self.rules.low, self.rules.high
        return tuple(
            action.change != "none"
            and (
                bool(feature.categories) or bool(low[feature.columns[0]] < high[feature.columns[0]])
            )
            for feature, action in zip(self.features, self.of, strict=True)
        )

    @cached_property
    def rules(self) -> Rules:
        """The same as arrays, for kernels."""
        return as_rules(
            self.features,
            self.of,
            self.scales,
            self.data_range,
            self.decimals,
            self.most_changes,
        )

    def keeping(self, places: Integers) -> Actions:
        """Return the same, where these features may not change either."""
        result = copy(self)
        for known in ("rules", "changeable"):
            vars(result).pop(known, None)
        fixed = set(places.tolist())
        result.of = [
            action.model_copy(update={"change": "none"}) if place in fixed else action
            for place, action in enumerate(self.of)
        ]
        return result

    def by_kept(self, kept: Booleans) -> Iterator[tuple[Actions, Integers]]:
        """Yield what may change about whom, where people keep features [people, features]."""
        patterns, which = np.unique(kept, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            places = np.flatnonzero(pattern)
            who = np.flatnonzero(which.ravel() == number)
            yield (self.keeping(places) if len(places) else self), who

    def refusals(self, factuals: Floats, filled: Booleans | None = None) -> list[str]:
        """Return for every person why no row is allowed: who is outside a stated range now.

        Parameters
        ----------
        factuals
            People, standardised.
        filled
            Which of their values [people, features] were filled in.
        """
        reasons = [""] * len(factuals)
        raw = self.raw(factuals)
        for place, (feature, action) in enumerate(zip(self.features, self.of, strict=True)):
            if action.low is None and action.high is None:
                continue
            column = feature.columns[0]
            own, slack = raw[:, column], self.slack(raw, column)
            low, high = self.rules.low[column], self.rules.high[column]
            below = (action.low is not None) & (own < low - slack)
            above = (action.high is not None) & (own > high + slack)
            mean, scale, _ = self.scales
            exact = unscaled(factuals[:, column], mean[column], scale[column])
            limits = f"{written(low)} to {written(high)}"
            for i in np.flatnonzero(below | above):
                value = written(exact[i])
                if filled is not None and filled[i, place]:
                    value = FILLED_IN.format(value=value)
                words = f"{feature.name} is {value}, {OUTSIDE} {limits}"
                reasons[i] = reasons[i] or words
        return reasons

    def bounds(self, factuals: Floats) -> tuple[Floats, Floats]:
        """Return the least and the most that every column may be for every person.

        Standardised. Whole steps, and that there is one category, are left out.
        """
        rules = self.rules
        low, high = self.scaled(rules.low), self.scaled(rules.high)
        lows, highs = np.minimum(low, factuals), np.maximum(high, factuals)
        raw = self.raw(factuals)
        for feature, action in zip(self.features, self.of, strict=True):
            columns = list(feature.columns)
            if feature.kind == "categorical":
                allowed = self.categories(factuals, feature)
                mean, scale = self.scales.mean[columns], self.scales.scale[columns]
                none, all_of_it = -mean / scale, (1.0 - mean) / scale
                own = raw[:, columns] >= 0.5
                alone = allowed.sum(axis=1) == 1
                lows[:, columns] = np.where(own & alone[:, None], all_of_it, none)
                highs[:, columns] = np.where(allowed, all_of_it, none)
                continue
            column = columns[0]
            stays_low = action.change in ("none", "increase")
            stays_high = action.change in ("none", "decrease")
            if feature.kind == "binary" and action.change in ("increase", "decrease"):
                upwards = (rules.ranks[column] == 0) == (action.change == "increase")
                stays_low, stays_high = upwards, not upwards
            elif action.by is not None and not feature.categories:
                steps = action.by / self.scales.scale[column]
                lows[:, column] = np.maximum(lows[:, column], factuals[:, column] - steps)
                highs[:, column] = np.minimum(highs[:, column], factuals[:, column] + steps)
            if stays_low:
                lows[:, column] = factuals[:, column]
            if stays_high:
                highs[:, column] = factuals[:, column]
        return lows, highs

    def categories(self, factuals: Floats, feature: Feature) -> Booleans:
        """Return which categories [people, categories] of a feature people may have."""
        columns = list(feature.columns)
        own = self.raw(factuals)[:, columns].argmax(axis=1)
        place = self.features.index(feature)
        change = self.of[place].change
        order = self.rules.ranks[columns]
        allowed = np.ones((len(factuals), len(columns)), dtype=np.bool_)
        if change == "none":
            allowed[:] = False
        elif change == "increase":
            allowed = order[None, :] > order[own][:, None]
        elif change == "decrease":
            allowed = order[None, :] < order[own][:, None]
        if (by := self.of[place].by) is not None:
            allowed &= np.abs(order[None, :] - order[own][:, None]) <= by
        allowed[np.arange(len(own)), own] = True
        return allowed

    def project(self, factuals: Floats, rows: Floats) -> Floats:
        """Return the nearest feasible rows, in the distance of the task.

        Parameters
        ----------
        factuals
            People [people, columns], standardised.
        rows
            One row per person [people, columns], or several [people, rows, columns].
        """
        from changeproof.feasible.kernels import project_rows

        several = np.array(rows if rows.ndim == 3 else rows[:, None], dtype=np.float64)
        project_rows(several, np.ascontiguousarray(factuals), self.rules)
        return several if rows.ndim == 3 else several[:, 0]

    def breaches(self, factuals: Floats, rows: Floats) -> Breaches:
        """Return what is not feasible about rows, one per person."""
        record = _Record(len(rows))
        changed = self.changed(factuals, rows)
        before, after = self.raw(factuals), self.raw(rows)
        for place, feature in enumerate(self.features):
            find = _number if not feature.categories else _category
            find(record, self, place, before, after, changed[:, place])
        most = self.most_changes
        if most is not None:
            record.note(MOST, changed.sum(axis=1) > most, f"more than {most} features change")
        return record.result()

    def feasible(self, factuals: Floats, rows: Floats) -> Booleans:
        """Return which rows, one per person, are feasible."""
        return ~self.breaches(factuals, rows).any

    def changed(self, factuals: Floats, rows: Floats) -> Booleans:
        """Return which features [people, features] differ between people and their rows."""
        before, after = self.raw(factuals), self.raw(rows)
        result = np.zeros((len(rows), len(self.features)), dtype=np.bool_)
        for place, feature in enumerate(self.features):
            columns = list(feature.columns)
            if feature.kind == "categorical":
                old, new = before[:, columns].argmax(axis=1), after[:, columns].argmax(axis=1)
                result[:, place] = old != new
                continue
            old, new = before[:, columns[0]], after[:, columns[0]]
            if feature.kind == "binary":
                result[:, place] = (old >= 0.5) != (new >= 0.5)
            else:
                same = rows[:, columns[0]] == factuals[:, columns[0]]
                slack = self.slack(before, columns[0])
                result[:, place] = ~same & (np.abs(new - old) > slack)
        return result

    def slack(self, raw: Floats, column: int) -> Floats:
        """Return how far from a number of this column another is still the same."""
        return np.asarray(SAME * (np.abs(raw[:, column]) + self.scales.scale[column]))

    def raw(self, rows: Floats) -> Floats:
        """Return standardised rows in the units of the data."""
        return np.asarray(rows * self.scales.scale + self.scales.mean)

    def scaled(self, raw: Floats) -> Floats:
        """Return rows in the units of the data as standardised ones."""
        return np.asarray((raw - self.scales.mean) / self.scales.scale)


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
