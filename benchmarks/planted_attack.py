"""An attack on certificates of small networks that shares nothing with the package's own.

It tries all corners of the box (as far as they are few), follows the signs of gradients from
random points, and moves one neuron after the other. What is found is written in single precision
inside the box, and judged by the network's own logits and by rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from changeproof import Network

STARTS, STEPS, LEAK, SHRINKING = 24, 20, 0.1, 0.8
MOST_CORNERS, SWEEPS, ENDS = 512, 2, 16
FINALISTS = 3

# Weights and biases of every layer, of one network or [networks, ...].
Layers = list[tuple[np.ndarray, np.ndarray]]


def smallest_logit(network: Network, radius: float, row: np.ndarray, seed: int) -> float:
    """Return the smallest logit that networks of the box were found to have, computed or true."""
    generator, layers, least = np.random.default_rng(seed), layers_of(network), np.inf
    for find in (follow_slopes, turn_neurons):
        logits, moves = find(layers, row, radius, generator)
        for place in np.argsort(logits)[:FINALISTS]:
            parts = [
                [inside(centre, move[place], radius) for centre, move in zip(*both, strict=True)]
                for both in zip(layers, moves, strict=True)
            ]
            other = Network(tuple(part[0] for part in parts), tuple(part[1] for part in parts))
            least = min(least, float(other.logits(row[None])[0]), float(true_logit(other, row)))
    return least


def layers_of(network: Network) -> Layers:
    pairs = zip(network.weights, network.biases, strict=True)
    return [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in pairs]


def forward(layers: Layers, moves: Layers, row: np.ndarray) -> list[np.ndarray]:
    """Return the pre-activations of all layers [networks, neurons] of moved networks."""
    inputs, sums = np.broadcast_to(row, (len(moves[0][0]), len(row))), []
    for (weight, bias), (move, shift) in zip(layers, moves, strict=True):
        sums.append(((weight + move) * inputs[:, None, :]).sum(axis=2) + bias + shift)
        inputs = np.maximum(sums[-1], 0.0)
    return sums


def slopes(layers: Layers, moves: Layers, row: np.ndarray, sums: list[np.ndarray]) -> Layers:
    """Return the derivatives of the logits by all parameters; silent neurons leak."""
    back, result = np.ones_like(sums[-1]), []
    for layer in range(len(layers) - 1, -1, -1):
        inputs = np.maximum(sums[layer - 1], 0.0) if layer else np.tile(row, (len(back), 1))
        result.append((back[:, :, None] * inputs[:, None, :], back))
        if layer:
            back = (back[:, :, None] * (layers[layer][0] + moves[layer][0])).sum(axis=1)
            back = back * np.where(sums[layer - 1] > 0.0, 1.0, LEAK)
    return result[::-1]


def follow_slopes(
    layers: Layers, row: np.ndarray, radius: float, generator: np.random.Generator
) -> tuple[np.ndarray, Layers]:
    """Follow the signs of gradients from random points; return the best logits and moves."""

    def drawn(shape: tuple[int, ...]) -> np.ndarray:
        return radius * generator.uniform(-1.0, 1.0, size=(STARTS, *shape))

    moves = [(drawn(weight.shape), drawn(bias.shape)) for weight, bias in layers]
    best, found = np.full(STARTS, np.inf), moves
    for step in range(STEPS):
        sums = forward(layers, moves, row)
        better = sums[-1][:, 0] < best
        best = np.where(better, sums[-1][:, 0], best)
        found = [
            (
                np.where(better[:, None, None], move, old_move),
                np.where(better[:, None], shift, old_shift),
            )
            for (move, shift), (old_move, old_shift) in zip(moves, found, strict=True)
        ]
        size = 2 * radius * SHRINKING**step
        moves = [
            (
                np.clip(move - size * np.sign(slope), -radius, radius),
                np.clip(shift - size * np.sign(bias_slope), -radius, radius),
            )
            for (move, shift), (slope, bias_slope) in zip(
                moves, slopes(layers, moves, row, sums), strict=True
            )
        ]
    return best, found


def turned(layers: Layers, row: np.ndarray, radius: float, turns: np.ndarray) -> Layers:
    """Return moves that push neurons up or down as far as turns say [networks, neurons]."""
    moves, first = [], 0
    for layer, (weight, bias) in enumerate(layers):
        part = radius * turns[:, first : first + len(bias)]
        signs = np.sign(row) if layer == 0 else np.ones(weight.shape[1])
        moves.append((part[:, :, None] * signs, part))
        first += len(bias)
    return moves


def turn_neurons(
    layers: Layers, row: np.ndarray, radius: float, generator: np.random.Generator
) -> tuple[np.ndarray, Layers]:
    """Try all corners, or many; then move neuron after neuron between its ends."""
    n_neurons = sum(len(bias) for _, bias in layers)
    if 2**n_neurons <= MOST_CORNERS:
        bits = (np.arange(2**n_neurons)[:, None] >> np.arange(n_neurons)) & 1
    else:
        bits = generator.integers(0, 2, size=(MOST_CORNERS, n_neurons))
    turns = 2.0 * bits - 1.0
    logits = forward(layers, turned(layers, row, radius, turns), row)[-1][:, 0]
    here = turns[np.argmin(logits)]
    for _ in range(SWEEPS):
        for neuron in range(n_neurons):
            tried = np.repeat(here[None], 1 + ENDS, axis=0)
            tried[1:, neuron] = np.linspace(-1.0, 1.0, ENDS)
            values = forward(layers, turned(layers, row, radius, tried), row)[-1][:, 0]
            here = tried[np.argmin(values)]
    best = np.concatenate([turns[np.argsort(logits)[:FINALISTS]], here[None]])
    moves = turned(layers, row, radius, best)
    return forward(layers, moves, row)[-1][:, 0], moves


def inside(centre: np.ndarray, move: np.ndarray, radius: float) -> np.ndarray:
    """Write moved parameters in single precision, inside the box without any rounding."""
    moved = (centre + move).astype(np.float32)
    for place in np.ndindex(centre.shape):
        middle = Fraction(float(centre[place]))
        while abs(Fraction(float(moved[place])) - middle) > Fraction(radius):
            moved[place] = np.nextafter(moved[place], np.float32(centre[place]))
    return moved


def true_logit(network: Network, row: np.ndarray) -> Fraction:
    """Return the logit without any rounding."""
    values = [Fraction(float(x)) for x in row]
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        sums = []
        for line, total in zip(weight.tolist(), map(Fraction, bias.tolist()), strict=True):
            terms = [Fraction(w) * value for w, value in zip(line, values, strict=True)]
            sums.append(sum(terms, total))
        values = sums if layer == len(network.biases) - 1 else [max(s, Fraction(0)) for s in sums]
    return values[0]
