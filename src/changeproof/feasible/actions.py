"""What people may be told on a task: which rows are feasible for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from changeproof.feasible.action import Action
from changeproof.feasible.decimals import unscaled, written, written_decimals
from changeproof.feasible.feature import Feature
from changeproof.feasible.rules import (
    CATEGORIES,
    CATEGORY,
    FIXED,
    MOST,
    NONE,
    RANGE,
    STEP,
    WAYS,
    Limits,
    Rules,
    Scales,
    as_rules,
    room,
    rules_on,
)
from changeproof.model import Booleans, Floats, Integers

# A number within this share of its size (and of its deviation) of another is that number.
SAME = 1e-9
# A share of a category this close to 0 or 1 is whole.
PART = 1e-6
OUTSIDE = "outside the allowed range"
# How a value is told that nobody knows.
FILLED_IN = "unknown; {value} was filled in"


class Breaches:
    """Which rules rows break: `ways` [people, ways] says which of `WAYS`."""

    def __init__(self, n_rows: int) -> None:
        self.ways = np.zeros((n_rows, len(WAYS)), dtype=np.bool_)
        self._words = np.full((n_rows, len(WAYS)), "", dtype=object)

    def note(self, way: str, which: Booleans, words: str) -> None:
        place = WAYS.index(way)
        self._words[which & ~self.ways[:, place], place] = words
        self.ways[which, place] = True

    @property
    def any(self) -> Booleans:
        return np.asarray(self.ways.any(axis=1))

    @property
    def first(self) -> list[str]:
        """The gravest way of every row; "" where there is none."""
        return [WAYS[int(way.argmax())] if way.any() else "" for way in self.ways]

    @property
    def words(self) -> list[str]:
        """The first breach of that way in words, or ""."""
        first = self.ways.argmax(axis=1)
        return [str(words[place]) for words, place in zip(self._words, first, strict=True)]


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
        # Nobody changes whether something is known.
        self.missing = [feature.missing for feature in features if feature.missing is not None]
        self.decimals = written_decimals(features, raw, scales.scale)

    @cached_property
    def rules(self) -> Rules:
        """The same as arrays."""
        given = self.scales, self.data_range, self.decimals, self.most_changes
        return as_rules(self.features, self.of, *given)

    @property
    def changeable(self) -> Booleans:
        """Which features may change at all; a constant one may not."""
        rules, among = self.rules, np.array([bool(action.among) for action in self.of])
        return np.asarray((rules.features[:, 3] != NONE) & ((rules.low < rules.high) | among))

    def keeping(self, places: Integers) -> Actions:
        """Return the same, where these features may not change either."""
        result = copy(self)
        vars(result).pop("rules", None)
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

        `filled` says which of their values [people, features] were filled in.
        """
        reasons = [""] * len(factuals)
        own = self._positions(factuals)
        slack, rules = self._slack(own), self.rules
        low = np.array([-np.inf if action.low is None else action.low for action in self.of])
        high = np.array([np.inf if action.high is None else action.high for action in self.of])
        for i, place in np.argwhere((own < low - slack) | (own > high + slack)).tolist():
            column = rules.features[place, 0]
            exact = unscaled(factuals[[i], column], rules.mean[column], rules.scale[column])
            value = written(exact[0])
            if filled is not None and filled[i, place]:
                value = FILLED_IN.format(value=value)
            limits = f"{written(rules.low[place])} to {written(rules.high[place])}"
            words = f"{self.features[place].name} is {value}, {OUTSIDE} {limits}"
            reasons[i] = reasons[i] or words
        return reasons

    def limits(self, factuals: Floats) -> Limits:
        """Return what every column may be for every person, in the units of the data.

        Whole steps, and that there is one category, are left out.
        """
        rules, own = self.rules, self._positions(factuals)
        low, high = room(rules, own, rules.low, rules.high, rules.by)
        alone = (np.ceil(low) == np.floor(high))[:, rules.feature_of]
        own, low, high = (each[:, rules.feature_of] for each in (own, low, high))
        categories = rules.features[rules.feature_of, 2] == CATEGORIES
        has = rules.ranks == own
        may_have = (low <= rules.ranks) & (rules.ranks <= high) & (rules.named | has)
        found = Limits(
            np.where(categories, has, own),
            np.where(categories, has & alone, low),
            np.where(categories, may_have, high),
        )
        for each in found:
            each[:, self.missing] = np.rint(self.raw(factuals)[:, self.missing])
        return found

    def bounds(self, factuals: Floats) -> tuple[Floats, Floats]:
        """Return the least and the most of `limits`, standardised."""
        rules, first = self.rules, self.rules.features[:, 0]
        mean, scale = rules.mean[first], rules.scale[first]
        given = (rules.low - mean) / scale, (rules.high - mean) / scale, rules.by / scale
        numbers = room(rules, factuals[:, first], *given)
        categories = rules.features[rules.feature_of, 2] == CATEGORIES
        shares = (self.scaled(each) for each in self.limits(factuals)[1:])
        low, high = (
            np.where(categories, share, number[:, rules.feature_of])
            for share, number in zip(shares, numbers, strict=True)
        )
        for each in (low, high):
            each[:, self.missing] = factuals[:, self.missing]
        return low, high

    def project(self, factuals: Floats, rows: Floats, limits: Limits | None = None) -> Floats:
        """Return the nearest feasible rows, in the distance of the task.

        Parameters
        ----------
        factuals
            People [people, columns], standardised.
        rows
            One row per person [people, columns], or several [people, rows, columns].
        limits
            Those of the people, if they are known already.
        """
        from changeproof.feasible.kernels import project_rows

        several = np.array(rows if rows.ndim == 3 else rows[:, None], dtype=np.float64)
        limits = limits or self.limits(factuals)
        project_rows(several, np.ascontiguousarray(factuals), limits, self.rules)
        several[..., self.missing] = factuals[:, None, self.missing]
        return several if rows.ndim == 3 else several[:, 0]

    def breaches(self, factuals: Floats, rows: Floats) -> Breaches:
        """Return what is not feasible about rows, one per person."""
        rules, found = self.rules, Breaches(len(rows))
        own, new, raw = self._positions(factuals), self._positions(rows), self.raw(rows)
        changed, slack = self.changed(factuals, rows), self._slack(new)
        broken = [
            (way, words, changed & ((new < low - slack) | (new > high + slack)))
            for way, words, low, high in rules_on(rules, own, rules.low, rules.high, rules.by)
        ]
        nearest = rules.base + np.rint((new - rules.base) / rules.step) * rules.step
        partly = changed & rules.whole_steps & (np.abs(new - nearest) > slack)
        broken.append((STEP, "{name} is no whole step of {step}", partly))
        for place, feature in enumerate(self.features):
            for way, words, which in broken:
                if which[:, place].any():
                    found.note(way, which[:, place], words.format(**self._numbers(place)))
            if feature.categories:
                shares = raw[:, list(feature.columns)]
                others = changed[:, place] & ~self._named(feature, shares)
                found.note(RANGE, others, f"{feature.name} becomes what advice may not name")
                whole = np.rint(shares)
                wrong = (np.abs(shares - whole) > PART) | ((whole != 0) & (whole != 1))
                several = feature.kind == "categorical" and whole.sum(axis=1) != 1
                words = f"{feature.name} is between its categories"
                found.note(CATEGORY, wrong.any(axis=1) | several, words)
            if feature.missing is not None:
                learnt = np.rint(raw[:, feature.missing]) != np.rint(
                    self.raw(factuals)[:, feature.missing]
                )
                found.note(FIXED, learnt, f"{feature.name} may not become known or unknown")
        most = self.most_changes
        if most is not None:
            found.note(MOST, changed.sum(axis=1) > most, f"more than {most} features change")
        return found

    def feasible(self, factuals: Floats, rows: Floats) -> Booleans:
        """Return which rows, one per person, are feasible."""
        return ~self.breaches(factuals, rows).any

    def changed(self, factuals: Floats, rows: Floats) -> Booleans:
        """Return which features [people, features] differ between people and their rows."""
        own, new = self._positions(factuals), self._positions(rows)
        return np.asarray(np.abs(new - own) > self._slack(own))

    def sizes(self, factuals: Floats, rows: Floats) -> Floats:
        """Return by how much features [people, features] change: in the data's units, or places."""
        moved = np.abs(self._positions(rows) - self._positions(factuals))
        return np.where(self.changed(factuals, rows), moved, 0.0)

    def raw(self, rows: Floats) -> Floats:
        """Return standardised rows in the units of the data."""
        return np.asarray(rows * self.scales.scale + self.scales.mean)

    def scaled(self, raw: Floats) -> Floats:
        """Return rows in the units of the data as standardised ones."""
        return np.asarray((raw - self.scales.mean) / self.scales.scale)

    def _positions(self, rows: Floats) -> Floats:
        """Return the position of rows on every feature [rows, features]; see `rules.py`."""
        raw = self.raw(rows)
        result = raw[:, self.rules.features[:, 0]]
        for place, feature in enumerate(self.features):
            if feature.kind == "binary":
                result[:, place] = result[:, place] >= 0.5
            elif feature.kind == "categorical":
                columns = np.array(feature.columns)
                largest = raw[:, columns].argmax(axis=1)
                result[:, place] = self.rules.ranks[columns[largest]]
        return result

    def _named(self, feature: Feature, shares: Floats) -> Booleans:
        """Return where advice may name the category of rows."""
        if feature.kind == "categorical":
            largest = np.array(feature.columns)[shares.argmax(axis=1)]
            return np.asarray(self.rules.named[largest])
        return np.ones(len(shares), dtype=np.bool_)  # of two values, the range says it

    def _slack(self, positions: Floats) -> Floats:
        """Return how far from a position another one is still the same."""
        first = self.rules.features[:, 0]
        return np.asarray(SAME * (np.abs(positions) + self.scales.scale[first]))

    def _numbers(self, place: int) -> dict[str, str]:
        rules, by = self.rules, float(self.rules.by[place])
        places = " in its order" if self.features[place].categories else ""
        return {
            "name": self.features[place].name,
            "change": self.of[place].change,
            "by": f"{written(by)}{places}" if np.isfinite(by) else "",
            "low": written(rules.low[place]),
            "high": written(rules.high[place]),
            "step": written(rules.step[place]),
        }
