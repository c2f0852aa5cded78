"""How far from a point a network is certain to call everything adverse.

Every pre-activation, and at last the logit, is bounded over a ball by a linear function of the
features; a ReLU that can go either way lies below its chord and above a line through zero.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Floats
from changeproof.networks.flat import layer_at
from changeproof.networks.network import Network, checked_rows

BISECTIONS = 9
CERTAIN = -1e-9

Norm = Literal[1, 2]


def adverse_radii(network: Network, centres: Floats, norm: Norm, most: float) -> Floats:
    """Return radii such that no point of the balls around the centres is favourable.

    Parameters
    ----------
    norm
        1 or 2, the norm of the balls.
    most
        The largest radius of interest; radii are found to within a 512th of it.
    """
    centres, radii = checked_rows(centres, network.n_features), np.zeros(len(centres))
    _adverse_radii(network.flat, centres, norm, float(most), radii)
    return radii


def largest_logits(network: Network, centres: Floats, radii: Floats, norm: Norm) -> Floats:
    """Return upper bounds on the logits in balls around the centres, one radius each."""
    centres, bounds = checked_rows(centres, network.n_features), np.empty(len(centres))
    _largest_logits(network.flat, centres, radii, norm, bounds)
    return bounds


@compiled
def _adverse_radii(network: Any, centres: Any, norm: int, most: float, radii: Any) -> None:
    layers = network.layers
    lines, forms = np.empty((3, layers[-1, 3] + 1)), np.empty((2, layers[:, :2].max()))
    for i in range(len(centres)):
        low, high = 0.0, most
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if largest_logit(network, centres[i], middle, norm, lines, forms) < CERTAIN:
                low = middle
            else:
                high = middle
        radii[i] = low


@compiled
def _largest_logits(network: Any, centres: Any, radii: Any, norm: int, bounds: Any) -> None:
    layers = network.layers
    lines, forms = np.empty((3, layers[-1, 3] + 1)), np.empty((2, layers[:, :2].max()))
    for i in range(len(centres)):
        bounds[i] = largest_logit(network, centres[i], radii[i], norm, lines, forms)


@compiled
def largest_logit(
    network: Any, centre: Any, radius: float, norm: int, lines: Any, forms: Any
) -> float:
    """Bound the logit over one ball.

    `lines` [3, neurons] receives, per neuron, slope and offset of the line above its ReLU and
    the slope of the line below; `forms` [2, widest] is scratch.
    """
    flat, layers, bound = network.parameters, network.layers, 0.0
    for layer in range(len(layers)):
        _, n_out, _, first = layer_at(layers, layer)
        for i in range(n_out):
            bound = extreme(flat, layers, layer, i, 1.0, centre, radius, norm, lines, forms)
            if layer == len(layers) - 1:
                break
            high = bound
            low = -extreme(flat, layers, layer, i, -1.0, centre, radius, norm, lines, forms)
            undecided = low < 0.0 < high
            chord = high / (high - low) if undecided else (1.0 if low >= 0.0 else 0.0)
            lines[0, first + i] = chord
            lines[1, first + i] = -chord * low if undecided else 0.0
            lines[2, first + i] = (1.0 if high > -low else 0.0) if undecided else chord
    return bound


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
    constant = sign * flat[start + n_in * n_out + neuron]
    for before in range(layer - 1, -1, -1):
        n_in, n_out, start, first = layer_at(layers, before)
        for k in range(n_in):
            following[k] = 0.0
        for j in range(n_out):
            factor = form[j]
            if factor > 0.0:
                constant += factor * lines[1, first + j]
                factor *= lines[0, first + j]
            else:
                factor *= lines[2, first + j]
            if factor == 0.0:
                continue
            constant += factor * flat[start + n_in * n_out + j]
            weights = flat[start + j * n_in : start + j * n_in + n_in]
            for k in range(n_in):
                following[k] += factor * weights[k]
        form, following = following, form
    steepness = 0.0
    for k in range(len(centre)):
        constant += form[k] * centre[k]
        steepness = max(steepness, abs(form[k])) if norm == 1 else steepness + form[k] * form[k]
    return float(constant + radius * (steepness if norm == 1 else np.sqrt(steepness)))
