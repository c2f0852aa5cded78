from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from changeproof.datasets.custom import own_task
from changeproof.datasets.task import Task
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.decimals import unscaled
from changeproof.methods.method import Context, Factuals
from changeproof.methods.robx import RobXBalanced
from changeproof.models import judging
from changeproof.models.estimator import ShippedEstimator
from changeproof.models.find import shipped_learner
from changeproof.models.judging import EstimatorModel
from changeproof.models.learner import ModelStack, splits_of
from changeproof.models.matrices import POWERS, Matrix, Transformed, _unscaled
from changeproof.networks.training import TrainingRecipe
from forests import CODED, COLUMNS, frame, table


def xgboost() -> Any:
    library = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return library.XGBClassifier(n_estimators=30, enable_categorical=True, n_jobs=1)


def lightgbm() -> Any:
    library = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    return library.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1)


def catboost() -> Any:
    library = pytest.importorskip("catboost", reason="catboost is not installed")
    return library.CatBoostClassifier(iterations=30, verbose=0, allow_writing_files=False)


def catboost_of_numbers() -> Any:
    library = pytest.importorskip("catboost", reason="catboost is not installed")
    return library.CatBoostRegressor(iterations=30, verbose=0, allow_writing_files=False)


# With categories and missing values, or numbers only.
MIXED: dict[str, Callable[[], Any]] = {
    "histograms": lambda: HistGradientBoostingClassifier(
        max_iter=30, categorical_features="from_dtype"
    ),
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "boosting": lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
    "forest": lambda: RandomForestClassifier(20, random_state=0),
    "catboost": catboost,
}


def by_column(encoder: Any, scaler: Any = None) -> Any:
    """Return what prepares the mixed table column by column."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler or StandardScaler())
    words = [COLUMNS[CODED]]
    return make_column_transformer(
        (numbers, COLUMNS[:3]), (encoder, words), remainder="passthrough"
    )


# Pipelines on the mixed table, and whether one compiled loop does what their transformers do.
PIPELINES: dict[str, tuple[Callable[[], Any], bool]] = {
    "one-hot": (
        lambda: make_pipeline(
            by_column(OneHotEncoder(handle_unknown="ignore")),
            HistGradientBoostingClassifier(max_iter=30),
        ),
        True,
    ),
    "ordinal": (
        lambda: make_pipeline(
            by_column(OrdinalEncoder(), MinMaxScaler()),
            HistGradientBoostingClassifier(max_iter=30, categorical_features=[3]),
        ),
        True,
    ),
    "sparse": (
        lambda: make_pipeline(
            by_column(OneHotEncoder(), RobustScaler()).set_params(sparse_threshold=1.0), lightgbm()
        ),
        True,
    ),
    "sparse, zeros are missing": (
        lambda: make_pipeline(
            by_column(OneHotEncoder()).set_params(sparse_threshold=1.0), xgboost()
        ),
        False,
    ),
    "named columns": (
        lambda: make_pipeline(
            by_column(OneHotEncoder(sparse_output=False)).set_output(transform="pandas"),
            SimpleImputer(),
            RandomForestClassifier(20, random_state=0),
        ),
        True,
    ),
    "categories in the middle": (
        lambda: make_pipeline(
            make_column_transformer(
                (SimpleImputer(), COLUMNS[:CODED]), remainder="passthrough"
            ).set_output(transform="pandas"),
            lightgbm(),
        ),
        True,
    ),
    "turned": (
        lambda: make_pipeline(
            by_column(OneHotEncoder(sparse_output=False)),
            SimpleImputer(),
            PCA(4, svd_solver="full"),
            GradientBoostingClassifier(n_estimators=20, random_state=0),
        ),
        False,
    ),
}


def applications(numbers: bool) -> pd.DataFrame:
    rows, labels = table(0, missing=not numbers)
    rows[:, 0] = np.round(10 * rows[:, 0])
    found = frame(np.round(rows, 2))
    found = found[COLUMNS[:4]] if numbers else found
    return found.assign(granted=labels)


def shipped(kind: str, favourable: str = "1") -> tuple[EstimatorModel, Task]:
    """Return a fitted model on the columns of a table, and the task."""
    data = applications(kind in NUMBERS)
    kinds = MIXED | NUMBERS | {name: make for name, (make, _) in PIPELINES.items()}
    fitted = kinds[kind]().fit(data.drop(columns="granted"), data["granted"])
    task = own_task(data, target="granted", favourable=favourable, missing="as-is")
    model = ShippedEstimator(fitted, kind, "object").fitted(task)
    assert isinstance(model, EstimatorModel)
    return model, task


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "read_estimator", lambda *_: None)


def moved(task: Task) -> Any:
    rows = task.rows("test")
    noise = np.random.default_rng(3).standard_normal(rows.shape)
    return np.concatenate([rows, rows + 0.1 * noise, rows + 2.0 * noise])


@pytest.mark.parametrize("favourable", ["0", "1"])
@pytest.mark.parametrize("kind", [*MIXED, *NUMBERS, *PIPELINES])
def test_a_fitted_forest_judges_rows_as_its_library_does(
    kind: str, favourable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, task = shipped(kind, favourable)
    rows = moved(task)
    found = model.probabilities(rows), model.scores(rows), model.favourable(rows)
    assert model.as_forest is not None
    unread(monkeypatch)
    plain, _ = shipped(kind, favourable)
    assert plain.as_forest is None
    expected = plain.probabilities(rows), plain.scores(rows), plain.favourable(rows)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 < found[2].sum() < len(rows)


@pytest.mark.parametrize("favourable", ["0", "1"])
@pytest.mark.parametrize("kind", ["histograms", "forest", "one-hot"])
def test_robx_answers_as_it_does_without_knowing_of_trees(
    kind: str, favourable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers() -> Any:
        model, task = shipped(kind, favourable)
        rows, row_ids = task.rows("test"), task.row_ids("test")
        people = np.flatnonzero(~model.favourable(rows))[:3]
        context = Context(task, model, 0, actions=task.actions)
        method = RobXBalanced(samples=50, max_steps=20).fit(context)
        assert (method._draws is None) == (model.as_forest is None)
        return method.generate(Factuals(row_ids[people], rows[people])).rows

    found = answers()
    assert np.isfinite(found).all(axis=1).any()
    unread(monkeypatch)
    np.testing.assert_array_equal(answers(), found)


@pytest.mark.parametrize("kind", PIPELINES)
def test_what_is_done_column_by_column_is_one_loop(kind: str) -> None:
    model, task = shipped(kind)
    assert model.as_forest is not None
    assert isinstance(model.as_forest.taken, Matrix if PIPELINES[kind][1] else Transformed)
    rows, before = moved(task), model.estimator[:-1]
    numbers = before.transform(model.inputs.taken(rows, task))
    if kind == "categories in the middle":
        place = numbers.columns.get_loc(f"remainder__{COLUMNS[CODED]}")
        codes = numbers.iloc[:, place].cat.codes.to_numpy(np.float64)
        numbers = numbers.assign(**{numbers.columns[place]: np.where(codes < 0, np.nan, codes)})
    if issparse(numbers):  # what is not stored is missing to XGBoost
        stored = numbers.tocoo()
        numbers = np.full(stored.shape, np.nan if kind.endswith("missing") else 0.0)
        numbers[stored.coords] = stored.data
    expected = np.asarray(numbers, np.float64)
    np.testing.assert_array_equal(model.as_forest.matrix(rows), expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomForestRegressor(20, random_state=0),
        lambda: make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=20)),
        lambda: catboost_of_numbers(),
    ],
    ids=["forest", "pipeline", "catboost"],
)
def test_a_forest_of_numbers_predicts_them_as_its_library_does(make: Callable[[], Any]) -> None:
    data = applications(numbers=True).drop(columns="granted")
    data["score"] = np.round(600 + 50 * data["a"] - 20 * data["b"])
    fitted = make().fit(data.drop(columns="score"), data["score"])
    task = own_task(data, target="score", favourable=">=620")
    source = ShippedEstimator(fitted, "numbers", "object")
    model, rows = source.fitted(task), moved(task)
    assert model.as_forest is not None and model.gives_scores
    expected = fitted.predict(model.inputs.taken(rows, task))
    np.testing.assert_array_equal(model.scores(rows), expected)
    accepted = source.model(task, source.decides_at(task, None)).favourable(rows)
    np.testing.assert_array_equal(accepted, expected >= 620)
    assert accepted.any() and not accepted.all()


@pytest.mark.parametrize("kind", ["histograms", "boosting", "ordinal"])
def test_refits_on_the_same_columns_are_evaluated_together(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, task = shipped(kind)
    learner = ShippedEstimator(model.estimator, kind, "object").refits(task)
    generator = np.random.default_rng(0)
    n_rows = len(task.split.train) + len(task.split.update)
    weights = [generator.integers(0, 3, n_rows).astype(float) for _ in range(3)]
    recipes = [TrainingRecipe(initialisation_seed=0, row_weights=each) for each in weights]
    stack, rows = learner.train(recipes, task), moved(task)
    assert isinstance(stack, ModelStack)
    # Of a pipeline, every refit has its own scale.
    together = [] if kind == "ordinal" else [[0, 1, 2]]
    assert [forests.members for forests in stack._forests] == together
    found = stack.probabilities(rows), stack.favourable(rows)
    unread(monkeypatch)
    plain = learner.train(recipes, task)
    np.testing.assert_array_equal(found[0], [each.probabilities(rows) for each in plain])
    np.testing.assert_array_equal(found[1], [each.favourable(rows) for each in plain])


@pytest.mark.parametrize("favourable", [">=620", "<=600", "500:700"])
def test_refits_of_numbers_are_evaluated_together(
    favourable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = applications(numbers=True).drop(columns="granted")
    data["score"] = np.round(600 + 50 * data["a"] - 20 * data["b"])
    fitted = GradientBoostingRegressor(n_estimators=20, subsample=0.5, random_state=0)
    fitted.fit(data.drop(columns="score"), data["score"])
    task = own_task(data, target="score", favourable=favourable)
    learner, rows = shipped_learner(fitted, task), moved(task)
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(3)]
    stack = learner.train(recipes, task)
    assert isinstance(stack, ModelStack)
    assert [forests.members for forests in stack._forests] == [[0, 1, 2]]
    found = stack.probabilities(rows), stack.favourable(rows)
    unread(monkeypatch)
    plain = learner.train(recipes, task)
    np.testing.assert_array_equal(found[0], [each.probabilities(rows) for each in plain])
    np.testing.assert_array_equal(found[1], [each.favourable(rows) for each in plain])
    assert found[1].any() and not found[1].all()


@pytest.mark.parametrize("kind", [*MIXED, *NUMBERS, "one-hot", "ordinal", "sparse"])
def test_between_two_splits_nothing_is_judged_otherwise(kind: str) -> None:
    model, task = shipped(kind)
    rules, splits = task.actions.rules, splits_of([model])
    assert splits is not None
    crossings = Crossings.of(splits, rules)
    for f, feature in enumerate(task.features):
        if feature.categories:
            continue
        column, step = feature.columns[0], rules.step[f]
        least, most = task.actions.data_range[0][column], task.actions.data_range[1][column]
        values = np.round(np.arange(np.rint(least / step), np.rint(most / step) + 1) * step, 2)
        start, end = crossings.first[f : f + 2]
        known = np.isin(values[:-1], crossings.below[start:end].round(2))
        changes = np.zeros(len(values) - 1, np.bool_)
        for row in task.rows("test")[:20]:
            rows = np.repeat(row[None], len(values), axis=0)
            rows[:, column] = (values - task.mean[column]) / task.scale[column]
            if feature.missing is not None:
                rows[:, feature.missing] = -task.mean[feature.missing]
                rows[:, feature.missing] /= task.scale[feature.missing]
            changes |= np.diff(model.probabilities(rows)) != 0.0
        assert changes.any()
        assert not (changes & ~known).any()
        assert known.mean() < 0.9


def test_the_splits_of_transformers_that_are_no_loop_are_not_known() -> None:
    model, _ = shipped("turned")
    assert model.as_forest is not None
    assert splits_of([model]) is None


def test_categories_that_a_move_may_change_are_found() -> None:
    model, task = shipped("histograms")
    assert model.as_forest is not None
    matrix, rows = model.as_forest.taken, task.rows("test")
    assert matrix is not None
    moves = 0.1 * np.random.default_rng(0).standard_normal((50, rows.shape[1]))
    assert matrix.stays(rows, moves).all()
    # Half way between two people, who mostly differ in their category or in what is missing.
    middle = 0.5 * (rows[:-1] + rows[1:])
    stays = matrix.stays(middle, moves)
    assert stays.any() and not stays.all()
    for row in middle[stays]:
        taken = matrix.of_rows(row + moves)
        coded = [place for place, move in enumerate(matrix.of_moves(moves).T) if not move.any()]
        np.testing.assert_array_equal(taken[:, coded], np.repeat(taken[:1, coded], 50, axis=0))
        np.testing.assert_array_equal(np.isnan(taken), np.repeat(np.isnan(taken[:1]), 50, axis=0))


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (37.4, 12.03), (-1e5, 1e3), (0.1, 1e-3)])
def test_numbers_are_those_that_people_read(mean: float, scale: float) -> None:
    generator = np.random.default_rng(1)
    told = [np.round(generator.normal(mean, scale, 200), decimals) for decimals in (0, 2, 5)]
    column = np.concatenate([(each - mean) / scale for each in told] + [generator.normal(size=200)])
    found = [_unscaled(value, mean, scale, POWERS) for value in column]
    np.testing.assert_array_equal(found, unscaled(column, mean, scale))
