"""Interval bounds over a box of parameters, layer by layer.

Given the activations h before it, a neuron's pre-activation ranges from low(h) = (w - radius).h +
b - radius to high(h) = (w + radius).h + b + radius, since h is not negative. Both are linear in
h, and each has a smallest and a largest value over the intervals of h: four bounds per neuron.
In the first layer the row is fixed, may have either sign, and low and high are numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.box import ParameterBox
from changeproof.model import Floats
from changeproof.networks.flat import layer_at, layer_sums

# The smallest and the largest value of low(h), then of high(h).
LOW_MIN, LOW_MAX, HIGH_MIN, HIGH_MAX = range(4)


def interval_bounds(box: ParameterBox, rows: Floats) -> tuple[Floats, Floats]:
    """Return bounds below and above the logit of every row, over all networks of the box."""
    bounds = neuron_bounds(box, rows)
    return bounds[:, LOW_MIN, -1].copy(), bounds[:, HIGH_MAX, -1].copy()


def neuron_bounds(box: ParameterBox, rows: Floats) -> Floats:
    """Return four bounds per row and neuron [rows, 4, neurons]; the last neuron is the logit."""
    rows = box.checked(rows)
    bounds = np.empty((len(rows), 4, box.flat.n_neurons))
    _neuron_bounds(box.flat, box.radius, rows, bounds)
    return bounds


@compiled
def _neuron_bounds(network: Any, radius: float, rows: Any, bounds: Any) -> None:
    turned, layers = network.turned, network.layers
    for r in range(len(rows)):
        first_layer_bounds(turned, layers, radius, rows[r], bounds[r])
        for layer in range(1, len(layers)):
            layer_bounds(turned, layers, radius, layer, bounds[r])


@compiled
def first_layer_bounds(turned: Any, layers: Any, radius: float, row: Any, bounds: Any) -> None:
    """Bound the neurons that read the row itself."""
    totals = bounds[LOW_MIN]
    size = layer_sums(turned, layers, 0, row, totals)
    for i in range(layers[0, 1]):
        total = totals[i]
        bounds[LOW_MIN, i] = bounds[LOW_MAX, i] = total - radius * size
        bounds[HIGH_MIN, i] = bounds[HIGH_MAX, i] = total + radius * size


@compiled
def layer_bounds(turned: Any, layers: Any, radius: float, layer: int, bounds: Any) -> None:
    """Bound the neurons of a later layer from the bounds of the layer before it."""
    n_in, n_out, start, first = layer_at(layers, layer)
    before = first - n_in
    low_min, low_max = bounds[LOW_MIN, first:], bounds[LOW_MAX, first:]
    high_min, high_max = bounds[HIGH_MIN, first:], bounds[HIGH_MAX, first:]
    for i in range(n_out):
        bias = turned[start + n_in * n_out + i]
        low_min[i] = low_max[i] = bias - radius
        high_min[i] = high_max[i] = bias + radius
    for j in range(n_in):
        least = max(bounds[LOW_MIN, before + j], 0.0)
        most = max(bounds[HIGH_MAX, before + j], 0.0)
        weights = turned[start + j * n_out : start + j * n_out + n_out]
        for i in range(n_out):
            low, high = weights[i] - radius, weights[i] + radius
            a, b = low * least, low * most
            low_min[i] += a if a < b else b
            low_max[i] += b if a < b else a
            a, b = high * least, high * most
            high_min[i] += a if a < b else b
            high_max[i] += b if a < b else a
