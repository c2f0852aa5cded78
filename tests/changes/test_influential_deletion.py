from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from changeproof import (
    BaseModel,
    EstimatorLearner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    get_family,
)
from changeproof.changes.reweighting import influences


def logistic(rows: np.ndarray, labels: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=1e8, tol=1e-10, max_iter=1000).fit(rows, labels)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(80, 3))
    chances = 1 / (1 + np.exp(-(rows @ [1.0, -1.0, 0.5])))
    return rows, (generator.random(80) < chances).astype(np.int8)


def test_influence_is_near_to_leaving_each_row_out(data: tuple[np.ndarray, np.ndarray]) -> None:
    rows, labels = data
    model = logistic(rows, labels)
    said = model.predict_proba(rows)[:, 1]
    inputs = np.column_stack([np.ones(80), rows])
    information = (inputs * (said * (1 - said))[:, None]).T @ inputs
    coefficients = np.concatenate([model.intercept_, model.coef_[0]])
    exact = []
    for place in range(80):
        left = logistic(np.delete(rows, place, axis=0), np.delete(labels, place))
        moved = np.concatenate([left.intercept_, left.coef_[0]]) - coefficients
        exact.append(moved @ information @ moved)
    guessed = influences(rows, labels, said)
    assert spearmanr(exact, guessed).statistic > 0.99
    matter = exact > np.median(exact)
    np.testing.assert_allclose(guessed[matter], np.array(exact)[matter], rtol=0.5)


def test_a_planted_outlier_goes_first(data: tuple[np.ndarray, np.ndarray]) -> None:
    rows, labels = (array.copy() for array in data)
    rows[17], labels[17] = [6.0, -6.0, 3.0], 0
    said = logistic(rows, labels).predict_proba(rows)[:, 1]
    assert influences(rows, labels, said).argmax() == 17


def test_columns_that_add_up_and_models_that_are_sure_do_no_harm() -> None:
    kinds = np.eye(3)[np.arange(60) % 3]
    labels = (np.arange(60) % 2).astype(np.int8)
    found = influences(kinds, labels, labels.astype(float))
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_who_goes(small_task: Task, small_network: Network) -> None:
    labels, rows = small_task.labels_of("train"), small_task.rows("train")
    influence = influences(rows, labels, small_network.probabilities(rows))
    base = BaseModel(2026, small_network)
    found = get_family("influential-deletion").variants(small_task, base, NetworkLearner())
    for variant in found:
        gone = np.flatnonzero(np.asarray(variant.change.row_weights)[: len(rows)] == 0)  # type: ignore[union-attr]
        share, among = variant.level.split("% of ")
        eligible = {
            "all": np.arange(len(rows)),
            "favourable": np.flatnonzero(labels == 1),
            "adverse": np.flatnonzero(labels == 0),
        }[among]
        assert len(gone) == max(1, round(float(share) / 100 * len(eligible)))
        assert set(gone) <= set(eligible)
        most = eligible[np.argsort(-influence[eligible])][: len(gone)]
        if variant.replicate == 0:
            assert set(gone) == set(most) or share == "1"
        else:
            assert influence[gone].mean() > influence[eligible].mean() / 2
    drawn = [v for v in found if v.replicate]
    deleted = [np.asarray(v.change.row_weights)[: len(rows)] == 0 for v in drawn]  # type: ignore[union-attr]
    assert np.mean([influence[gone].mean() for gone in deleted]) > 1.5 * influence.mean()


def test_a_stranger_loses_its_outlier() -> None:
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(generator.normal(size=(200, 2)), columns=["a", "b"])
    labels = (frame["a"] > 0).astype(int)
    task = Task("plain", frame, labels)
    odd = task.split.train[5]
    frame.loc[odd, ["a", "b"]] = [8.0, 0.0]
    labels[odd] = 0
    task = Task("plain", frame, labels, task.split)
    learner = EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=1)], task)[0]
    first, *_ = get_family("influential-deletion").variants(task, BaseModel(1, model), learner)
    recipe = first.change
    assert np.flatnonzero(np.asarray(recipe.row_weights)[:100] == 0).tolist() == [5]  # type: ignore[union-attr]
