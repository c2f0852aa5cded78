"""The sampled test, held against draws of another generator, on the real base networks.

The test says of a row: with a confidence of 99.9 %, at least 99.5 % of the box call it favourable.
Its own draws have to lie in the box. Rows near the boundary are then judged by ten thousand
networks that NumPy draws: a row of which clearly more than 0.5 % call adverse must not have passed,
but for one in a thousand.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from changeproof import (
    Network,
    NetworkStack,
    Task,
    TrainingData,
    TrainingRecipe,
    load_task,
    paper_datasets,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.sampled import ParameterSample, samples_needed

RADII = (0.005, 0.02, 0.05)
ROWS, JUDGES, CHUNK = 60, 10_000, 1_000
# 0.5 %, and more than three standard deviations of the judges' share above it.
ADVERSE, CLEARLY = 0.005, 0.0075
OUTSIDE = "draw outside of the box"
PASSED = "row that passed though clearly more than 0.5 % of the box call it adverse"


@cache
def base_network(dataset: str, seed: int) -> tuple[Task, Network]:
    """Return a task and one of its base networks."""
    task = load_task(dataset)
    recipe = TrainingRecipe(initialisation_seed=seed)
    return task, train([recipe], TrainingData.of(task)).stack[0]


def try_draws(number: int) -> Counter[str]:
    """Draw the networks of a test, and judge rows near the boundary by others."""
    datasets = paper_datasets()
    dataset = datasets[number % len(datasets)]
    seed = 2026 + number // len(datasets) % 5
    task, network = base_network(dataset, seed)
    box = ParameterBox(network, RADII[number % len(RADII)])
    samples = samples_needed(confidence=1.0 - 0.001, probability=1.0 - ADVERSE)
    sample = ParameterSample.draw(box, samples, seed=number)
    centre = network.parameters.astype(np.float64)
    drawn = sample.parameters[:, : len(centre)].astype(np.float64)
    # Each is rounded to single precision once.
    largest = box.radius + np.spacing(np.abs(centre).astype(np.float32) + np.float32(box.radius))
    outside = int((np.abs(drawn - centre) > largest).any(axis=1).sum())
    rows = task.rows("train")
    logits = network.logits(rows)
    rows = rows[logits > 0][np.argsort(logits[logits > 0])[: 4 * ROWS : 4]]
    passed = sample.all_favourable(rows)
    clearly = adverse_shares(network, box.radius, rows, number) > CLEARLY
    return Counter(
        {
            "draw inside of the box": samples - outside,
            OUTSIDE: outside,
            "row that passed, and at least 99.5 % of the box accept": int(
                (passed & ~clearly).sum()
            ),
            PASSED: int((passed & clearly).sum()),
            "row that did not pass": int((~passed).sum()),
        }
    )


def adverse_shares(network: Network, radius: float, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return which share of ten thousand networks of the box call each row adverse."""
    generator = np.random.default_rng([41, seed])
    adverse = np.zeros(len(rows))
    for _ in range(JUDGES // CHUNK):
        parts = [
            [
                (part + generator.uniform(-radius, radius, (CHUNK, *part.shape))).astype(np.float32)
                for part in parts
            ]
            for parts in (network.weights, network.biases)
        ]
        stack = NetworkStack.of(
            [
                Network(tuple(w[n] for w in parts[0]), tuple(b[n] for b in parts[1]))
                for n in range(CHUNK)
            ]
        )
        adverse += (~stack.favourable(rows)).sum(axis=0)
    return adverse / JUDGES
