"""Our methods in the settings of other papers, in their units, beside the numbers that are known.

proplace: HELOC as in the notebook of PROPLACE's authors. Features between 0 and 1, two hidden
layers of 20 units, Adam at 0.01 on batches of 32 for 50 epochs with a penalty of 0.0001 on all
squared parameters; twenty retrained networks (ten on twice the rows, ten on 99 % of them, all with
seeds of their own); 50 training rows that all of them refuse. Distance is the absolute change per
feature, LOF and inliers (ten neighbours) are those of scikit-learn among the rows labelled
favourable.

sns: HELOC and 100 networks that differ from the base network by their seed, as in Table 1 of SNS.
Scaling and networks are ours, since the paper's are not known; distance is Euclidean, on features
between 0 and 1.

    python -m benchmarks.faithful [proplace] [sns] [--methods NAME ...] [--seeds SEED ...]

writes benchmarks/results/faithful.csv, and prints it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.machine import one_thread, save
from benchmarks.rivals import tuned
from changeproof import Context, Factuals, Network, NetworkStack, Split, Task, load_task
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import proven_rows
from changeproof.changes import get_family
from changeproof.changes.bank import build_bank
from changeproof.changes.family import BaseModel
from changeproof.evaluation.factuals import evaluation_factuals, named_factuals, survival
from changeproof.methods import builtin_method_names
from changeproof.models.network import NetworkLearner
from changeproof.networks.training import TrainingRecipe

BASE_SEEDS = {"proplace": (101, 102, 103), "sns": (2026,)}
NEIGHBOURS = 10
NUMBERS = ("base_validity", "robustness", "certified", "distance", "inliers", "lof")
NOTEBOOK = "https://github.com/junqi-jiang/proplace, experiments/heloc.ipynb"
TABLE_1 = "https://arxiv.org/abs/2110.03109, Table 1"


@dataclass(frozen=True)
class Known:
    """What others published of a method, in percent and in their unit; NaN where nothing is known.

    `ours` is our method with the settings that are stated there.
    """

    method: str
    ours: str
    robustness: float
    distance: float
    base_validity: float = np.nan
    certified: float = np.nan
    inliers: float = np.nan
    lof: float = np.nan


PROPLACE = (
    Known("Wachter", "wachter", 49.1, 0.0454, 100, 0, 96, 1.161),
    Known(
        "RBR",
        "rbr(extra_distance=1.0, optimistic_radius=1.0, pessimistic_radius=1.0)",
        79.8,
        0.0379,
        100,
        0,
        96,
        1.098,
    ),
    Known("RobX", "robx-balanced(quantile=0.0)", 100, 0.0732, 100, 30, 100, 1.038),
    Known("ROAR", "roar-lime", 98, 0.1092, 98, 98, 30.6, 1.573),
    Known(
        "MILP-R",
        "mce-r(radius=0.04, first_margin=0.02, margin_step=0.2)",
        100,
        0.0436,
        100,
        100,
        8,
        2.484,
    ),
    Known("PROPLACE", "proplace(radius=0.025, neighbours=23)", 100, 0.0566, 100, 100, 100, 1.037),
)
SNS = (
    Known("nearest point (l2)", "nearest-point", 39, 0.11),
    Known("SNS", "sns", 100, 1.71),
)


class ZeroToOne(Task):
    """A task whose features are brought between 0 and 1, as others do, instead of standardised."""

    @cached_property
    def mean(self) -> np.ndarray:
        return np.asarray(self.frame.to_numpy(np.float64).min(axis=0))

    @cached_property
    def scale(self) -> np.ndarray:
        return np.asarray(self.frame.to_numpy(np.float64).max(axis=0)) - self.mean


@dataclass(frozen=True)
class Setting:
    """A task, its base network, its changed networks, who asks, and what is known."""

    context: Context
    stack: NetworkStack
    people: Factuals
    known: Sequence[Known]
    source: str
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray]
    favourable: np.ndarray
    radius: float


def torch_trained(rows: np.ndarray, labels: np.ndarray, seed: int, width: int = 20) -> Network:
    """Train one network as the notebook states it."""
    torch.manual_seed(seed)
    sizes = (rows.shape[1], width, width, 1)
    linear = [torch.nn.Linear(*pair) for pair in pairwise(sizes)]
    model = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    inputs = torch.from_numpy(rows.astype(np.float32))
    wanted = torch.from_numpy(labels.astype(np.float32))
    # The penalty's gradient is twice the parameter, which coupled weight decay adds as well.
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=2e-4)
    for _ in range(50):
        for batch in torch.randperm(len(inputs)).split(32):
            optimiser.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                model(inputs[batch])[:, 0], wanted[batch]
            )
            loss.backward()
            optimiser.step()
    return Network(
        tuple(layer.weight.detach().numpy().copy() for layer in linear),
        tuple(layer.bias.detach().numpy().copy() for layer in linear),
    )


@cache
def notebook_networks() -> tuple[ZeroToOne, np.ndarray, NetworkStack]:
    """Return the task, the half that base networks are for, and the retrained networks."""
    given = load_task("heloc")
    draw = np.random.default_rng(1)
    order = draw.permutation(len(given.frame))
    first, second = np.sort(order[: len(order) // 2 - 1]), np.sort(order[len(order) // 2 - 1 :])
    (train, test), (later, rest) = (
        train_test_split(half, test_size=0.2, stratify=given.labels[half], random_state=0)
        for half in (first, second)
    )
    split = Split(train=train, update=later, validation=test, test=rest)
    task = ZeroToOne("heloc-0-1", given.frame, given.labels, split)
    rows, both = task.standardise(task.frame), np.concatenate([train, later])
    kept = draw.permutation(train)[len(train) // 100 :]
    changed = [torch_trained(rows[both], task.labels[both], 1001 + n) for n in range(10)]
    changed += [torch_trained(rows[kept], task.labels[kept], 2001 + n) for n in range(10)]
    return task, first, NetworkStack.of(changed)


def proplace_setting(base_seed: int) -> Setting:
    task, first, stack = notebook_networks()
    rows, train = task.standardise(task.frame), task.split.train
    base = torch_trained(rows[train], task.labels[train], base_seed)
    refused = ~base.favourable(rows[train]) & ~stack.favourable(rows[train]).any(axis=0)
    draw = np.random.default_rng(base_seed)
    asking = draw.choice(train[refused], 50, replace=False)
    return Setting(
        Context(task, base, base_seed),
        stack,
        named_factuals(task, [int(task.frame.index[place]) for place in asking]),
        PROPLACE,
        NOTEBOOK,
        lambda people, found: np.asarray(np.abs(found - people).mean(axis=1)),
        rows[first][task.labels[first] == 1],
        0.025,
    )


def sns_setting(base_seed: int) -> Setting:
    task = load_task("heloc")
    base = NetworkLearner().train([TrainingRecipe(initialisation_seed=base_seed)], task)[0]
    assert isinstance(base, Network)
    family = get_family("new-initialization(replicates=100)")
    stack = build_bank(task, BaseModel(base_seed, base), [family]).stack
    assert isinstance(stack, NetworkStack)
    rows = task.standardise(task.frame)
    width = rows.max(axis=0) - rows.min(axis=0)
    return Setting(
        Context(task, base, base_seed),
        stack,
        evaluation_factuals(task, base, base_seed, 100),
        SNS,
        TABLE_1,
        lambda people, found: np.sqrt((((found - people) / width) ** 2).sum(axis=1)),
        rows[task.labels == 1],
        0.005,
    )


SETTINGS = {"proplace": proplace_setting, "sns": sns_setting}


def outliers(rows: np.ndarray, among: np.ndarray) -> tuple[float, float]:
    """Return the percentage of rows that are inliers among others, and their mean LOF.

    Rows are no neighbours of each other: answers do not make each other plausible. (The notebook
    adds each row by itself to the others for its LOF, which changes next to nothing.)
    """
    judge = LocalOutlierFactor(n_neighbors=NEIGHBOURS, novelty=True).fit(among)
    return 100.0 * float((judge.predict(rows) == 1).mean()), float(
        -judge.score_samples(rows).mean()
    )


def measured(setting: Setting, known: Known) -> dict[str, Any]:
    method = tuned(known.ours, setting.context)
    started = time.process_time()
    method.fit(setting.context)
    answers = method.generate(setting.people)
    seconds = (time.process_time() - started) / len(setting.people)
    found, base = answers.found, setting.context.model
    assert isinstance(base, Network)
    rows, people = answers.rows[found], setting.people.rows[found]
    proven = proven_rows(ParameterBox(base, setting.radius), rows)
    inliers, lof = outliers(rows, setting.favourable)
    return {
        "people": len(answers),
        "networks": len(setting.stack),
        "coverage": 100.0 * found.mean(),
        "base_validity": 100.0 * answers.base_valid[found].mean(),
        "robustness": 100.0 * survival(answers, setting.stack)[found].mean(),
        "distance": setting.distances(people, rows).mean(),
        "certified": 100.0 * proven.mean(),
        "inliers": inliers,
        "lof": lof,
        "seconds_per_person": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--methods", nargs="+", help="only these of ours")
    parser.add_argument("--seeds", nargs="+", type=int, help="of base networks")
    parser.add_argument("--unsaved", action="store_true", help="print only")
    asked = parser.parse_args()
    with one_thread():
        for name in asked.settings:
            for seed in asked.seeds or BASE_SEEDS[name]:
                setting = SETTINGS[name](seed)
                for known in setting.known:
                    plain = known.ours.partition("(")[0]
                    chosen = asked.methods is None or plain in asked.methods
                    if not chosen or plain not in builtin_method_names():
                        continue
                    row = {"setting": name, "base_seed": seed, "method": known.method}
                    row |= {"ours": known.ours, **measured(setting, known)}
                    row |= {f"published_{each}": getattr(known, each) for each in NUMBERS}
                    row["source"] = setting.source
                    print(pd.Series(row).to_string(), flush=True)
                    if not asked.unsaved:
                        save("faithful", [row], ["setting", "base_seed", "method"])


if __name__ == "__main__":
    main()
