"""How far from a point a network is certain to call everything adverse.

Every pre-activation, and at last the logit, is bounded over a ball by a linear function of the
features; a ReLU that can go either way lies below its chord and above a line through zero.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Floats
from changeproof.networks.network import Network, checked_rows

BISECTIONS = 9
CERTAIN = -1e-9

Norm = Literal[1, 2]


class Ball(NamedTuple):
    """All points within a radius of a centre, in the norm 1 or 2."""

    centre: Any
    radius: float
    norm: int


class Scratch(NamedTuple):
    """Lines around the ReLU of every neuron, and room for two linear forms [2, widest].

    `lines` [3, neurons] are the slope and the offset of the line above and the slope of the line
    below.
    """

    lines: Any
    forms: Any


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
    scratch = ball_scratch(network.layers)
    for i in range(len(centres)):
        low, high = 0.0, most
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if largest_logit(network, Ball(centres[i], middle, norm), scratch) < CERTAIN:
                low = middle
            else:
                high = middle
        radii[i] = low


@compiled
def _largest_logits(network: Any, centres: Any, radii: Any, norm: int, bounds: Any) -> None:
    scratch = ball_scratch(network.layers)
    for i in range(len(centres)):
        bounds[i] = largest_logit(network, Ball(centres[i], radii[i], norm), scratch)


@compiled
def ball_scratch(layers: Any) -> Any:
    """Return memory for one ball."""
    return Scratch(np.empty((3, layers[-1, 3] + 1)), np.empty((2, layers[:, :2].max())))


@compiled
def largest_logit(network: Any, ball: Any, scratch: Any) -> float:
    """Bound the logit over one ball."""
    bound, lines = 0.0, scratch.lines
    for layer in range(len(network.layers)):
        _, n_out, _, first = network.layers[layer]
        for i in range(n_out):
            bound = extreme(network, layer, i, 1.0, ball, scratch)
            if layer == len(network.layers) - 1:
                break
            high, low = bound, -extreme(network, layer, i, -1.0, ball, scratch)
            undecided = low < 0.0 < high
            chord = high / (high - low) if undecided else (1.0 if low >= 0.0 else 0.0)
            lines[0, first + i] = chord
            lines[1, first + i] = -chord * low if undecided else 0.0
            lines[2, first + i] = (1.0 if high > -low else 0.0) if undecided else chord
    return bound


@compiled
def extreme(network: Any, layer: int, neuron: int, sign: float, ball: Any, scratch: Any) -> float:
    """Bound sign times one pre-activation from above, by a linear form carried to the features."""
    flat, layers, lines, norm = network.parameters, network.layers, scratch.lines, ball.norm
    n_in, n_out, start, _ = layers[layer]
    form, following = scratch.forms[0], scratch.forms[1]
    for k in range(n_in):
        form[k] = sign * flat[start + neuron * n_in + k]
    constant = sign * flat[start + n_in * n_out + neuron]
    for before in range(layer - 1, -1, -1):
        n_in, n_out, start, first = layers[before]
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
    for k in range(len(ball.centre)):
        constant += form[k] * ball.centre[k]
        steepness = max(steepness, abs(form[k])) if norm == 1 else steepness + form[k] * form[k]
    return float(constant + ball.radius * (steepness if norm == 1 else np.sqrt(steepness)))
