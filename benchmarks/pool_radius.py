"""The radius of `changeproof diagnose apds-radius` as a random quantity.

The paper takes the largest parameter distance from the base network to ten independently
initialised bootstrap networks, and does not say with which seeds these were trained. Here many
such networks are trained and cut into pools of ten; each pool gives a radius.

    python benchmarks/pool_radius.py [POOLS]     (100 by default)
"""

from __future__ import annotations

import sys

import numpy as np

from changeproof import Network, TrainingData, TrainingRecipe, load_task, train
from changeproof.networks.training import bootstrap_weights

BASE_SEEDS = (2026, 2027, 2028)
POOL = 10
FIRST_INITIALISATION, FIRST_SAMPLING = 5_000_000, 7_000_000
PUBLISHED = {"breast-cancer": (0.621, 0.706), "diabetes": (0.890, 0.956)}


def parameters(network: Network) -> np.ndarray:
    return np.concatenate([array.ravel() for array in (*network.weights, *network.biases)])


def radii(name: str, pools: int) -> np.ndarray:
    """Return the radius of every pool [base seeds, pools]."""
    task = load_task(name)
    data = TrainingData.of(task)
    bases = train([TrainingRecipe(initialisation_seed=seed) for seed in BASE_SEEDS], data).stack
    centres = np.array([parameters(base) for base in bases])
    n_train, n_pool = len(task.split.train), len(task.split.update)
    result = np.empty((len(BASE_SEEDS), pools))
    for pool in range(pools):
        members = range(pool * POOL, (pool + 1) * POOL)
        recipes = [
            TrainingRecipe(
                initialisation_seed=FIRST_INITIALISATION + member,
                row_weights=np.pad(
                    bootstrap_weights(n_train, FIRST_SAMPLING + member), (0, n_pool)
                ),
            )
            for member in members
        ]
        networks = np.array([parameters(network) for network in train(recipes, data).stack])
        result[:, pool] = np.abs(networks[None] - centres[:, None]).max(axis=(1, 2))
    return result


if __name__ == "__main__":
    pools = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for dataset, (low, high) in PUBLISHED.items():
        values = radii(dataset, pools)
        inside = ((values > low - 5e-4) & (values < high + 5e-4)).mean()
        spread = np.quantile(values, [0.05, 0.5, 0.95])
        print(f"{dataset}: {pools} pools, {len(BASE_SEEDS)} base networks")
        print(f"  radius: mean {values.mean():.3f}, sd {values.std():.3f}, ", end="")
        print("5, 50 and 95 %: " + ", ".join(f"{value:.3f}" for value in spread))
        print(f"  inside the published {low:.3f} to {high:.3f}: {inside:.0%}", flush=True)
