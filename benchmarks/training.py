"""The trainer against an ordinary one-by-one PyTorch loop, both over all cores, in one run.

What is trained is what one base network of the paper needs: the 175 retrained networks of the
bank and BetaRCE's ensemble of 32 bootstrap networks, 207 in all. The last line of each dataset
is the ratio; the arithmetic limit is measured by a large matrix product in the same run.

    python benchmarks/training.py [DATASET ...]     (breast-cancer and heloc by default)
"""

from __future__ import annotations

import resource
import sys
import time
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import torch

from changeproof import (
    BaseModel,
    TrainingData,
    TrainingRecipe,
    family_names,
    get_family,
    load_task,
    train,
)
from changeproof.methods.betarce import ensemble_recipes

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from plain import plain_training

SEED = 2026
ENSEMBLE = 32


def bank_recipes(name: str) -> list[TrainingRecipe]:
    task = load_task(name)
    base = train([TrainingRecipe(initialisation_seed=SEED)], TrainingData.of(task)).stack[0]
    described = [
        variant.change
        for family in family_names()
        for variant in get_family(family).variants(task, BaseModel(SEED, base))
    ]
    recipes = [change for change in described if isinstance(change, TrainingRecipe)]
    return recipes + ensemble_recipes(task, SEED, ENSEMBLE)


def train_plainly(name: str, recipe: TrainingRecipe) -> int:
    """Train as people usually do: rows repeated as drawn, autograd, one network at a time."""
    torch.set_num_threads(1)
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
        hidden=recipe.hidden,
        optimiser=recipe.optimiser,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
    )
    return best_epoch


def operations(recipe: TrainingRecipe, data: TrainingData, epochs: int) -> float:
    """Multiplications and additions of the matrix products of a training, as ordinarily counted."""
    widths = (data.rows.shape[1], *recipe.hidden, 1)
    products = sum(a * b for a, b in pairwise(widths))
    rows = data.n_train if recipe.row_weights is None else float(recipe.row_weights.sum())
    step = rows * (3 * products - widths[0] * widths[1])
    return 2.0 * epochs * (step + len(data.validation_rows) * products)


def peak_gflops() -> float:
    torch.set_num_threads(1)
    matrix = torch.randn(2048, 2048)
    best = np.inf
    for _ in range(5):
        started = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - started)
    return 2 * 2048**3 / best / 1e9


def compare(name: str, cores: int, peak: float) -> float:
    recipes = bank_recipes(name)
    data = TrainingData.of(load_task(name))
    workers = joblib.Parallel(n_jobs=cores)
    workers(joblib.delayed(train_plainly)(name, recipes[0]) for _ in range(cores))  # warm up
    started = time.perf_counter()
    plain_epochs = workers(joblib.delayed(train_plainly)(name, recipe) for recipe in recipes)
    plain = time.perf_counter() - started
    train(recipes[:cores], data, threads=cores)  # warm up
    started = time.perf_counter()
    trained = train(recipes, data, threads=cores)
    ours = time.perf_counter() - started
    work = sum(operations(r, data, int(e)) for r, e in zip(recipes, trained.epochs, strict=True))
    rate = work / ours / 1e9 / cores
    same = np.abs(np.array(plain_epochs) - trained.best_epochs) <= 2
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {len(recipes)} networks on {cores} cores")
    print(f"  plain PyTorch loop  {plain:8.2f} s")
    print(f"  changeproof         {ours:8.2f} s")
    print(f"  GFLOP/s a core      {rate:8.0f}     ({rate / peak:.0%} of the peak)")
    print(f"  same best epoch ±2  {same.mean():8.0%}")
    print(f"  peak memory         {memory:8.2f} GiB")
    print(f"  ratio               {plain / ours:8.1f} x", flush=True)
    return plain / ours


if __name__ == "__main__":
    cores = joblib.cpu_count()
    peak = peak_gflops()
    print(f"peak: {peak:.0f} GFLOP/s on one core (2048 x 2048 matrix product)")
    for dataset in sys.argv[1:] or ["breast-cancer", "heloc"]:
        compare(dataset, cores, peak)
