"""The arithmetic of small ReLU networks, compiled.

Every loop runs over the rows of a tile in its innermost dimension: rows lie next to each other
in memory, so that the compiler turns the loop into vector instructions, and a tile is small
enough for its activations to stay in the cache. What happens to a row does not depend on which
rows share its tile, nor on any thread pool: results are the same for every batch size.

All dimensions but the rows are padded to multiples of four (see `layout.py`). Padded neurons
have zero weights and stay zero in training, so they change nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

# Reordering of sums is allowed, assumptions about NaN and infinity are not.
compiled = njit(
    fastmath={"reassoc", "contract", "nsz", "arcp"},
    nogil=True,
    cache=True,
    error_model="numpy",
)

ADAM_BETA1 = 0.9
ADAM_BETA2 = 0.999
ADAM_EPSILON = 1e-8
SGD_MOMENTUM = 0.9
SMALLEST_LOG = -100.0


@compiled
def fill_tiles(rows: Any, tiles: Any) -> None:
    """Lay out rows [rows, features] in zeroed tiles [tiles, features, length]."""
    n_features, length = rows.shape[1], tiles.shape[2]
    for i in range(rows.shape[0]):
        tile, place = i // length, i % length
        for k in range(n_features):
            tiles[tile, k, place] = rows[i, k]


@compiled
def affine(weight: Any, bias: Any, inputs: Any, outputs: Any, n_rows: int) -> None:
    """Compute outputs[j, r] = bias[j] + sum over k of weight[j, k] * inputs[k, r]."""
    n_out, n_in = weight.shape
    for j in range(0, n_out, 4):
        b0 = bias[j]
        b1 = bias[j + 1]
        b2 = bias[j + 2]
        b3 = bias[j + 3]
        for k in range(0, n_in, 4):
            w00, w01, w02, w03 = weight[j, k], weight[j, k + 1], weight[j, k + 2], weight[j, k + 3]
            i = j + 1
            w10, w11, w12, w13 = weight[i, k], weight[i, k + 1], weight[i, k + 2], weight[i, k + 3]
            i = j + 2
            w20, w21, w22, w23 = weight[i, k], weight[i, k + 1], weight[i, k + 2], weight[i, k + 3]
            i = j + 3
            w30, w31, w32, w33 = weight[i, k], weight[i, k + 1], weight[i, k + 2], weight[i, k + 3]
            if k == 0:
                for r in range(n_rows):
                    x0, x1, x2, x3 = inputs[0, r], inputs[1, r], inputs[2, r], inputs[3, r]
                    outputs[j, r] = b0 + w00 * x0 + w01 * x1 + w02 * x2 + w03 * x3
                    outputs[j + 1, r] = b1 + w10 * x0 + w11 * x1 + w12 * x2 + w13 * x3
                    outputs[j + 2, r] = b2 + w20 * x0 + w21 * x1 + w22 * x2 + w23 * x3
                    outputs[j + 3, r] = b3 + w30 * x0 + w31 * x1 + w32 * x2 + w33 * x3
            else:
                for r in range(n_rows):
                    x0, x1 = inputs[k, r], inputs[k + 1, r]
                    x2, x3 = inputs[k + 2, r], inputs[k + 3, r]
                    outputs[j, r] += w00 * x0 + w01 * x1 + w02 * x2 + w03 * x3
                    outputs[j + 1, r] += w10 * x0 + w11 * x1 + w12 * x2 + w13 * x3
                    outputs[j + 2, r] += w20 * x0 + w21 * x1 + w22 * x2 + w23 * x3
                    outputs[j + 3, r] += w30 * x0 + w31 * x1 + w32 * x2 + w33 * x3


@compiled
def rectify(values: Any, n_units: int, n_rows: int) -> None:
    """Set values to zero where they are not positive."""
    zero = values.dtype.type(0)
    for j in range(n_units):
        for r in range(n_rows):
            values[j, r] = values[j, r] if values[j, r] > zero else zero


@compiled
def mask(values: Any, gate: Any, n_units: int, n_rows: int) -> None:
    """Set values to zero where another array, the gate, is not positive.

    (Not for a gate that is the values themselves: the compiler would see that the two overlap
    and fall back to one row at a time.)
    """
    zero = values.dtype.type(0)
    for j in range(n_units):
        for r in range(n_rows):
            values[j, r] = values[j, r] if gate[j, r] > zero else zero


@compiled
def add_outer_product(deltas: Any, inputs: Any, gradient: Any, n_rows: int) -> None:
    """Add to gradient[j, k] the sum over rows of deltas[j, r] * inputs[k, r]."""
    n_out, n_in = gradient.shape
    zero = gradient.dtype.type(0)
    for j in range(0, n_out, 2):
        for k in range(0, n_in, 4):
            s00 = s01 = s02 = s03 = zero
            s10 = s11 = s12 = s13 = zero
            for r in range(n_rows):
                d0, d1 = deltas[j, r], deltas[j + 1, r]
                x0, x1, x2, x3 = inputs[k, r], inputs[k + 1, r], inputs[k + 2, r], inputs[k + 3, r]
                s00 += d0 * x0
                s01 += d0 * x1
                s02 += d0 * x2
                s03 += d0 * x3
                s10 += d1 * x0
                s11 += d1 * x1
                s12 += d1 * x2
                s13 += d1 * x3
            gradient[j, k] += s00
            gradient[j, k + 1] += s01
            gradient[j, k + 2] += s02
            gradient[j, k + 3] += s03
            gradient[j + 1, k] += s10
            gradient[j + 1, k + 1] += s11
            gradient[j + 1, k + 2] += s12
            gradient[j + 1, k + 3] += s13


@compiled
def forward(
    parameters: Any, sizes: Any, inputs: Any, activations: Any, logits: Any, n_rows: int
) -> None:
    """Fill the activations of every hidden layer and the logits of one tile."""
    start = 0
    layer_input = inputs
    for layer in range(len(sizes) - 1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        weight = parameters[start : start + n_out * n_in].reshape(n_out, n_in)
        start += n_out * n_in
        bias = parameters[start : start + n_out]
        start += n_out
        outputs = activations[layer]
        affine(weight, bias, layer_input, outputs, n_rows)
        rectify(outputs, n_out, n_rows)
        layer_input = outputs
    n_in = sizes[-1]
    for r in range(n_rows):
        logits[r] = parameters[start + n_in]
    for k in range(0, n_in, 4):
        w0, w1 = parameters[start + k], parameters[start + k + 1]
        w2, w3 = parameters[start + k + 2], parameters[start + k + 3]
        for r in range(n_rows):
            logits[r] += (
                w0 * layer_input[k, r]
                + w1 * layer_input[k + 1, r]
                + w2 * layer_input[k + 2, r]
                + w3 * layer_input[k + 3, r]
            )


@compiled
def transpose(weight: Any, scratch: Any) -> Any:
    """Return the transposed weight in scratch memory."""
    n_out, n_in = weight.shape
    result = scratch[: n_out * n_in].reshape(n_in, n_out)
    for j in range(n_out):
        for k in range(n_in):
            result[k, j] = weight[j, k]
    return result


@compiled
def backward(
    parameters: Any,
    gradient: Any,
    sizes: Any,
    inputs: Any,
    activations: Any,
    logit_deltas: Any,
    deltas: Any,
    scratch: Any,
    zeros: Any,
    n_rows: int,
) -> None:
    """Add the parameter gradient of one tile, given the loss's derivative by its logits."""
    n_layers = len(sizes) - 1
    zero = gradient.dtype.type(0)
    n_in = sizes[n_layers]
    start = parameters.size - 1 - n_in
    head_input = inputs if n_layers == 0 else activations[n_layers - 1]
    total = zero
    for r in range(n_rows):
        total += logit_deltas[r]
    gradient[start + n_in] += total
    out = deltas[n_layers % 2]
    for k in range(n_in):
        weight_k = parameters[start + k]
        total = zero
        for r in range(n_rows):
            value = head_input[k, r]
            delta = logit_deltas[r]
            total += delta * value
            out[k, r] = weight_k * delta if value > zero else zero
        gradient[start + k] += total
    for layer in range(n_layers - 1, -1, -1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        start -= n_out * n_in + n_out
        stop = start + n_out * n_in
        layer_input = inputs if layer == 0 else activations[layer - 1]
        layer_deltas = deltas[(layer + 1) % 2]
        layer_gradient = gradient[start:stop].reshape(n_out, n_in)
        add_outer_product(layer_deltas, layer_input, layer_gradient, n_rows)
        for j in range(n_out):
            total = zero
            for r in range(n_rows):
                total += layer_deltas[j, r]
            gradient[stop + j] += total
        if layer > 0:
            weight = parameters[start:stop].reshape(n_out, n_in)
            out = deltas[layer % 2]
            affine(transpose(weight, scratch), zeros, layer_deltas, out, n_rows)
            mask(out, layer_input, n_in, n_rows)


@compiled
def adam_step(
    parameters: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    step: int,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """Take one step of Adam with coupled weight decay, as PyTorch does."""
    kind = parameters.dtype.type
    size = kind(learning_rate / (1.0 - ADAM_BETA1**step))
    correction = kind(math.sqrt(1.0 - ADAM_BETA2**step))
    decay = kind(weight_decay)
    one_minus_beta1, beta2 = kind(1.0 - ADAM_BETA1), kind(ADAM_BETA2)
    one_minus_beta2, epsilon = kind(1.0 - ADAM_BETA2), kind(ADAM_EPSILON)
    for i in range(parameters.size):
        g = gradient[i] + decay * parameters[i]
        m = mean[i] + (g - mean[i]) * one_minus_beta1
        v = beta2 * square[i] + one_minus_beta2 * g * g
        mean[i] = m
        square[i] = v
        parameters[i] -= size * m / (np.sqrt(v) / correction + epsilon)


@compiled
def sgd_step(
    parameters: Any,
    gradient: Any,
    momentum: Any,
    step: int,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """Take one step of gradient descent with momentum, as PyTorch does."""
    kind = parameters.dtype.type
    size, decay, keep = kind(learning_rate), kind(weight_decay), kind(SGD_MOMENTUM)
    for i in range(parameters.size):
        g = gradient[i] + decay * parameters[i]
        momentum[i] = g if step == 1 else keep * momentum[i] + g
        parameters[i] -= size * momentum[i]


@compiled
def copy_into(source: Any, target: Any) -> None:
    """Copy a vector. (A slice assignment would compile the texts of its errors, for seconds.)"""
    for i in range(source.size):
        target[i] = source[i]


@compiled
def train_network(
    parameters: Any,
    sizes: Any,
    rows: Any,
    labels: Any,
    weights: Any,
    validation_rows: Any,
    validation_labels: Any,
    validation_weights: Any,
    adam: bool,
    learning_rate: float,
    weight_decay: float,
    max_epochs: int,
    patience: int,
    tolerance: float,
) -> tuple[int, int, float]:
    """Train one network in place; return best epoch, epochs run and best validation loss.

    Rows are tiles [tiles, features, rows]; labels and weights [tiles, rows]. The parameters
    end as those of the best epoch; a best epoch of 0 means that none ever had a finite loss.
    """
    kind = parameters.dtype.type
    one, smallest_log = kind(1), kind(SMALLEST_LOG)
    n_tiles, n_rows = labels.shape
    n_validation_tiles, n_validation_rows = validation_labels.shape
    widest, longest = sizes.max(), max(n_rows, n_validation_rows)
    activations = np.zeros((len(sizes), widest, longest), parameters.dtype)
    deltas = np.zeros((2, widest, longest), parameters.dtype)
    logits = np.zeros(longest, parameters.dtype)
    scratch = np.zeros(widest * widest, parameters.dtype)
    zeros = np.zeros(widest, parameters.dtype)
    gradient = np.zeros_like(parameters)
    first_moment = np.zeros_like(parameters)
    second_moment = np.zeros_like(parameters)
    best_parameters = parameters.copy()
    per_weight = kind(1.0 / weights.astype(np.float64).sum())
    validation_total = validation_weights.astype(np.float64).sum()
    best_loss, best_epoch, epoch = np.inf, 0, 0
    for epoch in range(1, max_epochs + 1):
        gradient.fill(kind(0))
        for tile in range(n_tiles):
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
        if adam:
            adam_step(
                parameters,
                gradient,
                first_moment,
                second_moment,
                epoch,
                learning_rate,
                weight_decay,
            )
        else:
            sgd_step(parameters, gradient, first_moment, epoch, learning_rate, weight_decay)
        loss = 0.0
        for tile in range(n_validation_tiles):
            forward(
                parameters, sizes, validation_rows[tile], activations, logits, n_validation_rows
            )
            for r in range(n_validation_rows):
                weight = validation_weights[tile, r]
                if weight > 0:
                    likelihood = one / (one + np.exp(-logits[r]))
                    if validation_labels[tile, r] < 0.5:
                        likelihood = one - likelihood
                    loss -= weight * max(np.log(likelihood), smallest_log)
        loss /= validation_total
        if loss < best_loss - tolerance:
            best_loss, best_epoch = loss, epoch
            copy_into(parameters, best_parameters)
        elif epoch - best_epoch >= patience:
            break
    copy_into(best_parameters, parameters)
    return best_epoch, epoch, best_loss


@compiled
def logits_around(
    parameters: Any, sizes: Any, centres: Any, moves: Any, low: Any, high: Any, logits: Any
) -> None:
    """Fill logits[model, centre, tile, row] at every centre plus move, clipped to a range.

    Parameters are [models, n], centres [centres, features], moves tiles [tiles, features, rows].
    """
    n_features = centres.shape[1]
    n_tiles, wide, n_rows = moves.shape
    activations = np.zeros((len(sizes), sizes.max(), n_rows), parameters.dtype)
    inputs = np.zeros((wide, n_rows), parameters.dtype)
    for centre in range(centres.shape[0]):
        for tile in range(n_tiles):
            for k in range(n_features):
                x, least, most = centres[centre, k], low[k], high[k]
                for r in range(n_rows):
                    value = x + moves[tile, k, r]
                    value = value if value > least else least
                    inputs[k, r] = value if value < most else most
            for model in range(parameters.shape[0]):
                out = logits[model, centre, tile]
                forward(parameters[model], sizes, inputs, activations, out, n_rows)


@compiled
def logits_and_gradients(
    parameters: Any, sizes: Any, rows: Any, logits: Any, gradients: Any
) -> None:
    """Fill logits[tile, row] and their derivatives by the inputs, gradients[tile, k, row]."""
    n_tiles, _, n_rows = rows.shape
    n_layers, widest = len(sizes) - 1, sizes.max()
    activations = np.zeros((len(sizes), widest, n_rows), parameters.dtype)
    deltas = np.zeros((2, widest, n_rows), parameters.dtype)
    scratch = np.zeros(widest * widest, parameters.dtype)
    zeros = np.zeros(widest, parameters.dtype)
    head = parameters.size - 1 - sizes[n_layers]
    for tile in range(n_tiles):
        forward(parameters, sizes, rows[tile], activations, logits[tile], n_rows)
        start = head
        out = gradients[tile] if n_layers == 0 else deltas[n_layers % 2]
        for k in range(sizes[n_layers]):
            for r in range(n_rows):
                out[k, r] = parameters[start + k]
        for layer in range(n_layers - 1, -1, -1):
            n_in, n_out = sizes[layer], sizes[layer + 1]
            start -= n_out * n_in + n_out
            weight = parameters[start : start + n_out * n_in].reshape(n_out, n_in)
            layer_deltas = deltas[(layer + 1) % 2]
            mask(layer_deltas, activations[layer], n_out, n_rows)
            out = gradients[tile] if layer == 0 else deltas[layer % 2]
            affine(transpose(weight, scratch), zeros, layer_deltas, out, n_rows)
