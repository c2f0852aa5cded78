"""20,000 planted networks of all magnitudes: certificates at the very edge, attacked.

Every case is a small network whose weights have sizes between 10^-3 and 10^6 and whose box has a
radius between 10^-8 and 1. Most weights and the radius are short in binary, so that corners of
the box are networks in single precision, and half of the networks have twins that cancel. On the
way from a row that is certified to one that is not, bisection finds the last row that still is,
to the last bit: once for bounds alone and once with the solver. These rows are attacked (see
`planted_attack.py`). The column `false` must be 0.

Ordinary networks, as initialised and with a radius of 0.005, are certified at random rows too:
what of them stays unknown is power lost.

    python -m benchmarks.planted_certificates [--cases N] [--jobs N]

writes benchmarks/results/planted_certificates.csv and ordinary_certificates.csv and prints them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from benchmarks.machine import save
from benchmarks.planted_attack import smallest_logit
from changeproof import Network
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify

CASES, CHUNK = 20_000, 250
ROWS, BISECTIONS, MAX_NODES = 16, 60, 50
# Sizes of weights and radii, as powers of ten.
SIZES, RADII = (-3.0, 6.0), (-8.0, 0.0)
ORDINARY_NETWORKS, ORDINARY_ROWS, ORDINARY_RADIUS = 1_000, 40, 0.005


class Case(NamedTuple):
    """A network, a radius, and two rows between which certificates end."""

    network: Network
    radius: float
    good: np.ndarray
    bad: np.ndarray


def planted(seed: int) -> Case:
    """Draw networks until one has a row that bounds certify and another that they do not."""
    generator = np.random.default_rng([2026, seed])
    while True:
        case = _drawn(generator)
        if case is not None:
            return case


def _drawn(generator: np.random.Generator) -> Case | None:
    n_features = int(generator.integers(1, 4))
    twins, short = generator.random() < 0.6, generator.random() < 0.8
    widths = generator.integers(1, 5, size=generator.choice(4, p=[0.1, 0.2, 0.45, 0.25]))
    hidden = (2 * ((widths + 1) // 2) if twins else widths).tolist()
    radius = 10.0 ** generator.uniform(*RADII)
    radius = 2.0 ** np.round(np.log2(radius)) if short else radius
    same_size = 10.0 ** generator.uniform(*SIZES) if generator.random() < 0.5 else None
    weights, biases = [], []
    for n_in, n_out in pairwise((n_features, *hidden, 1)):
        size = same_size or 10.0 ** generator.uniform(*SIZES)
        weight = size * generator.normal(size=(n_out, n_in))
        bias = size * generator.normal(size=n_out)
        if twins and n_out > 1:
            weight[1::2], bias[1::2] = weight[0::2], bias[0::2]
        if twins and len(weights):
            weight[:, 1::2] = -weight[:, 0::2]
        if short:
            step = min(radius, 2.0 ** np.floor(np.log2(size / 64.0)))
            weight, bias = (np.round(part / step) * step for part in (weight, bias))
        weights.append(weight.astype(np.float32))
        biases.append(bias.astype(np.float32))
    sizes = 10.0 ** generator.uniform(-1.0, 1.0, size=(ROWS, 1))
    rows = sizes * generator.normal(size=(ROWS, n_features))
    level = generator.random() < 0.2
    return _between(Network(tuple(weights), tuple(biases)), radius, rows, level=level)


def _between(network: Network, radius: float, rows: np.ndarray, *, level: bool) -> Case | None:
    """Choose a row that bounds certify and one that they do not; the last bias may help."""
    lower = certify(ParameterBox(network, radius), rows, max_nodes=0).lower
    bias = network.biases[-1] - np.float32(lower.mean()) if level else np.abs(network.biases[-1])
    network = Network(network.weights, (*network.biases[:-1], bias.astype(np.float32)))
    certified = certify(ParameterBox(network, radius), rows, max_nodes=0).certified
    if certified.all() or not certified.any():
        return None
    return Case(network, radius, rows[certified][0], rows[~certified][0])


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


class Edge(NamedTuple):
    """What became of the certificates at the edge of one planted network."""

    largest_weight: float
    certificates: int
    by_solver: int
    smallest_logit: float
    false: int


def try_case(seed: int) -> Edge:
    """Plant a network, look for the last rows that are certified, and attack them."""
    case = planted(seed)
    largest = max(float(np.abs(part).max()) for part in case.network.weights)
    rows = [edge(case, case.good, max_nodes=0)]
    if len(case.network.hidden) > 1:
        solved = edge(case, rows[0], max_nodes=MAX_NODES)
        rows += [] if (solved == rows[0]).all() else [solved]
    seen = [smallest_logit(case.network, case.radius, row, seed) for row in rows]
    false = sum(logit <= 0.0 for logit in seen)
    return Edge(largest, len(rows), len(rows) - 1, min(seen), false)


def ordinary(seed: int) -> dict[str, int]:
    """Count verdicts on an ordinary network at random rows."""
    generator = np.random.default_rng([7, seed])
    n_features, depth = int(generator.integers(2, 12)), int(generator.integers(1, 4))
    network = Network.initialised(n_features, (16,) * depth, seed)
    rows = generator.normal(size=(ORDINARY_ROWS, n_features))
    answers = certify(ParameterBox(network, ORDINARY_RADIUS), rows)
    certified, refuted = int(answers.certified.sum()), int(answers.refuted.sum())
    unknown = len(rows) - certified - refuted
    return {"certified": certified, "refuted": refuted, "unknown": unknown}


def in_chunks(function: Callable[[int], Any], cases: int, jobs: int) -> pd.DataFrame:
    """Do all cases in several processes."""

    def chunk(first: int) -> list[Any]:
        return [function(seed) for seed in range(first, min(first + CHUNK, cases))]

    work = (joblib.delayed(chunk)(first) for first in range(0, cases, CHUNK))
    return pd.DataFrame([row for some in joblib.Parallel(n_jobs=jobs)(work) for row in some])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    edges = in_chunks(try_case, asked.cases, asked.jobs)
    edges["largest_weight"] = 10.0 ** np.floor(np.log10(edges["largest_weight"]))
    rows = []
    for size, some in edges.groupby("largest_weight"):
        counts = some[["certificates", "by_solver", "false"]].sum().to_dict()
        rows.append({"largest_weight": size, "networks": len(some), **counts})
    print(save("planted_certificates", rows, ["largest_weight"]).to_string(index=False), flush=True)
    verdicts = in_chunks(ordinary, ORDINARY_NETWORKS, asked.jobs).sum().to_dict()
    verdicts = {"networks": ORDINARY_NETWORKS, "radius": ORDINARY_RADIUS, **verdicts}
    print(save("ordinary_certificates", [verdicts], ["networks"]).to_string(index=False))
    return int(edges["false"].sum() > 0)


if __name__ == "__main__":
    sys.exit(main())
