"""Small random changes of the parameters, without any retraining."""

from __future__ import annotations

import numpy as np

from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.networks.draws import TorchDraws
from changeproof.networks.network import Network

RADII = (0.001, 0.005, 0.01, 0.02, 0.05)
DIRECTIONS = 5


class ParameterPerturbation(Family):
    """Move every parameter a little; the largest move equals the radius."""

    name = "parameter-perturbation"
    summary = "every parameter moved at random, at most by a radius of 0.001 to 0.05"

    def variants(self, task: Task, base: BaseModel) -> list[Variant]:
        """Return five random directions at each of five radii."""
        network = base.network
        if not isinstance(network, Network):
            raise InputError(f"only networks of ours have parameters to move; got {network!r}")
        return [
            Variant(
                f"{radius:g}",
                r,
                perturbed(network, radius, perturbation_seed(base.seed, radius, r)),
            )
            for radius in RADII
            for r in range(DIRECTIONS)
        ]


def perturbation_seed(base_seed: int, radius: float, replicate: int) -> int:
    """Return the seed of a random direction."""
    return base_seed + 80_000 + round(1e6 * radius) + replicate


def perturbed(network: Network, radius: float, seed: int) -> Network:
    """Return the network moved in a random direction whose largest component is the radius."""
    draws = TorchDraws(seed)
    noise = [
        draws.uniform(-1.0, 1.0, array.shape)
        for pair in zip(network.weights, network.biases, strict=True)
        for array in pair
    ]
    factor = radius / max(float(np.abs(part).max()) for part in noise)
    moves = [part * np.float32(factor) for part in noise]
    return Network(
        tuple(w + move for w, move in zip(network.weights, moves[0::2], strict=True)),
        tuple(b + move for b, move in zip(network.biases, moves[1::2], strict=True)),
    )
