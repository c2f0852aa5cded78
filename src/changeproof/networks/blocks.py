"""A few rows through many networks, of any shapes, in one call.

The neurons of a layer lie side by side in memory, and rows go through a network four at a time. So
rows need no layout of their own, any of them may be picked, and one person's are enough to be fast.
(`kernels.py` has rows side by side, which suits training and long tables.) Every neuron starts from
its bias and adds, fused, weight times input in the order of the inputs, as it does there: logits
and derivatives are the same, to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.arithmetic.lanes import (
    aligned_zeros,
    load,
    load_row,
    plus,
    spread,
    store_row,
    where_positive,
)
from changeproof.model import Floats, Integers, Singles
from changeproof.networks.kernels import GATED, KEPT, RECTIFIED

LANES = 8
# Rows of a block: enough for calls to cost little, few enough to stay in the cache. The last sums
# of so many of them are added up side by side.
BLOCK, SUMS = 32, 8
# Elsewhere inputs are padded to whole fours, which makes +0 of a sum of -0.
INPUTS = 4
# Columns of `layers` and `networks`.
N_IN, N_OUT, FORTH, BACK = range(4)
FIRST, LAYERS, START, START_BACK, ADVERSE, OUTPUTS = range(6)


class Blocks(NamedTuple):
    """Networks as one vector for the way forth and one for the way back.

    Per network and layer, `forth` has the weights [inputs, neurons] and the biases, `back` the
    weights [neurons, inputs] and zeros; the last axis is padded to whole lanes. `layers` has the
    inputs and neurons of every layer and where both begin in a network; `networks` has the first
    of its layers, their number, where the network begins in both vectors, and its sides.
    """

    forth: Floats
    back: Floats
    layers: Integers
    networks: Integers


class Parameters(NamedTuple):
    """Networks of one shape: parameters [models, out, in], their places, and their sides."""

    places: Integers
    weights: Sequence[Singles]
    biases: Sequence[Singles]
    sides: tuple[int, int]


def blocks(groups: Sequence[Parameters]) -> Blocks:
    forth: list[Floats] = []
    back: list[Floats] = []
    layers: list[tuple[int, ...]] = []
    networks = np.zeros((sum(len(group.places) for group in groups), OUTPUTS + 1), np.int64)
    start = start_back = 0
    for places, weights, biases, sides in groups:
        models, first, ahead, behind = len(places), len(layers), 0, 0
        parts, parts_back = [], []
        for weight, bias in zip(weights, biases, strict=True):
            n_out, n_in = weight.shape[1:]
            layers.append((n_in, n_out, ahead, behind))
            parts.append(_side_by_side(weight.transpose(0, 2, 1), bias))
            parts_back.append(_side_by_side(weight, np.zeros((models, n_in))))
            ahead += parts[-1].shape[1]
            behind += parts_back[-1].shape[1]
        numbers = np.arange(models)
        networks[places, FIRST], networks[places, LAYERS] = first, len(weights)
        networks[places, START] = start + numbers * ahead
        networks[places, START_BACK] = start_back + numbers * behind
        networks[places, ADVERSE], networks[places, OUTPUTS] = sides
        start, start_back = start + models * ahead, start_back + models * behind
        forth.append(np.concatenate(parts, axis=1).ravel())
        back.append(np.concatenate(parts_back, axis=1).ravel())
    return Blocks(_aligned(forth), _aligned(back), np.array(layers, dtype=np.int64), networks)


def _side_by_side(weights: Any, biases: Any) -> Floats:
    """Return weights [models, inputs, neurons] and, after them, biases as [models, n]."""
    models, n_in, n_out = weights.shape
    found = np.zeros((models, n_in + 1, whole_lanes(n_out)))
    found[:, :n_in, :n_out], found[:, n_in, :n_out] = weights, biases
    return found.reshape(models, -1)


def _aligned(parts: Sequence[Floats]) -> Floats:
    result: Floats = aligned_zeros((sum(map(len, parts)),), np.empty(0))
    np.concatenate(parts, out=result)
    return result


@compiled
def whole_lanes(count: int) -> int:
    return -(-count // LANES) * LANES


@compiled
def room_for(layers: Any, networks: Any) -> Any:
    """Return memory for a block: rows of activations, layer by layer, and for what comes back."""
    widest = most_layers = 0
    for layer in range(len(layers)):
        widest = max(widest, whole_lanes(layers[layer, N_IN]), whole_lanes(layers[layer, N_OUT]))
    for network in range(len(networks)):
        most_layers = max(most_layers, networks[network, LAYERS])
    return aligned_zeros(((most_layers + 2) * BLOCK, widest), np.empty(0))


@compiled
def finish(room: Any, row: int, gate: int, how: int, j: int, lanes: Any) -> None:
    if how == RECTIFIED:
        store_row(room, row, j, where_positive(lanes, lanes))
    elif how == GATED:
        store_row(room, row, j, where_positive(load_row(room, gate, j), lanes))
    else:
        store_row(room, row, j, lanes)


@compiled
def go_through(
    parameters: Any,
    start: int,
    n_in: int,
    n_out: int,
    inputs: Any,
    places: Any,
    shift: int,
    n_rows: int,
    room: Any,
    row: int,
    gate: int,
    how: int,
) -> None:
    """Send the inputs at some places, shifted, through a layer to the room from a row on."""
    wide, zero = whole_lanes(n_out), spread(0.0)
    bias = start + n_in * wide
    for r in range(0, n_rows, 4):
        a, b = places[r] + shift, places[r + 1] + shift
        c, d = places[r + 2] + shift, places[r + 3] + shift
        for j in range(0, wide - LANES, 2 * LANES):
            u, v = load(parameters, bias + j), load(parameters, bias + j + LANES)
            a0 = b0 = c0 = d0 = u
            a1 = b1 = c1 = d1 = v
            at = start + j
            for k in range(n_in):
                u, v = load(parameters, at), load(parameters, at + LANES)
                at += wide
                x = spread(inputs[a, k])
                a0, a1 = fma(u, x, a0), fma(v, x, a1)
                x = spread(inputs[b, k])
                b0, b1 = fma(u, x, b0), fma(v, x, b1)
                x = spread(inputs[c, k])
                c0, c1 = fma(u, x, c0), fma(v, x, c1)
                x = spread(inputs[d, k])
                d0, d1 = fma(u, x, d0), fma(v, x, d1)
            if n_in % INPUTS > 0:
                a0, b0, c0, d0 = plus(a0, zero), plus(b0, zero), plus(c0, zero), plus(d0, zero)
                a1, b1, c1, d1 = plus(a1, zero), plus(b1, zero), plus(c1, zero), plus(d1, zero)
            i, out, by = j + LANES, row + r, gate + r
            finish(room, out, by, how, j, a0)
            finish(room, out, by, how, i, a1)
            finish(room, out + 1, by + 1, how, j, b0)
            finish(room, out + 1, by + 1, how, i, b1)
            finish(room, out + 2, by + 2, how, j, c0)
            finish(room, out + 2, by + 2, how, i, c1)
            finish(room, out + 3, by + 3, how, j, d0)
            finish(room, out + 3, by + 3, how, i, d1)
        if wide // LANES % 2 == 1:
            j = wide - LANES
            a0 = b0 = c0 = d0 = load(parameters, bias + j)
            at = start + j
            for k in range(n_in):
                u = load(parameters, at)
                at += wide
                a0, b0 = fma(u, spread(inputs[a, k]), a0), fma(u, spread(inputs[b, k]), b0)
                c0, d0 = fma(u, spread(inputs[c, k]), c0), fma(u, spread(inputs[d, k]), d0)
            if n_in % INPUTS > 0:
                a0, b0, c0, d0 = plus(a0, zero), plus(b0, zero), plus(c0, zero), plus(d0, zero)
            out, by = row + r, gate + r
            finish(room, out, by, how, j, a0)
            finish(room, out + 1, by + 1, how, j, b0)
            finish(room, out + 2, by + 2, how, j, c0)
            finish(room, out + 3, by + 3, how, j, d0)


@compiled
def last_sums(
    parameters: Any,
    start: int,
    n_in: int,
    bias: float,
    inputs: Any,
    places: Any,
    shift: int,
    n_rows: int,
    logits: Any,
) -> None:
    """Fill the only outputs. A sum waits for itself, so that eight take as long as one."""
    for r in range(0, n_rows, SUMS):
        a, b = places[r] + shift, places[r + 1] + shift
        c, d = places[r + 2] + shift, places[r + 3] + shift
        e, f = places[r + 4] + shift, places[r + 5] + shift
        g, h = places[r + 6] + shift, places[r + 7] + shift
        a0 = b0 = c0 = d0 = e0 = f0 = g0 = h0 = bias
        for k in range(n_in):
            w = parameters[start + k]
            a0, b0 = fma(w, inputs[a, k], a0), fma(w, inputs[b, k], b0)
            c0, d0 = fma(w, inputs[c, k], c0), fma(w, inputs[d, k], d0)
            e0, f0 = fma(w, inputs[e, k], e0), fma(w, inputs[f, k], f0)
            g0, h0 = fma(w, inputs[g, k], g0), fma(w, inputs[h, k], h0)
        if n_in % INPUTS > 0:
            a0, b0, c0, d0 = a0 + 0.0, b0 + 0.0, c0 + 0.0, d0 + 0.0
            e0, f0, g0, h0 = e0 + 0.0, f0 + 0.0, g0 + 0.0, h0 + 0.0
        logits[r], logits[r + 1], logits[r + 2], logits[r + 3] = a0, b0, c0, d0
        logits[r + 4], logits[r + 5], logits[r + 6], logits[r + 7] = e0, f0, g0, h0


@compiled
def best_output(room: Any, row: int, first: int, stop: int) -> int:
    """Return the place of the largest output; of equal ones the first."""
    best = first
    for k in range(first + 1, stop):
        if room[row, k] > room[row, best]:
            best = k
    return best


@compiled
def go_forth(
    ahead: Any,
    behind: Any,
    layers: Any,
    networks: Any,
    network: int,
    rows: Any,
    some: Any,
    n_some: int,
    room: Any,
    own: Any,
    logits: Any,
) -> None:
    """Fill the activations and the logits of a block.

    `some` are the places of rows, of which the first `n_some` are meant; `own` are 0, 1, 2, ...
    """
    first, start = networks[network, FIRST], networks[network, START]
    n_hidden, n_outputs = networks[network, LAYERS] - 1, networks[network, OUTPUTS]
    for layer in range(n_hidden if n_outputs == 1 else n_hidden + 1):
        n_in, n_out = layers[first + layer, N_IN], layers[first + layer, N_OUT]
        at, row = start + layers[first + layer, FORTH], BLOCK * layer
        how = RECTIFIED if layer < n_hidden else KEPT
        if layer == 0:
            go_through(ahead, at, n_in, n_out, rows, some, 0, n_some, room, row, row, how)
        else:
            before = row - BLOCK
            go_through(ahead, at, n_in, n_out, room, own, before, n_some, room, row, row, how)
    row = BLOCK * n_hidden
    if n_outputs == 1:
        n_in = layers[first + n_hidden, N_IN]
        at = networks[network, START_BACK] + layers[first + n_hidden, BACK]
        bias = ahead[start + layers[first + n_hidden, FORTH] + n_in * LANES]
        if n_hidden == 0:
            last_sums(behind, at, n_in, bias, rows, some, 0, n_some, logits)
        else:
            last_sums(behind, at, n_in, bias, room, own, row - BLOCK, n_some, logits)
        return
    for r in range(n_some):
        adverse = best_output(room, row + r, 0, networks[network, ADVERSE])
        favourable = best_output(room, row + r, networks[network, ADVERSE], n_outputs)
        logits[r] = room[row + r, favourable] - room[row + r, adverse]


@compiled
def go_back(
    behind: Any, layers: Any, networks: Any, network: int, n_some: int, room: Any, own: Any
) -> int:
    """Fill the derivatives of these logits by the features; return where in the room they begin."""
    first, start = networks[network, FIRST], networks[network, START_BACK]
    top, n_outputs = networks[network, LAYERS] - 1, networks[network, OUTPUTS]
    spare, here = len(room) - 2 * BLOCK, len(room) - BLOCK
    if n_outputs == 1:
        at, gate = start + layers[first + top, BACK], BLOCK * (top - 1)
        for k in range(0, layers[first + top, N_IN], LANES):
            weights = load(behind, at + k)
            for r in range(n_some):
                if top > 0:
                    store_row(
                        room, here + r, k, where_positive(load_row(room, gate + r, k), weights)
                    )
                else:
                    store_row(room, here + r, k, weights)
        top -= 1
    else:
        for r in range(n_some):
            row = BLOCK * top + r
            adverse = best_output(room, row, 0, networks[network, ADVERSE])
            favourable = best_output(room, row, networks[network, ADVERSE], n_outputs)
            for k in range(n_outputs):
                room[here + r, k] = 0.0
            room[here + r, favourable], room[here + r, adverse] = 1.0, -1.0
    for layer in range(top, -1, -1):
        n_in, n_out = layers[first + layer, N_IN], layers[first + layer, N_OUT]
        at, how = start + layers[first + layer, BACK], GATED if layer > 0 else KEPT
        gate = BLOCK * max(layer - 1, 0)
        go_through(behind, at, n_out, n_in, room, own, here, n_some, room, spare, gate, how)
        spare, here = here, spare
    return here


@compiled
def next_block(places: Any, first: int, stop: int, some: Any) -> int:
    """Fill in the next places, the last of them again and again; return how many are new."""
    n_some = min(BLOCK, stop - first)
    for r in range(BLOCK):
        some[r] = places[first + min(r, n_some - 1)]
    return n_some


@compiled
def fill_logits(blocks: Any, rows: Any, places: Any, units: Any, logits: Any) -> None:
    """Fill logits[row, network] of the rows at some places, in units of every network's own."""
    ahead, behind, layers, networks = blocks
    room = room_for(layers, networks)
    some, own, found = np.zeros(BLOCK, np.int64), np.arange(BLOCK), np.zeros(BLOCK)
    for network in range(len(networks)):
        unit = units[network]
        for first in range(0, len(places), BLOCK):
            n_some = next_block(places, first, len(places), some)
            go_forth(ahead, behind, layers, networks, network, rows, some, n_some, room, own, found)
            for r in range(n_some):
                logits[some[r], network] = found[r] / unit


@compiled
def wanted_by(which: Any, n_networks: int) -> tuple[Any, Any, Any]:
    """Return the rows that want each network, by their which[row, i], and the i of each.

    Network after network; those of a network end where the next begin, as the last array says.
    """
    ends = np.zeros(n_networks + 1, np.int64)
    for row in range(which.shape[0]):
        for i in range(which.shape[1]):
            ends[which[row, i] + 1] += 1
    for network in range(n_networks):
        ends[network + 1] += ends[network]
    begins = ends.copy()
    wanting, places = np.empty(which.size, np.int64), np.empty(which.size, np.int64)
    for row in range(which.shape[0]):
        for i in range(which.shape[1]):
            at = begins[which[row, i]]
            begins[which[row, i]] += 1
            wanting[at], places[at] = row, i
    return wanting, places, ends


@compiled
def fill_some_logits(blocks: Any, rows: Any, which: Any, units: Any, logits: Any) -> None:
    """Fill logits[row, network] of the networks which[row, i]."""
    ahead, behind, layers, networks = blocks
    room = room_for(layers, networks)
    some, own, found = np.zeros(BLOCK, np.int64), np.arange(BLOCK), np.zeros(BLOCK)
    wanting, _, ends = wanted_by(which, len(networks))
    for network in range(len(networks)):
        for first in range(ends[network], ends[network + 1], BLOCK):
            n_some = next_block(wanting, first, ends[network + 1], some)
            go_forth(ahead, behind, layers, networks, network, rows, some, n_some, room, own, found)
            for r in range(n_some):
                logits[some[r], network] = found[r] / units[network]


@compiled
def fill_slopes(blocks: Any, rows: Any, which: Any, units: Any, slopes: Any) -> None:
    """Fill slopes[row, i, feature], the derivatives of the logit of network which[row, i].

    They are in units of every network's own.
    """
    ahead, behind, layers, networks = blocks
    room = room_for(layers, networks)
    some, own, found = np.zeros(BLOCK, np.int64), np.arange(BLOCK), np.zeros(BLOCK)
    wanting, places, ends = wanted_by(which, len(networks))
    for network in range(len(networks)):
        for first in range(ends[network], ends[network + 1], BLOCK):
            n_some = next_block(wanting, first, ends[network + 1], some)
            go_forth(ahead, behind, layers, networks, network, rows, some, n_some, room, own, found)
            here = go_back(behind, layers, networks, network, n_some, room, own)
            for r in range(n_some):
                row, i = some[r], places[first + r]
                for k in range(slopes.shape[2]):
                    slopes[row, i, k] = room[here + r, k] / units[network]
