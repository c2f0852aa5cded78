from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from changeproof.datasets.task import Task
from changeproof.methods.method import Context, Factuals
from changeproof.methods.robx import RobXBalanced
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.forests import views
from changeproof.models.forests.kernels import STAYING
from changeproof.models.judging import EstimatorModel
from changeproof.models.learner import ModelStack, stacked
from changeproof.networks.training import TrainingRecipe
from forests import COLUMNS, frame, table

BOOSTING = GradientBoostingClassifier(n_estimators=20)
FOREST = RandomForestClassifier(20)


@pytest.fixture(scope="module")
def task() -> Task:
    rows, labels = table(0, n=1500, missing=False)
    return Task("numbers", frame(rows)[COLUMNS[:4]], labels)


def trained(estimator: Any, task: Task, count: int = 1) -> list[EstimatorModel]:
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(count)]
    models = EstimatorLearner(estimator).train(recipes, task)
    found = [models[place] for place in range(count)]
    assert all(isinstance(model, EstimatorModel) for model in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("estimator", [BOOSTING, FOREST], ids=["boosting", "forest"])
def test_a_forest_on_encoded_rows_gives_the_digits_of_the_library(
    estimator: Any, task: Task
) -> None:
    (model,) = trained(estimator, task)
    assert model.as_forest is not None
    for part in ("test", "train"):
        expected = model.estimator.predict_proba(task.rows(part))[:, 1]
        np.testing.assert_array_equal(model.probabilities(task.rows(part)), expected)
        np.testing.assert_array_equal(model.favourable(task.rows(part)), expected >= 0.5)
    assert model.probabilities(task.rows("test")[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("estimators", "together"),
    [
        ((BOOSTING,), [[0, 1, 2]]),
        ((FOREST,), [[0, 1, 2]]),
        ((LogisticRegression(), BOOSTING, FOREST), [[3, 4, 5], [6, 7, 8]]),
    ],
    ids=["small trees", "large trees", "several kinds"],
)
def test_a_stack_gives_what_its_models_give(
    estimators: tuple[Any, ...], together: list[list[int]], task: Task
) -> None:
    models = [model for each in estimators for model in trained(each, task, 3)]
    stack, rows = stacked(models), task.rows("test")
    assert isinstance(stack, ModelStack)
    assert [forests.members for forests in stack._forests] == together
    expected = np.array([model.estimator.predict_proba(rows)[:, 1] for model in models])
    np.testing.assert_array_equal(stack.probabilities(rows), expected)
    np.testing.assert_array_equal(stack.favourable(rows), expected >= 0.5)
    np.testing.assert_array_equal(stack.part(1, 3).probabilities(rows), expected[1:3])
    least = np.linspace(0.3, 0.7, len(models))
    np.testing.assert_array_equal(stack.reaches(rows, least), expected >= least[:, None])


def test_forests_with_too_many_nodes_are_evaluated_in_parts(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = trained(FOREST, task, 5)
    nodes = [sum(len(tree.left) for tree in model.as_forest.forest.trees) for model in models]
    monkeypatch.setattr(views, "MOST_NODES", max(nodes) * 5 // 2)
    stack, rows = ModelStack(models), task.rows("test")
    parts = [forests.members for forests in stack._forests]
    assert len(parts) >= 2 and all(len(part) > 1 for part in parts)
    expected = [model.estimator.predict_proba(rows)[:, 1] for model in models]
    np.testing.assert_array_equal(stack.probabilities(rows), expected)


def test_more_rows_than_stay_with_a_tree_are_judged_alike(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model,) = trained(FOREST, task)
    rows = np.tile(task.rows("train"), (1 + 2 * STAYING // len(task.split.train), 1))
    assert len(rows) > STAYING
    expected = model.estimator.predict_proba(rows)[:, 1]
    np.testing.assert_array_equal(model.probabilities(rows), expected)


@pytest.mark.parametrize("estimator", [BOOSTING, FOREST], ids=["boosting", "forest"])
def test_robx_answers_as_it_does_without_knowing_of_trees(
    estimator: Any, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, row_ids = task.rows("test"), task.row_ids("test")
    (model,) = trained(estimator, task)
    people = np.flatnonzero(~model.favourable(rows))[:6]
    asked = Factuals(row_ids[people], rows[people])
    context = Context(task, model, 0, actions=task.actions)
    method = RobXBalanced(samples=100).fit(context)
    found = method.generate(asked)
    assert np.isfinite(found.rows).all(axis=1).any()
    monkeypatch.setattr(EstimatorModel, "as_forest", None)
    plain = RobXBalanced(samples=100).fit(context)
    assert plain.threshold == method.threshold
    np.testing.assert_array_equal(plain.generate(asked).rows, found.rows)
    some = task.rows("train")[:20]
    np.testing.assert_array_equal(plain.stability(some), method.stability(some))
