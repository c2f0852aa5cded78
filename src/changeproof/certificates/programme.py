"""The worst logit over a box of parameters as a mixed-integer programme, solved with HiGHS.

The variables are the activations of the hidden layers. In the first layer they are free between
their two ends. In a later layer, an activation lies between relu(low(h)) and relu(high(h)) of the
activations h before it (see `interval.py`), where low and high are linear. The lower end takes
two linear constraints; the upper end takes a binary variable where high(h) can have either sign.
In the last hidden layer only that end matters towards which the output's weight pulls. Nothing is
lost: every solution is a network of the box, and the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import highspy
import numpy as np

from changeproof.certificates.box import ParameterBox
from changeproof.certificates.interval import HIGH_MAX, HIGH_MIN, LOW_MAX, LOW_MIN
from changeproof.model import Floats


@dataclass
class _Programme:
    """A minimisation under construction: columns, and rows as lists of (column, value)."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    binary: list[bool] = field(default_factory=list)
    offset: float = 0.0
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    at_most: list[float] = field(default_factory=list)

    def add_column(self, lower: float, upper: float, *, binary: bool = False) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(0.0)
        self.binary.append(binary)
        return len(self.costs) - 1

    def add_row(self, columns: list[int], values: list[float], at_most: float) -> None:
        self.columns += columns
        self.values += values
        self.starts.append(len(self.columns))
        self.at_most.append(at_most)

    def solve(self, max_nodes: int) -> tuple[float, Floats | None]:
        """Return a proven bound below the minimum, and the best solution found, if any."""
        model = highspy.HighsLp()
        model.num_col_ = len(self.costs)
        model.num_row_ = len(self.at_most)
        model.col_cost_ = np.array(self.costs)
        model.col_lower_ = np.array(self.lower)
        model.col_upper_ = np.array(self.upper)
        model.row_lower_ = np.full(len(self.at_most), -highspy.kHighsInf)
        model.row_upper_ = np.array(self.at_most)
        model.offset_ = self.offset
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        model.a_matrix_.index_ = np.array(self.columns, dtype=np.int32)
        model.a_matrix_.value_ = np.array(self.values)
        mixed = any(self.binary)
        if mixed:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[binary] for binary in self.binary]
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, float] = {"output_flag": False, "threads": 1, "random_seed": 0}
        options |= {"mip_max_nodes": max_nodes, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-7}
        for name, value in options.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        if solver.run() == highspy.HighsStatus.kError:
            raise RuntimeError(
                "HiGHS could not run; all that use it in one process must agree on its threads (1)"
            )
        information = solver.getInfo()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        found = information.primal_solution_status == feasible
        solution = np.array(solver.getSolution().col_value) if found else None
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal and not mixed:
            return float(information.objective_function_value), solution
        # Out of nodes (a "solution limit"), the bound is still proven, though not tight.
        ended = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kSolutionLimit)
        proven = mixed and status in ended
        return float(information.mip_dual_bound) if proven else -np.inf, solution


def solve_worst_case(
    box: ParameterBox, row: Floats, bounds: Floats, max_nodes: int
) -> tuple[float, Floats]:
    """Return a bound below the row's worst logit, and directions of a network that comes close.

    Parameters
    ----------
    box, row
        The parameters that may be, and one row.
    bounds
        Four bounds per neuron of this row [4, neurons].
    max_nodes
        How many nodes HiGHS may explore; with too few, the bound is not tight.
    """
    programme, activations = _worst_case_programme(box, bounds)
    bound, solution = programme.solve(max_nodes)
    wanted = np.zeros(box.n_neurons)
    if solution is not None:
        wanted[:-1] = solution[activations]
    return bound, _directions(box, row, wanted)


def _worst_case_programme(box: ParameterBox, bounds: Floats) -> tuple[_Programme, list[int]]:
    """Build the programme; also return the column of every hidden neuron's activation."""
    programme, radius = _Programme(), box.radius
    least, most = np.maximum(bounds[LOW_MIN], 0.0), np.maximum(bounds[HIGH_MAX], 0.0)
    pulls = box.network.weights[-1][0].astype(np.float64) - radius
    last = len(box.layers) - 2
    activations: list[int] = []
    for layer, (n_in, n_out, start, first) in enumerate(box.layers[:-1].tolist()):
        inputs = activations[first - n_in : first]
        for i in range(n_out):
            neuron = first + i
            column = programme.add_column(least[neuron], most[neuron])
            activations.append(column)
            if layer == 0 or most[neuron] == 0.0:
                continue
            weights = box.centre[start + i * n_in : start + (i + 1) * n_in]
            bias = box.centre[start + n_out * n_in + i]
            if bounds[LOW_MAX, neuron] > 0.0 and (layer < last or pulls[i] > 0.0):
                programme.add_row([column, *inputs], [-1.0, *(weights - radius)], radius - bias)
            if layer < last or pulls[i] < 0.0:
                below, columns, values = min(bounds[HIGH_MIN, neuron], 0.0), [column], [1.0]
                if below < 0.0:
                    switch = programme.add_column(0.0, 1.0, binary=True)
                    programme.add_row([column, switch], [1.0, -most[neuron]], 0.0)
                    columns, values = [column, switch], [1.0, -below]
                programme.add_row(
                    [*columns, *inputs],
                    [*values, *(-weights - radius)],
                    bias + radius - below,
                )
    for column, pull in zip(activations[-len(pulls) :], pulls, strict=True):
        programme.costs[column] = float(pull)
    programme.offset = float(box.centre[-1]) - radius
    return programme, activations


def _directions(box: ParameterBox, row: Floats, wanted: Floats) -> Floats:
    """Return directions under which the neurons come as close to wanted activations as can be."""
    directions = np.empty(box.n_neurons)
    inputs = row
    for layer, (_, n_out, _, first) in enumerate(box.layers.tolist()):
        weight, bias = (
            parameters[layer].astype(np.float64)
            for parameters in (box.network.weights, box.network.biases)
        )
        middle = (weight * inputs).sum(axis=1) + bias
        reach = box.radius * (np.abs(inputs).sum() + 1.0)
        target = wanted[first : first + n_out]
        moves = np.where(target > 0.0, np.clip(target - middle, -reach, reach), -reach)
        directions[first : first + n_out] = moves / reach if reach > 0.0 else 0.0
        inputs = np.maximum(middle + moves, 0.0)
    return directions
