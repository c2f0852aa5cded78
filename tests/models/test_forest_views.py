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
        ((BOOSTING,), [0, 1, 2]),
        ((FOREST,), None),
        ((LogisticRegression(), BOOSTING, FOREST), [3, 4, 5]),
    ],
    ids=["small trees", "large trees", "several kinds"],
)
def test_a_stack_gives_what_its_models_give(
    estimators: tuple[Any, ...], together: list[int] | None, task: Task
) -> None:
    models = [model for each in estimators for model in trained(each, task, 3)]
    stack, rows = stacked(models), task.rows("test")
    assert isinstance(stack, ModelStack)
    assert (stack._forests.members if stack._forests is not None else None) == together
    expected = [model.estimator.predict_proba(rows)[:, 1] for model in models]
    np.testing.assert_array_equal(stack.probabilities(rows), expected)
    np.testing.assert_array_equal(stack.favourable(rows), np.array(expected) >= 0.5)
    np.testing.assert_array_equal(stack.part(1, 3).probabilities(rows), expected[1:3])


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
