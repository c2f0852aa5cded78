"""Quorum beside the bank that it is tested on, and its search beside a plain one.

One thread, processor time, after a warm-up; per dataset and base seed. Fitting (private networks
and calibration) is a ratio to training the bank of the same base network. The search is a ratio to
the plain one of `plain/points.py`, which asks every network about everything and has to find the
same points, to the byte. Both are measured in one run.

    python -m benchmarks.quorum_speed [DATASET ...] [--seeds SEED ...]

writes benchmarks/results/quorum_speed.csv and prints it. The exit code is 1 if a point differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.machine import one_thread, save
from benchmarks.plain.points import plain_stepped
from changeproof import (
    BaseModel,
    Context,
    Factuals,
    TrainingData,
    TrainingRecipe,
    build_bank,
    evaluation_factuals,
    get_family,
    get_method,
    load_task,
    published_family_names,
    train,
)
from changeproof.methods.quorum import method as quorum
from changeproof.models.learner import train_all

DATASETS = ("wine-quality", "heloc")
SEEDS = (4101, 4102, 4103)
PEOPLE = 250
REPEATS = 5
SINGLE_REQUESTS = 25


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def base_context(dataset: str, seed: int) -> tuple[Context, Factuals]:
    task = load_task(dataset)
    recipe = TrainingRecipe(initialisation_seed=seed)
    network = train([recipe], TrainingData.of(task)).stack[0]
    return Context(task, network, seed), evaluation_factuals(task, network, seed, PEOPLE)


def fitted(context: Context) -> tuple[float, float, Any]:
    """Return the seconds of fitting, how many of them are training, and the method."""
    trained = []

    def timed(requests: Any) -> Any:
        spent, models = seconds(lambda: train_all(requests))
        trained.append(spent)
        return models

    with patch.object(quorum, "train_all", timed):
        spent, method = seconds(lambda: get_method("quorum")().fit(context))
    return spent, sum(trained), method


def searched(method: Any, people: Factuals) -> tuple[float, float, bool]:
    """Return the least seconds of our search and of the plain one, and whether points agree."""
    ours, plain, same = [], [], True
    for _ in range(REPEATS):
        spent, answers = seconds(lambda: method.generate(people))
        ours.append(spent)
        with patch("changeproof.methods.quorum.points._stepped", plain_stepped):
            spent, others = seconds(lambda: method.generate(people))
        plain.append(spent)
        same &= np.array_equal(answers.rows, others.rows, equal_nan=True)
    return min(ours), min(plain), same


def measure(dataset: str, seed: int) -> dict[str, object]:
    context, people = base_context(dataset, seed)
    families = [get_family(name) for name in published_family_names()]
    base = BaseModel(seed, context.model)
    bank_seconds, bank = seconds(lambda: build_bank(context.task, base, families))
    fit_seconds, training_seconds, method = fitted(context)
    ours, plain, same = searched(method, people)
    some = [people[i : i + 1] for i in range(min(SINGLE_REQUESTS, len(people)))]
    single, _ = seconds(lambda: [method.generate(person) for person in some])
    return {
        "dataset": dataset,
        "base_seed": seed,
        "bank_networks": len(bank),
        "bank_seconds": bank_seconds,
        "fit_seconds": fit_seconds,
        "of_which_training": training_seconds,
        "fit_to_bank": fit_seconds / bank_seconds,
        "people": len(people),
        "search_ms": 1e3 * ours / len(people),
        "plain_search_ms": 1e3 * plain / len(people),
        "plain_ratio": plain / ours,
        "single_request_ms": 1e3 * single / len(some),
        "same_points": "yes" if same else "no",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    options = parser.parse_args()
    rows = []
    with one_thread():
        # On a small case, so that kernels are compiled.
        context, people = base_context("diabetes", options.seeds[0])
        searched(get_method("quorum")().fit(context), people[:3])
        for dataset in options.datasets:
            for seed in options.seeds:
                rows.append(measure(dataset, seed))
                line = pd.DataFrame(rows[-1:]).to_string(index=False, float_format="%.4g")
                print(line, flush=True)
    table = save("quorum_speed", rows, ["dataset", "base_seed"])
    print(table.groupby("dataset")[["fit_to_bank", "search_ms", "plain_ratio"]].mean())
    return int(any(row["same_points"] != "yes" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
