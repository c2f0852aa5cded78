"""Rows that break a rule between features are mended where the rule says how.

Each rule that is broken is made true by changing one feature as little as that takes, inside what
the person may have: another feature than the one that moved if that is possible, else the mover
goes less far. What cannot be mended is put back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from changeproof.feasible.expressions import TURNED, Changed, Comparison, Node
from changeproof.feasible.kernels import STEP_SLACK
from changeproof.feasible.relations import Relations, Situation
from changeproof.feasible.rules import CATEGORIES, Limits, Rules
from changeproof.model import Booleans, Floats, Integers

# How often all rules are gone through, and how often a value is brought nearer to its bound.
ROUNDS, STEPS = 2, 3


class Aim(NamedTuple):
    """A comparison that should become true, and the number of the condition that it is part of."""

    comparison: Comparison
    number: int


@dataclass(eq=False)
class Settling:
    """Rows as done, one per person, on their way to keep all rules.

    Parameters
    ----------
    relations, rules
        The rules between features, and about single ones.
    factuals, limits
        People, and what each may have.
    edges
        The least and the most [people, features] of what follows.
    done
        The rows; they are changed in place.
    held
        Which features [people, features] have to stay as they are.
    last
        Which of them [people, features] are changed only if no other helps.
    """

    relations: Relations
    rules: Rules
    factuals: Floats
    limits: Limits
    edges: tuple[Floats, Floats]
    done: Floats
    held: Booleans
    last: Booleans

    def mend(self) -> Booleans:
        """Mend rows in place; return which of them keep all rules."""
        waiting = np.arange(len(self.done))
        for _ in range(ROUNDS):
            broken = self._broken(waiting)
            waiting = np.flatnonzero(broken.any(axis=0))
            if not len(waiting):
                break
            for number, which in enumerate(broken):
                if which.any():
                    self._repair(number, np.flatnonzero(which))
        return np.asarray(~self._broken(waiting).any(axis=0))

    def put_back(self) -> None:
        """Put back, in place, what is named by rules that are still broken."""
        waiting = np.arange(len(self.done))
        for _ in range(len(self.relations.checked) + 1):
            broken = self._broken(waiting)
            waiting = np.flatnonzero(broken.any(axis=0))
            if not len(waiting):
                return
            for condition, which in zip(self.relations.checked, broken, strict=True):
                for place in self.relations.levers(condition.node):
                    columns = list(self.relations.features[place].columns)
                    self.done[np.ix_(which, columns)] = self.factuals[np.ix_(which, columns)]
        self.done[waiting] = self.factuals[waiting]

    def _broken(self, some: Integers) -> Booleans:
        """Return which conditions [conditions, people] are broken, of some of the people."""
        conditions = self.relations.checked
        result = np.zeros((len(conditions), len(self.done)), dtype=np.bool_)
        if len(some):
            here = self._situation(some, self.done[some])
            for place, condition in enumerate(conditions):
                result[place, some] = condition.broken(here)
        return result

    def _situation(self, some: Integers, done: Floats, number: int | None = None) -> Situation:
        """Return what follows for some people; of one condition, only what it needs."""
        followers = None if number is None else self.relations.needed[number]
        edges = self.edges[0][some], self.edges[1][some]
        own = {place: values[some] for place, values in self._own_values.items()}
        return self.relations.situation(
            self.rules, self.factuals[some], done, edges, own, followers
        )

    @cached_property
    def _own_values(self) -> dict[int, Floats]:
        here = Situation(self.relations, self.rules, self.factuals, self.factuals)
        return {place: here.was(place) for place in self.relations.used}

    def _repair(self, number: int, which: Integers) -> None:
        for late in (False, True):
            for atom, wanted, levers in self.relations.repairs[number]:
                for place in levers:
                    if not len(which):
                        return
                    free = ~self.held[which, place] & (self.last[which, place] == late)
                    some = which[free & self._has_room(which, place)]
                    if len(some):
                        mended = self._try(number, atom, wanted, place, some)
                        which = np.setdiff1d(which, mended, assume_unique=True)

    def _has_room(self, which: Integers, place: int) -> Booleans:
        columns = list(self.relations.features[place].columns)
        low, high = self.limits.low[which][:, columns], self.limits.high[which][:, columns]
        return np.asarray((low < high).any(axis=1))

    def _try(self, number: int, atom: Node, wanted: bool, place: int, some: Integers) -> Integers:
        """Change a feature so that a comparison is as wanted; keep that where it mends a rule."""
        assert isinstance(atom, Comparison | Changed)
        if isinstance(atom, Changed):
            if atom.place != place:
                return some[:0]
            tried = self._moved(place, some) if wanted else self._own(place, some)
        else:
            sign = atom.sign if wanted else TURNED[atom.sign]
            aim = Aim(Comparison(sign, atom.left, atom.right), number)
            if self.rules.features[place, 2] == CATEGORIES:
                tried = self._category(aim, place, some)
            else:
                some, tried = self._number(aim, place, some)
        fits = (tried != self.done[some]).any(axis=1)
        some, tried = some[fits], tried[fits]
        if not len(some):
            return some
        broken = self.relations.checked[number].broken(self._situation(some, tried, number))
        fits = ~broken & (self._count(some, tried) <= self.rules.most)
        mended = some[fits]
        self.done[mended] = tried[fits]
        return mended

    def _count(self, some: Integers, rows: Floats) -> Integers:
        differs = rows != self.factuals[some]
        count = np.zeros(len(some), dtype=np.int64)
        for feature in self.relations.features:
            count += differs[:, list(feature.columns)].any(axis=1)
        return count

    def _own(self, place: int, some: Integers) -> Floats:
        columns = list(self.relations.features[place].columns)
        tried = self.done[some]
        tried[:, columns] = self.factuals[some][:, columns]
        return tried

    def _moved(self, place: int, some: Integers) -> Floats:
        """Return rows with a feature one step up, or else down; with another category."""
        if self.rules.features[place, 2] == CATEGORIES:
            codes = range(self.rules.features[place, 1])
            result = self.done[some]
            own = self._own(place, some)
            left = np.ones(len(some), dtype=np.bool_)
            for code in codes:
                tried, possible = self._with_category(place, some, code)
                taken = left & possible & (tried != own).any(axis=1)
                result[taken], left = tried[taken], left & ~taken
            return result
        low, high = self._ends(place, some)
        step, own = self.rules.step[place], self.limits.own[some, self._column(place)]
        up = self._rounded(place, own + step, np.floor)
        down = self._rounded(place, own - step, np.ceil)
        return self._with(place, some, np.where(up <= high, up, np.where(down >= low, down, own)))

    def _column(self, place: int) -> int:
        return int(self.rules.features[place, 0])

    def _with(self, place: int, some: Integers, values: Floats) -> Floats:
        """Return rows with other numbers of one feature, in the units of the data."""
        column = self._column(place)
        tried = self.done[some]
        own, step = self.limits.own[some, column], self.rules.step[place]
        new = (values - self.rules.mean[column]) / self.rules.scale[column]
        stays = np.abs(values - own) <= STEP_SLACK * step
        tried[:, column] = np.where(stays, self.factuals[some, column], new)
        return tried

    def _with_category(self, place: int, some: Integers, code: int) -> tuple[Floats, Booleans]:
        """Return rows with another category, and for whom that is possible."""
        columns = np.array(self.relations.features[place].columns)
        tried, chosen = self.done[some], columns[code]
        values = (np.arange(len(columns)) == code).astype(np.float64)
        new = (values - self.rules.mean[columns]) / self.rules.scale[columns]
        owns = self.limits.own[some, chosen] > 0.0
        tried[:, columns] = np.where(owns[:, None], self.factuals[some][:, columns], new)
        return tried, np.asarray(self.limits.high[some, chosen] > 0.0)

    def _category(self, aim: Aim, place: int, some: Integers) -> Floats:
        """Return rows with the first category that makes a comparison true, their own before."""
        result, n_codes = self.done[some], int(self.rules.features[place, 1])
        own = self._own(place, some)
        left = np.ones(len(some), dtype=np.bool_)
        possible = left
        for code in range(-1, n_codes):
            tried = own
            if code >= 0:
                tried, possible = self._with_category(place, some, code)
            here = self._situation(some, tried, aim.number)
            fits = left & possible & (aim.comparison.of(here).value == 1.0)
            result[fits], left = tried[fits], left & ~fits
            if not left.any():
                break
        return result

    def _rounded(self, place: int, values: Floats, towards: np.ufunc) -> Floats:
        """Return numbers as whole steps, rounded up (ceil), down (floor) or to the nearest (rint).

        What is a whole step but for its last digits stays the same.
        """
        base, step, power = (
            each[place] for each in (self.rules.base, self.rules.step, self.rules.power)
        )
        steps = (values - base) / step
        nearest = np.rint(steps)
        steps = np.where(np.abs(steps - nearest) <= STEP_SLACK, nearest, towards(steps))
        return np.asarray(np.rint((base + steps * step) * power) / power)

    def _ends(self, place: int, some: Integers) -> tuple[Floats, Floats]:
        """Return the least and the most whole steps that people may have, or what they have."""
        column = self._column(place)
        own, low, high = (each[some, column] for each in self.limits)
        least, most = self._rounded(place, low, np.ceil), self._rounded(place, high, np.floor)
        slack = STEP_SLACK * self.rules.step[place]
        least = np.where(low >= own - slack, own, np.minimum(least, own))
        most = np.where(high <= own + slack, own, np.maximum(most, own))
        return least, most

    def _judged(
        self, aim: Aim, place: int, some: Integers, values: Floats
    ) -> tuple[Floats, Booleans]:
        """Return how far from true a comparison is with other numbers, and where it is true."""
        here = self._situation(some, self._with(place, some, values), aim.number)
        gap, nothing = aim.comparison.gap(here)
        return gap, np.asarray(aim.comparison.holds(gap, nothing) == 1.0)

    def _number(self, aim: Aim, place: int, some: Integers) -> tuple[Integers, Floats]:
        """Move a number as little as makes a comparison true; return for whom, and their rows.

        Between the present value, which does not, and an end of the room, which does, straight
        lines lead to the bound.
        """
        column, sign = self._column(place), aim.comparison.sign
        bad = self.done[some, column] * self.rules.scale[column] + self.rules.mean[column]
        bad_gap, true = self._judged(aim, place, some, bad)
        some, bad, bad_gap = some[~true], bad[~true], bad_gap[~true]
        if not len(some):
            return some, self.done[some]
        if sign == "!=":
            return some, self._another(aim, place, some, bad)
        good, good_gap = bad.copy(), bad_gap.copy()
        found = np.zeros(len(some), dtype=np.bool_)
        for end in self._ends(place, some):
            gap, true = self._judged(aim, place, some, end)
            if sign == "==":
                true |= np.sign(gap) == -np.sign(bad_gap)
            nearer = ~found | (np.abs(end - bad) < np.abs(good - bad))
            taken = true & nearer
            good, good_gap = np.where(taken, end, good), np.where(taken, gap, good_gap)
            found |= true
        some = some[found]
        bad, bad_gap, good, good_gap = (each[found] for each in (bad, bad_gap, good, good_gap))
        for _ in range(STEPS if len(some) else 0):
            tried = self._between(sign, place, bad, bad_gap, good, good_gap)
            if (tried == good).all():
                break
            gap, true = self._judged(aim, place, some, tried)
            if sign == "==":
                true |= np.sign(gap) != np.sign(bad_gap)
            good, good_gap = np.where(true, tried, good), np.where(true, gap, good_gap)
            bad, bad_gap = np.where(true, bad, tried), np.where(true, bad_gap, gap)
        return some, self._with(place, some, good)

    def _between(
        self, sign: str, place: int, bad: Floats, bad_gap: Floats, good: Floats, good_gap: Floats
    ) -> Floats:
        """Return whole steps at which a comparison becomes true, if gaps are straight lines."""
        with np.errstate(all="ignore"):
            share = bad_gap / (bad_gap - good_gap)
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 0.5)
        wanted, rising = bad + share * (good - bad), good > bad
        if sign == "==":
            tried = self._rounded(place, wanted, np.rint)
        else:
            up, down = (self._rounded(place, wanted, way) for way in (np.ceil, np.floor))
            tried = np.where(rising, up, down)
            # A bound that does not count itself is passed by one step.
            step = np.where(rising, 1.0, -1.0) * self.rules.step[place]
            tried = np.where(tried == bad, self._rounded(place, bad + step, np.rint), tried)
        between = (np.minimum(bad, good) <= tried) & (tried <= np.maximum(bad, good))
        return np.where(between, tried, good)

    def _another(self, aim: Aim, place: int, some: Integers, here: Floats) -> Floats:
        """Return rows with another number than one: the person's own, or one step away."""
        low, high = self._ends(place, some)
        step = self.rules.step[place]
        own = self.limits.own[some, self._column(place)]
        result = here.copy()
        left = np.ones(len(some), dtype=np.bool_)
        for value in (
            own,
            self._rounded(place, here + step, np.floor),
            self._rounded(place, here - step, np.ceil),
        ):
            inside = np.clip(value, low, high)
            fits = left & self._judged(aim, place, some, inside)[1]
            result, left = np.where(fits, inside, result), left & ~fits
        return self._with(place, some, result)
