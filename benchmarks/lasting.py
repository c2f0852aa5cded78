"""Advice that is to hold through twelve updates: quorum(lasts=12) beside RobX and the limit.

The paper's four tables, base networks that nothing was chosen by. Held to the end: the share of
advice and futures in which every update accepts it; the same counting only updates that a lender
would deploy; and the limit for all futures but one.

    python -m benchmarks.lasting [DATASET ...] [--seeds 5201 5202 5203 5204 5205]

writes benchmarks/results/lasting.csv, and prints it.
"""

from __future__ import annotations

import argparse
from copy import copy
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.machine import one_thread, save
from changeproof import Context, Quorum, paper_datasets
from changeproof.changes import get_family
from changeproof.changes.bank import build_bank, change_magnitudes
from changeproof.changes.family import BaseModel
from changeproof.datasets.find import load_task
from changeproof.evaluation.factuals import evaluation_factuals, survival
from changeproof.evaluation.life import Lives, deployed
from changeproof.evaluation.limit import find_future_limit
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.robx import RobXBalanced
from changeproof.models.learner import stacked
from changeproof.models.network import NetworkLearner
from changeproof.networks.training import TrainingRecipe

SEEDS, TARGETS, UPDATES, PEOPLE = (5201, 5202, 5203, 5204, 5205), (0.95, 0.99), 12, 250


def measure(dataset: str, seed: int) -> list[dict[str, Any]]:
    task, learner = load_task(dataset), NetworkLearner()
    base = learner.train([TrainingRecipe(initialisation_seed=seed)], task)[0]
    people = evaluation_factuals(task, base, seed, PEOPLE)
    bank = build_bank(task, BaseModel(seed, base), [get_family(f"updates(length={UPDATES})")])
    futures = bank.table["replicate"].tolist()
    accuracies = change_magnitudes(task, base, bank.stack)["balanced_accuracy"].to_numpy()
    own = change_magnitudes(task, base, stacked([base]))["balanced_accuracy"].item()
    held = deployed(accuracies, own)
    limit = find_future_limit(task, base, bank.stack, futures, people.rows)[1]
    common = {"dataset": dataset, "base_seed": seed, "people": len(people)}

    def row(method: str, target: float, answers: Counterfactuals, seconds: float) -> dict[str, Any]:
        survived = survival(answers, bank.stack)[answers.found & answers.base_valid]
        through, if_deployed = (
            100.0 * Lives.of(each, futures).holds.all(axis=2).mean()
            for each in (survived, survived | ~held)
        )
        return common | {
            "method": method,
            "target": target,
            "held": through,
            "held_if_deployed": if_deployed,
            "distance": float(
                np.nanmean(task.distances(people.rows, answers.rows)[answers.base_valid])
            ),
            "limit_but_one": float(np.nanmean(task.distances(people.rows, limit))),
            "limit_found": float(np.isfinite(limit).all(axis=1).mean()),
            "fit_seconds": seconds,
            "promised": float(np.nanmean(answers.diagnostics.get("promised", np.array([np.nan])))),
        }

    context = Context(task, base, seed)
    started = process_time()
    method = Quorum(lasts=UPDATES, target=TARGETS[0]).fit(context)
    rows = [row("quorum", TARGETS[0], method.generate(people), process_time() - started)]
    # The same private models; only what is calibrated is another.
    for target in TARGETS[1:]:
        other = copy(method)
        other.target = target
        other.calibrated = other._calibrate(other._people())
        other._threshold = other.calibrated.threshold
        rows.append(row("quorum", target, other.generate(people), np.nan))
    robx = RobXBalanced().fit(context)
    return [*rows, row("robx-balanced", np.nan, robx.generate(people), np.nan)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=paper_datasets())
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--unsaved", action="store_true", help="print only")
    asked = parser.parse_args()
    with one_thread():
        for dataset in asked.datasets:
            for seed in asked.seeds:
                rows = measure(dataset, seed)
                print(pd.DataFrame(rows).to_string(index=False, float_format="%.3f"), flush=True)
                if not asked.unsaved:
                    save("lasting", rows, ["dataset", "base_seed", "method", "target"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
