from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from changeproof import (
    BaseModel,
    EstimatorLearner,
    Family,
    Learner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    Variant,
    get_family,
    own_task,
)
from changeproof.changes.bank import models_of
from loans import loans


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(loans(200), target="approved", favourable="yes", id_column="applicant")


def base_of(learner: Learner, task: Task) -> BaseModel:
    recipe = TrainingRecipe(initialisation_seed=2026)
    return BaseModel(2026, learner.train([recipe], task)[0])


def described(family: Family, task: Task, learner: Learner) -> list[Variant]:
    return list(family.variants(task, base_of(learner, task), learner))


LEARNERS: list[Learner] = [NetworkLearner((8,)), EstimatorLearner(LogisticRegression())]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_model_without_a_feature_does_not_react_to_it(learner: Learner, task: Task) -> None:
    variants = described(get_family("feature-change(kinds='dropped')"), task, learner)
    names = {feature.name: list(feature.columns) for feature in task.features}
    assert {variant.level for variant in variants} == {f"without {name}" for name in names}
    rows = task.rows("test")
    for variant, model in zip(variants[:5], models_of(variants[:5], task, learner), strict=True):
        columns = names[variant.level.removeprefix("without ")]
        other = rows.copy()
        other[:, columns] = np.random.default_rng(0).normal(size=(len(rows), len(columns)))
        np.testing.assert_array_equal(model.probabilities(other), model.probabilities(rows))
        moved = other.copy()
        moved[:, [c for c in range(task.n_features) if c not in columns]] += 1.0
        assert (model.probabilities(moved) != model.probabilities(rows)).any()
        assert isinstance(model, Network) == isinstance(learner, NetworkLearner)


def test_a_category_goes_as_a_whole(task: Task) -> None:
    learner = NetworkLearner((8,))
    variants = described(get_family("feature-change(kinds='dropped')"), task, learner)
    (variant,) = [v for v in variants if v.level == "without purpose" and v.replicate == 0]
    held: Any = variant.task
    (feature,) = [feature for feature in task.features if feature.name == "purpose"]
    assert len(feature.columns) == 3
    for part in ("train", "update", "validation", "test"):
        assert not held.rows(part)[:, list(feature.columns)].any()
        others = [c for c in range(task.n_features) if c not in feature.columns]
        np.testing.assert_array_equal(held.rows(part)[:, others], task.rows(part)[:, others])
    # What was held at zero has learned nothing.
    trained: Any = learner.train([variant.change], held)[0]  # type: ignore[list-item]
    start = Network.initialised(task.n_features, (8,), 2026)
    columns = list(feature.columns)
    np.testing.assert_array_equal(trained.weights[0][:, columns], start.weights[0][:, columns])


def test_a_widened_model_is_that_made_by_hand(small_task: Task) -> None:
    learner = EstimatorLearner(LogisticRegression())
    variants = described(get_family("feature-change(kinds=('added',))"), small_task, learner)
    assert len({variant.level for variant in variants}) == 15
    found = {variant.level: variant for variant in variants}
    train, test = small_task.rows("train"), small_task.rows("test")
    for level, one, other in (("with a squared", 0, 0), ("with b times d", 1, 3)):
        (model,) = models_of([found[level]], small_task, learner)
        scaler = StandardScaler().fit((train[:, one] * train[:, other])[:, None])
        by_hand = LogisticRegression().fit(
            np.hstack([train, scaler.transform((train[:, one] * train[:, other])[:, None])]),
            small_task.labels_of("train"),
        )
        wide = np.hstack([test, scaler.transform((test[:, one] * test[:, other])[:, None])])
        expected = by_hand.predict_proba(wide)[:, 1]
        np.testing.assert_allclose(model.probabilities(test), expected, atol=1e-6)
        np.testing.assert_array_equal(model.favourable(test), model.probabilities(test) >= 0.5)


def test_a_network_begins_with_the_weights_that_it_had(small_task: Task) -> None:
    learner = NetworkLearner((8,))
    variants = described(get_family("feature-change(kinds='added')"), small_task, learner)
    start = Network.initialised(5, (8,), 2026)
    firsts = [variant for variant in variants if variant.replicate == 0]
    assert len(firsts) == 15
    for variant in firsts:
        begun: Any = variant.change.start  # type: ignore[union-attr]
        np.testing.assert_array_equal(begun.weights[0][:, :5], start.weights[0])
        np.testing.assert_array_equal(begun.weights[1], start.weights[1])
    (model,) = models_of(firsts[:1], small_task, learner)
    trained: Any = model.model  # type: ignore[attr-defined]
    assert trained.n_features == 6
    # From the second round on seeds are new, and with them the weights.
    again = variants[15]
    assert (again.level, again.replicate) == (variants[0].level, 1)
    assert again.change.start is None  # type: ignore[union-attr]
    assert again.change.initialisation_seed > 2026 + 350_000  # type: ignore[union-attr]


def test_products_of_categories_come_last_and_constants_never() -> None:
    table = loans(120)[["income", "purpose", "approved"]].assign(same=7)
    task = own_task(table, target="approved", favourable="yes")
    found = described(get_family("feature-change(replicates=9)"), task, NetworkLearner((4,)))
    levels = [variant.level for variant in found if variant.replicate == 0]
    assert set(levels[:2]) == {"without income", "without purpose"}
    assert levels[2] == "with income squared"
    assert set(levels[3:]) == {
        f"with income times purpose={kind}" for kind in ("car", "house", "study")
    }


def test_models_that_take_features_by_name_lose_some_but_see_no_others(small_task: Task) -> None:
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b", "c", "d", "e"])), LogisticRegression()
    )
    learner = EstimatorLearner(pipeline)
    family = get_family("feature-change")
    assert family.reason_against(learner) is None
    variants = described(family, small_task, learner)
    assert all(variant.level.startswith("without") for variant in variants)
    (model,) = models_of(variants[:1], small_task, learner)
    column = small_task.feature_names.index(variants[0].level.removeprefix("without "))
    rows = small_task.rows("test")
    other = rows.copy()
    other[:, column] += 3.0
    np.testing.assert_array_equal(model.probabilities(rows), model.probabilities(other))
    assert get_family("feature-change(kinds='added')").reason_against(learner) == (
        "LogisticRegression takes the features by name and would not see an added one"
    )


def test_the_only_feature_is_not_dropped() -> None:
    frame = pd.DataFrame({"x": np.arange(80.0)})
    task = Task("line", frame, np.arange(80) >= 40)
    found = described(get_family("feature-change(replicates=3)"), task, NetworkLearner((4,)))
    assert [variant.level for variant in found] == ["with x squared"] * 3
