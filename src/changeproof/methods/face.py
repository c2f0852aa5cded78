"""FACE (Poyiadzi et al.): the end of the shortest path through dense data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree as SpatialTree

from changeproof.arithmetic.functions import exponentials, log, logarithms
from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    WarmUp,
    sureness,
)
from changeproof.model import Booleans, Floats, Integers

# Of more training rows than these, so many are nodes, evenly spread over the table.
MOST_ROWS = 20_000
NO_GOAL = "no training row is both dense and likely enough"
NO_PATH = "no path leads to a training row that is dense and likely enough"


class Edges(NamedTuple):
    """Edges from some rows to nodes: whose they are, where they lead, and how long they are."""

    owners: Integers
    nodes: Integers
    lengths: Floats


@dataclass(kw_only=True, eq=False, repr=False)
class FACE(Method):
    """Send people along training rows that lie close together to one that the model favours.

    Nodes are the training rows, whatever their class, and the person. Edges join each node with its
    `neighbours` nearest nodes ("knn") or with all that are within a `radius` ("epsilon"). An edge
    over a distance d weighs d f(p), where p = r / d^features is the density that the edge stands
    for and f falls with it; r is `neighbours` / (nodes x volume of the unit ball), or
    `radius`^features. The answer is the goal at the end of the shortest path. Goals are training
    rows of at least a `probability` and a density. A row is good enough if both are true of it.

    The paper takes f = -log, which is below nought where p is above one. Shortest paths do not
    allow that, so here f(p) = log(1 + 1/p), which is the same where data are thin. Its threshold on
    the density, 0.001, is about two features of toy data; in many dimensions no such number means
    anything. So here the thinnest share of the training rows, `thin`, are no goals, as measured by
    the distance to the furthest of their nearest `neighbours`. The third of its graphs, with a
    kernel density in the middle of every edge, is left out: it underflows in so many dimensions.

    Parameters
    ----------
    graph
        "knn" or "epsilon".
    neighbours
        Neighbours of a node; 50 as the paper takes for images (2 to 10 for its toy data).
    radius
        Longest edge of the other graph.
    probability
        The least probability of a goal (the paper's t_p).
    thin
        Share of the training rows that are in too thin a place to be goals.
    """

    name = "face"
    label = "FACE"
    cost = Cost(per_person=0.002, feasible=0.05, own_model=0.01)
    warm_up = WarmUp(seconds=2)
    summary = "the end of the shortest path through dense training rows"
    source = (
        "Poyiadzi, Sokol, Santos-Rodriguez, De Bie, Flach: FACE: Feasible and Actionable "
        "Counterfactual Explanations, AIES 2020 (https://arxiv.org/abs/1909.09369)"
    )

    graph: Literal["knn", "epsilon"] = "knn"
    neighbours: Annotated[int, Field(ge=1)] = 50
    radius: Annotated[float, Field(gt=0)] = 1.0
    probability: Annotated[float, Field(ge=0.5, le=1)] = 0.75
    thin: Annotated[float, Field(ge=0, lt=1)] = 0.1

    def _prepare(self) -> None:
        task, model = self.context.task, self.context.model
        # A row that is there twice is one node: paths do not go from it to itself.
        rows = np.unique(task.rows("train"), axis=0)
        places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.int64)
        self._rows = rows[places]
        self._tree = SpatialTree(self._rows)
        self._log_density = self._log_r(*self._rows.shape)
        reach = self._reach(self._rows)
        self._furthest = np.sort(reach)[max(0, int((1.0 - self.thin) * len(reach)) - 1)]
        likely = model.probabilities(self._rows) >= self.probability
        goals = likely & model.favourable(self._rows) & (reach <= self._furthest)
        self._to_goal, self._next, self._goal = self._paths(np.flatnonzero(goals))

    def _log_r(self, nodes: int, features: int) -> float:
        """Return the logarithm of r: the density of an edge of length one."""
        if self.graph == "epsilon":
            return features * float(log(self.radius))
        # Volumes of unit balls: 2 and pi, and two dimensions more are a factor of 2 pi / features.
        volume = float(log(2.0)) if features % 2 else 0.0
        for size in range(3 if features % 2 else 2, features + 1, 2):
            volume += float(log(2.0 * np.pi / size))
        return float(log(self.neighbours / nodes)) - volume

    def _neighbours(self, rows: Floats) -> tuple[Integers, Floats, Booleans]:
        """Return the nearest nodes [rows, neighbours + 1], how far they are, and which count.

        A node is no neighbour of its own; other rows have as many neighbours as nodes have.
        """
        wanted = min(self.neighbours + 1, len(self._rows))
        _, found = self._tree.query(rows, k=list(range(1, wanted + 1)))
        nodes = np.asarray(found, dtype=np.int64).reshape(len(rows), wanted)
        far = self._distances(np.repeat(rows, wanted, axis=0), self._rows[nodes.reshape(-1)])
        far = far.reshape(nodes.shape)
        counts = far > 0.0
        if wanted > self.neighbours:
            counts[:, -1] = ~counts.all(axis=1)
        return nodes, far, counts

    def _reach(self, rows: Floats) -> Floats:
        """Return how far the furthest of the neighbours is: the less, the denser."""
        _, far, counts = self._neighbours(rows)
        return np.asarray(np.where(counts, far, 0.0).max(axis=1))

    @staticmethod
    def _distances(rows: Floats, others: Floats) -> Floats:
        return np.asarray(np.sqrt(((rows - others) ** 2).sum(axis=1)))

    def _edges(self, rows: Floats) -> Edges:
        """Return the edges from rows to nodes; a node has none to itself."""
        if self.graph == "knn":
            found, far, counts = self._neighbours(rows)
            owners, places = np.nonzero(counts)
            return Edges(owners, found[owners, places], self._weighed(far[owners, places]))
        within = [sorted(self._tree.query_ball_point(row, self.radius)) for row in rows]
        owners = np.repeat(np.arange(len(rows)), [len(each) for each in within])
        nodes = np.array([node for each in within for node in each], dtype=np.int64)
        distances = self._distances(rows[owners], self._rows[nodes])
        real = distances > 0.0
        return Edges(owners[real], nodes[real], self._weighed(distances[real]))

    def _weighed(self, distances: Floats) -> Floats:
        """Return d log(1 + 1/p), where p is the density of an edge of length d."""
        thinness = self._rows.shape[1] * logarithms(distances) - self._log_density
        above = logarithms(1.0 + exponentials(-np.abs(thinness)))
        return np.asarray(distances * (np.maximum(thinness, 0.0) + above))

    def _paths(self, goals: Integers) -> tuple[Floats, Integers, Integers]:
        """Return of every node how far the nearest goal is, the next node there, and the goal."""
        n = len(self._rows)
        if not len(goals):
            return np.full(n, np.inf), np.full(n, -1), np.full(n, -1)
        edges = self._edges(self._rows)
        ends = np.sort(np.stack([edges.owners, edges.nodes]), axis=0)
        # An edge counts once, whichever of its ends is a neighbour of the other.
        ends, first = np.unique(ends, axis=1, return_index=True)
        graph = csr_array((edges.lengths[first], (ends[0], ends[1])), shape=(n, n))
        far, following, goal = dijkstra(
            graph, directed=False, indices=goals, return_predecessors=True, min_only=True
        )
        return far, following.astype(np.int64), goal.astype(np.int64)

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        rows, lengths, steps = np.full_like(factuals.rows, np.nan), np.full(n, np.inf), np.zeros(n)
        if np.isfinite(self._to_goal).any():
            edges = self._edges(factuals.rows)
            totals = edges.lengths + self._to_goal[edges.nodes]
            # Sorted by person and length; of ways that are as long, the first node's is taken.
            order = np.lexsort((edges.nodes, totals, edges.owners))
            who, first = np.unique(edges.owners[order], return_index=True)
            best = order[first]
            lengths[who] = totals[best]
            there, best = who[np.isfinite(totals[best])], best[np.isfinite(totals[best])]
            rows[there] = self._rows[self._goal[edges.nodes[best]]]
            steps[there] = 1 + self._steps(edges.nodes[best])
            reason = NO_PATH
        else:
            reason = NO_GOAL
        lengths[np.isinf(lengths)] = np.nan
        return Candidates(rows, [reason] * n, {"path_length": lengths, "path_steps": steps})

    def _steps(self, nodes: Integers) -> Integers:
        """Return how many edges there are from nodes to their goals."""
        count, here = np.zeros(len(nodes), dtype=np.int64), nodes.copy()
        while (going := self._next[here] >= 0).any():
            here[going] = self._next[here[going]]
            count[going] += 1
        return count

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        accepted = self.context.model.probabilities(rows) >= self.probability
        accepted[accepted] = self._reach(rows[accepted]) <= self._furthest
        return np.asarray(accepted)

    def _score(self, rows: Floats, people: People) -> Floats:
        return sureness(self.context.model)(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"l2_distance": np.sqrt(((rows - people.factuals) ** 2).sum(axis=1))}
