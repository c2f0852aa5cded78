"""Diagnostics beside the main comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from changeproof.datasets.find import load_task
from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.methods.apds.method import APDS
from changeproof.methods.betarce import ENSEMBLE_OFFSET, ensemble_recipes
from changeproof.methods.method import Context
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingData, TrainingRecipe, train

MODELS = 10
COLUMNS = [
    "dataset", "base_seed", "calibrated_radius", "independent_radius", "requested", "found",
]  # fmt: skip


def diagnose_apds_radius(
    datasets: Sequence[str] = ("breast-cancer", "diabetes"),
    base_seeds: Sequence[int] = (2026, 2027, 2028),
    factuals: int = 5,
    progress: Callable[[str], None] = lambda label: None,
) -> pd.DataFrame:
    """Run AP-Delta-S with a radius that comes from independently initialised networks.

    Such networks can be close in their predictions and far apart in their parameters, so the
    radius says little, and no counterfactual holds for all of its box.

    Returns
    -------
    One row per dataset and base seed: `calibrated_radius` (incremental updates, as in the main
    comparison), `independent_radius`, how many counterfactuals were `requested` and `found` with
    the latter.
    """
    rows = []
    for dataset in datasets:
        task = load_task(dataset)
        data = TrainingData.of(task)
        for seed in base_seeds:
            progress(f"{dataset} {seed}")
            base = train([TrainingRecipe(initialisation_seed=seed)], data).stack[0]
            radius = independent_radius(task, base, seed)
            context = Context(task, base, seed)
            people = evaluation_factuals(task, base, seed, factuals)
            answers = APDS(radius=radius).fit(context).generate(people)
            calibrated = APDS().fit(context).calibrated_radius
            rows.append((dataset, seed, calibrated, radius, len(people), int(answers.found.sum())))
    return pd.DataFrame(rows, columns=COLUMNS)


def independent_radius(task: Task, base: Network, base_seed: int) -> float:
    """Return the largest parameter distance to ten bootstrap networks with seeds of their own."""
    recipes = [
        replace(recipe, initialisation_seed=base_seed + ENSEMBLE_OFFSET + member)
        for member, recipe in enumerate(ensemble_recipes(task, base_seed, MODELS))
    ]
    networks = train(recipes, TrainingData.of(task)).stack
    centre = (*base.weights, *base.biases)
    return max(
        float(np.abs(moved - original).max())
        for network in networks
        for moved, original in zip((*network.weights, *network.biases), centre, strict=True)
    )
