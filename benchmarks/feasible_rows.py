"""How much farther the one search among feasible rows goes than the nearest row there is.

Pools of small models on made-up tables of loans with rules: steps, ranges, directions, categories
and what may not change. What is exact comes from `exact_rows.py`. The search is guided by several
scores, with the usual effort and more.

    python -m benchmarks.feasible_rows [--people N]

writes benchmarks/results/feasible_rows.csv, and prints it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from benchmarks.exact_rows import (
    choices,
    nearest_by_trying,
    nearest_of_forests,
    nearest_of_networks,
)
from benchmarks.machine import save
from changeproof import Task, own_task
from changeproof.arithmetic.functions import sigmoids
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.search import THOROUGH, USUAL, FeasibleSearch, SearchEffort
from changeproof.model import Booleans, Floats, Model, Stack
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import FittedModel, ModelStack, splits_of, stacked
from changeproof.models.recipes import bootstrap_recipe
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train

ROWS, MEMBERS, PEOPLE, SEED = 1_500, 8, 24, 4001
NEAREST, SLOPE, KAPPA = 2, 8.0, 0.9
FEW = ("income", "years", "late", "home", "age")
EFFORTS = {
    "no exchange": SearchEffort(0),
    "usual": USUAL,
    "thorough": THOROUGH,
    "8 rows": SearchEffort(6, 8),
}


def loans(features: tuple[str, ...] | None = None) -> Task:
    """Return a table of loans with rules, or some of its features."""
    draw = np.random.default_rng(SEED)
    data = pd.DataFrame(
        {
            "income": draw.integers(10, 90, ROWS) * 100,
            "years": draw.normal(8, 3, ROWS).round(1),
            "age": draw.integers(20, 70, ROWS),
            "late": draw.poisson(1.5, ROWS),
            "home": draw.choice(["own", "rent", "other"], ROWS),
            "amount": draw.integers(5, 200, ROWS) * 100,
            "debts": draw.poisson(1.5, ROWS),
            "use": draw.beta(2, 3, ROWS).round(2),
            "savings": draw.choice(["none", "some", "much"], ROWS),
            "member": draw.choice(["no", "yes"], ROWS),
        }
    )
    score = data["income"] / 3000 + data["years"] / 5 + (data["home"] == "own")
    score -= data["late"] / 4 + data["age"] / 40
    if features is None:
        score += 0.6 * (data["savings"] == "much") - data["debts"] / 5 - data["use"]
        score -= data["amount"] / 12_000 * (data["late"] > 0)
    outcome = score + draw.normal(0, 0.4, ROWS) > np.quantile(score, 0.55)
    actions = {
        "age": {"change": "none"},
        "years": {"change": "increase"},
        "income": {"step": 100.0, "low": 0.0, "high": 9000.0},
        "savings": {"change": "increase", "order": ["none", "some", "much"]},
    }
    kept = data if features is None else data[list(features)]
    kept = kept.assign(granted=np.where(outcome, "yes", "no"))
    said = {name: rule for name, rule in actions.items() if name in kept}
    return own_task(kept, target="granted", favourable="yes", actions=said)


class Case(NamedTuple):
    """A pool with its base model first, what it is asked, and how to score rows."""

    name: str
    task: Task
    models: list[Any]
    accepts: Callable[[Floats], Booleans]
    scores: dict[str, Callable[[Floats], Floats]]
    exact: Callable[[Floats], float]


def _forests(name: str, estimator: ClassifierMixin, task: Task) -> Case:
    """All forests of a pool have to accept."""
    models = _refitted(estimator, task)
    stack, weights = ModelStack(models), 1.0 / task.distance_scale
    splits = splits_of(models)
    assert splits is not None
    views = [view for model in models if (view := model.as_forest) is not None]

    def exact(person: Floats) -> float:
        given = choices(task.actions, person, splits, weights)
        return nearest_of_forests(views, task.actions, person, given)

    def capped(rows: Floats) -> Floats:
        return np.asarray(np.minimum(stack.probabilities(rows), 0.5).sum(axis=0))

    scores = {
        "base model": models[0].probabilities,
        "lowest": lambda rows: stack.probabilities(rows).min(axis=0),
        "sum up to a half": capped,
    }
    return Case(name, task, models, _by_all(stack), scores, exact)


def _votes(task: Task) -> Case:
    """The mean of soft votes has to be high, and the base model has to accept."""
    models = _refitted(GradientBoostingClassifier(n_estimators=15), task)
    pool, weights, splits = ModelStack(models[1:]), 1.0 / task.distance_scale, splits_of(models)
    assert splits is not None

    def votes(rows: Floats) -> Floats:
        return np.asarray(sigmoids(SLOPE * (pool.probabilities(rows) - 0.5)).mean(axis=0))

    def accepts(rows: Floats) -> Booleans:
        return np.asarray(models[0].favourable(rows) & (votes(rows) >= KAPPA))

    def exact(person: Floats) -> float:
        given = choices(task.actions, person, splits, weights)
        return nearest_by_trying(accepts, task.actions, person, given)

    scores = {
        "base model": models[0].probabilities,
        "mean": votes,
        "mean up to the threshold": lambda rows: np.minimum(votes(rows), KAPPA),
    }
    return Case("boosted trees, mean of soft votes", task, models, accepts, scores, exact)


def _networks(task: Task) -> Case:
    """All networks of a pool have to accept."""
    seeds = range(MEMBERS + 1)
    recipes = [TrainingRecipe(initialisation_seed=seed, hidden=(5,)) for seed in seeds]
    stack = train(recipes, TrainingData.of(task)).stack
    networks, weights = list(stack), 1.0 / task.distance_scale
    scores = {
        "base model": networks[0].logits,
        "lowest": lambda rows: stack.logits(rows).min(axis=0),
        "sum up to a half": lambda rows: np.minimum(stack.logits(rows), 0.0).sum(axis=0),
    }

    def exact(person: Floats) -> float:
        return nearest_of_networks(networks, task.actions, person, weights)

    return Case("networks, all accept", task, networks, _by_all(stack), scores, exact)


def _by_all(stack: Stack) -> Callable[[Floats], Booleans]:
    return lambda rows: np.asarray(stack.favourable(rows).all(axis=0))


def _refitted(estimator: ClassifierMixin, task: Task) -> list[FittedModel]:
    recipes = [bootstrap_recipe(task, seed, seed) for seed in range(MEMBERS)]
    recipes = [TrainingRecipe(initialisation_seed=0), *recipes]
    models = EstimatorLearner(estimator).train(recipes, task)
    return [model for model in models if isinstance(model, FittedModel)]


def measure(case: Case, people: int) -> list[dict[str, Any]]:
    """Return how much farther the search goes, by score and effort."""
    task, base = case.task, case.models[0]
    rows, train_rows = task.rows("test"), task.rows("train")
    factuals = rows[~base.favourable(rows)][:people]
    started = process_time()
    exact = np.array([case.exact(person) for person in factuals])
    seconds = (process_time() - started) / len(factuals)
    splits = None if isinstance(stacked(case.models), NetworkStack) else splits_of(case.models)
    found = []
    for name, score in case.scores.items():
        search = FeasibleSearch(
            task.actions,
            factuals,
            lambda rows, _: case.accepts(rows),
            lambda rows, _, score=score: score(rows),
            1.0 / task.distance_scale,
            None if splits is None else Crossings.of(splits, task.actions.rules),
        )
        near = search.nearest_of(_accepted(base, train_rows), wanted=NEAREST)
        starts = np.concatenate([near, factuals[:, None]], axis=1)
        search.of(np.arange(2)).nearest(starts[:2])
        for label, effort in EFFORTS.items():
            started = process_time()
            told = search.nearest(starts, effort)
            spent = (process_time() - started) / len(factuals)
            there = np.isfinite(exact) & np.isfinite(told).all(axis=1)
            far = search.lengths(np.where(there[:, None], told, factuals))
            farther = far[there] / exact[there] - 1.0
            found.append(
                {
                    "case": case.name,
                    "score": name,
                    "effort": label,
                    "people": len(factuals),
                    "not_found": int((np.isfinite(exact) & ~there).sum()),
                    "percent_farther_mean": 100.0 * farther.mean(),
                    "percent_farther_worst": 100.0 * farther.max(),
                    "percent_exact": 100.0 * (farther < 1e-6).mean(),
                    "milliseconds_a_person": 1000.0 * spent,
                    "exact_seconds_a_person": seconds,
                }
            )
    return found


def _accepted(base: Model, rows: Floats) -> Floats:
    return rows[base.favourable(rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    people = parser.parse_args().people
    cases = (
        lambda: _votes(loans(FEW)),
        lambda: _networks(loans()),
        lambda: _forests(
            "random forests, all accept", RandomForestClassifier(6, max_depth=4), loans()
        ),
        lambda: _forests(
            "boosted trees, all accept", GradientBoostingClassifier(n_estimators=12), loans()
        ),
    )
    for make in cases:
        table = save("feasible_rows", measure(make(), people), ["case", "score", "effort"])
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
