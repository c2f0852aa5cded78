"""The fast minimum-l1 engine against the exact one: how often it is optimal, and by how much not.

For 200 requests per dataset (the factuals of the first base networks, in their order) the fast
answer is compared with a mixed-integer programme on HiGHS that starts from its length.

    python -m benchmarks.minimal [DATASET ...] [--instances N] [--nodes N]

writes benchmarks/results/minimal.csv and prints it. The default takes 17 minutes on two cores;
`make bench` asks for fewer requests.
"""

from __future__ import annotations

import argparse
import time

import joblib
import numpy as np
import pandas as pd

from benchmarks.machine import save
from benchmarks.minimal_proof import RELATIVE_GAP, prove
from changeproof import (
    TrainingData,
    TrainingRecipe,
    evaluation_factuals,
    load_task,
    paper_datasets,
    train,
)
from changeproof.methods.shared.minimal import MinimalSearch

TARGET = 0.2101  # the second margin of AP-Delta-S, at which most of its answers are accepted


def instances(name: str, count: int) -> list[tuple[int, int]]:
    """Base seeds and places of factuals, base network after base network."""
    task = load_task(name)
    chosen: list[tuple[int, int]] = []
    for seed in range(2026, 2031):
        network = train([TrainingRecipe(initialisation_seed=seed)], TrainingData.of(task)).stack[0]
        people = len(evaluation_factuals(task, network, seed, 250))
        chosen += [(seed, place) for place in range(people)]
    return chosen[:count]


def compare(name: str, seed: int, places: list[int], nodes: int) -> list[dict[str, float]]:
    task = load_task(name)
    network = train([TrainingRecipe(initialisation_seed=seed)], TrainingData.of(task)).stack[0]
    low, high = task.training_range
    search = MinimalSearch(network, low, high, task.rows("train"))
    factuals = evaluation_factuals(task, network, seed, 250).rows[places]
    search.search(factuals[:1], TARGET)  # compile
    rows = []
    for factual in factuals:
        origin = np.clip(factual, low, high)
        started = time.perf_counter()
        answer = search.search(factual[None], TARGET)[0]
        fast_seconds = time.perf_counter() - started
        fast = float(np.abs(answer - origin).sum())
        started = time.perf_counter()
        proof = prove(network, origin, low, high, TARGET, fast, max_nodes=nodes)
        exact_seconds = time.perf_counter() - started
        best = fast if proof.move is None else min(fast, float(np.abs(proof.move).sum()))
        rows.append(
            {
                "fast": fast,
                "best": best,
                "proven": proof.proven,
                "fast_seconds": fast_seconds,
                "exact_seconds": exact_seconds,
            }
        )
    return rows


def summary(name: str, table: pd.DataFrame) -> dict[str, object]:
    gap = table["fast"] / table["best"] - 1.0
    proven = table["proven"].astype(bool)
    optimal = proven & (gap <= RELATIVE_GAP)
    return {
        "dataset": name,
        "instances": len(table),
        "proven": int(proven.sum()),
        "fast_optimal_of_proven": int(optimal.sum()),
        "mean_gap_percent": round(100 * gap.mean(), 3),
        "largest_gap_percent": round(100 * gap.max(), 2),
        "fast_ms": round(1e3 * table["fast_seconds"].mean(), 2),
        "exact_ms_median": round(1e3 * table["exact_seconds"].median(), 1),
        "exact_ms_mean": round(1e3 * table["exact_seconds"].mean(), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(paper_datasets()))
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=500)
    options = parser.parse_args()
    for dataset in options.datasets:
        wanted = instances(dataset, options.instances)
        groups = [
            (seed, [place for s, place in wanted[i : i + 10] if s == seed])
            for i in range(0, len(wanted), 10)
            for seed in sorted({s for s, _ in wanted[i : i + 10]})
        ]
        parts = joblib.Parallel(n_jobs=-1)(
            joblib.delayed(compare)(dataset, seed, places, options.nodes) for seed, places in groups
        )
        rows = pd.DataFrame([row for part in parts for row in part])
        table = save("minimal", [summary(dataset, rows)], ["dataset", "instances"])
        print(table.to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
