"""The nearest points that many networks accept, by a linear programme a step.

Around the point at hand all networks are taken as linear. A small linear programme then finds the
shortest change for which they would all reach the margin, no farther from that point than a trust
region allows. Points on the way there, and somewhat beyond, are tried; the best of them is next. In
every round all people are asked about at once; they do not see each other, so that nothing depends
on the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import logarithms
from changeproof.datasets.task import Task
from changeproof.feasible.kernels import lengths
from changeproof.feasible.wide_tables import SEARCHED_COLUMNS, WIDE
from changeproof.methods.shared.dual_simplex import OPTIMAL, solve
from changeproof.methods.shared.ensembles import Groups
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
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
# Rounds in which the others make up for a feature that is put back, and how many features are
# tried one by one.
ROUNDS_LEFT, SINGLE_FEATURES = 4, 2


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

    def most_agreed(self, task: Task) -> Floats:
        """Return the training rows that most models accept, of those that the first accepts."""
        if task not in self._most_agreed:
            train = task.rows("train")
            votes = self.stack.favourable(train)
            counts = np.where(votes[0], votes.sum(axis=0), 0)
            self._most_agreed[task] = train[votes[0] & (counts == counts.max())]
        return self._most_agreed[task]

    @cached_property
    def _most_agreed(self) -> dict[Task, Floats]:
        return {}

    def log_odds(self, rows: Floats) -> Floats:
        """Return what the models think of rows [models, rows]."""
        if isinstance(self.stack, NetworkStack):
            found = self.stack.logits(rows)
        else:
            given = np.clip(self.stack.probabilities(rows), TINY, 1.0 - TINY)
            found = logarithms(given) - logarithms(1.0 - given)
        return found if self.units is None else found / self.units[:, None]

    def least(self, rows: Floats, failures: int = 0) -> Floats:
        """Return the lowest log odds of every row, without the lowest `failures` of the others."""
        found = self.log_odds(rows)
        if len(found) == 1:
            return np.asarray(found[0])
        scores = found[1:] if self.groups is None else self.groups.lowest(found[1:])
        others = np.partition(scores, failures, axis=0)[failures]
        return np.asarray(np.minimum(found[0], others))

    def lowest(self, rows: Floats, failures: int) -> tuple[Floats, Floats]:
        """Return logits [rows, k] and gradients of the first network and of the lowest others."""
        assert isinstance(self.stack, NetworkStack)
        logits, gradients = self.stack.logits_and_gradients(rows)
        if self.units is not None:
            units = self.units[:, None]
            logits, gradients = logits / units, gradients / units
        if self.groups is None:
            order = np.argsort(logits[1:].T, axis=1, kind="stable")
            order = order[:, failures : failures + LOWEST]
        else:
            order = self.groups.lowest_models(logits[1:], failures, LOWEST).T
        which = np.concatenate([np.zeros((len(rows), 1), dtype=np.int64), order + 1], axis=1)
        slopes = np.take_along_axis(gradients, which[:, :, None], axis=1)
        return np.take_along_axis(logits.T, which, axis=1), slopes


class Room(NamedTuple):
    """What a unit of change costs per column, and the limits of every person [people, columns]."""

    weights: Floats
    low: Floats
    high: Floats

    def of(self, people: Integers) -> Room:
        return Room(self.weights, self.low[people], self.high[people])

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        return np.asarray(lengths(factuals, rows[:, None], self.weights)[:, 0])


class Aim(NamedTuple):
    """The logit to reach, by all networks but so many, and what it costs to miss it."""

    margin: float
    failures: int
    penalty: float


class Nearest(NamedTuple):
    """Accepted points [people, columns] and how far they are; NaN and infinity where none is."""

    rows: Floats
    lengths: Floats


@dataclass(frozen=True, eq=False)
class AgreedPoints:
    """Searches points inside the training range, as far as people are not outside of it.

    To spare a feature, a change may become longer by a share of `sparsity`.
    """

    jury: Jury
    task: Task
    sparsity: float

    @cached_property
    def _least(self) -> Floats:
        return self.jury.least(self.task.rows("train"))

    def search(
        self, factuals: Floats, margin: float, bounds: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """Return the nearest point found that all accept with a margin; NaN where none is.

        The search begins with the people and, where it fails, with the nearest training row that
        is accepted, pulled towards them. Other bounds [people, columns] may be given than the
        training range.
        """
        least, most = self.task.training_range
        low, high = bounds or (np.minimum(least, factuals), np.maximum(most, factuals))
        room = Room(self.task.distance_weights, low, high)
        found = nearest_accepted_points(self.jury, factuals, factuals, room, margin=margin)
        lost = np.flatnonzero(np.isinf(found.lengths))
        if len(lost):
            own, limits = factuals[lost], room.of(lost)
            start = self._nearest_rows(own, limits, margin)
            again = nearest_accepted_points(self.jury, own, start, limits, margin=margin)
            found.rows[lost], found.lengths[lost] = again
        return self._sparse(factuals, found, room, margin)

    def _nearest_rows(self, factuals: Floats, room: Room, margin: float) -> Floats:
        """Return the nearest accepted training row, pulled towards each person."""
        accepted = self.task.rows("train")[self._least >= margin]
        result = np.full_like(factuals, np.nan)
        if not len(accepted):
            return result
        for i, factual in enumerate(factuals):
            inside = np.clip(accepted, room.low[i], room.high[i])
            people = np.broadcast_to(factual, inside.shape)
            result[i] = inside[room.lengths(people, inside).argmin()]
        return pulled(factuals, result, lambda rows: self.jury.least(rows) >= margin)

    def _sparse(self, factuals: Floats, found: Nearest, room: Room, margin: float) -> Floats:
        """Put features back that others can make up for: small ones at once, then one by one."""
        rows = found.rows.copy()
        limits = (1.0 + self.sparsity) * found.lengths
        there = np.asarray(np.isfinite(rows).all(axis=1))
        if self.sparsity == 0.0 or not there.any():
            return rows
        parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
        small = (parts > 0.0) & (parts <= self.sparsity * found.lengths[:, None])
        who = np.flatnonzero(small.any(axis=1))
        self._without(factuals, rows, room, margin, limits, who, small)
        for _ in range(SINGLE_FEATURES):
            parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
            smallest = np.where(parts > 0.0, parts, np.inf).argmin(axis=1)
            one = np.arange(parts.shape[1]) == smallest[:, None]
            who = np.flatnonzero((parts > 0.0).sum(axis=1) > 1)
            there &= self._without(factuals, rows, room, margin, limits, who, one)
        return rows

    def _without(
        self,
        factuals: Floats,
        rows: Floats,
        room: Room,
        margin: float,
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
            self.jury, own, start, limited, margin=margin, rounds=ROUNDS_LEFT
        )
        kept = left.lengths <= limits[who]
        rows[who[kept]] = left.rows[kept]
        works[who[kept]] = True
        return works


def nearest_accepted_points(
    jury: Jury,
    factuals: Floats,
    start: Floats,
    room: Room,
    *,
    margin: float,
    failures: int = 0,
    rounds: int = ROUNDS,
) -> Nearest:
    """Return the nearest points found at which all networks but a few reach a margin.

    The search for a person begins at `start`; where that is NaN, there is none. So many `failures`
    may stay below the margin, though not the first. A person has `rounds` linear programmes.
    """
    best = Nearest(np.full_like(factuals, np.nan), np.full(len(factuals), np.inf))
    lost = np.flatnonzero(np.isfinite(start).all(axis=1))
    for penalty in PENALTIES:
        if len(lost):
            aim = Aim(margin, failures, penalty)
            found = _stepped(jury, factuals[lost], start[lost], room.of(lost), aim, rounds)
            best.rows[lost], best.lengths[lost] = found
            lost = lost[np.isinf(found.lengths)]
    return best


def _stepped(
    jury: Jury, factuals: Floats, start: Floats, room: Room, aim: Aim, rounds: int
) -> Nearest:
    here, regions = start.copy(), np.full(len(start), FIRST_REGION)
    best = Nearest(np.full_like(start, np.nan), np.full(len(start), np.inf))
    going = np.arange(len(start))
    worth = _keep(best, going, room, factuals, here, jury.least(here, aim.failures), aim)
    for _ in range(rounds):
        own, now, limits = factuals[going], here[going], room.of(going)
        goal = now.copy()
        logits, slopes = jury.lowest(now, aim.failures)
        places = _columns_that_move(own, now, slopes, limits.weights)
        programme = (logits, slopes, places, *limits, regions[going])
        _solve_all(own, goal, *programme, aim.margin + HAIR, aim.penalty)
        tried = np.array([_on_the_way(own, now, goal, limits, share) for share in SHARES])
        least = jury.least(tried.reshape(-1, tried.shape[2]), aim.failures).reshape(len(SHARES), -1)
        worths = np.array(
            [
                _keep(best, going, limits, own, rows, lows, aim)
                for rows, lows in zip(tried, least, strict=True)
            ]
        )
        choice, places = worths.argmin(axis=0), np.arange(len(going))
        better = worths[choice, places] < worth[going] - WORTHWHILE
        moved = going[better]
        here[moved] = tried[choice[better], places[better]]
        worth[moved] = worths[choice[better], places[better]]
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


def _keep(
    best: Nearest,
    people: Integers,
    room: Room,
    factuals: Floats,
    rows: Floats,
    least: Floats,
    aim: Aim,
) -> Floats:
    """Keep accepted rows that are nearer, in place; return how far, and what is missing, in one."""
    far = room.lengths(factuals, rows)
    nearer = (least >= aim.margin) & (far < best.lengths[people])
    best.rows[people[nearer]], best.lengths[people[nearer]] = rows[nearer], far[nearer]
    return np.asarray(far + aim.penalty * np.maximum(aim.margin - least, 0.0))


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


def _columns_that_move(factuals: Floats, rows: Floats, slopes: Floats, weights: Floats) -> Integers:
    """Return which columns a linear programme may change [people, columns]: all of them.

    On a wide table, those that have changed already, and of the others those that move the networks
    most for their length.
    """
    people, columns = factuals.shape
    if columns <= WIDE:
        return np.tile(np.arange(columns), (people, 1))
    with np.errstate(divide="ignore"):
        steep = np.where(weights > 0.0, np.abs(slopes).mean(axis=1) / weights, 0.0)
    steep[rows != factuals] = np.inf
    most = np.argsort(-steep, axis=1, kind="stable")[:, :SEARCHED_COLUMNS]
    return np.sort(most, axis=1)


@compiled
def _solve_all(
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

    `places` [people, columns] are the columns that may change; the others stay. A change is a part
    up and a part down, each counted in distance, and begins at what is nearest to the person inside
    the trust region. The last variable is what all networks may lack.
    """
    n_people, n_networks, _ = slopes.shape
    n_columns = places.shape[1]
    table = np.empty((n_networks, 2 * n_columns + 1))
    starts, origin = np.empty(n_networks), np.empty(n_columns)
    capacities = np.empty(2 * n_columns + 1)
    for p in range(n_people):
        here, own, which = rows[p], factuals[p], places[p]
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
        capacities[2 * n_columns] = np.inf
        for i in range(n_networks):
            starts[i] = logits[p, i] - margin
            for j in range(n_columns):
                c = which[j]
                starts[i] += slopes[p, i, c] * (origin[j] - here[c])
                table[i, 2 * j] = slopes[p, i, c] / weights[c] if weights[c] > 0.0 else 0.0
                table[i, 2 * j + 1] = -table[i, 2 * j]
            table[i, 2 * n_columns] = 1.0 / penalty
        status, values, _ = solve(table, starts, capacities, MOST_PIVOTS)
        if status == OPTIMAL:
            for j in range(n_columns):
                c = which[j]
                change = values[2 * j] - values[2 * j + 1]
                here[c] = origin[j] + (change / weights[c] if weights[c] > 0.0 else 0.0)
