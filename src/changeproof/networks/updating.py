"""An incremental update: a trained network goes once over new rows, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.networks.kernels import adam_step, backward, compiled, forward
from changeproof.networks.layout import pack, padded_sizes, tile_rows, tile_values, unpack
from changeproof.networks.model import Floats
from changeproof.networks.network import Network


def update(
    network: Network, rows: Floats, labels: npt.NDArray[Any], *, learning_rate: float, batch: int
) -> Network:
    """Return the network after one pass of mini-batch Adam over the rows, in their order."""
    stacked = ([w[None] for w in network.weights], [b[None] for b in network.biases])
    parameters = pack(*stacked, np.float32)
    _update(
        parameters[0],
        padded_sizes(network.n_features, network.hidden),
        tile_rows(rows, batch, np.float32),
        tile_values(labels, batch, np.float32),
        tile_values(np.ones(len(rows)), batch, np.float32),
        float(learning_rate),
    )
    weights, biases = unpack(parameters, network.n_features, network.hidden)
    return Network(tuple(w[0] for w in weights), tuple(b[0] for b in biases))


@compiled
def _update(
    parameters: Any, sizes: Any, rows: Any, labels: Any, weights: Any, learning_rate: float
) -> None:
    """Take one step of Adam per tile [features, rows]; rows of weight zero fill up the last."""
    kind = parameters.dtype.type
    one = kind(1)
    n_tiles, n_rows = labels.shape
    widest = sizes.max()
    activations = np.zeros((len(sizes), widest, n_rows), parameters.dtype)
    deltas = np.zeros((2, widest, n_rows), parameters.dtype)
    logits = np.zeros(n_rows, parameters.dtype)
    scratch = np.zeros(widest * widest, parameters.dtype)
    zeros = np.zeros(widest, parameters.dtype)
    gradient = np.zeros_like(parameters)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    for tile in range(n_tiles):
        gradient.fill(kind(0))
        per_weight = one / weights[tile].sum()
        forward(parameters, sizes, rows[tile], activations, logits, n_rows)
        for r in range(n_rows):
            probability = one / (one + np.exp(-logits[r]))
            logits[r] = (probability - labels[tile, r]) * (weights[tile, r] * per_weight)
        backward(
            parameters,
            gradient,
            sizes,
            rows[tile],
            activations,
            logits,
            deltas,
            scratch,
            zeros,
            n_rows,
        )
        adam_step(parameters, gradient, mean, square, tile + 1, learning_rate, 0.0)
