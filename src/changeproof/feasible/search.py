"""The one search among feasible rows: the nearest row that passes a test, from several starts.

A start is moved, one feature at a time, until it passes (`climb`). Then every change is taken back
as far as the test allows (`shorten`). Of the nearest rows so found, each change in turn is given up
for whatever else is shorter (`nearest`). People are searched side by side but do not see each
other, so that nothing depends on the batch.

Rows come and go as people are told them. In between they are as done, without what follows from it
(see `relations.py`): that is what moves and what has a length. Tests and scores see rows as told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from changeproof.feasible.actions import Actions
from changeproof.feasible.crossings import (
    Crossings,
    count_crossed,
    nearer_values,
    take_back_to_splits,
)
from changeproof.feasible.kernels import (
    fill_distances,
    fill_neighbours,
    lengths,
    project_rows,
)
from changeproof.feasible.rules import BINARY, CATEGORIES, NONE, Limits
from changeproof.model import Booleans, Floats, Integers

# Rounds until a climb gives up.
ROUNDS = 100
# How often all changes are taken back in turn, and how often a change of a number is halved.
PASSES, HALVINGS = 2, 7
# Into how many parts splits are divided to find how few a number has to cross, and how much farther
# than the nearest row an exchange may go before it is shortened.
PARTS, DETOUR = 8, 1.5
# How far a number goes, as shares of the room that it has; 0 stands for one step.
JUMPS = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
# An alternative this good for its length, compared with the best, is good enough: the largest of
# them is taken, so that a long way is not gone in single steps.
NEARLY_AS_GOOD = 0.8
# Less than this is not shorter.
WORTHWHILE = 1e-9
# How many people, and how many numbers, are looked at at once.
PEOPLE_AT_ONCE, NUMBERS_AT_ONCE = 64, 2**25
# How many rows of a person a test is asked about at a time, and of how many people and rows
# distances are held.
ROWS_AT_ONCE, DISTANCES_AT_ONCE = 32, 4_000_000

# Judge rows [rows, columns], each for the person at the given place.
Test = Callable[[Floats, Integers], Booleans]
Score = Callable[[Floats, Integers], Floats]


class SearchEffort(NamedTuple):
    """How often changes are given up for others at most, and with how many of the nearest rows."""

    exchanges: int = 3
    kept: int = 1


USUAL = SearchEffort()
# Of a pool of boosted trees, 1 to 6 % nearer for three times the time; 8 rows, 1 % more for twice
# that.
THOROUGH = SearchEffort(exchanges=6, kept=3)


class NearestRows(NamedTuple):
    """The nearest rows found for every person [people, rows, columns], the nearest first.

    `lengths` are infinite where there are fewer; `fresh` says which are new.
    """

    rows: Floats
    lengths: Floats
    fresh: Booleans

    @classmethod
    def none(cls, people: int, kept: int, columns: int) -> NearestRows:
        rows, lengths = np.full((people, kept, columns), np.nan), np.full((people, kept), np.inf)
        return cls(rows, lengths, np.zeros((people, kept), np.bool_))

    def keep(self, person: int, row: Floats, length: float) -> None:
        """Keep a row if it is nearer than one of those kept, and none of them."""
        nearer = np.flatnonzero(length < self.lengths[person] - WORTHWHILE)
        if not len(nearer) or (self.rows[person] == row).all(axis=1).any():
            return
        place = nearer[0]
        for each in self:
            each[person, place + 1 :] = each[person, place:-1].copy()
        self.rows[person, place], self.lengths[person, place] = row, length
        self.fresh[person, place] = True


@dataclass(frozen=True, eq=False)
class FeasibleSearch:
    """Looks for the nearest feasible row that passes a test, for several people.

    Parameters
    ----------
    actions, factuals
        What may change, and people [people, columns].
    passes
        The test. It is told by place which person each row is for.
    score
        How near rows are to passing: higher is nearer. It is asked more often than the test.
    weights
        What one unit of change of every column adds to the distance.
    crossings
        The splits of the models that test and score ask, where these depend on nothing else.
        Numbers then move just across splits, and no other value is tried.
    """

    actions: Actions
    factuals: Floats
    passes: Test
    score: Score
    weights: Floats
    crossings: Crossings | None = None

    def of(self, people: Integers) -> FeasibleSearch:
        """Return the same for some of the people, or for some of them several times."""
        some = replace(
            self,
            actions=self.actions.some_people(people),
            factuals=self.factuals[people],
            passes=lambda rows, places: self.passes(rows, people[places]),
            score=lambda rows, places: self.score(rows, people[places]),
        )
        vars(some)["limits"] = self.limits.of(people)
        vars(some)["edges"] = self.edges[0][people], self.edges[1][people]
        return some

    @cached_property
    def limits(self) -> Limits:
        return self.actions.limits(self.factuals)

    @cached_property
    def edges(self) -> tuple[Floats, Floats]:
        if self.actions.relations is None:
            nothing = np.empty((len(self.factuals), 0))
            return nothing, nothing
        return self.actions.edges(self.factuals)

    def _told(self, done: Floats, people: Integers) -> Floats:
        """Return rows as told, of the people at the given places."""
        if self.actions.relations is None:
            return done
        return self.actions.follow(self.factuals[people], done)

    def _passes(self, done: Floats, people: Integers) -> Booleans:
        return self.passes(self._told(done, people), people)

    def _score(self, done: Floats, people: Integers) -> Floats:
        return self.score(self._told(done, people), people)

    def lengths(self, rows: Floats) -> Floats:
        """Return how far people have to go for rows as told, one per person."""
        return self._lengths(self.actions.doing(self.factuals, rows))

    def _lengths(self, rows: Floats) -> Floats:
        """Return how far rows as done, one or several per person, are from people."""
        several = rows if rows.ndim == 3 else rows[:, None]
        result: Floats = lengths(self.factuals, several, self.weights)
        return result if rows.ndim == 3 else result[:, 0]

    def nearest(self, starts: Floats, effort: SearchEffort = USUAL) -> Floats:
        """Return for every person the nearest row found that passes; NaN where none does.

        `starts` are feasible rows to start from [people, starts, columns]; NaN where somebody has
        fewer. Of the nearest rows found, all changes are given up in turn, until nothing shorter
        comes of it or the `effort` is spent. Where splits are known, each change is also taken
        back across one of them.
        """
        found = NearestRows.none(len(starts), effort.kept, starts.shape[2])
        owners, which = np.nonzero(np.isfinite(starts).all(axis=2))
        first = self.actions.doing(self.factuals[owners], starts[owners, which])
        self._keep_nearest(first, owners, None, found)
        known: set[tuple[int, int, bytes]] = set()
        for _ in range(effort.exchanges):
            owners, which = np.nonzero(found.fresh)
            if not len(owners):
                break
            found.fresh[:] = False
            others, owners, given_up = self._given_up(found.rows[owners, which], owners)
            keys = zip(owners.tolist(), given_up.tolist(), map(bytes, others), strict=True)
            first_of = {key: place for place, key in reversed(list(enumerate(keys)))}
            new = np.array(sorted(first_of[key] for key in first_of.keys() - known), np.int64)
            known.update(first_of)
            others, owners, given_up = others[new], owners[new], given_up[new]
            fixed = np.arange(len(self.actions.features)) == given_up[:, None]
            longest = None if self.crossings is None else DETOUR * found.lengths[owners, 0]
            self._keep_nearest(others, owners, fixed, found, longest)
        best = found.rows[:, 0]
        there = np.flatnonzero(np.isfinite(found.lengths[:, 0]))
        best[there] = self._told(best[there], there)
        return best

    def _given_up(self, rows: Floats, owners: Integers) -> tuple[Floats, Integers, Integers]:
        """Return rows without one of their changes, for whom, and which feature that is."""
        some = self.of(owners)
        without, differed = some._put_back(rows)
        which, features = np.nonzero(differed)
        others = without[differed]
        if self.crossings is not None:
            back, there = some.of(which)._one_back(rows[which], features)
            others = np.concatenate([others, back[there]])
            which = np.concatenate([which, which[there]])
            features = np.concatenate([features, features[there]])
        return others, owners[which], features

    def _keep_nearest(
        self,
        starts: Floats,
        owners: Integers,
        fixed: Booleans | None,
        found: NearestRows,
        longest: Floats | None = None,
    ) -> None:
        """Climb from starts, shorten what passes, and keep the nearest."""
        some = self.of(owners)
        rows, passed = some._climb(starts, fixed=fixed, longest=longest)
        there = np.flatnonzero(passed)
        some = some.of(there)
        short = some._shorten(rows[there])
        for row, owner, length in zip(short, owners[there], some._lengths(short), strict=True):
            found.keep(owner, row, length)

    def climb(
        self, rows: Floats, *, fixed: Booleans | None = None, longest: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        """Change a feature at a time until rows pass; return the rows and which of them pass.

        Each time the alternative is taken that gains most of the score for its length or, if that
        passes, the shortest that does. Where as many features differ as may, and no other value of
        these gains anything, one of them is put back to change another. `rows` are feasible, one
        per person. Features that are `fixed` [people, features] stay as they are; rows go no
        farther than `longest` [people].
        """
        done = self.actions.doing(self.factuals, rows)
        climbed, passed = self._climb(done, fixed=fixed, longest=longest)
        return self._told(climbed, np.arange(len(rows))), passed

    def _climb(
        self, rows: Floats, *, fixed: Booleans | None = None, longest: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        rows, people = rows.copy(), np.arange(len(rows))
        n_features = len(self.actions.features)
        fixed = np.zeros((len(rows), n_features), np.bool_) if fixed is None else fixed
        limits = np.full(len(rows), np.inf) if longest is None else longest + WORTHWHILE
        scores, passed = self._score(rows, people), self._passes(rows, people)
        waiting = np.flatnonzero(~passed)
        numbers = int(self._slots[-1]) * rows.shape[1]
        at_once = max(1, min(PEOPLE_AT_ONCE, NUMBERS_AT_ONCE // max(1, numbers)))
        for _ in range(ROUNDS):
            going, swapped = [waiting[:0]], [waiting[:0]]
            for first in range(0, len(waiting), at_once):
                some = waiting[first : first + at_once]
                tried, added, found = self._alternatives(some, rows[some], fixed, limits)
                choice = _best_for_length(found - scores[some][:, None], added)
                moved = choice >= 0
                gains = found[moved] > scores[some[moved]][:, None]
                given = some[moved], tried[moved], added[moved], gains, choice[moved]
                choice[moved], passed[some[moved]] = self._shortest_passing(*given)
                rows[some[moved]] = tried[moved, choice[moved]]
                scores[some[moved]] = found[moved, choice[moved]]
                going.append(some[moved])
                swapped.append(self._swap(rows, scores, fixed, limits, some[~moved]))
            others = np.concatenate(swapped)
            passed[others] = self._passes(rows[others], others)
            moved_on = np.sort(np.concatenate([*going, others]))
            if not len(moved_on):
                break
            waiting = moved_on[~passed[moved_on]]
        return rows, passed

    def _shortest_passing(
        self, people: Integers, tried: Floats, added: Floats, gains: Booleans, choice: Integers
    ) -> tuple[Integers, Booleans]:
        """Return choices; where they pass, the shortest change of the same feature that does.

        The second says which of them pass.

        Of another feature, a shorter one may pass by chance: steps are coarse, and shortening would
        gain less.
        """
        each = np.arange(len(people))
        passed = self._passes(tried[each, choice], people)
        features = np.repeat(np.arange(len(self._slots) - 1), np.diff(self._slots))
        shorter = passed[:, None] & gains & (added < added[each, choice][:, None])
        shorter &= features == features[choice][:, None]
        who, slot = np.nonzero(shorter)
        if not len(who):
            return choice, passed
        shorter[who, slot] = self._passes(tried[who, slot], people[who])
        shortest = np.where(shorter, added, np.inf).argmin(axis=1)
        return np.where(shorter.any(axis=1), shortest, choice), passed

    def _alternatives(
        self, people: Integers, rows: Floats, fixed: Booleans, limits: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return neighbours [rows, slots, columns], what they add to the length, and their scores.

        Scores are minus infinity where there is no such neighbour within the limits.
        """
        some = self.of(people)
        tried, possible = some.neighbours(rows, fixed[people])
        far = some._lengths(tried)
        possible &= far <= limits[people][:, None]
        scores = np.full(possible.shape, -np.inf)
        if possible.any():
            scores[possible] = some._score(tried[possible], np.nonzero(possible)[0])
        return tried, far - some._lengths(rows)[:, None], scores

    def _swap(
        self, rows: Floats, scores: Floats, fixed: Booleans, limits: Floats, stuck: Integers
    ) -> Integers:
        """Put one feature back and change another, in place, where no more may change.

        Return for whom that gains something.
        """
        changed = self.actions.changed(self.factuals[stuck], rows[stuck], done=True).sum(axis=1)
        swapped = []
        for i in stuck[changed >= self.actions.rules.most].tolist():
            without, differed = self.of(np.array([i]))._put_back(rows[[i]])
            starts = without[0][differed[0] & ~fixed[i]]
            tried, _, found = self._alternatives(np.full(len(starts), i), starts, fixed, limits)
            if found.size and found.max() > scores[i]:
                rows[i] = tried.reshape(-1, tried.shape[2])[found.argmax()]
                scores[i] = found.max()
                swapped.append(i)
        return np.array(swapped, dtype=np.int64)

    def shorten(self, rows: Floats) -> Floats:
        """Take back of every change what the test does not need, the largest change first.

        Rows must be feasible and pass. Features are put back one after the other; of numbers that
        have to change, halving finds how little is enough, or how few splits have to be crossed.
        """
        short = self._shorten(self.actions.doing(self.factuals, rows))
        return self._told(short, np.arange(len(rows)))

    def _shorten(self, rows: Floats) -> Floats:
        result = rows.copy()
        waiting = np.arange(len(rows))
        # Splits are found exactly, so that once is enough.
        for _ in range(PASSES if self.crossings is None else 1):
            before, some = result[waiting], self.of(waiting)
            undone = some._undone(before)
            shorter = some._halved(undone) if self.crossings is None else some._uncrossed(undone)
            result[waiting] = shorter
            waiting = waiting[(shorter != before).any(axis=1)]
            if not len(waiting):
                break
        return result

    def _undone(self, rows: Floats) -> Floats:
        """Put features back, the largest change first, where the row still passes without."""
        result = rows.copy()
        order, counts = self._by_size(rows)
        for k in range(int(counts.max(initial=0))):
            who = np.flatnonzero(k < counts)
            turn = order[who, k][:, None] == self.actions.rules.feature_of
            tried = np.where(turn, self.factuals[who], result[who])
            # Nobody is put back as a whole.
            left = (tried != self.factuals[who]).any(axis=1)
            if self.actions.relations is not None:
                tried, kept = self._settled(tried, who, order[who, k])
                left = kept & self._shorter(tried, result[who], who)
            who, tried = who[left], tried[left]
            if len(who):
                passed = self._passes(tried, who)
                result[who[passed]] = tried[passed]
        return result

    def _halved(self, rows: Floats) -> Floats:
        """Change numbers as little as the test allows, the largest change first."""
        result = rows.copy()
        numbers = np.array([not feature.categories for feature in self.actions.features])
        order, counts = self._by_size(rows, numbers)
        for k in range(int(counts.max(initial=0))):
            who = np.flatnonzero(k < counts)
            column = self.actions.rules.features[order[who, k], 0]
            people, limits = self.factuals[who], self.limits.of(who)
            own, far = self.factuals[who, column], result[who, column]
            too_little, enough = np.zeros(len(who)), np.ones(len(who))
            for _ in range(HALVINGS):
                share = 0.5 * (too_little + enough)
                tried = result[who]
                tried[np.arange(len(who)), column] = own + share * (far - own)
                tried = self._projected(tried, who, limits, order[who, k])
                # What is rounded to the row at hand, or to nothing, need not be asked.
                passed = (tried == result[who]).all(axis=1)
                fresh = ~passed & (tried != people).any(axis=1)
                if self.actions.relations is not None:
                    fresh &= self._shorter(tried, result[who], who)
                if fresh.any():
                    passed[fresh] = self._passes(tried[fresh], who[fresh])
                result[who[passed]] = tried[passed]
                enough[passed], too_little[~passed] = share[passed], share[~passed]
        return result

    def _uncrossed(self, rows: Floats) -> Floats:
        """Let numbers cross as few splits as the test allows, the largest change first."""
        assert self.crossings is not None
        given = self.actions.rules, self.crossings
        result = rows.copy()
        numbers = np.array([not feature.categories for feature in self.actions.features])
        order, counts = self._by_size(rows, numbers)
        for k in range(int(counts.max(initial=0))):
            who = np.flatnonzero(k < counts)
            turn, people = order[who, k], self.factuals[who]
            columns, limits = self.actions.rules.features[turn, 0], self.limits.of(who)
            # One more, so that a number that has gone on from its last split is taken back to it.
            enough = count_crossed(result[who], people, turn, *given) + 1
            too_few = np.zeros_like(enough)
            while (going := np.flatnonzero(enough - too_few > 1)).size:
                between = (enough - too_few)[going][:, None] * np.arange(1, PARTS) // PARTS
                crossed = too_few[going][:, None] + np.maximum(between, 1)
                now, own, room = result[who[going]], people[going], limits.of(going)
                values = nearer_values(now, own, room, turn[going], crossed, *given)
                values[:, 1:][crossed[:, 1:] == crossed[:, :-1]] = np.nan
                some, which = np.nonzero(np.isfinite(values))
                passed = np.zeros(values.shape, np.bool_)
                if len(some):
                    tried = now[some]
                    tried[np.arange(len(some)), columns[going[some]]] = values[some, which]
                    passed[some, which] = self.passes(tried, who[going[some]])
                found, first = passed.any(axis=1), passed.argmax(axis=1)
                each = np.arange(len(going))
                enough[going] = np.where(found, crossed[each, first], enough[going])
                failed = np.where(crossed < enough[going][:, None], crossed, 0).max(axis=1)
                too_few[going] = np.maximum(too_few[going], failed)
                there = going[found]
                result[who[there], columns[there]] = values[each, first][found]
        return result

    def _one_back(self, rows: Floats, features: Integers) -> tuple[Floats, Booleans]:
        """Take one feature of every row back across one split; return where that is possible."""
        given = features, self.actions.rules, self.crossings
        crossed = count_crossed(rows, self.factuals, *given)[:, None] - 1
        rules = self.actions.rules, self.crossings
        values = nearer_values(rows, self.factuals, self.limits, features, crossed, *rules)[:, 0]
        result, there = rows.copy(), np.isfinite(values)
        result[there, self.actions.rules.features[features[there], 0]] = values[there]
        return result, there

    def nearest_of(
        self, rows: Floats, *, wanted: int = 1, most_tested: int | None = None
    ) -> Floats:
        """Project rows for every person; return the nearest that pass [people, wanted, columns].

        They are in the order of their distance; NaN where fewer pass, of the first `most_tested`
        that differ.
        """
        found = np.full((len(self.factuals), wanted, rows.shape[1]), np.nan)
        limit = len(rows) if most_tested is None else most_tested
        at_once = max(1, min(PEOPLE_AT_ONCE, DISTANCES_AT_ONCE // max(1, len(rows))))
        for first in range(0, len(found), at_once):
            some = np.arange(first, min(first + at_once, len(found)))
            own = np.ascontiguousarray(self.factuals[some])
            far = np.empty((len(some), len(rows)))
            limits = self.limits.of(some)
            fill_distances(far, own, rows, self.weights, limits, self.actions.rules)
            order = np.argsort(far, axis=1, kind="stable")
            n_found, n_tested = np.zeros((2, len(some)), dtype=np.int64)
            for start, stop in self._portions(len(rows)):
                going = np.flatnonzero((n_found < wanted) & (n_tested < limit))
                if not len(going):
                    break
                # With the one before, to see whether the first is another.
                chosen = order[going, max(start - 1, 0) : stop]
                actions = self.actions.some_people(some[going])
                tried = actions.project(own[going], rows[chosen], limits.of(going))
                fresh = (tried != own[going][:, None]).any(axis=2)
                fresh[:, 1:] &= (tried[:, 1:] != tried[:, :-1]).any(axis=2)
                fresh[:, 0] &= start == 0
                fresh &= n_tested[going][:, None] + np.cumsum(fresh, axis=1) <= limit
                n_tested[going] += fresh.sum(axis=1)
                who, which = np.nonzero(fresh)
                if not len(who):
                    continue
                passed = self.passes(tried[who, which], some[going[who]])
                for i, k in zip(who[passed], which[passed], strict=True):
                    person = going[i]
                    # Of rows as far as each other, the same one may come again after another.
                    known = found[some[person], : n_found[person]]
                    if n_found[person] < wanted and not (known == tried[i, k]).all(axis=1).any():
                        found[some[person], n_found[person]] = tried[i, k]
                        n_found[person] += 1
        return found

    def _portions(self, n_rows: int) -> Iterator[tuple[int, int]]:
        """Yield from where to where rows are tested at a time.

        More and more of them where rules between features are kept: few take as long as many.
        """
        start, size = 0, ROWS_AT_ONCE
        while start < n_rows:
            yield start, start + size
            start += size
            if self.actions.relations is not None:
                size *= 2

    def neighbours(self, rows: Floats, fixed: Booleans) -> tuple[Floats, Booleans]:
        """Return rows [people, slots, columns] with one feature changed, and which are possible.

        Numbers move by one step or by shares of their room, either way, but no farther than just
        across the last split on that way; categories become any other. Features that are `fixed`
        [people, features] stay as they are.
        """
        slots, rules = self._slots, self.actions.rules
        tried = np.repeat(rows[:, None], slots[-1], axis=1)
        possible = np.zeros(tried.shape[:2], dtype=np.bool_)
        given = self.factuals, self.limits, fixed, rules, slots, self._jumps
        fill_neighbours(rows, *given, tried, possible)
        if self.crossings is not None:
            known = self.factuals, self.limits, rules, slots, self.crossings
            take_back_to_splits(rows, *known, tried, possible)
        if self.actions.relations is not None and possible.any():
            who, slot = np.nonzero(possible)
            mover = np.searchsorted(slots, slot, side="right") - 1
            settled, kept = self._settled(tried[who, slot], who, mover, fixed[who])
            tried[who, slot] = settled
            possible[who, slot] = kept & (settled != rows[who]).any(axis=1)
        return tried, possible

    def _settled(
        self, rows: Floats, who: Integers, mover: Integers, fixed: Booleans | None = None
    ) -> tuple[Floats, Booleans]:
        """Return rows as done that keep the rules between features, and which of them do.

        One feature of each, the `mover`, moved; others follow it where they can.
        """
        last = np.arange(len(self.actions.features)) == mover[:, None]
        edges = self.edges[0][who], self.edges[1][who]
        return self.actions.settled(
            self.factuals[who], rows, self.limits.of(who), edges=edges, held=fixed, last=last
        )

    def _projected(self, rows: Floats, who: Integers, limits: Limits, mover: Integers) -> Floats:
        """Return the nearest feasible rows as done; those at hand where that breaks a rule."""
        if self.actions.relations is None:
            return self.actions.project(self.factuals[who], rows, limits)
        several = rows[:, None].copy()
        project_rows(several, np.ascontiguousarray(self.factuals[who]), limits, self.actions.rules)
        settled, kept = self._settled(several[:, 0], who, mover)
        return np.where(kept[:, None], settled, self.factuals[who])

    def _shorter(self, rows: Floats, others: Floats, who: Integers) -> Booleans:
        """Return which rows as done change something, but less than others do."""
        people = self.factuals[who]
        far, before = (
            lengths(people, each[:, None], self.weights)[:, 0] for each in (rows, others)
        )
        return np.asarray((rows != people).any(axis=1) & (far < before))

    @property
    def _jumps(self) -> Floats:
        """How far numbers go; a step is not worth trying where only splits count."""
        return JUMPS if self.crossings is None else JUMPS[1:]

    @property
    def _slots(self) -> Integers:
        """The first slot of every feature and, last, how many there are."""
        _, widths, kinds, changes = self.actions.rules.features.T
        sizes = np.select(
            [changes == NONE, kinds == CATEGORIES, kinds == BINARY],
            [0, widths, 2],
            2 * len(self._jumps),
        )
        return np.concatenate([[0], np.cumsum(sizes)])

    def _put_back(self, rows: Floats) -> tuple[Floats, Booleans]:
        """Return rows [people, features, columns] with one feature put back; where it differed."""
        turn = np.arange(len(self.actions.features))[:, None] == self.actions.rules.feature_of
        tried = np.where(turn, self.factuals[:, None], rows[:, None])
        differed = np.asarray((tried != rows[:, None]).any(axis=2))
        if self.actions.relations is not None and differed.any():
            who, place = np.nonzero(differed)
            # What is given up stays so.
            held = np.arange(len(self.actions.features)) == place[:, None]
            tried[who, place], kept = self._settled(tried[who, place], who, place, held)
            differed[who, place] = kept
        return tried, differed

    def _by_size(self, rows: Floats, counted: Booleans | None = None) -> tuple[Integers, Integers]:
        """Return features by the size of their change and how many change, of those `counted`."""
        changes = np.zeros((len(rows), len(self.actions.features)))
        each = np.abs(rows - self.factuals) * self.weights
        for place, feature in enumerate(self.actions.features):
            for column in feature.columns:
                changes[:, place] += each[:, column]
        if counted is not None:
            changes[:, ~counted] = 0.0
        return np.argsort(-changes, axis=1, kind="stable"), (changes > 0.0).sum(axis=1)


def _best_for_length(gains: Floats, added: Floats) -> Integers:
    """Return per person the alternative that gains most for its length; -1 where none gains."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(gains > 0.0, np.where(added > 0.0, gains / added, np.inf), -np.inf)
    most = worth.max(axis=1, keepdims=True, initial=-np.inf)
    gains = np.where((worth > 0.0) & (worth >= NEARLY_AS_GOOD * most), gains, -np.inf)
    ties = gains == gains.max(axis=1, keepdims=True, initial=-np.inf)
    if not ties.shape[1]:
        return np.full(len(ties), -1)
    choice = np.where(ties, added, np.inf).argmin(axis=1)
    return np.where(most[:, 0] > 0.0, choice, -1)
