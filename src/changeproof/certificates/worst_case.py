"""The worst logit over a box of parameters as a mixed-integer programme.

The variables are the activations of the hidden layers. In the first layer they are free between
their two ends. In a later layer, an activation lies between relu(low(h)) and relu(high(h)) of the
activations h before it (see `bounds.py`), where low and high are linear. The lower end takes
two linear constraints; the upper end takes a binary variable where high(h) can have either sign.
In the last hidden layer only that end matters towards which the output's weight pulls. Nothing is
lost: every solution is a network of the box, and the other way round.
"""

from __future__ import annotations

import numpy as np

from changeproof.certificates.bounds import HIGH_MAX, HIGH_MIN, LOW_MAX, LOW_MIN
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.programme import Programme
from changeproof.model import Floats


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
    solution = programme.solve(max_nodes)
    wanted = np.zeros(box.flat.n_neurons)
    if solution.values is not None:
        wanted[:-1] = solution.values[activations]
    return solution.bound, _directions(box, row, wanted)


def _worst_case_programme(box: ParameterBox, bounds: Floats) -> tuple[Programme, list[int]]:
    """Build the programme; also return the column of every hidden neuron's activation."""
    programme, radius, flat = Programme(), box.radius, box.flat
    least, most = np.maximum(bounds[LOW_MIN], 0.0), np.maximum(bounds[HIGH_MAX], 0.0)
    pulls = box.network.weights[-1][0].astype(np.float64) - radius
    last = len(flat.layers) - 2
    activations: list[int] = []
    for layer, (n_in, n_out, start, first) in enumerate(flat.layers[:-1].tolist()):
        inputs = activations[first - n_in : first]
        for i in range(n_out):
            neuron = first + i
            column = programme.add_column(least[neuron], most[neuron])
            activations.append(column)
            if layer == 0 or most[neuron] == 0.0:
                continue
            weights = flat.parameters[start + i * n_in : start + (i + 1) * n_in]
            bias = flat.parameters[start + n_out * n_in + i]
            if bounds[LOW_MAX, neuron] > 0.0 and (layer < last or pulls[i] > 0.0):
                values = [-1.0, *(weights - radius)]
                programme.add_row([column, *inputs], values, at_most=radius - bias)
            if layer < last or pulls[i] < 0.0:
                below, columns, values = min(bounds[HIGH_MIN, neuron], 0.0), [column], [1.0]
                if below < 0.0:
                    switch = programme.add_column(0.0, 1.0, whole=True)
                    programme.add_row([column, switch], [1.0, -most[neuron]], at_most=0.0)
                    columns, values = [column, switch], [1.0, -below]
                values += [*(-weights - radius)]
                programme.add_row([*columns, *inputs], values, at_most=bias + radius - below)
    for column, pull in zip(activations[-len(pulls) :], pulls, strict=True):
        programme.costs[column] = float(pull)
    programme.offset = float(flat.parameters[-1]) - radius
    return programme, activations


def _directions(box: ParameterBox, row: Floats, wanted: Floats) -> Floats:
    """Return directions under which the neurons come as close to wanted activations as can be."""
    directions = np.empty(box.flat.n_neurons)
    inputs = row
    for layer, (_, n_out, _, first) in enumerate(box.flat.layers.tolist()):
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
