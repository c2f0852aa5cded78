"""The trainer against an ordinary one-by-one PyTorch loop, and beside published times.

What is trained is what one base network of the paper needs: the 175 retrained networks of the
bank and BetaRCE's ensemble of 32 bootstrap networks, 207 in all. The trainer makes all of them
on one core, as the published code was measured, though on another machine (`published.csv`);
every fourth of them is trained by the plain loop as well, for the ratio. All is processor time,
so that others on the machine do not count. The arithmetic limit is that of a large matrix product.

    python -m benchmarks.training [DATASET ...] [--every N]     (the paper's by default)

writes benchmarks/results/training.csv and prints it.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import torch

from benchmarks.machine import save
from benchmarks.plain.training import plain_training
from benchmarks.published import published
from changeproof import (
    BaseModel,
    NetworkLearner,
    TrainingData,
    TrainingRecipe,
    get_family,
    load_task,
    paper_datasets,
    published_family_names,
    train,
)
from changeproof.methods.betarce import ensemble_recipes
from changeproof.networks.training import HIDDEN

SEED = 2026
ENSEMBLE = 32


def bank_recipes(name: str) -> list[TrainingRecipe]:
    task = load_task(name)
    base = train([TrainingRecipe(initialisation_seed=SEED)], TrainingData.of(task)).stack[0]
    described = [
        variant.change
        for family in published_family_names()
        for variant in get_family(family).variants(task, BaseModel(SEED, base), NetworkLearner())
    ]
    recipes = [change for change in described if isinstance(change, TrainingRecipe)]
    return recipes + ensemble_recipes(task, SEED, ENSEMBLE)


def train_plainly(name: str, recipe: TrainingRecipe) -> tuple[int, float]:
    """Train as people usually do: rows repeated as drawn, autograd, one network at a time.

    Returns the best epoch and the seconds that it took.
    """
    torch.set_num_threads(1)
    started = time.process_time()
    data = TrainingData.of(load_task(name))
    weights = recipe.row_weights
    if weights is None:
        weights = np.r_[np.ones(data.n_train), np.zeros(len(data.rows) - data.n_train)]
    labels = data.labels if recipe.labels is None else recipe.labels
    drawn = np.repeat(np.arange(len(weights)), weights.astype(int))
    _, best_epoch = plain_training(
        data.rows[drawn],
        labels[drawn],
        data.validation_rows,
        data.validation_labels,
        seed=recipe.initialisation_seed,
        hidden=recipe.hidden or HIDDEN,
        optimiser=recipe.optimiser,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
    )
    return best_epoch, time.process_time() - started


def operations(recipe: TrainingRecipe, data: TrainingData, epochs: int) -> float:
    """Multiplications and additions of the matrix products of a training, as ordinarily counted."""
    widths = (data.rows.shape[1], *(recipe.hidden or HIDDEN), 1)
    products = sum(a * b for a, b in pairwise(widths))
    rows = data.n_train if recipe.row_weights is None else float(recipe.row_weights.sum())
    step = rows * (3 * products - widths[0] * widths[1])
    return 2.0 * epochs * (step + len(data.validation_rows) * products)


def peak_gflops() -> float:
    torch.set_num_threads(1)
    matrix = torch.randn(2048, 2048)
    best = np.inf
    for _ in range(5):
        started = time.process_time()
        matrix @ matrix
        best = min(best, time.process_time() - started)
    return 2 * 2048**3 / best / 1e9


def compare(name: str, every: int, peak: float) -> dict[str, object]:
    recipes = bank_recipes(name)
    data = TrainingData.of(load_task(name))
    train(recipes[:1], data)  # warm up
    started = time.process_time()
    trained = train(recipes, data)
    whole = time.process_time() - started
    work = sum(operations(r, data, int(e)) for r, e in zip(recipes, trained.epochs, strict=True))
    some = recipes[::every]
    started = time.process_time()
    train(some, data)
    ours = time.process_time() - started
    workers = joblib.Parallel(n_jobs=-1)
    workers(joblib.delayed(train_plainly)(name, recipe) for recipe in some[:4])  # warm up
    plainly = workers(joblib.delayed(train_plainly)(name, recipe) for recipe in some)
    plain_epochs = [epoch for epoch, _ in plainly]
    plain = sum(seconds for _, seconds in plainly)
    same = np.abs(np.array(plain_epochs) - trained.best_epochs[::every]) <= 2
    theirs = published(name, "bank", "bank of one base network with BetaRCE's ensemble")
    return {
        "dataset": name,
        "networks": len(recipes),
        "bank_seconds": whole,
        "published_seconds": theirs,
        "published_ratio": theirs / whole,
        "gflops": work / whole / 1e9,
        "share_of_peak": work / whole / 1e9 / peak,
        "compared_networks": len(some),
        "seconds": ours,
        "plain_seconds": plain,
        "plain_ratio": plain / ours,
        "same_best_epoch_share": same.mean(),
        "peak_memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(paper_datasets()))
    parser.add_argument("--every", type=int, default=4)
    options = parser.parse_args()
    peak = peak_gflops()
    print(f"peak: {peak:.0f} GFLOP/s on one core (2048 x 2048 matrix product)", flush=True)
    rows = []
    for dataset in options.datasets:
        rows.append(compare(dataset, options.every, peak))
        print(pd.DataFrame(rows[-1:]).T.to_string(header=False), flush=True)
    save("training", rows, ["dataset"])


if __name__ == "__main__":
    main()
