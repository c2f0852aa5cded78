"""Whatever is fitted is judged as it is, on the columns that it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import changeproof as cp
from changeproof import InputError, Results, own_task
from changeproof.models.find import is_fitted, load_model
from changeproof.models.shipped import ShippedModel
from models_people_have import COLUMNS, DATA, check_on_the_model, pipeline, table

SMALL: dict[str, Any] = {"methods": ["kdtree"], "families": ["bootstrap(replicates=2)"]}
# Reasons ask a model as often as advice does; the tests of what is judged fast look for them.
ADVICE = {**SMALL, "reasons": False}
CLASSIFIERS = {
    "logistic regression": lambda: pipeline(LogisticRegression(max_iter=2000)),
    "random forest": lambda: pipeline(RandomForestClassifier(30, random_state=0)),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def judged(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, Results]:
    """A fitted pipeline, its table, and advice on it."""
    frame = table()
    model = CLASSIFIERS[request.param]().fit(frame[COLUMNS], frame["outcome"])
    return model, frame, cp.evaluate(frame, model, factuals=40, by=["sex"], **ADVICE, **DATA)


def test_a_fitted_pipeline_judges_raw_columns_itself(
    judged: tuple[Any, pd.DataFrame, Results],
) -> None:
    model, frame, results = judged
    assert [feature.name for feature in results.task("data").features] == COLUMNS
    checked = check_on_the_model(
        results, frame, lambda rows: model.predict(rows[COLUMNS]), ["paid"]
    )
    assert checked >= 20
    changed = set(results.table("told")["feature"])
    assert changed and changed.isdisjoint({"applied", "zip", "sex"})
    assert results.plan.model.startswith("object:")


def test_gaps_stay_gaps_and_are_left_alone(judged: tuple[Any, pd.DataFrame, Results]) -> None:
    _, frame, results = judged
    task = own_task(frame, taken=COLUMNS, **DATA)
    pd.testing.assert_frame_equal(
        task.table_rows(task.standardise(task.frame)), frame[COLUMNS], check_names=False
    )
    answers = results.counterfactuals("data", 2026, "kdtree")
    own = frame.loc[answers.row_ids]
    rows = results.task("data").table_rows(answers.rows[answers.found])
    missing = own["income"].isna().to_numpy()[answers.found]
    assert missing.sum() >= 2
    np.testing.assert_array_equal(rows["income"].isna(), missing)


def test_whole_numbers_with_gaps_stay_whole() -> None:
    frame = pd.DataFrame({"children": [1.0, 2.0, np.nan, 3.0, 2.0, 1.0] * 40, "age": range(240)})
    frame["paid"] = np.where(frame["age"] % 7 > 2, "yes", "no")
    frame["part"] = ["train", "train", "train", "test", "update", "validation"] * 40
    taken = ["children", "age"]
    task = own_task(frame, target="paid", favourable="yes", split="part", taken=taken)
    assert frame["children"].iloc[task.split.train].median() == 1.5
    person, decimals = task.rows("test")[:1], task.rows("test")[:1].copy()
    decimals[0, task.features[0].columns[0]] -= 0.5 / task.scale[task.features[0].columns[0]]
    assert task.actions.feasible(person, person).all()
    assert not task.actions.feasible(person, decimals).any()


def test_boosted_trees_take_categories_and_gaps_as_they_are() -> None:
    frame = table().drop(columns=["applied", "zip"])
    columns = ["income", "debt", "age", "home", "state"]
    typed = frame.astype({"home": "category", "state": "category"})
    model = HistGradientBoostingClassifier(max_iter=30).fit(typed[columns], typed["outcome"])
    # From a file, categories come as text.
    results = cp.evaluate(frame, model, factuals=25, **SMALL, **DATA)

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(rows[columns].astype(typed[columns].dtypes))

    assert check_on_the_model(results, frame, predict, ["paid"]) >= 20


def test_what_is_not_fitted_is_trained_here() -> None:
    assert not is_fitted(LogisticRegression())
    assert not is_fitted(CLASSIFIERS["random forest"]())
    assert not is_fitted(lambda X, y, sample_weight, seed: None)
    assert is_fitted(lambda rows: rows)
    assert isinstance(load_model(lambda rows: rows), ShippedModel)


def test_a_model_that_cannot_be_fitted_again_may_be_given_a_learner() -> None:
    frame = table()
    model = pipeline(LogisticRegression(max_iter=2000)).fit(frame[COLUMNS], frame["outcome"])

    def score(rows: pd.DataFrame) -> Any:
        return model.predict_proba(rows[COLUMNS])[:, list(model.classes_).index("paid")]

    given = {**DATA, "drop": ["zip"], "factuals": 10}
    with pytest.raises(InputError, match="score is used as it is and cannot be fitted again"):
        cp.evaluate(frame, score, **SMALL, **given)
    results = cp.evaluate(frame, score, **ADVICE, refit="sklearn:LogisticRegression", **given)
    assert set(results.table("family_results")["family"]) == {*SMALL["families"]}
    assert check_on_the_model(results, frame, lambda rows: score(rows) >= 0.5, [True])
    with pytest.raises(InputError, match="refit 'mlp' is for a fitted model; mlp is trained here"):
        cp.evaluate("diabetes", "mlp", **SMALL, refit="mlp")


def test_a_table_without_a_column_of_the_model_is_refused() -> None:
    frame = table()
    model = pipeline(LogisticRegression(max_iter=2000)).fit(frame[COLUMNS], frame["outcome"])
    with pytest.raises(InputError, match=r"the model takes the columns income.*has no age: its"):
        cp.evaluate(frame.drop(columns="age"), model, **SMALL, **DATA)
    with pytest.raises(InputError, match="the model takes the column 'age', which cannot be"):
        cp.evaluate(frame, model, **SMALL, **DATA, drop=["age"])


def test_codes_that_are_numbers_reach_the_model_as_numbers(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    frame = pd.DataFrame({name: generator.integers(1, 5, 300) * 10 for name in ("job", "home")})
    frame["zone"] = generator.choice(["007", "01"], 300)
    score = (frame["job"] == 20) * 2 + (frame["home"] > 20) + (frame["zone"] == "01")
    frame["paid"] = np.where(score + generator.normal(0, 0.5, 300) > 1.5, "yes", "no")
    columns = ["job", "home", "zone"]
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.fit(frame[columns], frame["paid"])
    frame.to_csv(tmp_path / "codes.csv", index=False)
    data: dict[str, Any] = {"target": "paid", "favourable": "yes", "factuals": 10, "jobs": 1}
    results = cp.evaluate(tmp_path / "codes.csv", model, categorical=columns, **SMALL, **data)
    assert check_on_the_model(results, frame, lambda rows: model.predict(rows[columns]), ["yes"])
    # Taken for numbers, codes between those that it knows are asked about.
    plain = tmp_path / "plain.csv"
    frame[["job", "home", "paid"]].to_csv(plain, index=False)
    model.fit(frame[["job", "home"]], frame["paid"])
    with pytest.raises(InputError, match=r"unknown categor.*say `categorical=") as caught:
        cp.evaluate(plain, model, **SMALL, **data, out=tmp_path / "run")
    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_refits_are_by_something_that_can_be_trained() -> None:
    frame = table()
    model = pipeline(LogisticRegression(max_iter=2000)).fit(frame[COLUMNS], frame["outcome"])
    for given in ("pickle:today.pkl", "http://127.0.0.1:9/score", "xgboost:today.json"):
        with pytest.raises(InputError, match="is a fitted model; expected what can be trained"):
            cp.evaluate(frame, model, **SMALL, **DATA, refit=given)
