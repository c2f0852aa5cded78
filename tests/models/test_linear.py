from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import shipped
from changeproof import Access, Task, own_task
from changeproof.datasets.threshold import Threshold
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import as_shipped, shipped_learner
from changeproof.models.judging import EstimatorModel
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import TrainingRecipe

BASE = TrainingRecipe(initialisation_seed=2026)


def pipeline(final: Any, *numbers: Any, categories: Any = None) -> Pipeline:
    encoder = OneHotEncoder(sparse_output=False) if categories is None else categories
    columns = make_column_transformer(
        (make_pipeline(*numbers), ["income", "debts"]), (encoder, ["purpose", "owner"])
    )
    return make_pipeline(columns, final)


def fitted(estimator: Any, frame: pd.DataFrame, task: Task) -> EstimatorModel:
    estimator.fit(frame[shipped.FEATURES], frame["approved"])
    model = as_shipped(estimator).fitted(task)
    assert isinstance(model, EstimatorModel)
    return model


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of defaults of LogisticRegressionCV
@pytest.mark.parametrize(
    "estimator",
    [
        pipeline(LogisticRegression(), StandardScaler()),
        pipeline(LogisticRegression(), MinMaxScaler(), categories=OrdinalEncoder()),
        pipeline(LogisticRegression(max_iter=2000), "passthrough"),
        pipeline(LogisticRegression(), StandardScaler(), PCA(1)),
        pipeline(LogisticRegressionCV(Cs=3, cv=3), StandardScaler()),
        pipeline(LinearDiscriminantAnalysis(), StandardScaler()),
        pipeline(SGDClassifier(loss="log_loss", random_state=0), StandardScaler()),
        pipeline(SGDClassifier(random_state=0), StandardScaler()),
        pipeline(LinearSVC(), StandardScaler()),
        pipeline(RidgeClassifier(), StandardScaler()),
        pipeline(Perceptron(), StandardScaler()),
    ],
    ids=lambda estimator: " ".join(str(estimator[-1]).split()),
)
def test_coefficients_are_found_behind_scalers_and_encoders(
    estimator: Any, frame: pd.DataFrame, task: Task
) -> None:
    model = fitted(estimator, frame, task)
    assert model.offers is Access.LINEAR
    logits, gradients = model.logits_and_gradients(task.rows("test"))
    people = frame.set_index("applicant").loc[task.ids.loc[task.row_ids("test")]]
    expected = estimator.decision_function(people[shipped.FEATURES])
    np.testing.assert_allclose(logits, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(gradients, np.tile(model.coefficients, (len(logits), 1)))
    summed = task.rows("test") @ model.coefficients + model.intercept
    np.testing.assert_allclose(logits, summed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        pipeline(LogisticRegression(), KBinsDiscretizer(4)),
        pipeline(LogisticRegression(), StandardScaler(), PolynomialFeatures(2)),
        pipeline(LogisticRegression(), SplineTransformer()),
        pipeline(LogisticRegression(), FunctionTransformer(np.log1p), StandardScaler()),
        pipeline(LogisticRegression(), OneHotEncoder(handle_unknown="ignore")),
        pipeline(CalibratedClassifierCV(LogisticRegression()), StandardScaler()),
        pipeline(SGDClassifier(loss="modified_huber", random_state=0), StandardScaler()),
    ],
    ids=lambda estimator: " ".join(str(estimator).split())[:120],
)
def test_what_is_not_linear_does_not_say_so(
    estimator: Any, frame: pd.DataFrame, task: Task
) -> None:
    model = fitted(estimator, frame, task)
    assert model.offers is Access.PREDICTIONS
    assert shipped_learner(estimator, task).traits.offers is Access.PREDICTIONS
    assert EstimatorLearner(estimator).offers_on(task) is Access.PREDICTIONS


def test_a_model_whose_favourable_class_is_the_first_is_turned_round(task: Task) -> None:
    frame = shipped.table()
    plain = shipped.pipeline().fit(frame[shipped.FEATURES], frame["approved"])
    names = frame["approved"].map({"yes": "a yes", "no": "no"})
    turned = shipped.pipeline().fit(frame[shipped.FEATURES], names)
    named = shipped.task(frame)
    named.favourable_values = ("a yes",)
    one, other = as_shipped(plain).fitted(task), as_shipped(turned).fitted(named)
    assert isinstance(one, EstimatorModel) and isinstance(other, EstimatorModel)
    assert list(turned.classes_) == ["a yes", "no"]
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-6, atol=1e-9)
    assert one.intercept == pytest.approx(other.intercept, rel=1e-6)


@pytest.mark.parametrize("marked", [False, True])
def test_missing_values_are_part_of_a_linear_model(marked: bool) -> None:
    frame, generator = shipped.table(), np.random.default_rng(0)
    for column in ("income", "purpose"):
        frame[column] = frame[column].mask(generator.random(len(frame)) < 0.1)
    task = own_task(frame, missing="as-is", **shipped.DATA)
    assert sum(feature.missing is not None for feature in task.features) == 2
    none = SimpleImputer(strategy="constant", fill_value="none")
    numbers = (SimpleImputer(add_indicator=marked), StandardScaler())
    encoder = make_pipeline(none, OneHotEncoder())
    estimator = pipeline(LogisticRegression(), *numbers, categories=encoder)
    model = fitted(estimator, frame, task)
    assert model.offers is Access.LINEAR
    people = frame.set_index("applicant").loc[task.ids.loc[task.row_ids("test")]]
    assert people[["income", "purpose"]].isna().any().all()
    logits, _ = model.logits_and_gradients(task.rows("test"))
    expected = estimator.decision_function(people[shipped.FEATURES])
    np.testing.assert_allclose(logits, expected, rtol=1e-9, atol=1e-9)


def test_trained_here_the_coefficients_are_those_of_the_estimator(cancer: Task) -> None:
    learner = EstimatorLearner(LogisticRegression(max_iter=2000))
    assert learner.offers_on(cancer) is learner.traits.offers is Access.LINEAR
    model: Any = learner.train([BASE], cancer)[0]
    assert model.offers is Access.LINEAR
    np.testing.assert_array_equal(model.coefficients, model.estimator.coef_[0])
    assert model.intercept == model.estimator.intercept_[0]
    moved = learner.with_weights(model, [2.0 * learner.weights(model)[0]])
    np.testing.assert_array_equal(moved.coefficients, 2.0 * model.coefficients)  # type: ignore[attr-defined]


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_coefficients_point_at_the_favourable_outcome(scaler: Any, cancer: Task) -> None:
    given = make_pipeline(scaler, LogisticRegression(max_iter=2000))
    outcomes = np.where(cancer.labels_of("train") == 1, "granted", "refused")
    given.fit(cancer.table_rows(cancer.rows("train")), outcomes)
    task = cancer.replaced()
    task.favourable_values = ("granted",)
    learner = shipped_learner(given, task)
    for model in learner.train([BASE, TrainingRecipe(initialisation_seed=1)], task):  # type: ignore[attr-defined]
        assert list(model.estimator.classes_) == ["granted", "refused"]
        _check_agrees(model, task)


def test_a_pipeline_that_is_trained_here_is_linear_if_all_of_it_is(
    cancer: Task, task: Task
) -> None:
    plain = EstimatorLearner(make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=2000)))
    assert plain.offers_on(cancer) is Access.LINEAR
    bent = EstimatorLearner(make_pipeline(PolynomialFeatures(2), LogisticRegression()))
    assert bent.offers_on(task) is at_threshold(bent, "0.6").offers_on(task) is Access.PREDICTIONS
    columns = EstimatorLearner(shipped.pipeline())
    assert columns.traits.original and columns.offers_on(task) is Access.LINEAR
    model: Any = columns.train([BASE], task)[0]
    rows = task.rows("test")
    shares = 1 / (1 + np.exp(-model.logits_and_gradients(rows)[0]))
    np.testing.assert_allclose(shares, model.probabilities(rows), rtol=1e-9)


def test_what_an_estimator_cannot_be_is_known_before_training() -> None:
    for estimator in (
        CalibratedClassifierCV(LogisticRegression()),
        SGDClassifier(loss="modified_huber"),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LogisticRegression())),
    ):
        assert EstimatorLearner(estimator).traits.offers is Access.PREDICTIONS


@pytest.mark.parametrize("threshold", ["0.7", "0.3"])
def test_a_threshold_moves_the_intercept(threshold: str, task: Task, frame: pd.DataFrame) -> None:
    learner = shipped_learner(shipped.current(frame), task, threshold=threshold)
    assert learner.traits.offers is learner.offers_on(task) is Access.LINEAR
    model: Any = learner.train([BASE], task)[0]
    _check_agrees(model, task)


@pytest.mark.parametrize("threshold", ["0.4", "<=-0.4", "0"])
def test_scores_without_probabilities_are_linear_too(
    threshold: str, task: Task, frame: pd.DataFrame
) -> None:
    estimator = pipeline(LinearSVC(), StandardScaler())
    estimator.fit(frame[shipped.FEATURES], frame["approved"])
    source = as_shipped(estimator)
    _check_agrees(source.model(task, Threshold.of(threshold)), task)


def test_scores_that_look_like_probabilities_are_scores(task: Task, frame: pd.DataFrame) -> None:
    estimator = pipeline(RidgeClassifier(), StandardScaler())
    estimator.fit(frame[shipped.FEATURES], frame["approved"])
    final = estimator[-1]
    final.coef_, final.intercept_ = 0.05 * final.coef_, np.array([0.5])
    model = as_shipped(estimator).model(task, Threshold(0.5))
    scores = model.scores(task.rows("train"))  # type: ignore[attr-defined]
    assert 0 < scores.min() < scores.max() < 1
    _check_agrees(model, task)


def _check_agrees(model: Any, task: Task) -> None:
    """Compare logits and decisions, and take the shortest way to the boundary."""
    assert model.offers is Access.LINEAR
    rows = task.rows("test")
    logits, gradients = model.logits_and_gradients(rows)
    np.testing.assert_allclose(logits, rows @ model.coefficients + model.intercept, atol=1e-9)
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), model.probabilities(rows), atol=1e-9)
    np.testing.assert_array_equal(model.favourable(rows), logits >= 0)
    np.testing.assert_allclose(gradients, np.tile(model.coefficients, (len(rows), 1)))
