"""20,000 planted networks of all magnitudes: certificates at the very edge, attacked.

Every case is a small network whose weights have sizes between 10^-3 and 10^6 and whose box has a
radius between 10^-8 and 1. Most weights and the radius are short in binary, so that corners of
the box are networks in single precision, and half of the networks have twins that cancel. On the
way from a row that is certified to one that is not, bisection finds the last row that still is,
to the last bit: once for bounds alone and once with the solver. That row is attacked: all corners
(as far as there are few), signs of gradients from random points, one neuron after the other.
What is found is written in single precision inside the box, and judged by the network's own
logits and by rational arithmetic without any rounding. Nothing of the package's own attack is
used. The column `false` must be 0.

Ordinary networks, as initialised and with a radius of 0.005, are certified at random rows too:
what of them stays unknown is power lost.

    python -m benchmarks.planted_certificates [--cases N] [--jobs N]

writes benchmarks/results/planted_certificates.csv and prints it. The default takes about ten
minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd

from benchmarks.machine import save
from changeproof import Network
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify

CASES = 20_000
CHUNK = 250
BISECTIONS = 60
MAX_NODES = 50
STARTS, STEPS, LEAK = 24, 20, 0.1
MOST_CORNERS = 512
FINALISTS = 3
SIZES = (-3.0, 6.0)
RADII = (-8.0, 0.0)

Layers = list[tuple[np.ndarray, np.ndarray]]


class Case(NamedTuple):
    """A network, a radius, and two rows between which certificates end."""

    network: Network
    radius: float
    good: np.ndarray
    bad: np.ndarray


def planted(seed: int) -> Case | None:
    """Draw a case; None where no row of it is certified, or all are."""
    generator = np.random.default_rng([2026, seed])
    n_features = int(generator.integers(1, 4))
    hidden = generator.integers(1, 5, size=generator.integers(0, 4)).tolist()
    twins, short = generator.random() < 0.5, generator.random() < 0.8
    radius = 10.0 ** generator.uniform(*RADII)
    radius = 2.0 ** np.round(np.log2(radius)) if short else radius
    same_size = 10.0 ** generator.uniform(*SIZES) if generator.random() < 0.5 else None
    weights, biases = [], []
    for n_in, n_out in pairwise((n_features, *hidden, 1)):
        size = same_size or 10.0 ** generator.uniform(*SIZES)
        weight, bias = size * generator.normal(size=(n_out, n_in)), size * generator.normal(size=n_out)
        if twins and n_out > 1:
            weight[1::2], bias[1::2] = weight[0 : n_out - 1 : 2], bias[0 : n_out - 1 : 2]
        if twins and n_in > 1 and len(weights):
            weight[:, 1::2] = -weight[:, 0 : n_in - 1 : 2]
        if short:
            step = min(radius, 2.0 ** np.floor(np.log2(size / 64.0)))
            weight, bias = (np.round(part / step) * step for part in (weight, bias))
        weights.append(weight.astype(np.float32))
        biases.append(bias.astype(np.float32))
    rows = generator.normal(size=(2, n_features)) * 10.0 ** generator.uniform(-1.0, 1.0)
    network = Network(tuple(weights), tuple(biases))
    return _between(network, radius, rows)


def _between(network: Network, radius: float, rows: np.ndarray) -> Case | None:
    """Move the last bias so that bounds certify one row and not the other."""
    lower = certify(ParameterBox(network, radius), rows, max_nodes=0).lower
    bias = network.biases[-1] - np.float32(lower.mean())
    level = Network(network.weights, (*network.biases[:-1], bias.astype(np.float32)))
    certified = certify(ParameterBox(level, radius), rows, max_nodes=0).certified
    if certified.sum() != 1:
        return None
    return Case(level, radius, rows[certified][0], rows[~certified][0])


def edge(case: Case, good: np.ndarray, max_nodes: int) -> np.ndarray:
    """Return the last row that is certified on the way to the bad one."""
    box, bad = ParameterBox(case.network, case.radius), case.bad
    for _ in range(BISECTIONS):
        middle = 0.5 * (good + bad)
        if (middle == good).all() or (middle == bad).all():
            break
        if certify(box, middle[None], max_nodes=max_nodes).certified[0]:
            good = middle
        else:
            bad = middle
    return good


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
        inputs = np.maximum(sums[layer - 1], 0.0) if layer else np.broadcast_to(row, (len(back), len(row)))
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
        size = 2 * radius * 0.8**step
        moves = [
            tuple(np.clip(part - size * np.sign(slope), -radius, radius) for part, slope in zip(*both, strict=True))
            for both in zip(moves, slopes(layers, moves, row, sums), strict=True)
        ]
    return best, found


def turned(layers: Layers, row: np.ndarray, radius: float, turns: np.ndarray) -> Layers:
    """Return moves that push every neuron up or down as far as its turn says [networks, neurons]."""
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
    for _ in range(2):
        for neuron in range(n_neurons):
            tried = np.repeat(here[None], 17, axis=0)
            tried[1:, neuron] = np.linspace(-1.0, 1.0, 16)
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
        sums = [
            sum((Fraction(float(w)) * v for w, v in zip(line, values, strict=True)), Fraction(float(b)))
            for line, b in zip(weight, bias, strict=True)
        ]
        values = sums if layer == len(network.biases) - 1 else [max(s, Fraction(0)) for s in sums]
    return values[0]


def worst_seen(case: Case, row: np.ndarray, seed: int) -> float:
    """Return the smallest logit that an attack finds, computed or true."""
    generator, layers = np.random.default_rng([seed, 1]), layers_of(case.network)
    least = np.inf
    for find in (follow_slopes, turn_neurons):
        logits, moves = find(layers, row, case.radius, generator)
        for place in np.argsort(logits)[:FINALISTS]:
            parts = [
                tuple(inside(c, m[place], case.radius) for c, m in zip(*both, strict=True))
                for both in zip(layers, moves, strict=True)
            ]
            other = Network(tuple(w for w, _ in parts), tuple(b for _, b in parts))
            least = min(least, float(other.logits(row[None])[0]), float(true_logit(other, row)))
    return least


def try_case(seed: int) -> dict[str, object]:
    """Attack the certificates at the edge of one planted network."""
    case = planted(seed)
    result = {"planted": 0, "certificates": 0, "by_solver": 0, "false": 0, "closest": np.inf}
    if case is None:
        return {"size": 0, **result}
    largest = max(float(np.abs(part).max()) for part in case.network.weights)
    bounds_alone = edge(case, case.good, 0)
    rows = [bounds_alone]
    if len(case.network.hidden) > 1:
        solved = edge(case, bounds_alone, MAX_NODES)
        rows += [] if (solved == bounds_alone).all() else [solved]
    seen = [worst_seen(case, row, seed) for row in rows]
    return {
        "size": int(np.floor(np.log10(largest))),
        "planted": 1,
        "certificates": len(rows),
        "by_solver": len(rows) - 1,
        "false": sum(logit <= 0.0 for logit in seen),
        "closest": min(seen) / largest,
    }


def ordinary(seed: int) -> dict[str, object]:
    """Count verdicts on an ordinary network at random rows."""
    generator = np.random.default_rng([7, seed])
    n_features, depth = int(generator.integers(2, 12)), int(generator.integers(1, 3))
    network = Network.initialised(n_features, (16,) * depth, seed)
    answers = certify(ParameterBox(network, 0.005), generator.normal(size=(40, n_features)))
    return {"rows": 40, **{verdict: int((answers.verdicts == verdict).sum()) for verdict in ("certified", "refuted", "unknown")}}


def in_chunks(function: Callable[[int], dict[str, object]], cases: int, jobs: int) -> pd.DataFrame:
    def chunk(first: int) -> list[dict[str, object]]:
        return [function(seed) for seed in range(first, min(first + CHUNK, cases))]

    work = (joblib.delayed(chunk)(first) for first in range(0, cases, CHUNK))
    done = joblib.Parallel(n_jobs=jobs)(work)
    return pd.DataFrame([row for some in done for row in some])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    started = time.perf_counter()
    table = in_chunks(try_case, asked.cases, asked.jobs)
    print(table)
    table = table[table["planted"] == 1].groupby("size", as_index=False).agg({"planted": "sum", "certificates": "sum", "by_solver": "sum", "false": "sum", "closest": "min"})
    print(table.to_string(index=False), flush=True)
    print(table.sum(), time.perf_counter() - started)
    return int(table["false"].sum() > 0)


if __name__ == "__main__":
    sys.exit(main())
