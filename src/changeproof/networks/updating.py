"""An incremental update: a trained network goes once over new rows, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Floats
from changeproof.networks.kernels import adam_step, add_gradient, add_lanes, lane_sums, workspace
from changeproof.networks.layout import SMALL_BLOCK, padded, training_tiles
from changeproof.networks.network import Network


def update(
    network: Network, rows: Floats, labels: npt.NDArray[Any], *, learning_rate: float, batch: int
) -> Network:
    """Return the network after one pass of mini-batch Adam over the rows, in their order."""
    parameters, sizes = network.packed(np.float32)
    length, weights = padded(batch, SMALL_BLOCK), np.ones(len(rows))
    tiles = training_tiles(rows, labels, weights, length, filled=batch)
    _update(parameters[0], sizes, tiles, float(learning_rate))
    return network.with_packed(parameters)


@compiled
def _update(parameters: Any, sizes: Any, tiles: Any, learning_rate: float) -> None:
    """Take one step of Adam per tile."""
    one = parameters.dtype.type(1)
    space = workspace(parameters, sizes, tiles.labels.shape[1])
    sums = lane_sums(parameters)
    gradient = np.zeros_like(parameters)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    decays = np.ones(2)
    for tile in range(len(tiles.labels)):
        per_weight = one / tiles.weights[tile].sum()
        add_gradient(parameters, sizes, tiles, tile, per_weight, space, sums)
        add_lanes(sums, gradient)
        adam_step(parameters, gradient, mean, square, decays, learning_rate, 0.0)
