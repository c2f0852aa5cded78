"""An incremental update: a trained network goes once over new rows, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.lanes import aligned_zeros, count
from changeproof.model import Floats
from changeproof.networks.kernels import adam_step, add_lanes, backward, forward, loss_slopes
from changeproof.networks.layout import (
    SMALL_BLOCK,
    pack,
    padded,
    padded_sizes,
    tile_rows,
    tile_values,
    unpack,
)
from changeproof.networks.network import Network


def update(
    network: Network, rows: Floats, labels: npt.NDArray[Any], *, learning_rate: float, batch: int
) -> Network:
    """Return the network after one pass of mini-batch Adam over the rows, in their order."""
    stacked = ([w[None] for w in network.weights], [b[None] for b in network.biases])
    parameters = pack(*stacked, np.float32)
    length = padded(batch, SMALL_BLOCK)
    _update(
        parameters[0],
        padded_sizes(network.n_features, network.hidden),
        tile_rows(rows, length, np.float32, filled=batch),
        tile_values(labels, length, np.float32, filled=batch),
        tile_values(np.ones(len(rows)), length, np.float32, filled=batch),
        float(learning_rate),
    )
    weights, biases = unpack(parameters, network.n_features, network.hidden)
    return Network(tuple(w[0] for w in weights), tuple(b[0] for b in biases))


@compiled
def _update(
    parameters: Any, sizes: Any, rows: Any, labels: Any, weights: Any, learning_rate: float
) -> None:
    """Take one step of Adam per tile [features, rows]; rows of weight zero fill it up."""
    kind = parameters.dtype.type
    one = kind(1)
    n_tiles, n_rows = labels.shape
    widest = sizes.max()
    activations = aligned_zeros(len(sizes) * widest * n_rows, parameters)
    activations = activations.reshape(len(sizes), widest, n_rows)
    deltas = aligned_zeros(2 * widest * n_rows, parameters).reshape(2, widest, n_rows)
    logits = aligned_zeros(n_rows, parameters)
    scratch = np.zeros(widest * widest, parameters.dtype)
    zeros = np.zeros(widest, parameters.dtype)
    gradient = np.zeros_like(parameters)
    lanes = count(parameters)
    sums = aligned_zeros(parameters.size * lanes, parameters).reshape(parameters.size, lanes)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    decays = np.ones(2)
    for tile in range(n_tiles):
        per_weight = one / weights[tile].sum()
        forward(parameters, sizes, rows[tile], activations, logits, n_rows)
        loss_slopes(logits, labels[tile], weights[tile], per_weight, n_rows)
        backward(
            parameters,
            sums,
            sizes,
            rows[tile],
            activations,
            logits,
            deltas,
            scratch,
            zeros,
            n_rows,
        )
        add_lanes(sums, gradient)
        adam_step(parameters, gradient, mean, square, decays, learning_rate, 0.0)
