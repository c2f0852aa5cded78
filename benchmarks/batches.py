"""Training on long tables: batches of 20,000 rows against all rows in every step.

Tables of `large_table.py`, of both concepts. One network each way with the same passes over the
rows at most; judged on the test rows. Processor time of one thread.

    python -m benchmarks.batches [ROWS ...]

writes benchmarks/results/batches.csv and prints it.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any
from unittest import mock

import pandas as pd
from sklearn.metrics import balanced_accuracy_score, log_loss

from benchmarks.large_table import CONCEPTS, large_table
from benchmarks.machine import one_thread, save
from changeproof import Task, TrainingData, TrainingRecipe, own_task, train
from changeproof.networks import training

ROWS = (20_000, 100_000, 1_000_000)
RECIPE = TrainingRecipe(initialisation_seed=2026)


def measure(task: Task, largest: int) -> dict[str, Any]:
    """Train one network with steps of so many rows at most; return how good it is."""
    with mock.patch.object(training, "LARGEST_BATCH", largest):
        data = TrainingData.of(task)
        began = time.process_time()
        trained = train([RECIPE], data)
        seconds = time.process_time() - began
    rows, labels = task.rows("test"), task.labels_of("test")
    likely = trained.stack[0].probabilities(rows)
    return {
        "steps": int(trained.epochs[0]),
        "best_step": int(trained.best_epochs[0]),
        "seconds": seconds,
        "accuracy": float((labels == (likely >= 0.5)).mean()),
        "balanced_accuracy": balanced_accuracy_score(labels, likely >= 0.5),
        "log_loss": log_loss(labels, likely),
    }


def warm_up() -> None:
    """Have the kernel compiled before anything is measured."""
    task = own_task(large_table(500), target="granted", favourable="yes", name="warm-up")
    train([replace(RECIPE, max_epochs=1)], TrainingData.of(task))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="*", default=ROWS)
    asked = parser.parse_args().rows
    ways = {"batches": training.LARGEST_BATCH, "all rows": sys.maxsize}
    found = []
    with one_thread():
        warm_up()
        for rows in asked:
            for concept in CONCEPTS:
                table = large_table(rows, concept=concept)
                task = own_task(table, target="granted", favourable="yes", name=concept)
                for way, largest in ways.items():
                    row = {"concept": concept, "rows": rows, "step": way}
                    found.append(row | measure(task, largest))
                    print(found[-1], flush=True)
                kept = save("batches", found, ["concept", "rows", "step"])
    with pd.option_context("display.width", 200):
        print(kept.to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
