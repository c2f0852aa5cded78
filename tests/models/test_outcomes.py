"""Models decide as their own `predict` does: ties, several classes, and ranges of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import changeproof as cp
from changeproof import InputError, Task, own_task
from changeproof.changes import get_family
from changeproof.datasets.altered import with_rows
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.datasets.threshold import Threshold
from changeproof.models.classes import favourable_share
from changeproof.models.estimator import ShippedEstimator
from changeproof.models.find import as_shipped, shipped_learner
from changeproof.models.learner import CountedRows
from changeproof.models.outcomes import takes_the_likeliest
from changeproof.models.recipes import own_labels
from changeproof.models.shipped import BASE_SEED
from changeproof.networks.training import TrainingRecipe
from models_people_have import check_on_the_model, table

SMALL: dict[str, Any] = {
    "methods": ["kdtree"],
    "families": [
        "bootstrap(replicates=1)",
        "label-update(replicates=1)",
        "followed-advice(replicates=1, updates=1)",
    ],
    "reasons": False,  # which ask a model as often as advice does
}
SCORES = ["income", "debt", "age"]
COLUMNS = [*SCORES, "home", "employed"]
DEPRECATED = "ignore:The `probability` parameter was deprecated:FutureWarning"
BASE = TrainingRecipe(initialisation_seed=BASE_SEED)


def graded() -> pd.DataFrame:
    """Return loans with three grades, of which the best is seldom likelier than the rest."""
    frame = table(500).drop(columns=["applied", "zip", "state", "sex"])
    generator = np.random.default_rng(3)
    score = frame["income"].fillna(30_000) / 15_000 - frame["debt"] / 6_000
    noisy = score + generator.normal(0, 1.5, len(frame))
    frame["points"] = (600 + 30 * score + generator.normal(0, 20, len(frame))).round()
    frame["outcome"] = np.select([noisy > 1.4, noisy > 0.2], ["good", "fair"], "bad")
    return frame


def pipeline(estimator: Any) -> Any:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), SCORES),
        (OneHotEncoder(handle_unknown="ignore"), ["home"]),
        ("passthrough", ["employed"]),
    )
    return make_pipeline(columns, estimator)


CLASSIFIERS = {
    "logistic regression": lambda: pipeline(LogisticRegression(max_iter=2000)),
    "random forest": lambda: pipeline(RandomForestClassifier(20, min_samples_leaf=10)),
    "support vectors": lambda: pipeline(SVC(probability=True, random_state=0)),
    "ridge": lambda: pipeline(RidgeClassifier()),
}


@pytest.mark.filterwarnings(DEPRECATED)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_of_three_classes_the_model_says_which_is_best(kind: str) -> None:
    frame = graded()
    model = CLASSIFIERS[kind]().fit(frame[COLUMNS], frame["outcome"])
    data = {"target": "outcome", "favourable": "good", "drop": ["points"]}
    results = cp.evaluate(frame, model, factuals=10, **SMALL, **data)
    checked = check_on_the_model(
        results, frame, lambda rows: model.predict(rows[COLUMNS]), ["good"]
    )
    assert checked >= 9
    if hasattr(model, "predict_proba"):
        accepted = model.predict(frame[COLUMNS]) == "good"
        shares = model.predict_proba(frame[COLUMNS])[accepted, list(model.classes_).index("good")]
        assert (shares < 0.5).sum() > 10


def test_boosted_trees_on_text_tell_three_classes_apart() -> None:
    frame = graded().drop(columns="points")
    typed = frame.astype({"home": "category"})
    model = HistGradientBoostingClassifier(max_iter=15).fit(typed[COLUMNS], typed["outcome"])

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(rows[COLUMNS].astype(typed[COLUMNS].dtypes))

    data: dict[str, Any] = {"target": "outcome", "favourable": ["good", "fair"]}
    results = cp.evaluate(frame, model, factuals=10, **SMALL, **data)
    assert check_on_the_model(results, frame, predict, ["good", "fair"]) >= 9


@pytest.mark.parametrize(
    ("regressor", "favourable"),
    [
        (LinearRegression(), ">=640"),
        (LinearRegression(), "<=590"),
        (RandomForestRegressor(20), "600:660"),
    ],
)
def test_a_regressor_is_judged_by_the_range_that_people_want(
    regressor: Any, favourable: str
) -> None:
    frame = graded()
    model = pipeline(regressor).fit(frame[COLUMNS], frame["points"])
    data = {"target": "points", "favourable": favourable, "drop": ["outcome"]}
    results = cp.evaluate(frame, model, factuals=10, **SMALL, **data)
    wanted = Threshold.of(favourable)

    def predict(rows: pd.DataFrame) -> Any:
        return wanted.accepts(model.predict(rows[COLUMNS]))

    assert check_on_the_model(results, frame, predict, [True]) >= 9


def two_classes(favourable: str = "paid") -> tuple[Task, pd.DataFrame]:
    frame = table()[[*SCORES, "outcome"]].dropna()
    return own_task(frame, target="outcome", favourable=favourable, taken=SCORES), frame


@pytest.mark.parametrize("favourable", ["paid", "defaulted"])
def test_ties_of_a_forest_are_decided_by_the_forest(favourable: str) -> None:
    task, frame = two_classes(favourable)
    train = frame.iloc[task.split.train]
    forest = RandomForestClassifier(10, random_state=0).fit(train[SCORES], train["outcome"])
    rows = task.standardise(task.frame)
    shares = forest.predict_proba(frame[SCORES])[:, list(forest.classes_).index(favourable)]
    accepted = forest.predict(frame[SCORES]) == favourable
    assert (shares == 0.5).sum() > 10
    assert accepted[shares == 0.5].all() == (favourable == "defaulted")
    model = as_shipped(forest).model(task, None)
    np.testing.assert_array_equal(model.favourable(rows), accepted)
    probabilities = model.probabilities(rows)
    np.testing.assert_array_equal(probabilities >= 0.5, accepted)
    np.testing.assert_array_equal(probabilities[shares != 0.5], shares[shares != 0.5])
    np.testing.assert_allclose(probabilities, shares, rtol=1e-15)


DECIDING = {
    "boosting": GradientBoostingClassifier(n_estimators=10),
    "support vectors": SVC(probability=True, random_state=0),
    "a tuned threshold": TunedThresholdClassifierCV(
        LogisticRegression(), scoring="balanced_accuracy", cv=3
    ),
    "no probabilities": RidgeClassifier(),
}


@pytest.mark.filterwarnings(DEPRECATED)
@pytest.mark.parametrize("kind", DECIDING)
def test_a_model_decides_as_its_own_predict_does(kind: str) -> None:
    task, frame = two_classes()
    fitted = make_pipeline(StandardScaler(), DECIDING[kind]).fit(frame[SCORES], frame["outcome"])
    rows = task.standardise(task.frame)
    accepted = fitted.predict(frame[SCORES]) == "paid"
    learner = shipped_learner(fitted, task)
    base, refit = learner.train([BASE, TrainingRecipe(initialisation_seed=1)], task)  # type: ignore[misc]
    np.testing.assert_array_equal(base.favourable(rows), accepted)
    np.testing.assert_array_equal(base.probabilities(rows) >= 0.5, accepted)
    assert (base.favourable(rows) != refit.favourable(rows)).mean() < 0.2
    if hasattr(fitted, "predict_proba"):
        at = as_shipped(fitted).model(task, Threshold(0.7))
        shares = fitted.predict_proba(frame[SCORES])[:, 1]
        np.testing.assert_array_equal(at.favourable(rows), shares >= 0.7)
    differs = accepted != (base.scores(rows) >= 0.5)  # type: ignore[attr-defined]
    assert differs.any() == (kind != "boosting")


class Lenient(LogisticRegression):
    """A classifier that accepts everybody, whatever its probabilities are."""

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[1])


def test_predict_is_asked_for_ties_only_where_that_is_enough() -> None:
    task, frame = two_classes()
    lenient = Lenient().fit(frame[SCORES], frame["outcome"])
    accepted = as_shipped(lenient).model(task, None).favourable(task.rows("test"))
    assert accepted.all()  # its author wrote `predict`
    plain = LogisticRegression().fit(frame[SCORES], frame["outcome"])
    assert takes_the_likeliest(plain) and takes_the_likeliest(make_pipeline(plain))
    assert not takes_the_likeliest(SVC(probability=True))
    assert not takes_the_likeliest(TunedThresholdClassifierCV(plain))


@given(arrays(np.float64, 20, elements=st.floats(0.0, 1.0)))
def test_of_two_classes_the_probability_is_the_same_to_the_bit(shares: Any) -> None:
    both = np.column_stack([1 - shares, shares])
    for place in (0, 1):
        probabilities, leads = favourable_share(both, [place])
        assert probabilities.tobytes() == both[:, [place]].sum(axis=1).tobytes()
        np.testing.assert_array_equal(leads, both[:, place] - both[:, 1 - place])


@given(arrays(np.float64, (20, 4), elements=st.floats(0.0, 1.0)))
def test_of_several_classes_the_log_odds_compare_the_best(shares: Any) -> None:
    probabilities, leads = favourable_share(shares, [1, 3])
    best, other = shares[:, [1, 3]].max(axis=1), shares[:, [0, 2]].max(axis=1)
    np.testing.assert_array_equal(leads, best - other)
    usual = (best > 1e-6) & (other > 1e-6)
    expected = 1 / (1 + np.exp(np.log(other[usual]) - np.log(best[usual])))
    np.testing.assert_allclose(probabilities[usual], expected, rtol=1e-9)
    assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all()
    assert (probabilities[(best == 0) & (other > 0)] == 0.0).all()


def three_classes() -> Task:
    frame = graded()[[*SCORES, "outcome"]].dropna()
    return own_task(frame, target="outcome", favourable="good", taken=SCORES)


def test_refits_tell_the_same_classes_apart() -> None:
    task = three_classes()
    assert task.outcomes is not None
    rows = task.rows("train")
    model = LogisticRegression(max_iter=2000)
    model.fit(task.table_rows(rows)[SCORES], task.outcomes_of("train"))
    learner = shipped_learner(make_pipeline(model), task)
    base, refit = learner.train([BASE, TrainingRecipe(initialisation_seed=1)], task)  # type: ignore[misc]
    assert list(refit.estimator.classes_) == ["bad", "fair", "good"]  # type: ignore[attr-defined]
    np.testing.assert_allclose(base.probabilities(rows), refit.probabilities(rows), rtol=1e-9)
    # A task that does not know the outcomes has two classes.
    plain = task.replaced(outcomes=None)
    learner = shipped_learner(make_pipeline(model), plain)
    refit = learner.train([TrainingRecipe(initialisation_seed=1)], plain)[0]
    assert list(refit.estimator.classes_) == [0, 1]  # type: ignore[attr-defined]


def test_a_changed_label_has_the_usual_outcome_of_its_side() -> None:
    task = three_classes()
    assert task.outcomes is not None
    own = own_labels(task)
    flipped = own.copy()
    flipped[:40] = 1 - flipped[:40]
    data = CountedRows.of(TrainingRecipe(initialisation_seed=1, labels=flipped), task)
    before = CountedRows.of(BASE, task).outcomes
    adverse = task.outcomes[task.split.train][own[: len(before)] == 0]
    usual = pd.Series(adverse).mode().iloc[0]
    assert (data.outcomes[40:] == before[40:]).all()
    assert (data.outcomes[:40] == np.where(flipped[:40] == 1, "good", usual)).all()
    more = with_rows(task, task.rows("test")[:3], 0)
    assert more.outcomes is not None and more.outcomes[-3:].tolist() == [usual] * 3
    assert more.favourable_values == ("good",)


def test_of_numbers_the_usual_outcome_is_one_of_its_side() -> None:
    frame = graded()[[*SCORES, "points"]].dropna()
    task = own_task(frame, target="points", favourable="600:640", taken=SCORES)
    wanted = task.favourable_range
    assert wanted is not None and str(wanted) == "600:640"
    np.testing.assert_array_equal(wanted.accepts(frame["points"].to_numpy()), task.labels == 1)
    for label in (0, 1):
        usual = task.usual_outcome(label)
        assert wanted.accepts(np.array([usual])) == [label == 1]
        assert usual in set(frame["points"])


@pytest.mark.parametrize(("target", "favourable"), [("outcome", "good"), ("points", "600:640")])
def test_outcomes_are_kept_with_the_task(target: str, favourable: str) -> None:
    frame = graded()[[*SCORES, target]].dropna()
    task = own_task(frame, target=target, favourable=favourable, taken=SCORES)
    again = task_from_bytes(task_to_bytes(task))
    assert task.outcomes is not None and again.outcomes is not None
    assert again.outcomes.dtype == task.outcomes.dtype
    assert again.outcomes.tolist() == task.outcomes.tolist()
    assert again.favourable_range == task.favourable_range
    assert again.fingerprint == task.fingerprint != task.replaced(outcomes=None).fingerprint
    two, _ = two_classes()
    assert two.outcomes is None


def test_a_classifier_may_tell_a_range_from_the_rest() -> None:
    frame = graded()[[*SCORES, "points"]].dropna()
    frame["grade"] = (frame["points"] // 40).astype(int)
    inside = frame["points"] >= 620
    by_range = own_task(frame.drop(columns="grade"), target="points", favourable=">=620")
    model = LogisticRegression(max_iter=2000).fit(frame[SCORES], inside)
    base = shipped_learner(model, by_range).train([BASE], by_range)[0]
    rows = by_range.standardise(by_range.frame)
    np.testing.assert_array_equal(base.favourable(rows), model.predict(frame[SCORES]))
    by_grade = own_task(frame.drop(columns="points"), target="grade", favourable=">=16")
    grader = RandomForestClassifier(20, random_state=0).fit(frame[SCORES], frame["grade"])
    learner = shipped_learner(grader, by_grade)
    base, refit = learner.train([BASE, TrainingRecipe(initialisation_seed=1)], by_grade)  # type: ignore[misc]
    rows = by_grade.standardise(by_grade.frame)
    np.testing.assert_array_equal(base.favourable(rows), grader.predict(frame[SCORES]) >= 16)
    assert set(refit.estimator.classes_) <= set(grader.classes_)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "favourable", "reason"),
    [
        ("outcome", ">=620", "'>=620' is a range of numbers, and the target 'outcome' holds '"),
        ("points", "640:600", "'640:600': 640:600 is an empty range; expected the lower number"),
        ("points", ">=9000", "'>=9000': no row is in that range; the target 'points' goes from"),
        ("points", "<=9000", "'<=9000': every row is in that range"),
        ("points", ">=much", "'>=much': threshold '>=much' is not a number"),
        ("points", "very good", "favourable 'very good' is not in the target 'points'"),
    ],
)
def test_ranges_that_cannot_be_are_refused(target: str, favourable: str, reason: str) -> None:
    frame = graded()[[*SCORES, target]].dropna()
    with pytest.raises(InputError, match=reason):
        own_task(frame, target=target, favourable=favourable)


def test_a_regressor_without_a_range_is_refused() -> None:
    task, frame = two_classes()
    paid = (frame["outcome"] == "paid").astype(float)
    model = LinearRegression().fit(frame[SCORES], paid)
    with pytest.raises(InputError, match="LinearRegression predicts numbers; say which are fav"):
        shipped_learner(model, task)
    # A threshold says it as well; but what the model was fitted on is not known.
    learner = shipped_learner(model, task, threshold="0.6")
    rows = task.standardise(task.frame)
    base = learner.train([BASE], task)[0]
    np.testing.assert_array_equal(base.favourable(rows), model.predict(frame[SCORES]) >= 0.6)
    assert learner.traits.no_training


def test_what_may_replace_a_regressor_is_not_known() -> None:
    frame = graded()[[*SCORES, "points"]].dropna()
    shares = frame.assign(points=(frame["points"] - frame["points"].min()) / 400)
    task = own_task(shares, target="points", favourable=">=0.5", taken=SCORES)
    model = RandomForestRegressor(5, random_state=0).fit(shares[SCORES], shares["points"])
    learner = shipped_learner(model, task)
    assert not learner.replacements() and learner.configurations()
    reason = get_family("architecture").reason_against(learner)
    assert reason is not None and reason.endswith("what could replace it gives probabilities")
    with pytest.raises(InputError, match="predicts numbers, and what may replace it gives prob"):
        shipped_learner(model, task, replacements=["mlp"])
    assert isinstance(as_shipped(model), ShippedEstimator)
