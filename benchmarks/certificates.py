"""10,000 attacks per dataset on the certificates of rnce, on the real base networks.

Every attack is one network of the box of radius 0.005 around a base network (five per dataset)
and is tried on all training rows that rnce certifies for it. A third of them are random points
of the box, a third random corners, and a third found by following the gradient of the logit of
one certified row from corner to corner, the least certain rows first. Nothing of the package's
own attack is used. The last column must be 0.

    python -m benchmarks.certificates [DATASET ...]     (the paper's by default)

writes benchmarks/results/certificates.csv and prints it.
"""

from __future__ import annotations

import sys
import time
from functools import cache

import numpy as np
import pandas as pd
import torch

from benchmarks.machine import save
from changeproof import (
    Network,
    NetworkStack,
    TrainingData,
    TrainingRecipe,
    load_task,
    paper_datasets,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify

BASE_SEEDS = range(2026, 2031)
ATTACKS = 10_000
RADIUS = 0.005
GRADIENT_STEPS = 25
SHRINKING = 0.85
LEAK = 0.1
CHUNK = 100


def parameters_of(network: Network) -> list[torch.Tensor]:
    pairs = zip(network.weights, network.biases, strict=True)
    return [torch.from_numpy(array).double() for pair in pairs for array in pair]


def logits(moved: list[torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
    """Return one logit per network, each on a row of its own."""
    values = rows
    for layer in range(0, len(moved), 2):
        values = torch.einsum("noi,ni->no", moved[layer], values) + moved[layer + 1]
        if layer < len(moved) - 2:
            # The slope leaks through silent neurons, so that an attack can wake them.
            values = torch.relu(values) + LEAK * (values - values.detach())
    return values[:, 0]


def guided(
    centre: list[torch.Tensor], moves: list[torch.Tensor], rows: torch.Tensor
) -> list[torch.Tensor]:
    """Go from random points along the signs of the gradient, in steps from corner to corner
    that get smaller, and return the best network seen for every row."""
    best, least = moves, torch.full((len(rows),), torch.inf, dtype=torch.float64)
    for step in range(GRADIENT_STEPS):
        here = [(c + m).requires_grad_(True) for c, m in zip(centre, moves, strict=True)]
        values = logits(here, rows)
        slopes = torch.autograd.grad(values.sum(), here)
        better = values.detach() < least
        least = torch.where(better, values.detach(), least)
        best = [
            torch.where(better.view(-1, *(1,) * (m.ndim - 1)), m, b)
            for m, b in zip(moves, best, strict=True)
        ]
        size = 2 * RADIUS * SHRINKING**step
        moves = [
            (move - size * torch.sign(slope)).clamp(-RADIUS, RADIUS)
            for slope, move in zip(slopes, moves, strict=True)
        ]
    return best


def inside(centre: torch.Tensor, move: torch.Tensor) -> np.ndarray:
    """Write parameters in single precision without leaving the box."""
    moved = (centre + move).float().numpy()
    middle = centre.float().numpy()
    outside = np.abs(moved.astype(np.float64) - centre.numpy()) > RADIUS
    return np.where(outside, np.nextafter(moved, middle), moved)


def attack_networks(
    network: Network, rows: torch.Tensor, kind: int, generator: torch.Generator
) -> NetworkStack:
    """Return as many networks of the box as there are rows to aim at."""
    centre = parameters_of(network)
    moves = [
        RADIUS * (2 * torch.rand((len(rows), *c.shape), generator=generator).double() - 1)
        for c in centre
    ]
    if kind == 1:
        moves = [RADIUS * torch.sign(move) for move in moves]
    if kind == 2:
        moves = guided(centre, moves, rows)
    moved = [inside(c, move) for c, move in zip(centre, moves, strict=True)]
    return NetworkStack.of(
        [
            Network(tuple(part[n] for part in moved[0::2]), tuple(part[n] for part in moved[1::2]))
            for n in range(len(rows))
        ]
    )


@cache
def certified_rows(name: str) -> list[tuple[int, Network, np.ndarray, torch.Tensor]]:
    """Return base networks with their seeds, and the rows certified, in order and weakest first."""
    task = load_task(name)
    rows = task.rows("train")
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in BASE_SEEDS]
    networks = train(recipes, TrainingData.of(task)).stack
    found = []
    for seed, network in zip(BASE_SEEDS, networks, strict=True):
        answers = certify(ParameterBox(network, RADIUS), rows)
        certified = rows[answers.certified]
        weakest = torch.from_numpy(certified[np.argsort(answers.lower[answers.certified])])
        found.append((seed, network, certified, weakest))
    return found


def attack_dataset(name: str, turn: int = 0) -> dict[str, object]:
    """Attack the certificates of a dataset; another turn has other attacks, on the next rows."""
    attacked = certified_rows(name)
    started = time.perf_counter()
    attacks = judged = broken = 0
    closest = np.inf
    per_network = ATTACKS // len(BASE_SEEDS)
    for seed, network, certified, weakest in attacked:
        generator = torch.Generator().manual_seed(seed + 10_000 * turn)
        alive = np.ones(len(certified), dtype=bool)
        aimed = turn * per_network // 3
        for number in range(per_network // CHUNK):
            kind = number % 3
            aims = weakest[torch.arange(aimed, aimed + CHUNK) % len(weakest)]
            aimed += CHUNK if kind == 2 else 0
            values = attack_networks(network, aims, kind, generator).logits(certified)
            alive &= (values > 0).all(axis=0)
            attacks += len(values)
            closest = min(closest, float(values.min()))
        judged += len(certified)
        broken += int((~alive).sum())
    return {
        "dataset": name,
        "attacks": attacks,
        "certificates": judged,
        "smallest_logit": closest,
        "seconds": time.perf_counter() - started,
        "broken": broken,
    }


def main() -> int:
    torch.set_num_threads(1)
    rows = []
    for name in sys.argv[1:] or paper_datasets():
        rows.append(attack_dataset(name))
        print(pd.DataFrame(rows[-1:]).to_string(index=False), flush=True)
    save("certificates", rows, ["dataset"])
    return 1 if any(row["broken"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
