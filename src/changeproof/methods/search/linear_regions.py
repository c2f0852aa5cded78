"""A ReLU network seen piece by piece: where it is affine, and its optimum there.

A pattern says for every hidden neuron whether it is active; within the region of one pattern all
pre-activations and the logit are affine in the features. Networks come flat (see `FlatNetwork`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.methods.search.dual_simplex import OPTIMAL, solve
from changeproof.networks.flat import layer_at, preactivations

MAX_PIVOTS = 1_000
WORTHWHILE = 1e-7


@compiled
def affine_forms(network: Any, active: Any, slopes: Any, constants: Any) -> None:
    """Fill the affine forms of all pre-activations and, last, of the logit in a region."""
    flat, n_features = network.parameters, network.layers[0, 0]
    for layer in range(len(network.layers)):
        n_in, n_out, start, first = layer_at(network.layers, layer)
        before = first - n_in
        for j in range(n_out):
            slopes[first + j] = 0.0
            constants[first + j] = flat[start + n_out * n_in + j]
            for k in range(n_in):
                weight = flat[start + j * n_in + k]
                if layer == 0:
                    slopes[first + j, k] = weight
                elif active[before + k]:
                    constants[first + j] += weight * constants[before + k]
                    for f in range(n_features):
                        slopes[first + j, f] = fma(
                            weight, slopes[before + k, f], slopes[first + j, f]
                        )


@compiled
def region_optimum(
    network: Any, origin: Any, up: Any, down: Any, active: Any, target: float
) -> tuple[float, Any, Any]:
    """Return the shortest move to the target within a region: length, move, neuron prices.

    `up` and `down` are how far every feature may rise and fall from the origin. The length is
    infinite where the region holds no such point.
    """
    n_features, n_neurons = len(origin), len(active)
    slopes = np.empty((n_neurons + 1, n_features))
    constants = np.empty(n_neurons + 1)
    affine_forms(network, active, slopes, constants)
    both = np.empty((n_neurons + 1, 2 * n_features))
    starts = np.empty(n_neurons + 1)
    for i in range(n_neurons + 1):
        sign = 1.0
        total = constants[i]
        for f in range(n_features):
            total += slopes[i, f] * origin[f]
        if i == n_neurons:
            total -= target
        elif not active[i]:
            sign = -1.0
        starts[i] = sign * total
        for f in range(n_features):
            both[i, f] = sign * slopes[i, f]
            both[i, n_features + f] = -sign * slopes[i, f]
    room = np.empty(2 * n_features)
    for f in range(n_features):
        room[f], room[n_features + f] = up[f], down[f]
    status, moves, prices = solve(both, starts, room, MAX_PIVOTS)
    move, length = np.empty(n_features), 0.0
    for f in range(n_features):
        move[f] = moves[f] - moves[n_features + f]
        length += abs(move[f])
    return length if status == OPTIMAL else np.inf, move, prices


@compiled
def walk_regions(
    network: Any,
    origin: Any,
    up: Any,
    down: Any,
    point: Any,
    target: float,
    max_regions: int,
) -> tuple[float, Any]:
    """Go from the region of a feasible point to better neighbours, one neuron at a time.

    The optimum of a region lies in its neighbours too, so crossing a wall that the optimum
    leans on can only make the move shorter.
    """
    n_neurons = network.layers[-1, 3]
    values, active = np.empty(n_neurons + 1), np.empty(n_neurons, np.bool_)
    preactivations(network.turned, network.layers, point, values)
    for neuron in range(n_neurons):
        active[neuron] = values[neuron] > 0
    length, move, prices = region_optimum(network, origin, up, down, active, target)
    regions = 1
    improved = length < np.inf
    while improved and regions < max_regions:
        improved = False
        while regions < max_regions:
            neuron = 0
            for other in range(n_neurons):
                if prices[other] > prices[neuron]:
                    neuron = other
            if n_neurons == 0 or prices[neuron] <= WORTHWHILE:
                break
            prices[neuron] = 0.0
            active[neuron] = not active[neuron]
            regions += 1
            tried = region_optimum(network, origin, up, down, active, target)
            if tried[0] < length - WORTHWHILE:
                length, move, prices = tried
                improved = True
                break
            active[neuron] = not active[neuron]
    return length, move
