"""A search for the network of a box that likes a row least.

For one row a network of the box is one direction per neuron (see `box.py`). Gradients say which
way every neuron should go; all go there at once until nothing changes, and then neurons turn one
by one as long as that helps. What is found is written down in single precision inside the box,
and its logit is that of the written network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.box import ParameterBox
from changeproof.model import Floats
from changeproof.networks.flat import layer_at, layer_sums
from changeproof.networks.kernels import copy_into

GRADIENT_STEPS = 20
SWEEPS = 10
SMALLEST_GAIN = 1e-12


def attack(box: ParameterBox, rows: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return logits [rows] that networks of the box reach, and their directions [rows, neurons].

    Parameters
    ----------
    box, rows
        Who is attacked, and where.
    target
        Per row the logit below which the search may end.
    """
    rows = box.checked(rows)
    directions = np.zeros((len(rows), box.flat.n_neurons))
    _attack(box.flat, box.radius, rows, directions, target)
    return box.logits_at(rows, directions), directions


@compiled
def _attack(network: Any, radius: float, rows: Any, directions: Any, target: Any) -> None:
    values, slopes = np.empty(directions.shape[1]), np.empty(directions.shape[1])
    for r in range(len(rows)):
        row, turns = rows[r], directions[r]
        best = follow_gradients(network, radius, row, turns, values, slopes)
        if best >= target[r]:
            turn_one_by_one(network, radius, row, turns, values, best, target[r])


@compiled
def follow_gradients(
    network: Any, radius: float, row: Any, directions: Any, values: Any, slopes: Any
) -> float:
    """Turn all neurons against their gradient until none changes; keep the best directions."""
    centre, turned, layers = network
    here = directions.copy()
    best = moved_logit(turned, layers, radius, row, here, values)
    for _ in range(GRADIENT_STEPS):
        neuron_slopes(centre, layers, radius, here, values, slopes)
        changed = False
        for i in range(len(here)):
            wanted = here[i] if slopes[i] == 0.0 else -np.sign(slopes[i])
            changed = changed or wanted != here[i]
            here[i] = wanted
        if not changed:
            break
        logit = moved_logit(turned, layers, radius, row, here, values)
        if logit < best:
            best = logit
            copy_into(here, directions)
    return best


@compiled
def turn_one_by_one(
    network: Any,
    radius: float,
    row: Any,
    directions: Any,
    values: Any,
    best: float,
    target: float,
) -> None:
    """Try both ends for one neuron after the other, until no turn helps."""
    turned, layers = network.turned, network.layers
    for _ in range(SWEEPS):
        before = best
        for i in range(len(directions)):
            kept = directions[i]
            for end in (-1.0, 1.0):
                if end == kept:
                    continue
                directions[i] = end
                logit = moved_logit(turned, layers, radius, row, directions, values)
                if logit < best - SMALLEST_GAIN:
                    best, kept = logit, end
            directions[i] = kept
        if best == before or best < target:
            break


@compiled
def moved_logit(
    turned: Any, layers: Any, radius: float, row: Any, directions: Any, values: Any
) -> float:
    """Return the logit under directions; `values` receives all pre-activations."""
    for layer in range(len(layers)):
        _, n_out, _, first = layer_at(layers, layer)
        size = layer_sums(turned, layers, layer, row, values)
        for i in range(first, first + n_out):
            values[i] += directions[i] * radius * size
    return float(values[-1])


@compiled
def neuron_slopes(
    centre: Any, layers: Any, radius: float, directions: Any, values: Any, slopes: Any
) -> None:
    """Write how the logit moves with every neuron's activation (not yet through its own ReLU)."""
    slopes[:] = 0.0
    slopes[-1] = 1.0
    for layer in range(len(layers) - 1, 0, -1):
        n_in, n_out, start, first = layer_at(layers, layer)
        before = layers[layer - 1, 3]
        for i in range(n_out):
            if layer < len(layers) - 1 and values[first + i] <= 0.0:
                continue
            weights = centre[start + i * n_in : start + i * n_in + n_in]
            shift = directions[first + i] * radius
            for j in range(n_in):
                slopes[before + j] += slopes[first + i] * (weights[j] + shift)
