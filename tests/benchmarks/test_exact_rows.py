"""The exact nearest rows, and how much farther the one search among feasible rows goes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from benchmarks.exact_rows import (
    choices,
    nearest_by_trying,
    nearest_of_forests,
    nearest_of_networks,
)
from changeproof import NetworkStack, Task, TrainingData, TrainingRecipe, own_task, train
from changeproof.arithmetic.functions import sigmoids
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.search import THOROUGH, FeasibleSearch
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import FittedModel, ModelStack, splits_of
from changeproof.models.recipes import bootstrap_recipe
from constrained import loans_task

MEMBERS, PEOPLE = 4, 6


@pytest.fixture(scope="module")
def task() -> Task:
    """Four features that count, with steps, a direction, categories and what may not change."""
    generator, n = np.random.default_rng(4), 500
    data = pd.DataFrame(
        {
            "income": generator.integers(10, 90, n) * 100,
            "years": generator.normal(8, 3, n).round(1),
            "age": generator.integers(20, 70, n),
            "late": generator.poisson(2, n),
            "home": generator.choice(["own", "rent", "other"], n),
        }
    )
    score = data["income"] / 3000 + data["years"] / 5 + (data["home"] == "own") - data["age"] / 40
    score -= data["late"] / 4
    data["granted"] = np.where(score + generator.normal(0, 0.3, n) > 1.9, "yes", "no")
    actions = {
        "age": {"change": "none"},
        "years": {"change": "increase"},
        "income": {"step": 100.0, "low": 0.0, "high": 9000.0},
    }
    return own_task(data, target="granted", favourable="yes", actions=actions, most_changes=3)


def pool_of(estimator: ClassifierMixin, task: Task) -> list[FittedModel]:
    """Return a base model and others of bootstrapped rows."""
    recipes = [bootstrap_recipe(task, seed, seed) for seed in range(MEMBERS)]
    models = EstimatorLearner(estimator).train(
        [TrainingRecipe(initialisation_seed=0), *recipes], task
    )
    return [model for model in models if isinstance(model, FittedModel)]


def adverse(model: Model, task: Task) -> Floats:
    rows = task.rows("test")
    return rows[~model.favourable(rows)][:PEOPLE]


def starts(search: FeasibleSearch, task: Task, base: Model) -> Floats:
    train_rows = task.rows("train")
    near = search.nearest_of(train_rows[base.favourable(train_rows)], wanted=2)
    return np.concatenate([near, search.factuals[:, None]], axis=1)


@pytest.mark.parametrize(
    "estimator",
    [GradientBoostingClassifier(n_estimators=6), RandomForestClassifier(5, max_depth=3)],
)
def test_all_of_a_pool_of_forests(estimator: ClassifierMixin, task: Task) -> None:
    models = pool_of(estimator, task)
    stack, splits, weights = ModelStack(models), splits_of(models), 1.0 / task.distance_scale
    people = adverse(models[0], task)
    assert splits is not None and len(models) == 1 + MEMBERS and len(people) == PEOPLE

    def accepts(rows: Floats) -> Booleans:
        return np.asarray(stack.favourable(rows).all(axis=0))

    search = FeasibleSearch(
        task.actions,
        people,
        lambda rows, _: accepts(rows),
        lambda rows, _: np.minimum(stack.probabilities(rows), 0.5).mean(axis=0),
        weights,
        Crossings.of(splits, task.actions.rules),
    )
    found = search.lengths(search.nearest(starts(search, task, models[0]), THOROUGH))
    views = [view for model in models if (view := model.as_forest) is not None]
    exact = []
    for person in people:
        given = choices(task.actions, person, splits, weights)
        exact.append(nearest_of_forests(views, task.actions, person, given))
        assert exact[-1] == pytest.approx(
            nearest_by_trying(accepts, task.actions, person, given), rel=1e-9
        )
    assert (found >= np.array(exact) - 1e-9).all()
    assert found.sum() <= 1.01 * np.sum(exact)


def test_the_mean_of_soft_votes_of_a_pool_of_forests(task: Task) -> None:
    base, *members = pool_of(GradientBoostingClassifier(n_estimators=15), task)
    pool, splits = ModelStack(members), splits_of([base, *members])
    people, weights = adverse(base, task), 1.0 / task.distance_scale
    assert splits is not None

    def votes(rows: Floats) -> Floats:
        return np.asarray(sigmoids(8.0 * (pool.probabilities(rows) - 0.5)).mean(axis=0))

    def accepts(rows: Floats, _: Integers | None = None) -> Booleans:
        return base.favourable(rows) & (votes(rows) >= 0.9)

    crossings = Crossings.of(splits, task.actions.rules)
    search = FeasibleSearch(
        task.actions, people, accepts, lambda rows, _: votes(rows), weights, crossings
    )
    found = search.lengths(search.nearest(starts(search, task, base), THOROUGH))
    exact = np.array(
        [
            nearest_by_trying(
                accepts, task.actions, person, choices(task.actions, person, splits, weights)
            )
            for person in people
        ]
    )
    there = np.isfinite(exact)
    assert there.sum() > 3
    np.testing.assert_array_equal(there, np.isfinite(found))
    assert (found >= exact - 1e-9)[there].all()
    assert found[there].sum() <= 1.01 * exact[there].sum()


def test_all_of_a_pool_of_networks() -> None:
    task = loans_task(most_changes=2)
    recipes = [TrainingRecipe(initialisation_seed=seed, hidden=(6,)) for seed in range(MEMBERS)]
    stack = train(recipes, TrainingData.of(task)).stack
    networks = list(stack)
    people, weights = adverse(networks[0], task), 1.0 / task.distance_scale
    search = FeasibleSearch(
        task.actions,
        people,
        lambda rows, _: stack.favourable(rows).all(axis=0),
        lambda rows, _: np.minimum(stack.logits(rows), 0.0).mean(axis=0),
        weights,
    )
    rows = search.nearest(starts(search, task, networks[0]), THOROUGH)
    assert NetworkStack.of(networks).favourable(rows).all()
    exact = [nearest_of_networks(networks, task.actions, person, weights) for person in people]
    found = search.lengths(rows)
    assert (found >= np.array(exact) - 1e-6).all()
    assert found.sum() <= 1.01 * np.sum(exact)
    # Without one of them, somebody is nearer.
    fewer = [nearest_of_networks(networks[:2], task.actions, p, weights) for p in people]
    assert (np.array(fewer) <= np.array(exact) + 1e-6).all()
    assert (np.array(fewer) < np.array(exact) - 1e-3).any()
