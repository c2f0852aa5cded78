"""Does quorum keep what it promises? Its calibration over many base networks.

For each base network of the paper's tables quorum is fitted once, all people whom the network
rejects in the test part are advised, and the 200 changed networks of the bank judge. What they
refuse is held against what is promised. One fit may be lucky or not, so the mean over base networks
counts, beside the band of a binomial: as if each changed network refused everybody or nobody, with
the chance that is allowed. And for each answer: is the share of changed networks that accepts it
below the bound that witnesses gave?

    python -m benchmarks.quorum_calibration --seeds 4101 4102
"""

from __future__ import annotations

import argparse

import joblib
import pandas as pd
from scipy.stats import binom

from benchmarks.machine import one_thread, save
from changeproof import (
    Context,
    Quorum,
    TrainingRecipe,
    get_family,
    load_task,
    paper_datasets,
    published_family_names,
)
from changeproof.changes.bank import build_bank, reserved_recipes
from changeproof.changes.family import BaseModel
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner

# No setting was chosen by a look at these.
SEEDS = (5301, 5302, 5303, 5304, 5305)
EVERYBODY = 1_000_000
KEYS = ["dataset", "base_seed", "target"]


def measured(dataset: str, seed: int, target: float, people: int = EVERYBODY) -> dict[str, object]:
    """Fit quorum to one base network, and let the changed networks judge its advice."""
    with one_thread():
        task, learner = load_task(dataset), NetworkLearner()
        network = learner.train([TrainingRecipe(initialisation_seed=seed)], task)[0]
        base = BaseModel(seed, network)
        families = [get_family(name) for name in published_family_names()]
        reserved = frozenset(reserved_recipes(task, base, learner, families))
        context = Context(task, network, seed, PrivateLearner(learner, lambda: reserved))
        method = Quorum(target=target).fit(context)
        factuals = evaluation_factuals(task, network, seed, people)
        answers = method.generate(factuals)
        bank = build_bank(task, base, families, learner).stack
    found = answers.found
    accepted = bank.favourable(answers.rows[found]).mean(axis=0)
    told = {name: values[found] for name, values in answers.diagnostics.items()}
    known = method.calibrated
    return {
        "dataset": dataset,
        "base_seed": seed,
        "target": target,
        "threshold": known.threshold,
        "promised": known.promised,
        "estimated_share": known.estimate,
        "calibrated_on": known.people,
        "unfitted": known.unfitted,
        "people": len(factuals),
        "answered": int(found.sum()),
        "distance": float(task.distances(factuals.rows[found], answers.rows[found]).mean()),
        "changed_models": len(bank),
        "failures": 1.0 - float(accepted.mean()),
        "refused_by_witnesses": 1.0 - float((told["accepted"] / told["asked"]).mean()),
        "below_bound": float((accepted < told["at_least"]).mean()),
    }


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return failures beside what is allowed, by dataset and of all; shares are in percent."""
    rows = []
    for target, of_target in table.groupby("target"):
        for name, mine in [*of_target.groupby("dataset", sort=False), ("all", of_target)]:
            made = mine[mine["promised"].notna()]
            allowed = 1.0 - float(made["promised"].mean())
            models = int(made["changed_models"].sum())
            low, high = binom.ppf([0.025, 0.975], models, allowed) / max(models, 1)
            failures = float(made["failures"].mean())
            rows.append(
                {
                    "dataset": name,
                    "target": target,
                    "base_networks": len(mine),
                    "without_promise": len(mine) - len(made),
                    "promised": 100.0 * (1.0 - allowed),
                    "failures": 100.0 * failures,
                    "least": 100.0 * float(mine["failures"].min()),
                    "most": 100.0 * float(mine["failures"].max()),
                    "allowed": 100.0 * allowed,
                    "band": f"{100.0 * low:.2f} to {100.0 * high:.2f}",
                    "kept": "yes" if failures <= allowed else "no",
                    "refused_by_witnesses": 100.0 * float(mine["refused_by_witnesses"].mean()),
                    "below_bound": 100.0 * float(mine["below_bound"].mean()),
                    "distance": float(mine["distance"].mean()),
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(paper_datasets()))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--target", type=float, default=0.99)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--people", type=int, default=EVERYBODY)
    parser.add_argument("--unsaved", action="store_true", help="print, and keep nothing")
    options = parser.parse_args()
    rows = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(measured)(dataset, seed, options.target, options.people)
        for dataset in options.datasets
        for seed in options.seeds
    )
    table = pd.DataFrame(rows)
    if not options.unsaved:
        table = save("quorum_calibration", rows, KEYS)
    print(table.to_string(index=False))
    print(summary(table).to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
