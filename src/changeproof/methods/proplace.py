"""The nearest point among certified training rows that is certified itself (PROPLACE)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from changeproof.certificates.box import move_parameters
from changeproof.certificates.exact import certify
from changeproof.certificates.worst_case import attack
from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    People,
    WarmUp,
)
from changeproof.methods.shared.dual_simplex import OPTIMAL, solve_at_costs
from changeproof.methods.shared.minimal import l1_distances, slope
from changeproof.methods.shared.proven import CertifiedRows
from changeproof.model import Floats
from changeproof.networks.flat import FlatNetwork, flatten, preactivations

MAX_PIVOTS = 2_000
# Networks that were worst somewhere, kept per person, and points that may be refused in a row.
NETWORKS_KEPT, REFUSALS = 16, 8
# Where a walk starts: points on every way to a vertex, of which so many are attacked and certified.
GRID, ATTACKED, CERTIFIED = 16, 24, 4
# The shortest part of the way to a refused point that is tried, and a gain worth another round.
LEAST_SHARE, WORTHWHILE = 1.0 / 16.0, 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class Proplace(CertifiedRows):
    """Go as little as possible towards certified training rows, until a point is certified.

    The point is sought in the convex hull of the nearest certified training rows and the person. In
    the paper a master problem finds the nearest point there that all stored networks accept by
    `epsilon`, an adversary adds the network of the box that likes this point least, and both take
    turns until no network refuses. Both are solved as mixed-integer programmes. Here the adversary
    is the attack and, where that finds nothing, the exact certificate of `rnce`. The master is a
    linear programme in the weights of the hull: every stored network counts with its activations
    at a certified point, and with those at points that were refused. Its answer is judged as it is
    and, if it is refused too often, the way to it is halved. At a certified answer networks are
    made linear anew, until none is nearer. That begins twice: at the nearest vertex, and at the
    nearest certified point of a grid on the ways from the person to all vertices.

    So the answer lies in the hull and is certified; that no point of the hull is nearer is not
    proven. If the rounds do not suffice, it is the nearest point certified by then, at worst the
    nearest of the certified training rows.

    The paper takes a radius per data set: 0.025 to 0.045, for networks of 20 neurons. Here it is
    that of `rnce` and of RobustX, so that the three certify the same thing; with 0.025, 6 instead
    of 1,500 training rows are certified on heloc. The authors' code takes 20 to 23 rows and the
    person, RobustX 10 rows without the person.

    All features change. So where some may not, hardly any proposal can be told, and the base class
    takes over. A row is good enough if it is certified, in the hull or not.

    Parameters
    ----------
    radius
        How far every weight and bias may move.
    neighbours
        How many certified training rows span the hull, the nearest in the Euclidean norm.
    with_factual
        Whether the person's own row belongs to the hull.
    epsilon
        The logit that stored networks are asked for.
    rounds
        The most points that are judged from either start.
    max_nodes
        Nodes that the solver may explore for a point that cheaper arguments leave open.
    """

    name = "proplace"
    label = "PROPLACE"
    cost = Cost(per_person=0.01, feasible=0.2)
    warm_up = WarmUp(seconds=15)
    summary = "the nearest certified point in the hull of the nearest certified training rows"
    source = (
        "Jiang, Lan, Leofante, Rago and Toni, Provably Robust and Plausible Counterfactual "
        "Explanations for Neural Networks via Robust Optimisation, ACML 2023 "
        "(https://arxiv.org/abs/2309.12545)"
    )

    neighbours: Annotated[int, Field(ge=1)] = 20
    with_factual: bool = True
    epsilon: Annotated[float, Field(ge=0.0)] = 0.01
    rounds: Annotated[int, Field(ge=0)] = 40

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        if self._tree is None:
            nothing = np.full_like(factuals.rows, np.nan)
            none = [self._none_certified] * n
            return Candidates(nothing, none, {"certified": np.zeros(n, dtype=np.bool_)})
        nearest = np.arange(1, min(self.neighbours, len(self._certified)) + 1)
        _, places = self._tree.query(factuals.rows, k=nearest)
        hulls = [self._certified[mine] for mine in np.asarray(places)]
        firsts = self._first_certified(factuals.rows, hulls) if n and self.with_factual else []
        walks: list[list[_Walk]] = []
        for i, (row, hull) in enumerate(zip(factuals.rows, hulls, strict=True)):
            starts = [hull[l1_distances(hull, row).argmin()], *firsts[i : i + 1]]
            ways = hull - row, self.with_factual, self.epsilon
            walks.append([_Walk.begin(row, *ways, start) for start in starts])
        everywhere = [walk for each in walks for walk in each]
        if n:
            self._look_around(everywhere)
        for _ in range(self.rounds):
            everywhere = [walk for walk in everywhere if walk.aim()]
            if not everywhere:
                break
            self._judge(everywhere)
        rows = [min(each, key=lambda walk: walk.length).centre for each in walks]
        answers = np.array(rows).reshape(factuals.rows.shape)
        diagnostics = {
            "certified": self._proven(answers),
            "rounds": np.array([sum(w.judged for w in each) for each in walks], dtype=np.int64),
            "candidates": np.full(n, len(self._certified)),
            "l1_distance": l1_distances(answers, factuals.rows),
        }
        return Candidates(answers, None, diagnostics)

    def _first_certified(self, factuals: Floats, hulls: list[Floats]) -> list[Floats]:
        """Return of every person the nearest certified point on the way to a vertex.

        It is one of a grid; the nearest vertex stands in where those that look best are refused.
        """
        shares = np.arange(1, GRID + 1)[:, None, None] / GRID
        found, tried = [], []
        for row, hull in zip(factuals, hulls, strict=True):
            points = (row + shares * (hull - row)).reshape(-1, len(row))
            points = points[self.context.model.favourable(points)]
            order = np.argsort(l1_distances(points, row), kind="stable")
            points = points[order[:ATTACKED]]
            holds = attack(self._box, points)[0] >= 0.0
            tried.append(points[holds][:CERTIFIED])
            found.append(hull[l1_distances(hull, row).argmin()])
        certified = np.split(
            self._proven(np.concatenate(tried)), np.cumsum([*map(len, tried)])[:-1]
        )
        for i, (points, holds) in enumerate(zip(tried, certified, strict=True)):
            if holds.any():
                found[i] = points[holds.argmax()]
        return found

    def _look_around(self, walks: list[_Walk]) -> None:
        """Give everybody the worst network where they start."""
        _, directions = attack(self._box, np.array([walk.centre for walk in walks]))
        for walk, way in zip(walks, directions, strict=True):
            walk.know(self._network_at(walk.centre, way))

    def _judge(self, walks: list[_Walk]) -> None:
        """Ask the adversary about everybody's next point."""
        points = np.array([walk.point for walk in walks])
        logits, directions = attack(self._box, points)
        open_ = np.flatnonzero(logits >= 0.0)
        judged = certify(self._box, points[open_], max_nodes=self.max_nodes)
        certified = np.zeros(len(walks), dtype=np.bool_)
        certified[open_] = judged.certified
        worse = open_[judged.refuted]
        directions[worse] = judged.directions[judged.refuted]
        for walk, holds, way in zip(walks, certified, directions, strict=True):
            walk.told(self._network_at(walk.point, way), bool(holds))

    def _network_at(self, row: Floats, directions: Floats) -> FlatNetwork:
        network = self._box.network
        moved = np.empty(len(self._box.flat.parameters), np.float32)
        move_parameters(self._box.flat, self._box.radius, row, directions, moved)
        return flatten(moved, (network.n_features, *network.hidden, 1))

    def _measure(self, rows: Floats, people: People) -> Columns:
        distances = l1_distances(rows, people.factuals)
        return {"certified": self._proven(rows), "l1_distance": distances}


@dataclass(eq=False)
class _Walk:
    """One person's way through the hull: where they are, and where they look next.

    `centre` is certified. `point` is judged next: a share of the way from there to the `goal`. That
    is the nearest point that all cuts allow or, where that is no nearer than the centre, the person
    themselves. A cut is a stored network made linear at a point.
    """

    factual: Floats
    # From the factual to the vertices [vertices, features]; whether the factual is one as well.
    ways: Floats
    with_factual: bool
    epsilon: float
    centre: Floats
    goal: Floats
    point: Floats
    share: float = 1.0
    refusals: int = 0
    judged: int = 0
    # Whether the centre is the best point that the cuts before allowed.
    at_optimum: bool = False
    networks: list[FlatNetwork] = field(default_factory=list)
    # Cuts at the centre, and at points that were refused since: least gains, and per weight.
    cuts: list[tuple[float, Floats]] = field(default_factory=list)
    refused: list[tuple[float, Floats]] = field(default_factory=list)

    @classmethod
    def begin(
        cls, factual: Floats, ways: Floats, with_factual: bool, epsilon: float, start: Floats
    ) -> _Walk:
        return cls(factual, ways, with_factual, epsilon, start, start, start)

    @property
    def length(self) -> float:
        return _length(self.centre - self.factual)

    def know(self, network: FlatNetwork) -> None:
        """Store a network, and cut at the centre anew."""
        self.networks = [*self.networks, network][-NETWORKS_KEPT:]
        self.cuts = [self._cut(each, self.centre) for each in self.networks]

    def aim(self) -> bool:
        """Choose the next point; return False where none is left to try."""
        if self.share == 1.0:
            goal = self._nearest_allowed()
            length, now = _length(goal - self.factual), self.length
            if length <= now - WORTHWHILE * max(1.0, now) and self.refusals < REFUSALS:
                self.goal = goal
            elif self.refusals or (self.with_factual and not self.at_optimum):
                self.goal = self.goal if self.refusals else self.factual
                self.share = 0.5
            else:
                return False
        if self.share < LEAST_SHARE:
            return False
        self.point = self.centre + self.share * (self.goal - self.centre)
        return True

    def told(self, network: FlatNetwork, holds: bool) -> None:
        """Learn how the point was judged, and its worst network."""
        self.judged += 1
        if holds:
            self.at_optimum = self.share == 1.0
            self.centre, self.share, self.refusals, self.refused = self.point, 1.0, 0, []
            self.know(network)
        elif self.share == 1.0:
            self.refusals += 1
            self.refused.append(self._cut(network, self.point))
            self.know(network)
        else:
            self.share *= 0.5

    def _cut(self, network: FlatNetwork, at: Floats) -> tuple[float, Floats]:
        """Return what a network, linear as at a point, adds to the programme."""
        values = np.empty(network.n_neurons)
        logit = preactivations(network.turned, network.layers, at, values)
        gradient = slope(network.parameters, network.layers, values)
        start = logit + _total(gradient * (self.factual - at)) - self.epsilon
        return start, (self.ways.T * gradient[:, None]).sum(axis=0)

    def _nearest_allowed(self) -> Floats:
        """Return the nearest point of the hull that all cuts allow; the centre if none does.

        The variables are the lengths of the changes of features, then the weights of vertices.
        """
        n_vertices, n = self.ways.shape
        cuts = [*self.cuts, *self.refused]
        sides = 1 if self.with_factual else 2
        slopes = np.zeros((2 * n + sides + len(cuts), n + n_vertices))
        starts, features = np.zeros(len(slopes)), np.arange(n)
        slopes[features, features] = slopes[n + features, features] = 1.0
        slopes[:n, n:], slopes[n : 2 * n, n:] = -self.ways.T, self.ways.T
        slopes[2 * n, n:], starts[2 * n] = -1.0, 1.0
        if not self.with_factual:
            slopes[2 * n + 1, n:], starts[2 * n + 1] = 1.0, -1.0
        for place, (start, per_weight) in enumerate(cuts, start=2 * n + sides):
            starts[place], slopes[place, n:] = start, per_weight
        capacities = np.concatenate([np.full(n, np.inf), np.ones(n_vertices)])
        costs = np.concatenate([np.ones(n), np.zeros(n_vertices)])
        status, variables, _ = solve_at_costs(costs, slopes, starts, capacities, MAX_PIVOTS)
        weights = np.clip(variables[n:], 0.0, 1.0)
        total = _total(weights)
        if status != OPTIMAL or total <= 0.0:
            return self.centre
        if total > 1.0 or not self.with_factual:
            weights /= total
        return np.asarray(self.factual + (self.ways * weights[:, None]).sum(axis=0))


def _total(values: Floats) -> float:
    return float(np.add.reduce(values[:, None], axis=0)[0])


def _length(move: Floats) -> float:
    return _total(np.abs(move))
