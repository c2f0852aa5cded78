"""The nearest point that many networks accept, by a linear programme a step.

Around the point at hand all networks are taken as linear. A small linear programme then finds the
shortest change for which they would all reach the margin, no farther from that point than a trust
region allows. A step that does not help halves the region. In every round all people are asked
about at once; they do not see each other, so that nothing depends on the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.methods.search.alternatives import lengths
from changeproof.methods.search.dual_simplex import OPTIMAL, solve
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

ROUNDS = 14
# Networks of the lowest logits that a linear programme knows.
LOWEST = 48
# What a logit below the margin costs, in distance; more than any change that lifts it by as much.
PENALTY = 5.0
FIRST_REGION = 1.0
MOST_PIVOTS = 400
WORTHWHILE = 1e-9
# Steps aim this far beyond the margin, so that no answer is lost to rounding.
HAIR = 1e-7
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Jury:
    """Networks that are asked together."""

    networks: tuple[Network, ...]

    @cached_property
    def stack(self) -> NetworkStack:
        """The networks, for evaluation."""
        return NetworkStack.of(self.networks)

    def logits(self, rows: Floats) -> Floats:
        """Return the logits [rows, networks]."""
        return np.ascontiguousarray(self.stack.logits(rows).T)

    def slopes(self, rows: Floats, which: Integers) -> Floats:
        """Return the gradients [rows, k, columns] of those k networks of each row."""
        result = np.empty((*which.shape, rows.shape[1]))
        for place, network in enumerate(self.networks):
            some, slot = np.nonzero(which == place)
            if len(some):
                result[some, slot] = network.logits_and_gradients(rows[some])[1]
        return result


class Room(NamedTuple):
    """What a unit of change costs per column, and the limits of every person [people, columns]."""

    weights: Floats
    low: Floats
    high: Floats

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        """Return how long changes are."""
        return np.asarray(lengths(factuals, rows[:, None], self.weights)[:, 0])


class Nearest(NamedTuple):
    """Accepted points [people, columns] and how far they are; NaN and infinity where none is."""

    rows: Floats
    lengths: Floats


class Few(NamedTuple):
    """How many networks may fail; the first of the jury always count."""

    failures: int
    always: int


def nearest_accepted_points(
    jury: Jury,
    factuals: Floats,
    starts: Sequence[Floats],
    room: Room,
    *,
    margin: float,
    failures: int = 0,
    always: int = 0,
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
    failures, always
        How many networks may stay below, and how many, the first of the jury, may not.
    rounds
        Linear programmes per person and start.
    """
    best = Nearest(np.full_like(factuals, np.nan), np.full(len(factuals), np.inf))
    for start in starts:
        some = np.flatnonzero(np.isfinite(start).all(axis=1))
        limits = Room(room.weights, room.low[some], room.high[some])
        few = Few(failures, always)
        found = _stepped(jury, factuals[some], start[some], limits, margin, few, rounds)
        shorter = found.lengths < best.lengths[some] - WORTHWHILE
        best.rows[some[shorter]] = found.rows[shorter]
        best.lengths[some[shorter]] = found.lengths[shorter]
    return best


def _stepped(
    jury: Jury,
    factuals: Floats,
    start: Floats,
    room: Room,
    margin: float,
    few: Few,
    rounds: int,
) -> Nearest:
    n = min(LOWEST, len(jury.networks) - few.failures)
    here, regions = start.copy(), np.full(len(start), FIRST_REGION)
    best = Nearest(np.full_like(start, np.nan), np.full(len(start), np.inf))
    values = jury.logits(here)
    which = lowest(values, n, *few)
    logits, slopes = np.take_along_axis(values, which, axis=1), jury.slopes(here, which)
    worth = _keep(best, room.lengths(factuals, here), here, logits[:, 0], margin)
    for _ in range(rounds):
        tried = here.copy()
        _solve_all(factuals, tried, logits, slopes, *room, regions, margin + HAIR)
        values = jury.logits(tried)
        which = lowest(values, n, *few)
        found = np.take_along_axis(values, which, axis=1)
        now = _keep(best, room.lengths(factuals, tried), tried, found[:, 0], margin)
        better = now < worth - WORTHWHILE
        here[better], worth[better], logits[better] = tried[better], now[better], found[better]
        slopes[better] = jury.slopes(tried[better], which[better])
        regions[~better] *= 0.5
    return best


def _keep(best: Nearest, far: Floats, rows: Floats, least: Floats, margin: float) -> Floats:
    """Keep accepted rows that are nearer, in place; return how far, and what is missing, in one."""
    nearer = (least >= margin) & (far < best.lengths)
    best.rows[nearer], best.lengths[nearer] = rows[nearer], far[nearer]
    return np.asarray(far + PENALTY * np.maximum(margin - least, 0.0))


def lowest(logits: Floats, n: int, failures: int = 0, always: int = 0) -> Integers:
    """Return the networks of the n lowest logits [rows, networks], without those that may fail.

    The first networks, as many as are `always` asked, may not.
    """
    order = np.argsort(logits[:, always:], axis=1, kind="stable") + always
    left = logits.copy()
    np.put_along_axis(left, order[:, :failures], np.inf, axis=1)
    return np.asarray(np.argsort(left, axis=1, kind="stable")[:, :n])


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


@compiled
def _solve_all(
    factuals: Any,
    rows: Any,
    logits: Any,
    slopes: Any,
    weights: Any,
    low: Any,
    high: Any,
    regions: Any,
    margin: float,
) -> None:
    """Replace every row, in place, by the answer of its linear programme.

    A change is a part up and a part down, each counted in distance, and begins at what is nearest
    to the person inside the trust region. The last variable is what all networks may lack.
    """
    n_people, n_networks, n_columns = slopes.shape
    table = np.empty((n_networks, 2 * n_columns + 1))
    starts, origin = np.empty(n_networks), np.empty(n_columns)
    capacities = np.empty(2 * n_columns + 1)
    for p in range(n_people):
        here, own = rows[p], factuals[p]
        for j in range(n_columns):
            least = max(low[p, j], here[j] - regions[p])
            most = min(high[p, j], here[j] + regions[p])
            origin[j] = min(max(own[j], least), most)
            # Beyond what a person has lies no shorter change.
            up = most - origin[j] if origin[j] >= own[j] else 0.0
            down = origin[j] - least if origin[j] <= own[j] else 0.0
            # What has no weight (a constant column) does not move.
            capacities[2 * j] = max(up, 0.0) * weights[j]
            capacities[2 * j + 1] = max(down, 0.0) * weights[j]
        capacities[2 * n_columns] = np.inf
        for i in range(n_networks):
            starts[i] = logits[p, i] - margin
            for j in range(n_columns):
                starts[i] += slopes[p, i, j] * (origin[j] - here[j])
                table[i, 2 * j] = slopes[p, i, j] / weights[j] if weights[j] > 0.0 else 0.0
                table[i, 2 * j + 1] = -table[i, 2 * j]
            table[i, 2 * n_columns] = 1.0 / PENALTY
        status, values, _ = solve(table, starts, capacities, MOST_PIVOTS)
        if status == OPTIMAL:
            for j in range(n_columns):
                change = values[2 * j] - values[2 * j + 1]
                here[j] = origin[j] + (change / weights[j] if weights[j] > 0.0 else 0.0)
