"""The minimum-l1 counterfactual, proven: a mixed-integer programme on HiGHS.

The length of an answer that is already known bounds the search to a ball. Over that ball the
first layer's pre-activations have exact bounds (a knapsack each); those of later layers come from
intervals and, where these leave a neuron undecided, from two linear programmes each. Only neurons
that stay undecided get a binary variable.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np

from changeproof.datasets.task import Floats
from changeproof.networks.network import Network

RELATIVE_GAP = 1e-3
MAX_NODES = 20_000
BALL_SLACK = 1e-6


class Proof(NamedTuple):
    """What the exact engine found.

    `move` is the shortest change found inside the ball (None where the known answer stands),
    `lower_bound` a proven bound on its length, `proven` whether the two are within the gap.
    """

    move: Floats | None
    lower_bound: float
    proven: bool


class _Model:
    """A programme over moves up, moves down and activations, built layer by layer."""

    def __init__(self, network: Network, origin: Floats, up: Floats, down: Floats, radius: float):
        self.network, self.origin = network, origin
        self.up, self.down, self.radius = np.minimum(up, radius), np.minimum(down, radius), radius
        n_features = len(origin)
        self.lower = [0.0] * (2 * n_features)
        self.upper = [*self.up, *self.down]
        self.binary = [False] * (2 * n_features)
        self.rows: list[tuple[dict[int, float], float]] = []  # (coefficients, at least)
        self.rows.append((dict.fromkeys(range(2 * n_features), -1.0), -radius))

    def add_column(self, upper: float, *, binary: bool = False) -> int:
        self.lower.append(0.0)
        self.upper.append(upper)
        self.binary.append(binary)
        return len(self.lower) - 1

    def solver(
        self, costs: dict[int, float], *, relaxed: bool, max_nodes: int = MAX_NODES
    ) -> highspy.Highs:
        """Return a solver that holds the programme, ready to run."""
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.lower), len(self.rows)
        objective = np.zeros(len(self.lower))
        objective[list(costs)] = list(costs.values())
        model.col_cost_ = objective
        model.col_lower_, model.col_upper_ = np.array(self.lower), np.array(self.upper)
        model.row_lower_ = np.array([at_least for _, at_least in self.rows])
        model.row_upper_ = np.full(len(self.rows), highspy.kHighsInf)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        counts = [len(coefficients) for coefficients, _ in self.rows]
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        model.a_matrix_.index_ = np.array([c for row, _ in self.rows for c in row], dtype=np.int32)
        model.a_matrix_.value_ = np.array([v for row, _ in self.rows for v in row.values()])
        if not relaxed and any(self.binary):
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[binary] for binary in self.binary]
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, float] = {"output_flag": False, "threads": 1, "random_seed": 0}
        options |= {"mip_rel_gap": RELATIVE_GAP, "mip_max_nodes": max_nodes}
        for name, value in options.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        return solver

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
            if layer > 0:
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
        column = self.add_column(high)
        # activation >= pre-activation
        self.rows.append(({column: 1.0, **_scaled(inputs, -1.0)}, constant))
        if low >= 0.0:
            self.rows.append(({column: -1.0, **inputs}, -constant))
            return column
        switch = self.add_column(1.0, binary=True)
        # activation <= pre-activation - low (1 - switch), activation <= high switch
        self.rows.append(({column: -1.0, **inputs, switch: low}, low - constant))
        self.rows.append(({column: -1.0, switch: high}, 0.0))
        return column

    def _tightened(
        self, inputs: list[dict[int, float]], constants: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Bound undecided pre-activations by linear programmes over the layers before."""
        low, high = low.copy(), high.copy()
        # One programme, run again and again from where it stands with other costs.
        solver = self.solver({}, relaxed=True)
        columns = np.arange(len(self.lower), dtype=np.int32)
        for j in np.flatnonzero((low < 0.0) & (high > 0.0)):
            costs = np.zeros(len(columns))
            costs[list(inputs[j])] = list(inputs[j].values())
            for sign, bounds in ((1.0, low), (-1.0, high)):
                solver.changeColsCost(len(columns), columns, sign * costs)
                solver.run()
                if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                    value = sign * solver.getInfo().objective_function_value + constants[j]
                    bounds[j] = value - sign * BALL_SLACK
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
    """
    model = _Model(network, origin, high - origin, origin - low, known_length + BALL_SLACK)
    logit = model.add_network()
    model.rows.append((logit, target - float(network.biases[-1][0])))
    n_moves = 2 * len(origin)
    costs = dict.fromkeys(range(n_moves), 1.0)
    solver = model.solver(costs, relaxed=False, max_nodes=max_nodes)
    solver.run()
    status, information = solver.getModelStatus(), solver.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Proof(None, known_length, proven=True)
    mixed = any(model.binary)
    bound = information.mip_dual_bound if mixed else information.objective_function_value
    found = information.primal_solution_status == int(
        highspy.SolutionStatus.kSolutionStatusFeasible
    )
    move = None
    if found:
        moves = np.array(solver.getSolution().col_value)[:n_moves]
        move = moves[: len(origin)] - moves[len(origin) :]
    proven = status == highspy.HighsModelStatus.kOptimal
    return Proof(move, float(max(0.0, bound)), proven)
