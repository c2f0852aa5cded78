"""Interval bounds over a box of parameters, layer by layer.

Given the activations h before it, a neuron's pre-activation ranges from low(h) = (w - radius).h +
b - radius to high(h) = (w + radius).h + b + radius, since h is not negative. Both are linear in
h, and each has a smallest and a largest value over the intervals of h: four bounds per neuron.
In the first layer the row is fixed, may have either sign, and low and high are numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.certificates.box import ParameterBox
from changeproof.networks.kernels import compiled
from changeproof.networks.model import Floats

# The smallest and the largest value of low(h), then of high(h).
LOW_MIN, LOW_MAX, HIGH_MIN, HIGH_MAX = range(4)


def interval_bounds(box: ParameterBox, rows: Floats) -> tuple[Floats, Floats]:
    """Return bounds below and above the logit of every row, over all networks of the box."""
    bounds = neuron_bounds(box, rows)
    return bounds[:, LOW_MIN, -1].copy(), bounds[:, HIGH_MAX, -1].copy()


def neuron_bounds(box: ParameterBox, rows: Floats) -> Floats:
    """Return four bounds per row and neuron [rows, 4, neurons]; the last neuron is the logit."""
    rows = box.checked(rows)
    bounds = np.empty((len(rows), 4, box.n_neurons))
    _neuron_bounds(box.centre, box.layers, box.radius, rows, bounds)
    return bounds


@compiled
def _neuron_bounds(centre: Any, layers: Any, radius: float, rows: Any, bounds: Any) -> None:
    for r in range(len(rows)):
        first_layer_bounds(centre, layers, radius, rows[r], bounds[r])
        for layer in range(1, len(layers)):
            layer_bounds(centre, layers, radius, layer, bounds[r])


@compiled
def first_layer_bounds(centre: Any, layers: Any, radius: float, row: Any, bounds: Any) -> None:
    """Bound the neurons that read the row itself."""
    n_in, n_out, start, _ = layers[0]
    size = 1.0
    for j in range(n_in):
        size += abs(row[j])
    for i in range(n_out):
        weights = centre[start + i * n_in : start + i * n_in + n_in]
        total = 0.0
        for j in range(n_in):
            total += weights[j] * row[j]
        total += centre[start + n_in * n_out + i]
        bounds[LOW_MIN, i] = bounds[LOW_MAX, i] = total - radius * size
        bounds[HIGH_MIN, i] = bounds[HIGH_MAX, i] = total + radius * size


@compiled
def layer_bounds(centre: Any, layers: Any, radius: float, layer: int, bounds: Any) -> None:
    """Bound the neurons of a later layer from the bounds of the layer before it."""
    n_in, n_out, start, first = layers[layer]
    before = layers[layer - 1, 3]
    for i in range(n_out):
        weights = centre[start + i * n_in : start + i * n_in + n_in]
        bias = centre[start + n_in * n_out + i]
        low_min = low_max = bias - radius
        high_min = high_max = bias + radius
        for j in range(n_in):
            least = max(bounds[LOW_MIN, before + j], 0.0)
            most = max(bounds[HIGH_MAX, before + j], 0.0)
            low, high = weights[j] - radius, weights[j] + radius
            low_min += min(low * least, low * most)
            low_max += max(low * least, low * most)
            high_min += min(high * least, high * most)
            high_max += max(high * least, high * most)
        bounds[LOW_MIN, first + i] = low_min
        bounds[LOW_MAX, first + i] = low_max
        bounds[HIGH_MIN, first + i] = high_min
        bounds[HIGH_MAX, first + i] = high_max
