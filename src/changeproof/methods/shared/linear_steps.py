"""The nearest point that many networks accept, by a linear programme a step.

Around the point at hand all networks are taken as linear. A small linear programme then finds the
shortest change for which they would all reach the margin, no farther from that point than a trust
region allows. Points on the way there, and somewhat beyond, are tried; the best of them is next. In
every round all people are asked about at once; they do not see each other, so that nothing depends
on the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.feasible.kernels import lengths
from changeproof.feasible.wide_tables import SEARCHED_COLUMNS, WIDE
from changeproof.methods.shared.dual_simplex import OPTIMAL, solve
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

MOST_PIVOTS = 400


def columns_that_move(factuals: Floats, rows: Floats, slopes: Floats, weights: Floats) -> Integers:
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
def solve_all(
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


@dataclass(frozen=True, eq=False)
class Jury:
    """Networks that are asked together; the first, the base network, has to accept.

    Where networks are more or less sure of themselves, their logits may be told in units of their
    own.
    """

    networks: tuple[Network, ...]
    units: Floats | None = None

    @cached_property
    def stack(self) -> NetworkStack:
        """The networks, for evaluation."""
        return NetworkStack.of(self.networks)

    def logits(self, rows: Floats) -> Floats:
        """Return the logits [rows, networks]."""
        logits = np.ascontiguousarray(self.stack.logits(rows).T)
        return logits if self.units is None else logits / self.units

    def least(self, rows: Floats, failures: int) -> Floats:
        """Return the lowest logit of every row, that of the base network or of those that count.

        So many of the other networks, those of the lowest logits, do not count.
        """
        logits = self.logits(rows)
        if logits.shape[1] == 1:
            return logits[:, 0]
        others = np.partition(logits[:, 1:], failures, axis=1)[:, failures]
        return np.minimum(logits[:, 0], others)

    def lowest(self, rows: Floats, failures: int) -> tuple[Floats, Floats]:
        """Return logits [rows, k] and gradients of the base network and of the lowest others."""
        logits, gradients = self.stack.logits_and_gradients(rows)
        if self.units is not None:
            logits = logits / self.units[:, None]
            gradients = gradients / self.units[:, None]
        order = np.argsort(logits[1:].T, axis=1, kind="stable")[:, failures : failures + LOWEST]
        which = np.concatenate([np.zeros((len(rows), 1), dtype=np.int64), order + 1], axis=1)
        slopes = np.take_along_axis(gradients, which[:, :, None], axis=1)
        return np.take_along_axis(logits.T, which, axis=1), slopes


class Room(NamedTuple):
    """What a unit of change costs per column, and the limits of every person [people, columns]."""

    weights: Floats
    low: Floats
    high: Floats

    def of(self, people: Integers) -> Room:
        """Return the limits of some people."""
        return Room(self.weights, self.low[people], self.high[people])

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        """Return how long changes are."""
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


def nearest_accepted_points(
    jury: Jury,
    factuals: Floats,
    starts: Sequence[Floats],
    room: Room,
    *,
    margin: float,
    failures: int = 0,
    rounds: int = ROUNDS,
) -> Nearest:
    """Return the nearest points found at which all networks but a few reach a margin.

    Parameters
    ----------
    jury
        The networks.
    factuals
        People [people, columns].
    starts
        Points to start from, each [people, columns]; NaN where a person has fewer.
    room
        What change costs, and its limits.
    margin
        The logit to reach.
    failures
        How many networks may stay below; the first may not.
    rounds
        Linear programmes per person and start.
    """
    best = Nearest(np.full_like(factuals, np.nan), np.full(len(factuals), np.inf))
    for start in starts:
        some = np.flatnonzero(np.isfinite(start).all(axis=1))
        for penalty in PENALTIES:
            aim = Aim(margin, failures, penalty)
            found = _stepped(jury, factuals[some], start[some], room.of(some), aim, rounds)
            shorter = found.lengths < best.lengths[some] - WORTHWHILE
            best.rows[some[shorter]] = found.rows[shorter]
            best.lengths[some[shorter]] = found.lengths[shorter]
            some = some[np.isinf(found.lengths)]
            if not len(some):
                break
    return best


def _stepped(
    jury: Jury,
    factuals: Floats,
    start: Floats,
    room: Room,
    aim: Aim,
    rounds: int,
) -> Nearest:
    here, regions = start.copy(), np.full(len(start), FIRST_REGION)
    best = Nearest(np.full_like(start, np.nan), np.full(len(start), np.inf))
    everybody = np.arange(len(start))
    worth = _keep(best, everybody, room, factuals, here, jury.least(here, aim.failures), aim)
    going = everybody
    for _ in range(rounds):
        own, now, limits = factuals[going], here[going], room.of(going)
        goal = now.copy()
        logits, slopes = jury.lowest(now, aim.failures)
        places = columns_that_move(own, now, slopes, limits.weights)
        solve_all(
            own,
            goal,
            logits,
            slopes,
            places,
            *limits,
            regions[going],
            aim.margin + HAIR,
            aim.penalty,
        )
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


def pulled(factuals: Floats, rows: Floats, accepted: Any) -> Floats:
    """Pull accepted rows towards people, straight, as far as they are still accepted.

    `accepted` judges rows of people, who are given by their places. NaN rows stay.
    """
    some = np.flatnonzero(np.isfinite(rows).all(axis=1))
    own, ends = factuals[some], rows[some]
    near, far = np.zeros(len(some)), np.ones(len(some))
    for _ in range(HALVINGS):
        share = 0.5 * (near + far)
        kept: Booleans = accepted(own + share[:, None] * (ends - own), some)
        far[kept], near[~kept] = share[kept], share[~kept]
    result = rows.copy()
    result[some] = own + far[:, None] * (ends - own)
    return result
