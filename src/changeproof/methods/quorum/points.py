"""The nearest points that many networks accept, by a linear programme a step.

Around the point at hand all networks are taken as linear. A small linear programme then finds the
shortest change for which they would all reach the margin, no farther from that point than a trust
region allows. Points on the way there, and somewhat beyond, are tried; the best of them is next. In
every round all people are asked about at once; they do not see each other, so that nothing depends
on the batch.

What needs no asking is not asked: of points that a few networks rule out the others are not, and
where somebody has not moved, all is known from before. The results are as if all had been asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import logarithms
from changeproof.datasets.task import Task
from changeproof.feasible.kernels import lengths
from changeproof.feasible.wide_tables import SEARCHED_COLUMNS, WIDE
from changeproof.methods.quorum.choosing import Aim, Judged, Tried, choose
from changeproof.methods.shared.dual_simplex import OPTIMAL, solve
from changeproof.methods.shared.ensembles import Groups
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.blocks import Blocks, fill_logits, fill_slopes, fill_some_logits
from changeproof.networks.network import checked_rows
from changeproof.networks.stack import NetworkStack

MOST_PIVOTS = 400
# Probabilities are taken as no nearer to 0 and 1 than this, and spreads as no less.
TINY = 1e-12
ROUNDS = 8
# Networks of the lowest logits that a linear programme knows.
LOWEST = 48
# What a logit below the margin costs, in distance: more than most changes that lift it by as much
# and, where that is not enough, more than any.
PENALTIES = (5.0, 5e3)
# How much of the way to the answer of a linear programme is tried. More than 1 goes beyond it, away
# from the person: networks that are not linear are often just missed.
SHARES = (1.15, 1.0, 0.5, 0.1)
# What becomes of the trust region after each, and where nothing is gained.
REGIONS, NOTHING_GAINED = np.array([2.0, 2.0, 0.5, 0.3]), 0.25
FIRST_REGION, LARGEST_REGION = 1.0, 2.0
# Who has less room than this has arrived.
SMALLEST_REGION = 0.01
WORTHWHILE = 1e-9
# Steps aim this far beyond the margin, so that no answer is lost to rounding.
HAIR = 1e-7
HALVINGS = 12
# Networks that are asked about all points that are tried, before all are about those that are left:
# the first, and so many that were lowest before.
FIRST_ASKED = 2
# Rounds in which the others make up for a feature that is put back, and how many features are
# tried one by one.
ROUNDS_LEFT, SINGLE_FEATURES = 4, 2


class Asked(Judged, Protocol):
    """Networks that are asked about points: all of them, or how far they agree.

    What they say of a row is a line of scores; the value of a line has to reach a margin.
    """

    def scores(self, rows: Floats) -> Floats:
        """Return what is said of rows [rows, networks]."""

    def linear(
        self, rows: Floats, scores: Floats, margin: float, failures: int
    ) -> tuple[Floats, Floats]:
        """Return values [rows, k] that all have to reach the margin, and their slopes."""


@dataclass(frozen=True, eq=False)
class Jury:
    """Models that are asked together; of a pool the first is the base model, which has to accept.

    Log odds are in `units` of each model's own, if these are given. The others may be in `groups`,
    of which the lowest log odds count; failures are then those of groups.
    """

    models: tuple[Model, ...]
    units: Floats | None = None
    groups: Groups | None = None

    @cached_property
    def stack(self) -> Stack:
        return stacked(self.models)

    @classmethod
    def in_own_units(cls, models: tuple[Model, ...], rows: Floats) -> Jury:
        """Take as a unit how sure a model usually is: the median of its log odds without signs.

        The same change of a model moves the log odds of one that is surer of itself by more. In
        units of their own, models are alike.
        """
        usual: Floats = np.median(np.abs(cls(models).log_odds(rows)), axis=1)
        return cls(models, np.maximum(usual, TINY))

    def log_odds(self, rows: Floats) -> Floats:
        """Return what the models think of rows [models, rows]."""
        if isinstance(self.stack, NetworkStack):
            found = self.stack.logits(rows)
        else:
            given = np.clip(self.stack.probabilities(rows), TINY, 1.0 - TINY)
            found = logarithms(given) - logarithms(1.0 - given)
        return found if self.units is None else found / self.units[:, None]

    @cached_property
    def panel(self) -> Panel:
        """All of them for kernels, if they are networks."""
        assert isinstance(self.stack, NetworkStack)
        n = len(self.models)
        units = np.ones(n) if self.units is None else self.units
        groups = np.arange(n - 1) if self.groups is None else self.groups.labels
        return Panel(self.stack.blocks, units, groups)

    def scores(self, rows: Floats) -> Floats:
        """Return log odds [rows, networks]."""
        return self.panel.scores(rows)

    def least(self, scores: Floats, failures: int = 0) -> Floats:
        """Return the lowest log odds of every row, without the lowest `failures` of the others."""
        return self.panel.least(scores, failures)

    def linear(
        self, rows: Floats, scores: Floats, margin: float, failures: int
    ) -> tuple[Floats, Floats]:
        """Return log odds [rows, k] and slopes of the first network and of the lowest others."""
        if self.groups is None:
            order = np.argsort(scores[:, 1:], axis=1, kind="stable")
            order = order[:, failures : failures + LOWEST]
        else:
            order = self.groups.lowest_models(scores[:, 1:].T, failures, LOWEST).T
        first = np.zeros((len(scores), 1), dtype=np.int64)
        which = np.concatenate([first, order + 1], axis=1)
        return np.take_along_axis(scores, which, axis=1), self.panel.slopes(rows, which)

    def at_most(self, before: Floats, rows: Floats, failures: int) -> Floats:
        """Ask the first network and some that were lowest before."""
        networks, units, groups = self.panel
        found = np.full((len(rows), len(units)), np.inf)
        first = np.empty((len(before), 1 + failures + FIRST_ASKED), np.int64)
        _fill_lowest(before, groups, first)
        every = np.repeat(first, len(rows) // len(before), axis=0)
        fill_some_logits(networks, rows, every, units, found)
        return self.least(found, failures)

    def fill(self, rows: Floats, places: Integers, scores: Floats) -> None:
        fill_logits(self.panel.networks, rows, places, self.panel.units, scores)


class Panel(NamedTuple):
    """Networks for kernels, with the unit of each, and the group of each but the first."""

    networks: Blocks
    units: Floats
    groups: Integers

    def scores(self, rows: Floats) -> Floats:
        """Return log odds [rows, networks]."""
        rows = checked_rows(rows, rows.shape[1])
        result = np.empty((len(rows), len(self.units)))
        fill_logits(self.networks, rows, np.arange(len(rows)), self.units, result)
        return result

    def least(self, scores: Floats, failures: int) -> Floats:
        result = np.empty(len(scores))
        _fill_least(scores, self.groups, failures, result)
        return result

    def slopes(self, rows: Floats, which: Integers) -> Floats:
        """Return the derivatives of the log odds of networks which[row, k] [rows, k, columns]."""
        result = np.empty((*which.shape, rows.shape[1]))
        fill_slopes(self.networks, rows, which, self.units, result)
        return result


class Room(NamedTuple):
    """What a unit of change costs per column, and the limits of every person [people, columns]."""

    weights: Floats
    low: Floats
    high: Floats

    def of(self, people: Integers) -> Room:
        return Room(self.weights, self.low[people], self.high[people])

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        return np.asarray(lengths(factuals, rows[:, None], self.weights)[:, 0])


class Nearest(NamedTuple):
    """Accepted points [people, columns] and how far they are; NaN and infinity where none is."""

    rows: Floats
    lengths: Floats


class Agreeing(Asked, Protocol):
    """The same, with one number for what networks say of a row."""

    def log_odds(self, rows: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class AgreedPoints:
    """Searches points inside the training range, as far as people are not outside of it.

    To spare a feature, a change may become longer by a share of `sparsity`.
    """

    agreement: Agreeing
    task: Task
    sparsity: float

    @cached_property
    def _agreed(self) -> Floats:
        return self.agreement.log_odds(self.task.rows("train"))

    def search(
        self, factuals: Floats, threshold: float, bounds: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """Return the nearest point found with so much agreement; NaN where none is.

        The search begins with the people and, where it fails, with the nearest training row that
        is accepted, pulled towards them. Other bounds [people, columns] may be given than the
        training range.
        """
        least, most = self.task.training_range
        low, high = bounds or (np.minimum(least, factuals), np.maximum(most, factuals))
        room = Room(self.task.distance_weights, low, high)
        found = nearest_accepted_points(self.agreement, factuals, factuals, room, margin=threshold)
        lost = np.flatnonzero(np.isinf(found.lengths))
        if len(lost):
            own, limits = factuals[lost], room.of(lost)
            start = self._nearest_rows(own, limits, threshold)
            again = nearest_accepted_points(self.agreement, own, start, limits, margin=threshold)
            found.rows[lost], found.lengths[lost] = again
        return self._sparse(factuals, found, room, threshold)

    def _nearest_rows(self, factuals: Floats, room: Room, threshold: float) -> Floats:
        """Return the nearest accepted training row, pulled towards each person."""
        accepted = self.task.rows("train")[self._agreed >= threshold]
        result = np.full_like(factuals, np.nan)
        if not len(accepted):
            return result
        for i, factual in enumerate(factuals):
            inside = np.clip(accepted, room.low[i], room.high[i])
            people = np.broadcast_to(factual, inside.shape)
            result[i] = inside[room.lengths(people, inside).argmin()]
        return pulled(factuals, result, lambda rows: self.agreement.log_odds(rows) >= threshold)

    def _sparse(self, factuals: Floats, found: Nearest, room: Room, threshold: float) -> Floats:
        """Put features back that others can make up for: small ones at once, then one by one."""
        rows = found.rows.copy()
        limits = (1.0 + self.sparsity) * found.lengths
        there = np.asarray(np.isfinite(rows).all(axis=1))
        if self.sparsity == 0.0 or not there.any():
            return rows
        parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
        small = (parts > 0.0) & (parts <= self.sparsity * found.lengths[:, None])
        who = np.flatnonzero(small.any(axis=1))
        self._without(factuals, rows, room, threshold, limits, who, small)
        for _ in range(SINGLE_FEATURES):
            parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
            smallest = np.where(parts > 0.0, parts, np.inf).argmin(axis=1)
            one = np.arange(parts.shape[1]) == smallest[:, None]
            who = np.flatnonzero((parts > 0.0).sum(axis=1) > 1)
            there &= self._without(factuals, rows, room, threshold, limits, who, one)
        return rows

    def _without(
        self,
        factuals: Floats,
        rows: Floats,
        room: Room,
        threshold: float,
        limits: Floats,
        who: Integers,
        features: Booleans,
    ) -> Booleans:
        """Try, in place, to do without features [people, columns]; return for whom it works."""
        works: Booleans = np.zeros(len(rows), dtype=np.bool_)
        own, back = factuals[who], features[who]
        low, high, start = (np.where(back, own, each[who]) for each in (room.low, room.high, rows))
        limited = Room(room.weights, low, high)
        left = nearest_accepted_points(
            self.agreement, own, start, limited, margin=threshold, rounds=ROUNDS_LEFT
        )
        kept = left.lengths <= limits[who]
        rows[who[kept]] = left.rows[kept]
        works[who[kept]] = True
        return works


def nearest_accepted_points(
    asked: Asked,
    factuals: Floats,
    start: Floats,
    room: Room,
    *,
    margin: float,
    failures: int = 0,
    rounds: int = ROUNDS,
) -> Nearest:
    """Return the nearest points found at which what is asked reaches a margin.

    The search for a person begins at `start`; where that is NaN, there is none. So many `failures`
    may stay below the margin, though not the first. A person has `rounds` linear programmes.
    """
    best = Nearest(np.full_like(factuals, np.nan), np.full(len(factuals), np.inf))
    lost = np.flatnonzero(np.isfinite(start).all(axis=1))
    for penalty in PENALTIES:
        if len(lost):
            aim = Aim(margin, failures, penalty)
            found = _stepped(asked, factuals[lost], start[lost], room.of(lost), aim, rounds)
            best.rows[lost], best.lengths[lost] = found
            lost = lost[np.isinf(found.lengths)]
    return best


def _stepped(
    asked: Asked, factuals: Floats, start: Floats, room: Room, aim: Aim, rounds: int
) -> Nearest:
    here, regions = start.copy(), np.full(len(start), FIRST_REGION)
    best = Nearest(np.full_like(start, np.nan), np.full(len(start), np.inf))
    scores = asked.scores(here)
    least, far = asked.least(scores, aim.failures), room.lengths(factuals, here)
    there = least >= aim.margin
    best.rows[there], best.lengths[there] = here[there], far[there]
    worth = far + aim.penalty * np.maximum(aim.margin - least, 0.0)
    # Both change only for those who have moved.
    values, slopes = asked.linear(here, scores, aim.margin, aim.failures)
    moved = going = np.arange(len(start))
    for turn in range(rounds):
        if turn:
            again = asked.linear(here[moved], scores[moved], aim.margin, aim.failures)
            values[moved], slopes[moved] = again
        own, now, limits = factuals[going], here[going], room.of(going)
        programme = values, slopes, _columns_that_move(own, now, slopes, going, limits.weights)
        goal = now.copy()
        _solve_all(
            going, own, goal, *programme, *limits, regions[going], aim.margin + HAIR, aim.penalty
        )
        tried = np.stack([_on_the_way(own, now, goal, limits, share) for share in SHARES], axis=1)
        far = lengths(own, tried, limits.weights)
        enough = worth[going] - WORTHWHILE
        chosen = choose(asked, scores[going], Tried(tried, far, enough, best.lengths[going]), aim)
        choice, found, nearest = chosen.best, chosen.worths, chosen.nearest
        kept = np.flatnonzero(nearest >= 0)
        best.rows[going[kept]] = tried[kept, nearest[kept]]
        best.lengths[going[kept]] = far[kept, nearest[kept]]
        better = found < enough
        moved = going[better]
        here[moved], worth[moved] = tried[better, choice[better]], found[better]
        scores[moved] = chosen.scores[better]
        factor = np.where(better, REGIONS[choice], NOTHING_GAINED)
        regions[going] = np.minimum(factor * regions[going], LARGEST_REGION)
        going = going[regions[going] >= SMALLEST_REGION]
        if not len(going):
            break
    return best


def _on_the_way(factuals: Floats, here: Floats, goal: Floats, room: Room, share: float) -> Floats:
    """Return a share of the way from here to a goal, or of the way from people beyond it."""
    if share <= 1.0:
        return here + share * (goal - here)
    beyond: Floats = np.clip(factuals + share * (goal - factuals), room.low, room.high)
    return beyond


@compiled
def _least(scores: Any, row: int, groups: Any, failures: int, lows: Any, lowest: Any) -> float:
    """Return the lowest score of a row, without the lowest `failures` groups of the others.

    What is not known is infinite. `lows` [groups] and `lowest` [failures + 1] are scratch.
    """
    for i in range(len(lows)):
        lows[i] = np.inf
    for i in range(len(groups)):
        lows[groups[i]] = min(lows[groups[i]], scores[row, i + 1])
    for i in range(failures + 1):
        lowest[i] = np.inf
    for i in range(len(lows)):
        if lows[i] < lowest[failures]:
            place = failures
            while place > 0 and lows[i] < lowest[place - 1]:
                lowest[place] = lowest[place - 1]
                place -= 1
            lowest[place] = lows[i]
    return float(min(lowest[failures], scores[row, 0]))


@compiled
def _n_groups(groups: Any) -> int:
    most = 0
    for i in range(len(groups)):
        most = max(most, groups[i] + 1)
    return most


@compiled
def _fill_least(scores: Any, groups: Any, failures: int, result: Any) -> None:
    lows, lowest = np.empty(_n_groups(groups)), np.empty(failures + 1)
    for row in range(len(scores)):
        result[row] = _least(scores, row, groups, failures, lows, lowest)


@compiled
def _fill_lowest(scores: Any, groups: Any, found: Any) -> None:
    """Fill in the first network and, of the lowest groups, the lowest each; the first if too few.

    [people, networks]
    """
    taken = np.empty(_n_groups(groups), np.bool_)
    for row in range(len(found)):
        taken[:] = False
        found[row, 0] = 0
        for i in range(1, found.shape[1]):
            lowest, low = 0, np.inf
            for k in range(len(groups)):
                if not taken[groups[k]] and scores[row, k + 1] < low:
                    lowest, low = k + 1, scores[row, k + 1]
            found[row, i] = lowest
            if lowest > 0:
                taken[groups[lowest - 1]] = True


def pulled(factuals: Floats, rows: Floats, accepts: Callable[[Floats], Booleans]) -> Floats:
    """Pull accepted rows towards people, straight, as far as they are still accepted.

    NaN rows stay.
    """
    some = np.flatnonzero(np.isfinite(rows).all(axis=1))
    own, ends = factuals[some], rows[some]
    near, far = np.zeros(len(some)), np.ones(len(some))
    for _ in range(HALVINGS):
        share = 0.5 * (near + far)
        kept = accepts(own + share[:, None] * (ends - own))
        far[kept], near[~kept] = share[kept], share[~kept]
    result = rows.copy()
    result[some] = own + far[:, None] * (ends - own)
    return result


def _columns_that_move(
    factuals: Floats, rows: Floats, slopes: Floats, people: Integers, weights: Floats
) -> Integers:
    """Return which columns a linear programme may change [people, columns]: all of them.

    On a wide table, those that have changed already, and of the others those that move the networks
    most for their length.
    """
    columns = factuals.shape[1]
    if columns <= WIDE:
        return np.tile(np.arange(columns), (len(people), 1))
    with np.errstate(divide="ignore"):
        steep = np.where(weights > 0.0, np.abs(slopes[people]).mean(axis=1) / weights, 0.0)
    steep[rows != factuals] = np.inf
    most = np.argsort(-steep, axis=1, kind="stable")[:, :SEARCHED_COLUMNS]
    return np.sort(most, axis=1)


@compiled
def _solve_all(
    people: Any,
    factuals: Any,
    rows: Any,
    logits: Any,
    slopes: Any,
    places: Any,
    weights: Any,
    low: Any,
    high: Any,
    regions: Any,
    margin: float,
    penalty: float,
) -> None:
    """Replace every row, in place, by the answer of its linear programme.

    Logits and slopes are those of more people, among whom these are `people`. `places` [people,
    columns] are the columns that may change; the others stay. A change is a part
    up and a part down, each counted in distance, and begins at what is nearest to the person inside
    the trust region. The last variable is what all networks may lack.
    """
    n_networks, n_columns = slopes.shape[1], places.shape[1]
    table = np.empty((n_networks, 2 * n_columns + 1))
    starts, origin, moves = np.empty(n_networks), np.empty(n_columns), np.empty(n_columns)
    capacities, ratios = np.empty(2 * n_columns + 1), np.empty(len(weights))
    for p in range(len(people)):
        here, own, which, person = rows[p], factuals[p], places[p], people[p]
        for j in range(n_columns):
            c = which[j]
            least = max(low[p, c], here[c] - regions[p])
            most = min(high[p, c], here[c] + regions[p])
            origin[j] = min(max(own[c], least), most)
            # Beyond what a person has lies no shorter change.
            up = most - origin[j] if origin[j] >= own[c] else 0.0
            down = origin[j] - least if origin[j] <= own[c] else 0.0
            # What has no weight (a constant column) does not move.
            capacities[2 * j] = max(up, 0.0) * weights[c]
            capacities[2 * j + 1] = max(down, 0.0) * weights[c]
            moves[j] = origin[j] - here[c]
        capacities[2 * n_columns] = np.inf
        for i in range(n_networks):
            # Side by side, divisions take a fraction of the time.
            for c in range(len(weights)):
                ratios[c] = slopes[person, i, c] / weights[c]
            start = logits[person, i] - margin
            for j in range(n_columns):
                c = which[j]
                start += slopes[person, i, c] * moves[j]
                ratio = ratios[c] if weights[c] > 0.0 else 0.0
                table[i, 2 * j], table[i, 2 * j + 1] = ratio, -ratio
            starts[i], table[i, 2 * n_columns] = start, 1.0 / penalty
        status, values, _ = solve(table, starts, capacities, MOST_PIVOTS)
        if status == OPTIMAL:
            for j in range(n_columns):
                c = which[j]
                change = values[2 * j] - values[2 * j + 1]
                here[c] = origin[j] + (change / weights[c] if weights[c] > 0.0 else 0.0)
