"""The minimum-l1 counterfactual, proven: a mixed-integer programme.

The length of an answer that is already known bounds the search to a ball. Over that ball the
first layer's pre-activations have exact bounds (a knapsack each); those of later layers come from
intervals and, where these leave a neuron undecided, from two linear programmes each. Only neurons
that stay undecided get a binary variable. Where only some rows may be told to a person, so do
whole steps and categories (see `feasible_moves.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.feasible_moves import add_moves
from benchmarks.mixed_programme import Costs, MixedProgramme
from changeproof.feasible.actions import Actions
from changeproof.model import Floats
from changeproof.networks.network import Network

RELATIVE_GAP, ABSOLUTE_GAP = 1e-3, 1e-6
MAX_NODES = 20_000
BALL_SLACK = 1e-6


class Proof(NamedTuple):
    """What the exact engine found.

    `move` is the shortest change found inside the ball (None where the known answer stands),
    `lower_bound` a bound on its length, `proven` whether the two are within the gap. Both are
    what HiGHS has proven, up to its tolerances.
    """

    move: Floats | None
    lower_bound: float
    proven: bool


class _Search:
    """A programme over moves up, moves down and activations, built layer by layer."""

    def __init__(
        self,
        network: Network,
        origin: Floats,
        up: Floats,
        down: Floats,
        radius: float,
        actions: Actions | None,
    ) -> None:
        self.network, self.origin, self.radius = network, origin, radius
        self.up, self.down = np.minimum(up, radius), np.minimum(down, radius)
        self.programme = MixedProgramme()
        for room in (*self.up, *self.down):
            self.programme.add_column(0.0, room, cost=1.0)
        self.add_row(dict.fromkeys(range(2 * len(origin)), -1.0), -radius)
        self.feasible = actions is not None
        if actions is not None:
            add_moves(self.programme, actions, origin, radius)

    def add_row(self, coefficients: dict[int, float], at_least: float) -> None:
        self.programme.add_row([*coefficients], [*coefficients.values()], at_least=at_least)

    def add_network(self) -> dict[int, float]:
        """Add every hidden layer; return the logit's coefficients without its constant."""
        network = self.network
        weight = network.weights[0].astype(np.float64)
        inputs = [
            {j: value for j, value in enumerate([*row, *(-row)]) if value != 0.0} for row in weight
        ]
        constants = (weight * self.origin).sum(axis=1) + network.biases[0].astype(np.float64)
        reach_up = _reach(weight, self.up, self.down, self.radius)
        reach_down = _reach(-weight, self.up, self.down, self.radius)
        low, high = constants - reach_down, constants + reach_up
        for layer in range(len(network.hidden)):
            if layer > 0 or self.feasible:
                low, high = self._tightened(inputs, constants, low, high)
            columns = [
                self._add_neuron(inputs[j], constants[j], low[j], high[j])
                for j in range(len(constants))
            ]
            weight = network.weights[layer + 1].astype(np.float64)
            constants = network.biases[layer + 1].astype(np.float64)
            inputs = [
                {c: float(w) for c, w in zip(columns, row, strict=True) if c is not None}
                for row in weight
            ]
            least, most = np.maximum(low, 0.0), np.maximum(high, 0.0)
            positive, negative = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
            low, high = (
                (positive * least + negative * most).sum(axis=1) + constants,
                (positive * most + negative * least).sum(axis=1) + constants,
            )
        return inputs[0]

    def _add_neuron(
        self, inputs: dict[int, float], constant: float, low: float, high: float
    ) -> int | None:
        """Add relu(inputs + constant), given bounds; return its column, if it can be active."""
        if high <= 0.0:
            return None
        column = self.programme.add_column(0.0, high)
        # activation >= pre-activation
        self.add_row({column: 1.0, **_scaled(inputs, -1.0)}, constant)
        if low >= 0.0:
            self.add_row({column: -1.0, **inputs}, -constant)
            return column
        switch = self.programme.add_column(0.0, 1.0, whole=True)
        # activation <= pre-activation - low (1 - switch), activation <= high switch
        self.add_row({column: -1.0, **inputs, switch: low}, low - constant)
        self.add_row({column: -1.0, switch: high}, 0.0)
        return column

    def _tightened(
        self, inputs: list[dict[int, float]], constants: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Bound undecided pre-activations by linear programmes over the layers before."""
        low, high = low.copy(), high.copy()
        relaxation = Costs(self.programme)
        for j in np.flatnonzero((low < 0.0) & (high > 0.0)):
            costs = np.zeros(len(self.programme.costs))
            costs[list(inputs[j])] = list(inputs[j].values())
            for sign, bounds in ((1.0, low), (-1.0, high)):
                least = relaxation.minimum(sign * costs)
                if least is not None:
                    bounds[j] = sign * least + constants[j] - sign * BALL_SLACK
        return low, high


def _scaled(coefficients: dict[int, float], factor: float) -> dict[int, float]:
    return {column: factor * value for column, value in coefficients.items()}


def _reach(weights: Floats, up: Floats, down: Floats, radius: float) -> Floats:
    """Return how far moves of total length `radius` can raise each weighted sum: a knapsack."""
    order = np.argsort(-np.abs(weights), axis=1)
    steepness = np.take_along_axis(np.abs(weights), order, axis=1)
    room = np.take_along_axis(np.where(weights > 0, up, down), order, axis=1)
    used_before = np.cumsum(room, axis=1) - room
    taken = np.clip(radius - used_before, 0.0, room)
    return np.asarray((steepness * taken).sum(axis=1))


def prove(
    network: Network,
    origin: Floats,
    low: Floats,
    high: Floats,
    target: float,
    known_length: float,
    max_nodes: int = MAX_NODES,
    actions: Actions | None = None,
) -> Proof:
    """Look for a change shorter than a known one, or prove that none is (by more than 0.1 %).

    Parameters
    ----------
    network, target
        The network and the logit to reach.
    origin, low, high
        Where the change starts and the range that it must stay in.
    known_length
        Length of a change that is known to reach the target; it bounds the search.
    max_nodes
        The budget, in branch-and-bound nodes.
    actions
        What the person at the origin may be told; any row of the range by default.
    """
    radius = known_length + BALL_SLACK
    search = _Search(network, origin, high - origin, origin - low, radius, actions)
    search.add_row(search.add_network(), target - float(network.biases[-1][0]))
    solution = search.programme.solve(
        max_nodes, relative_gap=RELATIVE_GAP, absolute_gap=ABSOLUTE_GAP
    )
    if solution.infeasible:
        return Proof(None, known_length, proven=True)
    move = None
    if solution.values is not None:
        up, down = solution.values[: 2 * len(origin)].reshape(2, -1)
        move = up - down
    return Proof(move, max(0.0, solution.bound), solution.optimal)
