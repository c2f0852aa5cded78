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

Rounding. A sum in double precision, in any order, with fused products or without, misses its true
value by at most a multiple of the sum of the sizes of its terms: the number of roundings that a
term goes through, times half the distance from 1 to the next number. `unit` is such a multiple for
any sum over the inputs or neurons of a network: large enough for the network's own evaluation, for
the bound that is compared with it, and for the error term itself, together. So what is proven holds
for the logit as it is computed, whatever the order, and for the true one. A row whose errors are
not finite, or beyond `LARGEST`, is unknown. Below that, underflow stays far below `TINY`, which is
part of every error.

All of this is floating point, and so is the network. Its own sum of a neuron lies between low(h)
and high(h) of the activations h that it computed, up to an error; the error is at most `unit`
times the neuron's size, the sum of (|w| + radius) h + |b| + radius with the largest h. All four
bounds are wider by that error, which also covers how they were computed.
A bound that is carried backwards loses the error of every neuron on its way, times the factor
that it had there: the terms of that neuron are in turn no larger than factor times size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.box import ParameterBox
from changeproof.model import Floats
from changeproof.networks.flat import layer_at, layer_sums

HALF_STEP = 2.0**-53
TINY = 1e-150
LARGEST = 1e140
# The smallest and the largest value of low(h), then of high(h); the error that they carry; and how
# far two evaluations of one network of the box can drift apart.
LOW_MIN, LOW_MAX, HIGH_MIN, HIGH_MAX, ERROR, DRIFT = range(6)


@compiled
def roundings(terms: int) -> float:
    """Return the largest rounding error of a sum of `terms` terms, per sum of their sizes.

    A term goes through at most two products and `terms` additions, in the sum and in the one
    that it is compared with. Twice that leaves room for errors of error terms.
    """
    return HALF_STEP * (4.0 * terms + 64.0)


@compiled
def unit(layers: Any) -> float:
    """Return the same for any sum over inputs or neurons."""
    return roundings(layers[0, 0] + layers[-1, 3] + 1)


def neuron_bounds(box: ParameterBox, rows: Floats) -> Floats:
    """Return the better of both bounds, error and drift [rows, 6, neurons].

    The last neuron is the logit. What is too large to be bounded has infinite bounds.
    """
    rows = box.checked(rows)
    bounds = np.empty((len(rows), 6, box.flat.n_neurons))
    _neuron_bounds(box.flat, box.radius, rows, bounds)
    return bounds


@compiled
def _neuron_bounds(network: Any, radius: float, rows: Any, bounds: Any) -> None:
    centre, turned, layers = network
    scratch = np.empty((2, layers[:, :2].max()))
    for r in range(len(rows)):
        first_layer_bounds(turned, layers, radius, rows[r], bounds[r])
        for layer in range(1, len(layers)):
            layer_bounds(turned, layers, radius, layer, bounds[r])
            # What reads the first layer is linear in a box: intervals are exact there.
            if layer > 1:
                tighten_layer(centre, layers, radius, layer, bounds[r], scratch)
        # No bound is larger than the size of its neuron, and errors tell that.
        bounded = True
        for i in range(bounds.shape[2]):
            bounded &= bounds[r, ERROR, i] <= LARGEST and bounds[r, DRIFT, i] <= LARGEST
        if not bounded:
            for place in range(6):
                bounds[r, place] = -np.inf if place in (LOW_MIN, HIGH_MIN) else np.inf


@compiled
def first_layer_bounds(turned: Any, layers: Any, radius: float, row: Any, bounds: Any) -> None:
    n_in, n_out, start, _ = layer_at(layers, 0)
    totals, sizes = bounds[LOW_MIN], bounds[ERROR]
    layer_sums(turned, layers, 0, row, totals)
    size = 1.0
    for i in range(n_out):
        sizes[i] = abs(turned[start + n_in * n_out + i]) + radius
        bounds[DRIFT, i] = 0.0
    for k in range(n_in):
        x = abs(row[k])
        size += x
        weights = turned[start + k * n_out : start + k * n_out + n_out]
        for i in range(n_out):
            sizes[i] += (abs(weights[i]) + radius) * x
    for i in range(n_out):
        total = totals[i]
        bounds[LOW_MIN, i] = bounds[LOW_MAX, i] = total - radius * size
        bounds[HIGH_MIN, i] = bounds[HIGH_MAX, i] = total + radius * size
    widen(layers, 0, bounds)


@compiled
def layer_bounds(turned: Any, layers: Any, radius: float, layer: int, bounds: Any) -> None:
    n_in, n_out, start, first = layer_at(layers, layer)
    before = first - n_in
    low_min, low_max = bounds[LOW_MIN, first:], bounds[LOW_MAX, first:]
    high_min, high_max = bounds[HIGH_MIN, first:], bounds[HIGH_MAX, first:]
    sizes, drifts = bounds[ERROR, first:], bounds[DRIFT, first:]
    for i in range(n_out):
        bias = turned[start + n_in * n_out + i]
        low_min[i] = low_max[i] = bias - radius
        high_min[i] = high_max[i] = bias + radius
        sizes[i], drifts[i] = abs(bias) + radius, 0.0
    for j in range(n_in):
        least = max(bounds[LOW_MIN, before + j], 0.0)
        most = max(bounds[HIGH_MAX, before + j], 0.0)
        drift = bounds[DRIFT, before + j]
        weights = turned[start + j * n_out : start + j * n_out + n_out]
        for i in range(n_out):
            low, high = weights[i] - radius, weights[i] + radius
            a, b = low * least, low * most
            low_min[i] += a if a < b else b
            low_max[i] += b if a < b else a
            a, b = high * least, high * most
            high_min[i] += a if a < b else b
            high_max[i] += b if a < b else a
            largest = abs(weights[i]) + radius
            sizes[i] += largest * most
            drifts[i] += largest * drift
    widen(layers, layer, bounds)


@compiled
def widen(layers: Any, layer: int, bounds: Any) -> None:
    """Turn the sizes of a layer into errors; widen its bounds and drifts by them."""
    _, n_out, _, first = layer_at(layers, layer)
    per_size = unit(layers)
    for i in range(first, first + n_out):
        error = per_size * bounds[ERROR, i] + TINY
        bounds[ERROR, i] = error
        bounds[DRIFT, i] = (1.0 + per_size) * bounds[DRIFT, i] + 2.0 * error
        bounds[LOW_MIN, i] -= error
        bounds[LOW_MAX, i] += error
        bounds[HIGH_MIN, i] -= error
        bounds[HIGH_MAX, i] += error


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
            value = bias + shift + sign * (least - bounds[ERROR, first + i])
            if sign * value > sign * bounds[which, first + i]:
                bounds[which, first + i] = value


@compiled
def linear_minimum(
    centre: Any, layers: Any, radius: float, layer: int, bounds: Any, scratch: Any
) -> float:
    """Bound from below what scratch[0] times the activations of a hidden layer can be."""
    constant, error, per_size = 0.0, 0.0, unit(layers)
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
                    # (Rounded up: a steeper line lies above the neuron too.)
                    slope, lift = (1.0 + per_size) * (high / (high - low)), -low
            if high <= 0.0 or slope == 0.0 or factors[i] == 0.0:
                continue
            factor = factors[i] * slope
            error += abs(factor) * bounds[ERROR, first + i]
            weights = centre[start + i * n_in : start + i * n_in + n_in]
            constant += factor * (centre[start + n_in * n_out + i] + shift + lift)
            for j in range(n_in):
                next_factors[j] += factor * (weights[j] + shift)
        factors, next_factors = next_factors, factors
    for j in range(layers[0, 1]):
        place = LOW_MIN if factors[j] > 0.0 else HIGH_MAX
        constant += factors[j] * max(bounds[place, j], 0.0)
        error += abs(factors[j]) * bounds[ERROR, j]
    return constant - error
