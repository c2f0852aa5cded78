from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof.model import Floats
from changeproof.models.forests.forest import Forest
from changeproof.models.forests.reading import read_forest
from forests import CATEGORIES, CODED, frame, on_edges, table

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def xgboost(name: str = "XGBClassifier", **settings: Any) -> Any:
    library = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return getattr(library, name)(n_jobs=1, **{"n_estimators": 30} | settings)


def lightgbm(name: str = "LGBMClassifier", **settings: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    return getattr(library, name)(n_jobs=1, verbose=-1, **{"n_estimators": 30} | settings)


def catboost(name: str = "CatBoostClassifier", **settings: Any) -> Any:
    library = pytest.importorskip("catboost", reason="catboost is not installed")
    return getattr(library, name)(**QUIET, **{"iterations": 31} | settings)


def forest_of(model: Any) -> Forest:
    forest, reason = read_forest(model)
    assert forest is not None, reason
    return forest


def own_margins(model: Any, rows: Any) -> Floats:
    option: dict[str, Any] = {
        "xgboost": {"output_margin": True},
        "lightgbm": {"raw_score": True},
        "catboost": {"prediction_type": "RawFormulaVal"},
    }[type(model).__module__.partition(".")[0]]
    return np.asarray(model.predict(rows, **option), np.float64).reshape(len(rows), -1)


MODELS = {
    "xgboost": lambda: xgboost(),
    "xgboost with many leaves": lambda: xgboost(max_depth=9, n_estimators=10),
    "xgboost pruned": lambda: xgboost(tree_method="exact", gamma=1.0),
    "xgboost forest": lambda: xgboost("XGBRFClassifier"),
    "lightgbm": lambda: lightgbm(),
    "lightgbm with many leaves": lambda: lightgbm(num_leaves=100, boosting_type="dart"),
    "catboost": lambda: catboost(),
    "catboost leaf by leaf": lambda: catboost(grow_policy="Lossguide"),
    "catboost missing last": lambda: catboost(nan_mode="Max"),
}


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_digits_and_decisions_are_those_of_the_library(
    kind: str, classes: int, missing: bool
) -> None:
    model = MODELS[kind]().fit(*table(0, classes=classes, missing=missing))
    forest = forest_of(model)
    rows = on_edges(table(1, missing=missing)[0], forest, seed=2)
    np.testing.assert_array_equal(forest.margins(rows), own_margins(model, rows))
    few = np.concatenate([forest.margins(rows[k : k + 3]) for k in range(0, len(rows), 3)])
    np.testing.assert_array_equal(few, forest.margins(rows))
    np.testing.assert_array_equal(forest.classes(rows), np.ravel(model.predict(rows)))
    likely, found = model.predict_proba(rows), forest.probabilities(rows)
    if classes == 2:
        np.testing.assert_array_equal(found, likely)
    else:  # the last digit of an exponential
        np.testing.assert_allclose(found, likely, rtol=1e-6 if "xgboost" in kind else 1e-14)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda: xgboost(enable_categorical=True, max_cat_to_onehot=2),
        lambda: xgboost(enable_categorical=True, max_cat_to_onehot=20),
        lambda: lightgbm(min_data_per_group=5),
    ],
    ids=["xgboost sets", "xgboost one by one", "lightgbm"],
)
def test_categories_are_codes_in_the_order_that_the_forest_names(make: Any, classes: int) -> None:
    rows, labels = table(0, classes=classes)
    model = make().fit(frame(rows), labels)
    forest = forest_of(model)
    assert forest.sets
    assert forest.categories == {CODED: tuple(CATEGORIES)}
    asked, _ = table(1)
    np.testing.assert_array_equal(forest.margins(asked), own_margins(model, frame(asked)))
    np.testing.assert_array_equal(forest.classes(asked), model.predict(frame(asked)))


def test_rows_that_never_missed_a_value_in_training_take_a_missing_one_as_zero() -> None:
    model = lightgbm().fit(*table(0, missing=False))
    forest, (rows, _) = forest_of(model), table(1)
    np.testing.assert_array_equal(forest.margins(rows), own_margins(model, rows))
    # So do tiny numbers, whatever their sign.
    tiny = float(np.float32(1e-35))
    rows[::2] = np.random.default_rng(0).choice([tiny, -tiny, 0.0, 2 * tiny, -2 * tiny], (300, 6))
    np.testing.assert_array_equal(forest.margins(rows), own_margins(model, rows))


def test_the_mean_of_a_random_forest_of_lightgbm() -> None:
    options = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    rows, labels = table(0)
    model = lightgbm(**options).fit(rows, labels)
    np.testing.assert_array_equal(forest_of(model).probabilities(rows), model.predict_proba(rows))


def test_training_that_stopped_early_counts_up_to_the_best_round() -> None:
    (rows, labels), (others, answers) = table(0), table(1)
    settings: dict[str, Any] = {"n_estimators": 200, "learning_rate": 0.5}
    first = xgboost(**settings, early_stopping_rounds=5)
    first.fit(rows, labels, eval_set=[(others, answers)], verbose=False)
    second = lightgbm(**settings, early_stopping_round=5)
    second.fit(rows, labels, eval_X=others, eval_y=answers)
    for model in (first, second):
        forest = forest_of(model)
        assert len(forest.trees) < 200
        np.testing.assert_array_equal(forest.margins(rows), own_margins(model, rows))


@pytest.mark.parametrize(
    "make",
    [
        lambda: xgboost("XGBRegressor"),
        lambda: lightgbm("LGBMRegressor"),
        lambda: catboost("CatBoostRegressor"),
    ],
    ids=["xgboost", "lightgbm", "catboost"],
)
def test_numbers_of_regressions_are_those_of_the_library(make: Any) -> None:
    rows, labels = table(0)
    model = make().fit(rows, labels + np.nan_to_num(rows[:, 2]))
    found = forest_of(model).probabilities(rows)[:, 0]
    np.testing.assert_array_equal(found, model.predict(rows))


def test_what_cannot_be_read_says_why() -> None:
    rows, labels = table(0)
    for model, reason in (
        (xgboost(booster="dart"), "its booster is dart"),
        (xgboost(missing=0.0), "it takes 0.0 for a missing value"),
        (xgboost("XGBRegressor", objective="count:poisson"), "its objective is count:poisson"),
        (lightgbm(zero_as_missing=True), "it takes zeros for missing values"),
        (lightgbm("LGBMRegressor", linear_tree=True), "its leaves have linear models"),
        (lightgbm("LGBMRegressor", objective="poisson"), "its objective is poisson"),
    ):
        forest, said = read_forest(model.fit(rows, labels))
        assert forest is None
        assert said == f"{type(model).__name__} cannot be read: {reason}"


@pytest.mark.parametrize(
    ("one_hot", "reason"),
    [(10, "it compares hashes of categories"), (2, "it turns categories into statistics")],
)
def test_categories_of_catboost_are_not_read(one_hot: int, reason: str) -> None:
    rows, labels = table(0, missing=False)
    model = catboost(cat_features=["e"], one_hot_max_size=one_hot).fit(frame(rows), labels)
    forest, said = read_forest(model)
    assert forest is None
    assert reason in said


def test_a_catboost_model_with_a_threshold_of_its_own_is_not_read() -> None:
    model = catboost().fit(*table(0))
    model.set_probability_threshold(0.7)
    assert read_forest(model).reason.endswith("it decides at a probability of 0.7")


def test_a_lightgbm_model_that_does_not_name_its_categories_is_not_read() -> None:
    rows, labels = table(0)
    constant = frame(rows).assign(g=pd.Categorical(["same"] * len(rows)))
    reason = read_forest(lightgbm().fit(constant, labels)).reason
    assert reason.endswith("it does not say which columns have categories")
