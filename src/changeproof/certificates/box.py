"""A box of parameters around a network, and concrete networks inside it.

The activations that a layer reads are either the row itself or not negative, and every neuron has
weights of its own. So all that a neuron's parameters can do is to move its pre-activation by
t x radius x (sum of |inputs| + 1), for a direction t between -1 and 1, and every t is reached by
moving each weight by t x radius x sign(input) and the bias by t x radius. A network in the box
is, for one row, one direction per neuron.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.arithmetic.lanes import load_doubles, spread, tree_sum
from changeproof.errors import InputError
from changeproof.model import Floats
from changeproof.networks.flat import FlatNetwork, layer_at
from changeproof.networks.network import Network, checked_rows

# Numbers that may be read behind the last one, in whole lanes.
SPARE = 8
LARGEST_RADIUS = float(np.finfo(np.float32).max)


def check_radius(radius: float) -> None:
    if not 0.0 <= radius <= LARGEST_RADIUS:
        raise InputError(
            f"a radius must lie between 0 and {LARGEST_RADIUS:.3g}, the largest number of single "
            f"precision; got {radius!r}"
        )


@dataclass(frozen=True, eq=False)
class ParameterBox:
    """All networks whose weights and biases each differ by at most `radius` from a network's."""

    network: Network
    radius: float

    def __post_init__(self) -> None:
        check_radius(self.radius)
        if self.network.sides.several:
            raise InputError(f"certificates are for one output; got {self.network!r}")

    @property
    def flat(self) -> FlatNetwork:
        return self.network.flat

    def logits_at(self, rows: Floats, directions: Floats) -> Floats:
        """Return the logit of every row under the network of its directions [rows, neurons]."""
        logits = np.empty(len(rows))
        logits_inside(self.flat, self.radius, rows, directions, logits)
        return logits

    def checked(self, rows: Floats) -> Floats:
        return checked_rows(rows, self.network.n_features)


@compiled
def nearest_inside(value: float, centre: float, radius: float) -> Any:
    """Round to single precision without leaving the box, not even by an error of rounding."""
    rounded = np.float32(value)
    difference = np.float64(rounded) - centre
    # What the difference lost: positive where the true one is larger.
    back = difference - np.float64(rounded)
    lost = (np.float64(rounded) - (difference - back)) - (centre + back)
    if abs(difference) > radius or (abs(difference) == radius and lost * difference > 0.0):
        rounded = np.nextafter(rounded, np.float32(centre))
    return rounded


@compiled
def move_parameters(network: Any, radius: float, row: Any, directions: Any, moved: Any) -> None:
    centre, layers = network.parameters, network.layers
    for layer in range(len(layers)):
        n_in, n_out, start, first = layer_at(layers, layer)
        stop = start + n_in * n_out
        for i in range(n_out):
            step = radius * directions[first + i]
            for j in range(n_in):
                place = start + i * n_in + j
                sign = np.sign(row[j]) if layer == 0 else 1.0
                moved[place] = nearest_inside(centre[place] + step * sign, centre[place], radius)
            place = stop + i
            moved[place] = nearest_inside(centre[place] + step, centre[place], radius)


@compiled
def dot(weights: Any, start: int, inputs: Any, n_in: int) -> float:
    """Return the sum of weights[start + j] * inputs[j], spread over eight lanes.

    Inputs are zero from n_in on to a multiple of eight, and as many weights must be there.
    """
    total = spread(0.0)
    for j in range(0, n_in, 8):
        total = fma(load_doubles(weights, start + j), load_doubles(inputs, j), total)
    return float(tree_sum(total))


@compiled
def activate(outputs: Any, n_out: int) -> None:
    """Set what is not positive to zero, and what is between the neurons and the next eight.

    NaN stays NaN, so that no later layer takes it for a number.
    """
    for i in range(n_out):
        outputs[i] = 0.0 if outputs[i] <= 0.0 else outputs[i]
    for i in range(n_out, -(-n_out // 8) * 8):
        outputs[i] = 0.0


@compiled
def network_logit(parameters: Any, layers: Any, row: Any, values: Any) -> float:
    """Return the logit of one row; `values` [2, widest] is scratch (see `scratch_for`).

    Parameters may be followed by others, or by at least `SPARE` zeros (see `dot`).
    """
    logit = 0.0
    for j in range(-(-len(row) // 8) * 8):
        values[0, j] = row[j] if j < len(row) else 0.0
    for layer in range(len(layers)):
        n_in, n_out, start, _ = layer_at(layers, layer)
        stop = start + n_in * n_out
        inputs, outputs = values[layer % 2], values[(layer + 1) % 2]
        for i in range(n_out):
            outputs[i] = dot(parameters, start + i * n_in, inputs, n_in) + parameters[stop + i]
        logit = outputs[0]
        activate(outputs, n_out)
    return logit


@compiled
def scratch_for(layers: Any) -> Any:
    return np.zeros((2, layers[:, :2].max() + SPARE))


@compiled
def logits_inside(network: Any, radius: float, rows: Any, directions: Any, logits: Any) -> None:
    moved = np.zeros(len(network.parameters) + SPARE, np.float32)
    values = scratch_for(network.layers)
    for r in range(len(rows)):
        move_parameters(network, radius, rows[r], directions[r], moved)
        logits[r] = network_logit(moved, network.layers, rows[r], values)
