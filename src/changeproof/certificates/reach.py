"""How far from a point a network is certain to call everything adverse.

Every pre-activation, and at last the logit, is bounded over a ball by a linear function of the
features; a ReLU that can go either way lies below its chord and above a line through zero.

As in `bounds.py`, every bound carries what rounding can do to it and to the network's own sums: a
neuron's error is a multiple of its size, the sum of |w| h + |b| with the largest inputs h, and what
is carried backwards loses that error, times its factor, at every neuron.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.bounds import LARGEST, TINY, unit
from changeproof.model import Floats
from changeproof.networks.flat import layer_at
from changeproof.networks.network import Network, checked_rows

BISECTIONS = 9
# What is known of a neuron: slope and offset of the line above its ReLU, the slope of the line
# below, the largest activation and the error.
SLOPE, OFFSET, SLOPE_BELOW, MOST, ERROR = range(5)

Norm = Literal[1, 2]


def adverse_radii(network: Network, centres: Floats, norm: Norm, most: float) -> Floats:
    """Return radii such that no point of the balls around the centres is favourable.

    Points may miss the ball by an error of rounding. Radii up to `most` are found, to a 512th of
    it.
    """
    centres, radii = checked_rows(centres, network.n_features), np.zeros(len(centres))
    _adverse_radii(network.flat, centres, norm, float(most), radii)
    return radii


@compiled
def _adverse_radii(network: Any, centres: Any, norm: int, most: float, radii: Any) -> None:
    layers = network.layers
    lines, forms = np.empty((5, layers[-1, 3] + 1)), np.empty((2, layers[:, :2].max()))
    for i in range(len(centres)):
        low, high, size = 0.0, most, 0.0
        for x in centres[i]:
            size += abs(x)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            radius = middle + unit(layers) * (size + middle)
            if largest_logit(network, centres[i], radius, norm, lines, forms) < 0.0:
                low = middle
            else:
                high = middle
        radii[i] = low


@compiled
def largest_logit(
    network: Any, centre: Any, radius: float, norm: int, lines: Any, forms: Any
) -> float:
    """Bound the logit over one ball; infinite where numbers are too large for it.

    `lines` [5, neurons] receives what is known of the neurons; `forms` [2, widest] is scratch.
    """
    flat, layers, bound = network.parameters, network.layers, 0.0
    for layer in range(len(layers)):
        n_in, n_out, start, first = layer_at(layers, layer)
        for i in range(n_out):
            size = abs(flat[start + n_in * n_out + i])
            for k in range(n_in):
                most = abs(centre[k]) + radius if layer == 0 else lines[MOST, first - n_in + k]
                size += abs(flat[start + i * n_in + k]) * most
            error = unit(layers) * size + TINY
            bound = extreme(flat, layers, layer, i, 1.0, centre, radius, norm, lines, forms) + error
            if layer == len(layers) - 1:
                break
            high = bound
            low = -extreme(flat, layers, layer, i, -1.0, centre, radius, norm, lines, forms) - error
            if not (abs(low) <= LARGEST and abs(high) <= LARGEST and size <= LARGEST):
                return np.inf
            undecided = low < 0.0 < high
            chord = high / (high - low) if undecided else (1.0 if low >= 0.0 else 0.0)
            lines[SLOPE, first + i] = chord
            lines[OFFSET, first + i] = -chord * low if undecided else 0.0
            lines[SLOPE_BELOW, first + i] = (1.0 if high > -low else 0.0) if undecided else chord
            lines[MOST, first + i] = max(high, 0.0)
            lines[ERROR, first + i] = error
    return bound if abs(bound) <= LARGEST else np.inf


@compiled
def extreme(
    flat: Any,
    layers: Any,
    layer: int,
    neuron: int,
    sign: float,
    centre: Any,
    radius: float,
    norm: int,
    lines: Any,
    forms: Any,
) -> float:
    """Bound sign times one pre-activation from above, by a linear form carried to the features."""
    n_in, n_out, start, _ = layer_at(layers, layer)
    form, following = forms[0], forms[1]
    for k in range(n_in):
        form[k] = sign * flat[start + neuron * n_in + k]
    constant, error = sign * flat[start + n_in * n_out + neuron], 0.0
    for before in range(layer - 1, -1, -1):
        n_in, n_out, start, first = layer_at(layers, before)
        for k in range(n_in):
            following[k] = 0.0
        for j in range(n_out):
            factor = form[j]
            error += abs(factor) * lines[ERROR, first + j]
            if factor > 0.0:
                constant += factor * lines[OFFSET, first + j]
                factor *= lines[SLOPE, first + j]
            else:
                factor *= lines[SLOPE_BELOW, first + j]
            if factor == 0.0:
                continue
            constant += factor * flat[start + n_in * n_out + j]
            weights = flat[start + j * n_in : start + j * n_in + n_in]
            for k in range(n_in):
                following[k] += factor * weights[k]
        form, following = following, form
    steepness = size = 0.0
    for k in range(len(centre)):
        constant += form[k] * centre[k]
        size += abs(form[k]) * (abs(centre[k]) + radius)
        steepness = max(steepness, abs(form[k])) if norm == 1 else steepness + form[k] * form[k]
    error += unit(layers) * size
    return float(constant + radius * (steepness if norm == 1 else np.sqrt(steepness)) + error)
