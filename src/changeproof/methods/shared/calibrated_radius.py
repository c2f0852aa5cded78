"""How far parameters may move: as far as incremental updates of the base network move them."""

from __future__ import annotations

import numpy as np

from changeproof.datasets.task import Task
from changeproof.networks.network import Network
from changeproof.networks.training import update

CALIBRATION_OFFSET = 200_000
# The published updates: one pass of mini-batch Adam each, over a bootstrap of the update pool.
REPLICAS, LEARNING_RATE, BATCH = 10, 1e-3, 8


def calibrated_radius(
    task: Task,
    network: Network,
    base_seed: int,
    *,
    replicas: int = REPLICAS,
    learning_rate: float = LEARNING_RATE,
    batch: int = BATCH,
) -> float:
    """Return the largest change of a parameter among updates of a network."""
    rows, labels = task.rows("update"), task.labels_of("update")
    before, largest = network.parameters, 0.0
    for replica in range(replicas):
        seed = base_seed + CALIBRATION_OFFSET + replica
        drawn = np.random.default_rng(seed).integers(0, len(rows), len(rows))
        given = rows[drawn], labels[drawn]
        updated = update(network, *given, learning_rate=learning_rate, batch=batch)
        largest = max(largest, float(np.abs(updated.parameters - before).max()))
    return largest
