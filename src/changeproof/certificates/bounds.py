"""Bounds on all neurons over a box of parameters, layer by layer.

Given the activations h before it, a neuron's pre-activation ranges from low(h) = (w - radius).h +
b - radius to high(h) = (w + radius).h + b + radius, since h is not negative. Both are linear in
h, and each has a smallest and a largest value over the intervals of h: four bounds per neuron.
In the first layer the row is fixed, may have either sign, and low and high are numbers.

Interval arithmetic lets the neurons of a layer see different activations of the layer before. The
same four values are therefore also bounded by one linear function of a layer's activations after
the other, carried backwards to the first layer, whose activations are independent of each other.
What multiplies a neuron from above by a positive factor wants it small: the neuron is at least
low(h), and at least zero. What multiplies it by a negative factor wants it large: it is at most
high(h) if that is positive for all h, else it lies below the line from (least high, 0) to
(largest high, largest high).
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


def neuron_bounds(box: ParameterBox, rows: Floats, *, tight: bool = True) -> Floats:
    """Return four bounds per row and neuron [rows, 4, neurons]; the last neuron is the logit.

    Those of interval arithmetic alone if they need not be tight, else the better of both ways.
    """
    rows = box.checked(rows)
    bounds = np.empty((len(rows), 4, box.flat.n_neurons))
    _neuron_bounds(box.flat, box.radius, rows, tight, bounds)
    return bounds


@compiled
def _neuron_bounds(network: Any, radius: float, rows: Any, tight: bool, bounds: Any) -> None:
    centre, turned, layers = network
    scratch = np.empty((2, layers[:, :2].max()))
    for r in range(len(rows)):
        first_layer_bounds(turned, layers, radius, rows[r], bounds[r])
        for layer in range(1, len(layers)):
            layer_bounds(turned, layers, radius, layer, bounds[r])
            # What reads the first layer is linear in a box: intervals are exact there.
            if tight and layer > 1:
                tighten_layer(centre, layers, radius, layer, bounds[r], scratch)


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


@compiled
def tighten_layer(
    centre: Any, layers: Any, radius: float, layer: int, bounds: Any, scratch: Any
) -> None:
    """Carry all four bounds of all neurons of a layer backwards, and keep what is tighter."""
    n_in, n_out, start, first = layer_at(layers, layer)
    for i in range(n_out):
        weights = centre[start + i * n_in : start + i * n_in + n_in]
        bias = centre[start + n_in * n_out + i]
        for which in range(4):
            shift = -radius if which in (LOW_MIN, LOW_MAX) else radius
            sign = 1.0 if which in (LOW_MIN, HIGH_MIN) else -1.0
            for j in range(n_in):
                scratch[0, j] = sign * (weights[j] + shift)
            least = linear_minimum(centre, layers, radius, layer - 1, bounds, scratch)
            value = bias + shift + sign * least
            if sign * value > sign * bounds[which, first + i]:
                bounds[which, first + i] = value


@compiled
def linear_minimum(
    centre: Any, layers: Any, radius: float, layer: int, bounds: Any, scratch: Any
) -> float:
    """Bound from below what scratch[0] times the activations of a hidden layer can be."""
    constant = 0.0
    factors, next_factors = scratch[0], scratch[1]
    for this in range(layer, 0, -1):
        n_in, n_out, start, first = layer_at(layers, this)
        next_factors[:n_in] = 0.0
        for i in range(n_out):
            if factors[i] > 0.0:
                low, high, shift = bounds[LOW_MIN, first + i], bounds[LOW_MAX, first + i], -radius
                # Of the bounds 0 and low(h), take the one that cuts off less.
                slope, lift = (1.0 if high > -low else 0.0), 0.0
            else:
                low, high, shift = bounds[HIGH_MIN, first + i], bounds[HIGH_MAX, first + i], radius
                slope, lift = 1.0, 0.0
                if low < 0.0:
                    slope, lift = high / (high - low), -low
            if high <= 0.0 or slope == 0.0 or factors[i] == 0.0:
                continue
            factor = factors[i] * slope
            weights = centre[start + i * n_in : start + i * n_in + n_in]
            constant += factor * (centre[start + n_in * n_out + i] + shift + lift)
            for j in range(n_in):
                next_factors[j] += factor * (weights[j] + shift)
        factors, next_factors = next_factors, factors
    for j in range(layers[0, 1]):
        place = LOW_MIN if factors[j] > 0.0 else HIGH_MAX
        constant += factors[j] * max(bounds[place, j], 0.0)
    return constant
