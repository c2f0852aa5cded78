"""The arithmetic of small ReLU networks, compiled.

Rows lie next to each other in memory, and tiles of them are small enough for their activations to
stay in the cache. What happens to a row does not depend on which rows share its tile, nor on any
thread pool: results are the same for every batch size. They are also the same on every processor,
because every sum has one order:

- a neuron starts from its bias and adds, fused, weight times input in the order of the inputs;
- a sum over rows is spread over lanes (see `arithmetic/lanes.py`): row r adds to lane r modulo
  their number, whatever tile it is in, and the lanes are added in a tree.

All dimensions but the rows are padded to multiples of four (see `layout.py`). Padded neurons
have zero weights and stay zero in training, so they change nothing. Tiles hold a multiple of
sixteen rows.

A network has one output, the logit of the favourable class, or one per class (softmax). The latter
are a layer like any other; the number of outputs follows from that of the parameters. `sides` are
how many of the outputs are adverse classes, which come first, and how many outputs there are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, fma, log
from changeproof.arithmetic.lanes import (
    ONE_REGISTER,
    aligned_zeros,
    count,
    load,
    load_row,
    plus,
    spread,
    store_row,
    times,
    tree_sum,
    where_positive,
)

ADAM_BETA1 = 0.9
ADAM_BETA2 = 0.999
ADAM_EPSILON = 1e-8
SGD_MOMENTUM = 0.9
SMALLEST_LOG = -100.0
# What becomes of a layer's sums: kept, zero where they are not positive, or zero where a gate is.
KEPT, RECTIFIED, GATED = range(3)


@compiled
def fill_tiles(rows: Any, tiles: Any, filled: int) -> None:
    n_features = rows.shape[1]
    for i in range(rows.shape[0]):
        tile, place = i // filled, i % filled
        for k in range(n_features):
            tiles[tile, k, place] = rows[i, k]


@compiled
def finish(outputs: Any, gate: Any, how: int, j: int, r: int, lanes: Any) -> None:
    if how == RECTIFIED:
        store_row(outputs, j, r, where_positive(lanes, lanes))
    elif how == GATED:
        store_row(outputs, j, r, where_positive(load_row(gate, j, r), lanes))
    else:
        store_row(outputs, j, r, lanes)


@compiled
def affine(
    weight: Any, bias: Any, inputs: Any, outputs: Any, gate: Any, how: int, n_rows: int
) -> None:
    """Compute outputs[j, r] = bias[j] + sum over k of weight[j, k] * inputs[k, r]."""
    n_out, n_in = weight.shape
    lanes = count(outputs)
    if ONE_REGISTER and n_rows % (2 * lanes) == 0:
        for r in range(0, n_rows, 2 * lanes):
            s = r + lanes
            for j in range(0, n_out, 4):
                a0 = b0 = spread(bias[j])
                a1 = b1 = spread(bias[j + 1])
                a2 = b2 = spread(bias[j + 2])
                a3 = b3 = spread(bias[j + 3])
                for k in range(n_in):
                    x, y = load_row(inputs, k, r), load_row(inputs, k, s)
                    w = spread(weight[j, k])
                    a0, b0 = fma(w, x, a0), fma(w, y, b0)
                    w = spread(weight[j + 1, k])
                    a1, b1 = fma(w, x, a1), fma(w, y, b1)
                    w = spread(weight[j + 2, k])
                    a2, b2 = fma(w, x, a2), fma(w, y, b2)
                    w = spread(weight[j + 3, k])
                    a3, b3 = fma(w, x, a3), fma(w, y, b3)
                finish(outputs, gate, how, j, r, a0)
                finish(outputs, gate, how, j, s, b0)
                finish(outputs, gate, how, j + 1, r, a1)
                finish(outputs, gate, how, j + 1, s, b1)
                finish(outputs, gate, how, j + 2, r, a2)
                finish(outputs, gate, how, j + 2, s, b2)
                finish(outputs, gate, how, j + 3, r, a3)
                finish(outputs, gate, how, j + 3, s, b3)
    else:
        for r in range(0, n_rows, lanes):
            for j in range(0, n_out, 4):
                a0, a1 = spread(bias[j]), spread(bias[j + 1])
                a2, a3 = spread(bias[j + 2]), spread(bias[j + 3])
                for k in range(n_in):
                    x = load_row(inputs, k, r)
                    a0 = fma(spread(weight[j, k]), x, a0)
                    a1 = fma(spread(weight[j + 1, k]), x, a1)
                    a2 = fma(spread(weight[j + 2, k]), x, a2)
                    a3 = fma(spread(weight[j + 3, k]), x, a3)
                finish(outputs, gate, how, j, r, a0)
                finish(outputs, gate, how, j + 1, r, a1)
                finish(outputs, gate, how, j + 2, r, a2)
                finish(outputs, gate, how, j + 3, r, a3)


@compiled
def add_outer_product(
    deltas: Any,
    n_out: int,
    inputs: Any,
    n_in: int,
    sums: Any,
    start: int,
    stride: int,
    n_rows: int,
) -> None:
    """Add deltas[j, r] * inputs[k, r] over rows to the lanes of sums[start + j * stride + k]."""
    lanes = count(inputs)
    if ONE_REGISTER:
        for j in range(0, n_out, 2):
            for k in range(0, n_in, 4):
                i = start + j * stride + k
                s00, s01 = load_row(sums, i, 0), load_row(sums, i + 1, 0)
                s02, s03 = load_row(sums, i + 2, 0), load_row(sums, i + 3, 0)
                i += stride
                s10, s11 = load_row(sums, i, 0), load_row(sums, i + 1, 0)
                s12, s13 = load_row(sums, i + 2, 0), load_row(sums, i + 3, 0)
                for r in range(0, n_rows, lanes):
                    d0, d1 = load_row(deltas, j, r), load_row(deltas, j + 1, r)
                    x = load_row(inputs, k, r)
                    s00, s10 = fma(d0, x, s00), fma(d1, x, s10)
                    x = load_row(inputs, k + 1, r)
                    s01, s11 = fma(d0, x, s01), fma(d1, x, s11)
                    x = load_row(inputs, k + 2, r)
                    s02, s12 = fma(d0, x, s02), fma(d1, x, s12)
                    x = load_row(inputs, k + 3, r)
                    s03, s13 = fma(d0, x, s03), fma(d1, x, s13)
                store_row(sums, i, 0, s10)
                store_row(sums, i + 1, 0, s11)
                store_row(sums, i + 2, 0, s12)
                store_row(sums, i + 3, 0, s13)
                i -= stride
                store_row(sums, i, 0, s00)
                store_row(sums, i + 1, 0, s01)
                store_row(sums, i + 2, 0, s02)
                store_row(sums, i + 3, 0, s03)
    else:
        for j in range(0, n_out, 2):
            for k in range(0, n_in, 2):
                i = start + j * stride + k
                s00, s01 = load_row(sums, i, 0), load_row(sums, i + 1, 0)
                s10, s11 = load_row(sums, i + stride, 0), load_row(sums, i + stride + 1, 0)
                for r in range(0, n_rows, lanes):
                    d0, d1 = load_row(deltas, j, r), load_row(deltas, j + 1, r)
                    x = load_row(inputs, k, r)
                    s00, s10 = fma(d0, x, s00), fma(d1, x, s10)
                    x = load_row(inputs, k + 1, r)
                    s01, s11 = fma(d0, x, s01), fma(d1, x, s11)
                store_row(sums, i, 0, s00)
                store_row(sums, i + 1, 0, s01)
                store_row(sums, i + stride, 0, s10)
                store_row(sums, i + stride + 1, 0, s11)


@compiled
def outputs_of(parameters: Any, sizes: Any) -> int:
    """Return how many outputs a network has, padded where there are several."""
    rest = parameters.size
    for layer in range(len(sizes) - 1):
        rest -= (sizes[layer] + 1) * sizes[layer + 1]
    return int(rest // (sizes[-1] + 1))


@compiled
def forward(
    parameters: Any, sizes: Any, inputs: Any, activations: Any, logits: Any, n_rows: int
) -> None:
    """Fill the activations of every hidden layer and the logits [outputs, rows] of one tile."""
    start = 0
    layer_input = inputs
    for layer in range(len(sizes) - 1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        weight = parameters[start : start + n_out * n_in].reshape(n_out, n_in)
        start += n_out * n_in
        bias = parameters[start : start + n_out]
        start += n_out
        outputs = activations[layer]
        affine(weight, bias, layer_input, outputs, outputs, RECTIFIED, n_rows)
        layer_input = outputs
    n_in, n_out = sizes[-1], len(logits)
    if n_out > 1:
        stop = start + n_out * n_in
        weight = parameters[start:stop].reshape(n_out, n_in)
        bias = parameters[stop : stop + n_out]
        affine(weight, bias, layer_input, logits, logits, KEPT, n_rows)
        return
    lanes = count(inputs)
    for r in range(0, n_rows, lanes):
        total = spread(parameters[start + n_in])
        for k in range(n_in):
            total = fma(spread(parameters[start + k]), load_row(layer_input, k, r), total)
        store_row(logits, 0, r, total)


@compiled
def best_of_sides(logits: Any, sides: Any, r: int) -> tuple[int, int]:
    """Return the best adverse and the best favourable class of a row; of equal ones the first."""
    adverse, favourable = 0, sides[0]
    for k in range(1, sides[0]):
        if logits[k, r] > logits[adverse, r]:
            adverse = k
    for k in range(sides[0] + 1, sides[1]):
        if logits[k, r] > logits[favourable, r]:
            favourable = k
    return adverse, favourable


@compiled
def lead(logits: Any, sides: Any, n_rows: int) -> None:
    """Put into the first logits what networks are judged by.

    Of one output that is its logit; of several, the best favourable minus the best adverse one.
    """
    if sides[1] == 1:
        return
    for r in range(n_rows):
        adverse, favourable = best_of_sides(logits, sides, r)
        logits[0, r] = logits[favourable, r] - logits[adverse, r]


@compiled
def lead_slopes(logits: Any, sides: Any, leads: Any, n_rows: int) -> None:
    """Fill the lead of every row; replace the logits of several outputs by its derivatives."""
    one, zero = logits.dtype.type(1), logits.dtype.type(0)
    for r in range(n_rows):
        adverse, favourable = best_of_sides(logits, sides, r)
        leads[r] = logits[favourable, r] - logits[adverse, r]
        for k in range(len(logits)):
            logits[k, r] = one if k == favourable else -one if k == adverse else zero


@compiled
def transpose(weight: Any, scratch: Any) -> Any:
    n_out, n_in = weight.shape
    result = scratch[: n_out * n_in].reshape(n_in, n_out)
    for j in range(n_out):
        for k in range(n_in):
            result[k, j] = weight[j, k]
    return result


class Workspace(NamedTuple):
    """Memory for what passes through the layers of a network, one tile after the other.

    `activations` are [layers, widest, rows], `logits` [outputs, rows], `deltas` (what comes back,
    of two layers in turn) [2, widest, rows], `turned` is room for a transposed weight, `zeros`
    [widest].
    """

    activations: Any
    logits: Any
    deltas: Any
    turned: Any
    zeros: Any


@compiled
def workspace(parameters: Any, sizes: Any, n_rows: int) -> Any:
    n_out = outputs_of(parameters, sizes)
    widest = max(sizes.max(), n_out)
    return Workspace(
        aligned_zeros((len(sizes), widest, n_rows), parameters),
        aligned_zeros((n_out, n_rows), parameters),
        aligned_zeros((2, widest, n_rows), parameters),
        np.zeros(widest * widest, parameters.dtype),
        np.zeros(widest, parameters.dtype),
    )


@compiled
def room_for_powers(parameters: Any, sizes: Any, n_rows: int) -> Any:
    """Return room for the exponentials of logits, and for two more numbers per row."""
    return np.zeros((outputs_of(parameters, sizes) + 2, n_rows))


@compiled
def lane_sums(parameters: Any) -> Any:
    return aligned_zeros((parameters.size, count(parameters)), parameters)


@compiled
def backward(parameters: Any, sizes: Any, inputs: Any, space: Any, sums: Any, n_rows: int) -> None:
    """Add one tile's part of the gradient to its lanes [parameters, lanes].

    The logits of the workspace have been replaced by the loss's derivative by them.
    """
    activations, logit_deltas, deltas, scratch, zeros = space
    n_layers, n_outputs = len(sizes) - 1, len(logit_deltas)
    lanes = count(inputs)
    top, start = n_layers, parameters.size
    if n_outputs == 1:
        top, n_in = n_layers - 1, sizes[n_layers]
        start -= n_in + 1
        head_input = inputs if n_layers == 0 else activations[n_layers - 1]
        out = deltas[n_layers % 2]
        for k in range(n_in):
            w = spread(parameters[start + k])
            total = load_row(sums, start + k, 0)
            for r in range(0, n_rows, lanes):
                value, delta = load_row(head_input, k, r), load_row(logit_deltas, 0, r)
                total = fma(delta, value, total)
                store_row(out, k, r, where_positive(value, times(w, delta)))
            store_row(sums, start + k, 0, total)
        total = load_row(sums, start + n_in, 0)
        for r in range(0, n_rows, lanes):
            total = plus(total, load_row(logit_deltas, 0, r))
        store_row(sums, start + n_in, 0, total)
    for layer in range(top, -1, -1):
        n_in = sizes[layer]
        n_out = n_outputs if layer == n_layers else sizes[layer + 1]
        start -= n_out * n_in + n_out
        stop = start + n_out * n_in
        layer_input = inputs if layer == 0 else activations[layer - 1]
        layer_deltas = logit_deltas if layer == n_layers else deltas[(layer + 1) % 2]
        add_outer_product(layer_deltas, n_out, layer_input, n_in, sums, start, n_in, n_rows)
        for j in range(n_out):
            total = load_row(sums, stop + j, 0)
            for r in range(0, n_rows, lanes):
                total = plus(total, load_row(layer_deltas, j, r))
            store_row(sums, stop + j, 0, total)
        if layer > 0:
            weight = parameters[start:stop].reshape(n_out, n_in)
            out = deltas[layer % 2]
            turned = transpose(weight, scratch)
            affine(turned, zeros, layer_deltas, out, layer_input, GATED, n_rows)


@compiled
def add_lanes(sums: Any, totals: Any) -> None:
    """Add up the lanes of every sum, and set them to zero for the next."""
    zero = spread(totals.dtype.type(0))
    for i in range(totals.size):
        totals[i] = tree_sum(load_row(sums, i, 0))
        store_row(sums, i, 0, zero)


@compiled
def adam_step(
    parameters: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    decays: Any,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """As PyTorch does, with coupled weight decay; `decays` are both rates to the power of steps."""
    kind = parameters.dtype.type
    decays[0] *= ADAM_BETA1
    decays[1] *= ADAM_BETA2
    size = kind(learning_rate / (1.0 - decays[0]))
    correction = kind(math.sqrt(1.0 - decays[1]))
    decay = kind(weight_decay)
    one_minus_beta1, beta2 = kind(1.0 - ADAM_BETA1), kind(ADAM_BETA2)
    one_minus_beta2, epsilon = kind(1.0 - ADAM_BETA2), kind(ADAM_EPSILON)
    for i in range(parameters.size):
        g = fma(decay, parameters[i], gradient[i])
        m = fma(g - mean[i], one_minus_beta1, mean[i])
        v = fma(one_minus_beta2 * g, g, beta2 * square[i])
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
    """As PyTorch does, with momentum."""
    kind = parameters.dtype.type
    size, decay, keep = kind(learning_rate), kind(weight_decay), kind(SGD_MOMENTUM)
    for i in range(parameters.size):
        g = fma(decay, parameters[i], gradient[i])
        momentum[i] = g if step == 1 else keep * momentum[i] + g
        parameters[i] = fma(-size, momentum[i], parameters[i])


@compiled
def copy_into(source: Any, target: Any) -> None:
    """Copy a vector. (A slice assignment would compile the texts of its errors, for seconds.)"""
    for i in range(source.size):
        target[i] = source[i]


@compiled
def probability(logit: Any) -> Any:
    """Return the sigmoid of a single-precision logit, with PyTorch's roundings."""
    one = np.float32(1)
    return one / (one + np.float32(exp(-np.float64(logit))))


@compiled
def fill_powers(logits: Any, n_classes: int, powers: Any, n_rows: int) -> tuple[Any, Any]:
    """Fill the exponentials of logits, minus the highest of their row, into powers[k, r].

    Return the highest of every row and the sum of its exponentials.
    """
    highest, totals = powers[n_classes], powers[n_classes + 1]
    for r in range(n_rows):
        highest[r], totals[r] = logits[0, r], 0.0
    for k in range(1, n_classes):
        row = logits[k]
        for r in range(n_rows):
            highest[r] = max(highest[r], np.float64(row[r]))
    for k in range(n_classes):
        row, power = logits[k], powers[k]
        for r in range(n_rows):
            power[r] = exp(np.float64(row[r]) - highest[r])
        for r in range(n_rows):
            totals[r] += power[r]
    return highest, totals


@compiled
def class_slopes(
    logits: Any, shares: Any, weights: Any, per_weight: Any, powers: Any, n_rows: int
) -> None:
    """Do what `loss_slopes` does, of several classes."""
    n_classes = len(shares)
    _, totals = fill_powers(logits, n_classes, powers, n_rows)
    for k in range(n_classes):
        found, given, power = logits[k], shares[k], powers[k]
        for r in range(n_rows):
            share = np.float32(power[r] / totals[r])
            found[r] = (share - given[r]) * (weights[r] * per_weight)
    # What fills up the outputs learns nothing.
    for k in range(n_classes, len(logits)):
        for r in range(n_rows):
            logits[k, r] = 0.0


@compiled
def fill_class_losses(logits: Any, shares: Any, weights: Any, powers: Any, losses: Any) -> None:
    """Do what `fill_losses` does, of several classes."""
    n_classes, n_rows = shares.shape
    highest, totals = fill_powers(logits, n_classes, powers, n_rows)
    for r in range(n_rows):
        losses[r] = log(totals[r])
    for k in range(n_classes):
        found, given = logits[k], shares[k]
        for r in range(n_rows):
            losses[r] -= given[r] * (found[r] - highest[r])
    for r in range(n_rows):
        losses[r] *= weights[r]


@compiled
def loss_slopes(
    logits: Any, labels: Any, weights: Any, per_weight: Any, powers: Any, n_rows: int
) -> None:
    """Replace logits by the derivative of the weighted cross-entropy by them.

    Labels are [1, rows], or the shares of several classes [classes, rows].
    """
    if len(labels) > 1:
        class_slopes(logits, labels, weights, per_weight, powers, n_rows)
        return
    found, given = logits[0], labels[0]
    for r in range(n_rows):
        found[r] = (probability(found[r]) - given[r]) * (weights[r] * per_weight)


@compiled
def fill_losses(logits: Any, labels: Any, weights: Any, powers: Any, losses: Any) -> None:
    """Fill in the weighted cross-entropy of every row; as in PyTorch, no log is below -100."""
    if len(labels) > 1:
        fill_class_losses(logits, labels, weights, powers, losses)
        return
    one, found, given = np.float32(1), logits[0], labels[0]
    for r in range(given.size):
        likelihood = probability(found[r])
        likelihood = one - likelihood if given[r] < 0.5 else likelihood
        size = log(np.float64(likelihood))
        losses[r] = -weights[r] * (SMALLEST_LOG if size < SMALLEST_LOG else size)


@compiled
def add_gradient(
    parameters: Any,
    sizes: Any,
    tiles: Any,
    tile: int,
    per_weight: Any,
    space: Any,
    powers: Any,
    sums: Any,
) -> None:
    rows, logits, n_rows = tiles.rows[tile], space.logits, tiles.weights.shape[1]
    forward(parameters, sizes, rows, space.activations, logits, n_rows)
    loss_slopes(logits, tiles.labels[tile], tiles.weights[tile], per_weight, powers, n_rows)
    backward(parameters, sizes, rows, space, sums, n_rows)


class Supply(NamedTuple):
    """What the batches of a long table are made of: rows [rows, features], labels [rows, outputs],
    weights and order.

    The order holds the places of the rows that count, ascending. A batch is the next `size` of
    them; after the last comes the first. Without an order there is one batch, laid out already.
    """

    rows: Any
    labels: Any
    weights: Any
    order: Any
    size: int


@compiled
def next_batch(tiles: Any, supply: Any, step: int) -> None:
    length, n_rows = tiles.weights.shape[1], supply.order.size
    first = (step - 1) * supply.size
    for i in range(supply.size):
        row = supply.order[(first + i) % n_rows]
        tile, place = i // length, i % length
        for k in range(supply.labels.shape[1]):
            tiles.labels[tile, k, place] = supply.labels[row, k]
        tiles.weights[tile, place] = supply.weights[row]
        for k in range(supply.rows.shape[1]):
            tiles.rows[tile, k, place] = supply.rows[row, k]


@compiled
def train_network(
    parameters: Any,
    sizes: Any,
    training: Any,
    supply: Any,
    validation: Any,
    adam: bool,
    learning_rate: float,
    weight_decay: float,
    max_epochs: int,
    patience: int,
    tolerance: float,
) -> tuple[int, int, float]:
    """Train one network in place; return best epoch, epochs run and best validation loss.

    Training and validation are `Tiles`. Where the `Supply` has an order, each epoch is a step over
    the next batch of it. The parameters end as those of the best epoch; a best epoch of 0 means
    that none ever had a finite loss.
    """
    n_rows = validation.weights.shape[1]
    longest = max(n_rows, training.weights.shape[1])
    space, sums = workspace(parameters, sizes, longest), lane_sums(parameters)
    losses, powers = np.zeros(longest), room_for_powers(parameters, sizes, longest)
    gradient = np.zeros_like(parameters)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    decays = np.ones(2)
    best_parameters = parameters.copy()
    per_weight = parameters.dtype.type(1.0 / training.weights.astype(np.float64).sum())
    validation_total = validation.weights.astype(np.float64).sum()
    best_loss, best_epoch, epoch = np.inf, 0, 0
    for epoch in range(1, max_epochs + 1):
        if supply.order.size > 0:
            next_batch(training, supply, epoch)
            per_weight = parameters.dtype.type(1.0 / training.weights.astype(np.float64).sum())
        for tile in range(len(training.labels)):
            add_gradient(parameters, sizes, training, tile, per_weight, space, powers, sums)
        add_lanes(sums, gradient)
        if adam:
            adam_step(parameters, gradient, mean, square, decays, learning_rate, weight_decay)
        else:
            sgd_step(parameters, gradient, mean, epoch, learning_rate, weight_decay)
        lost = spread(0.0)
        for tile in range(len(validation.labels)):
            rows = validation.rows[tile]
            forward(parameters, sizes, rows, space.activations, space.logits, n_rows)
            labels, weights = validation.labels[tile], validation.weights[tile]
            fill_losses(space.logits, labels, weights, powers, losses)
            for r in range(0, n_rows, count(losses)):
                lost = plus(lost, load(losses, r))
        loss = tree_sum(lost)
        loss /= validation_total
        if loss < best_loss - tolerance:
            best_loss, best_epoch = loss, epoch
            copy_into(parameters, best_parameters)
        elif epoch - best_epoch >= patience:
            break
    copy_into(best_parameters, parameters)
    return best_epoch, epoch, best_loss


@compiled
def update_network(parameters: Any, sizes: Any, tiles: Any, learning_rate: float) -> None:
    """Take one step of Adam per tile, in place."""
    one = parameters.dtype.type(1)
    space = workspace(parameters, sizes, tiles.weights.shape[1])
    sums = lane_sums(parameters)
    powers = room_for_powers(parameters, sizes, tiles.weights.shape[1])
    gradient = np.zeros_like(parameters)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    decays = np.ones(2)
    for tile in range(len(tiles.labels)):
        per_weight = one / tiles.weights[tile].sum()
        add_gradient(parameters, sizes, tiles, tile, per_weight, space, powers, sums)
        add_lanes(sums, gradient)
        adam_step(parameters, gradient, mean, square, decays, learning_rate, 0.0)


@compiled
def fill_logits(parameters: Any, sizes: Any, sides: Any, tiles: Any, logits: Any) -> None:
    """Fill logits[model, tile, 0, row] of networks [models, n] at tiles [tiles, features, rows]."""
    n_tiles, _, n_rows = tiles.shape
    activations = aligned_zeros((len(sizes), sizes.max(), n_rows), parameters)
    several = logits[0, 0]
    if sides[1] > 1:
        several = aligned_zeros((outputs_of(parameters[0], sizes), n_rows), parameters)
    for tile in range(n_tiles):
        for model in range(len(parameters)):
            out = logits[model, tile] if sides[1] == 1 else several
            forward(parameters[model], sizes, tiles[tile], activations, out, n_rows)
            if sides[1] > 1:
                lead(several, sides, n_rows)
                copy_into(several[0], logits[model, tile, 0])


@compiled
def fill_logits_and_gradients(
    parameters: Any, sizes: Any, sides: Any, tiles: Any, logits: Any, gradients: Any
) -> None:
    """Fill logits[model, tile, 0, row] and their derivatives, gradients[model, tile, k, row]."""
    n_tiles, _, n_rows = tiles.shape
    n_layers = len(sizes) - 1
    activations, several, deltas, scratch, zeros = workspace(parameters[0], sizes, n_rows)
    for model in range(len(parameters)):
        network = parameters[model]
        for tile in range(n_tiles):
            top, start = n_layers, network.size
            if sides[1] > 1:
                forward(network, sizes, tiles[tile], activations, several, n_rows)
                lead_slopes(several, sides, logits[model, tile, 0], n_rows)
            else:
                forward(network, sizes, tiles[tile], activations, logits[model, tile], n_rows)
                top -= 1
                start -= 1 + sizes[n_layers]
                out = gradients[model, tile] if n_layers == 0 else deltas[n_layers % 2]
                for k in range(sizes[n_layers]):
                    w = spread(network[start + k])
                    for r in range(0, n_rows, count(tiles)):
                        if n_layers == 0:
                            store_row(out, k, r, w)
                        else:
                            gate = load_row(activations[n_layers - 1], k, r)
                            store_row(out, k, r, where_positive(gate, w))
            for layer in range(top, -1, -1):
                n_in = sizes[layer]
                n_out = len(several) if layer == n_layers else sizes[layer + 1]
                start -= n_out * n_in + n_out
                weight = network[start : start + n_out * n_in].reshape(n_out, n_in)
                layer_deltas = several if layer == n_layers else deltas[(layer + 1) % 2]
                out = gradients[model, tile] if layer == 0 else deltas[layer % 2]
                gate = out if layer == 0 else activations[layer - 1]
                how = KEPT if layer == 0 else GATED
                affine(transpose(weight, scratch), zeros, layer_deltas, out, gate, how, n_rows)
