"""What people may be told on a task: which rows are feasible for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, reduce

import numpy as np

from changeproof.feasible.action import Action
from changeproof.feasible.decimals import unscaled, written, written_decimals
from changeproof.feasible.feature import Feature
from changeproof.feasible.relations import SAME, Relations
from changeproof.feasible.rules import (
    CATEGORIES,
    CATEGORY,
    FIXED,
    MOST,
    NONE,
    RANGE,
    RELATION,
    STEP,
    WAYS,
    Limits,
    Personal,
    Rules,
    Scales,
    as_rules,
    room,
    rules_on,
)
from changeproof.model import Booleans, Floats, Integers

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
    relations
        Rules between features.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        raw: Floats,
        scales: Scales,
        declared: Mapping[str, Action],
        most_changes: int | None = None,
        relations: Relations | None = None,
    ) -> None:
        self.features = tuple(features)
        self.declared = dict(declared)
        self.most_changes = most_changes
        self.scales = scales
        self.relations = relations or None
        # What each person may have besides; see `for_people`.
        self.personal: Personal | None = None
        derived = relations.derived if relations else frozenset()
        self.of = [
            _fixed(action) if place in derived else action
            for place, action in enumerate(
                self.declared.get(feature.name, Action()) for feature in features
            )
        ]
        self.data_range = raw.min(axis=0), raw.max(axis=0)
        # Nobody changes whether something is known.
        self.missing = [feature.missing for feature in features if feature.missing is not None]
        self.decimals = written_decimals(features, raw, scales.scale, derived)

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
            _fixed(action) if place in fixed else action for place, action in enumerate(self.of)
        ]
        return result

    def by_kept(self, kept: Booleans) -> Iterator[tuple[Actions, Integers]]:
        """Yield what may change about whom, where people keep features [people, features]."""
        patterns, which = np.unique(kept, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            places = np.flatnonzero(pattern)
            who = np.flatnonzero(which.ravel() == number)
            yield (self.keeping(places) if len(places) else self).some_people(who), who

    def for_people(self, personal: Personal | None) -> Actions:
        """Return the same for certain people, in their order, each with limits of their own."""
        if personal is None:
            return self
        result = copy(self)
        result.personal = personal
        return result

    def some_people(self, who: Integers) -> Actions:
        """Return the same for some of the people that it is for."""
        return self if self.personal is None else self.for_people(self.personal.of(who))

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
        if self.personal is not None:
            outside = (own < self.personal.low - slack) | (own > self.personal.high + slack)
            for i, place in np.argwhere(outside).tolist():
                name = self.features[place].name
                reasons[i] = reasons[i] or f"{name} is {OUTSIDE} of this person"
        return reasons

    def limits(self, factuals: Floats) -> Limits:
        """Return what every column may be for every person, in the units of the data.

        Whole steps, and that there is one category, are left out.
        """
        rules, own = self.rules, self._positions(factuals)
        low, high = room(rules, own, rules.low, rules.high, rules.by, self.personal)
        self._hold_transitions(own, low, high)
        alone = (np.ceil(low) == np.floor(high))[:, rules.feature_of]
        own, low, high = (each[:, rules.feature_of] for each in (own, low, high))
        categories = rules.features[rules.feature_of, 2] == CATEGORIES
        has = rules.ranks == own
        may_have = (low <= rules.ranks) & (rules.ranks <= high) & (rules.named | has)
        for columns, allowed in self._transitions(has):
            may_have[:, columns] &= allowed
            alone[:, columns] |= may_have[:, columns].sum(axis=1, keepdims=True) == 1
        found = Limits(
            np.where(categories, has, own),
            np.where(categories, has & alone, low),
            np.where(categories, may_have, high),
        )
        for each in found:
            each[:, self.missing] = np.rint(self.raw(factuals)[:, self.missing])
        return found

    def _transitions(self, has: Booleans) -> Iterator[tuple[list[int], Booleans]]:
        """Yield columns of categories and which of them people who have some may have."""
        for place, allowed in self.relations.transitions.items() if self.relations else ():
            feature = self.features[place]
            if feature.kind == "categorical":
                columns = list(feature.columns)
                yield columns, allowed[has[:, columns].argmax(axis=1)]

    def _hold_transitions(self, own: Floats, low: Floats, high: Floats) -> None:
        """Leave who may not have the other of two values no room, in place."""
        for place, allowed in self.relations.transitions.items() if self.relations else ():
            if self.features[place].kind == "binary":
                code = own[:, place].astype(np.int64)
                held = ~allowed[code, 1 - code]
                low[held, place] = high[held, place] = own[held, place]

    def bounds(self, factuals: Floats) -> tuple[Floats, Floats]:
        """Return the least and the most of `limits`, standardised."""
        rules, first = self.rules, self.rules.features[:, 0]
        mean, scale = rules.mean[first], rules.scale[first]
        given = (rules.low - mean) / scale, (rules.high - mean) / scale, rules.by / scale
        personal = None if self.personal is None else self.personal.scaled(mean, scale)
        numbers = room(rules, factuals[:, first], *given, personal)
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

        if self.relations is not None and rows.ndim == 3:
            # What follows, follows for each row of a person.
            limits = limits or self.limits(factuals)
            owner = np.repeat(np.arange(len(rows)), rows.shape[1])
            flat = rows.reshape(-1, rows.shape[2])
            people = self.some_people(owner)
            return people.project(factuals[owner], flat, limits.of(owner)).reshape(rows.shape)
        several = np.array(rows if rows.ndim == 3 else rows[:, None], dtype=np.float64)
        limits = limits or self.limits(factuals)
        if self.relations is not None:
            several[:, 0] = self.doing(factuals, several[:, 0])
        project_rows(several, np.ascontiguousarray(factuals), limits, self.rules)
        several[..., self.missing] = factuals[:, None, self.missing]
        if self.relations is not None:
            unchanged = ~self.changed(factuals, several[:, 0], done=True)
            done, _ = self.settled(factuals, several[:, 0], limits, last=unchanged, put_back=True)
            return self.follow(factuals, done)
        return several if rows.ndim == 3 else several[:, 0]

    def follow(self, factuals: Floats, done: Floats) -> Floats:
        """Return rows as told, given what people do, one row per person."""
        if self.relations is None:
            return done
        return self.relations.follow(self.rules, factuals, done)

    def doing(self, factuals: Floats, rows: Floats) -> Floats:
        """Return what people do, given rows as told: what follows from it is left out."""
        if self.relations is None:
            return rows
        return self.relations.doing(self.rules, factuals, rows)

    def edges(self, factuals: Floats) -> tuple[Floats, Floats]:
        """Return the least and the most [people, features] that people may have in the end."""
        rules, own = self.rules, self._positions(factuals)
        given = rules_on(rules, own, rules.low, rules.high, rules.by, self.personal)
        of_told = [each for each in given if each.told]
        low = reduce(np.maximum, [each.low for each in of_told])
        high = reduce(np.minimum, [each.high for each in of_told])
        return low, high

    def settled(
        self,
        factuals: Floats,
        done: Floats,
        limits: Limits,
        *,
        edges: tuple[Floats, Floats] | None = None,
        held: Booleans | None = None,
        last: Booleans | None = None,
        put_back: bool = False,
    ) -> tuple[Floats, Booleans]:
        """Return rows as done that keep the rules between features, and which of them do.

        Features that are `held` [people, features] stay as they are; those in `last` are changed
        only if no other helps. What cannot be mended can be `put_back`: then all rows keep them.
        """
        from changeproof.feasible.settle import Settling

        if self.relations is None:
            return done, np.ones(len(done), dtype=np.bool_)
        none = np.zeros((len(done), len(self.features)), dtype=np.bool_)
        settling = Settling(
            self.relations,
            self.rules,
            factuals,
            limits,
            self.edges(factuals) if edges is None else edges,
            done.copy(),
            none if held is None else held,
            none if last is None else last,
        )
        kept = settling.mend()
        if put_back:
            settling.put_back()
            kept[:] = True
        return settling.done, kept

    def breaches(self, factuals: Floats, rows: Floats) -> Breaches:
        """Return what is not feasible about rows, one per person."""
        rules, found = self.rules, Breaches(len(rows))
        own, new, raw = self._positions(factuals), self._positions(rows), self.raw(rows)
        done = new
        if self.relations is not None:
            done = self._positions(self.doing(factuals, rows))
        slack = self._slack(new)
        changed, differs = (np.abs(each - own) > self._slack(own) for each in (done, new))
        given = rules_on(rules, own, rules.low, rules.high, rules.by, self.personal)
        broken = []
        for way, words, low, high, told in given:
            which, position = (differs, new) if told else (changed, done)
            outside = (position < low - slack) | (position > high + slack)
            broken.append((way, words, which & outside))
        nearest = rules.base + np.rint((new - rules.base) / rules.step) * rules.step
        partly = differs & rules.whole_steps & (np.abs(new - nearest) > slack)
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
        if self.relations is not None:
            for words, which in self.relations.broken(rules, factuals, rows):
                found.note(RELATION, which, words)
        most = self.most_changes
        if most is not None:
            found.note(MOST, changed.sum(axis=1) > most, f"more than {most} features change")
        return found

    def feasible(self, factuals: Floats, rows: Floats) -> Booleans:
        """Return which rows, one per person, are feasible."""
        return ~self.breaches(factuals, rows).any

    def changed(self, factuals: Floats, rows: Floats, *, done: bool = False) -> Booleans:
        """Return which features [people, features] people change; not what follows from that.

        Rows are as told, or else as `done`.
        """
        own, new = (
            self._positions(factuals),
            self._positions(rows if done else self.doing(factuals, rows)),
        )
        return np.asarray(np.abs(new - own) > self._slack(own))

    def sizes(self, factuals: Floats, rows: Floats) -> Floats:
        """Return by how much features [people, features] change: in the data's units, or places."""
        return np.abs(self.moves(factuals, rows))

    def moves(self, factuals: Floats, rows: Floats) -> Floats:
        """Return the same with a sign: above 0 where there is more of it than before."""
        moved = self._positions(self.doing(factuals, rows)) - self._positions(factuals)
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


def _fixed(action: Action) -> Action:
    return action.model_copy(update={"change": "none"})
