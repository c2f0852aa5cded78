from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import shipped
from changeproof import InputError, Task, own_task
from changeproof.datasets.threshold import Threshold
from changeproof.model import Access
from changeproof.models.find import as_shipped, find_shipped, shipped_learner
from changeproof.models.learner import Learner
from changeproof.models.shipped import BASE_SEED, ShippedLearner
from changeproof.networks.training import TrainingRecipe, bootstrap_weights

BASE = TrainingRecipe(initialisation_seed=BASE_SEED)


@pytest.fixture(scope="module")
def today(frame: pd.DataFrame) -> Pipeline:
    return shipped.current(frame)


def numbers_only(frame: pd.DataFrame) -> Task:
    return own_task(frame.drop(columns=["purpose", "owner"]), **shipped.DATA)


def test_the_base_model_is_the_fitted_model_itself(
    frame: pd.DataFrame, task: Task, today: Pipeline
) -> None:
    learner = shipped_learner(today, task)
    model = learner.train([BASE], task)[0]
    people = frame.set_index("applicant").loc[task.ids.loc[task.row_ids("test")]]
    expected = today.predict_proba(people[shipped.FEATURES])[:, 1]
    np.testing.assert_array_equal(model.probabilities(task.rows("test")), expected)
    assert learner.name == "LogisticRegression" and learner.traits.only_seed == BASE_SEED


def test_changed_models_are_clones_that_are_fitted_again(task: Task, today: Pipeline) -> None:
    before = today.predict_proba(shipped.table()[shipped.FEATURES])
    learner = shipped_learner(today, task)
    weights = np.zeros(len(task.split.train) + len(task.split.update))
    weights[: len(task.split.train)] = bootstrap_weights(len(task.split.train), 1)
    recipe = TrainingRecipe(initialisation_seed=BASE_SEED, row_weights=weights)
    other = TrainingRecipe(initialisation_seed=BASE_SEED + 1)
    base, drawn, again = learner.train([BASE, recipe, other], task)  # type: ignore[misc]
    rows = task.rows("test")
    assert np.abs(base.probabilities(rows) - drawn.probabilities(rows)).max() > 0.01
    assert np.abs(base.probabilities(rows) - again.probabilities(rows)).max() > 0.001
    after = today.predict_proba(shipped.table()[shipped.FEATURES])
    np.testing.assert_array_equal(before, after)


def test_a_function_of_a_frame_cannot_be_fitted_again(task: Task) -> None:
    seen: list[pd.DataFrame] = []

    def points(people: pd.DataFrame) -> Any:
        seen.append(people)
        return 300 + people["income"] / 10 - 20 * people["debts"]

    learner = shipped_learner(points, task, threshold="560")
    model = learner.train([BASE], task)[0]
    rows = task.rows("test")
    frame = task.readable(rows)
    scores = 300 + frame["income"] / 10 - 20 * frame["debts"]
    np.testing.assert_array_equal(model.favourable(rows), scores >= 560)
    assert list(seen[0].columns) == shipped.FEATURES
    assert set(seen[0]["purpose"]) == {"car", "house", "study"}
    assert learner.traits.no_training == "points is used as it is and cannot be fitted again"
    with pytest.raises(InputError, match="cannot be fitted again"):
        learner.train([TrainingRecipe(initialisation_seed=7)], task)
    with pytest.raises(InputError, match="there is nothing to vary"):
        shipped_learner(points, task, replacements=["mlp"], threshold="560")


def test_a_learner_for_refits_says_nothing_of_the_model_itself(task: Task, today: Pipeline) -> None:
    learner = shipped_learner(today, task, refit="mlp:8")
    base, other = learner.train([BASE, TrainingRecipe(initialisation_seed=1)], task)  # type: ignore[misc]
    assert learner.traits.offers == base.offers == Access.LINEAR != other.offers
    assert not (learner.traits.storable or learner.traits.has_parameters)
    assert learner.traits.has_weights  # of a logistic regression
    assert "hidden" in learner.traits.follows


def test_a_threshold_of_scores_is_that_of_the_model_alone(task: Task) -> None:
    def points(rows: pd.DataFrame) -> Any:
        return rows["income"] / 10 - 20 * rows["debts"]

    learner = shipped_learner(points, task, threshold="240", refit="sklearn:LogisticRegression")
    base, refit = learner.train([BASE, TrainingRecipe(initialisation_seed=1)], task)  # type: ignore[misc]
    rows = task.rows("test")
    expected = points(task.readable(rows)) >= 240.0
    np.testing.assert_array_equal(base.favourable(rows), expected)
    # A probability is never that much, and would refuse everybody.
    np.testing.assert_array_equal(refit.favourable(rows), refit.probabilities(rows) >= 0.5)
    assert 0.5 < (refit.favourable(rows) == expected).mean() < 1.0
    assert not learner.traits.decides_at_half
    with pytest.raises(InputError, match="calls no test row of 'data' favourable"):
        shipped_learner(points, task, threshold="9999", refit="sklearn:LogisticRegression")


def test_a_score_without_probabilities_decides_by_itself(
    frame: pd.DataFrame,
) -> None:
    task = numbers_only(frame)
    numbers = frame[["income", "debts"]] / [1000, 1]
    refused = frame["approved"].map({"yes": "no", "no": "yes"})
    machine = LinearSVC(dual=False).fit(numbers, frame["approved"])
    mirrored = LinearSVC(dual=False).fit(numbers, refused)
    assert as_shipped(machine).fitted(task).gives_scores
    model, other = (as_shipped(each).model(task, Threshold(0.0)) for each in (machine, mirrored))
    rows = task.rows("test")
    frame = task.readable(rows)[["income", "debts"]]
    np.testing.assert_array_equal(model.favourable(rows), machine.predict(frame) == "yes")
    assert (other.favourable(rows) == (mirrored.predict(frame) == "yes")).all()
    own = as_shipped(machine).model(task, None)
    np.testing.assert_array_equal(own.favourable(rows), machine.predict(frame) == "yes")
    np.testing.assert_array_equal(own.probabilities(rows) >= 0.5, own.favourable(rows))


def test_the_favourable_outcome_is_found_as_in_the_data(frame: pd.DataFrame, task: Task) -> None:
    rows, numbers = task.rows("test"), frame[["income", "debts"]]
    counted = (frame["approved"] == "yes").astype(int)
    mirrored = frame["approved"].map({"yes": "accepted", "no": "another"})
    by_name = LogisticRegression().fit(numbers, frame["approved"])
    by_number = LogisticRegression().fit(numbers, counted)
    by_truth = LogisticRegression().fit(numbers, counted.astype(bool))
    shares = [as_shipped(m).model(task, None).probabilities(rows) for m in (by_name, by_number)]
    np.testing.assert_allclose(*shares, rtol=1e-6)
    assert as_shipped(by_truth).model(task, None).probabilities(rows).shape == (len(rows),)
    with pytest.raises(InputError, match="knows the outcomes accepted, another; expected yes"):
        as_shipped(LogisticRegression().fit(numbers, mirrored)).model(task, None)
    bad = own_task(frame.assign(approved=1 - counted), **shipped.DATA | {"favourable": 0})
    zero = LogisticRegression().fit(numbers, 1 - counted)
    np.testing.assert_allclose(
        as_shipped(zero).model(bad, None).probabilities(bad.rows("test")), shares[0], rtol=1e-6
    )


def test_columns_are_put_in_the_order_that_a_model_was_fitted_with(frame: pd.DataFrame) -> None:
    task = numbers_only(frame)
    rows = task.rows("test")
    swapped = LogisticRegression().fit(frame[["debts", "income"]], frame["approved"])
    expected = swapped.predict_proba(task.readable(rows)[["debts", "income"]])[:, 1]
    np.testing.assert_array_equal(
        as_shipped(swapped).model(task, None).probabilities(rows), expected
    )
    unnamed = LogisticRegression().fit(frame[["income", "debts"]].to_numpy(), frame["approved"])
    np.testing.assert_allclose(
        as_shipped(unnamed).model(task, None).probabilities(rows), expected, rtol=1e-4
    )


def test_what_does_not_fit_together_is_said_in_one_line(frame: pd.DataFrame, task: Task) -> None:
    with pytest.raises(InputError, match="is not fitted: it has no classes_"):
        as_shipped(LogisticRegression())
    with pytest.raises(InputError, match="cannot use dict as a fitted model"):
        as_shipped({})
    numbers = frame[["income", "debts"]]
    other = LogisticRegression().fit(numbers.rename(columns={"debts": "loans"}), frame["approved"])
    with pytest.raises(
        InputError, match="takes the columns income, loans; 'data' has no loans among its features"
    ):
        as_shipped(other).model(task, None)
    unnamed = LogisticRegression().fit(numbers.to_numpy(), frame["approved"])
    with pytest.raises(InputError, match="fitted on 2 columns without names"):
        as_shipped(unnamed).model(task, None)
    with pytest.raises(InputError, match=r"model broken could not judge .* ValueError: no"):

        def broken(people: pd.DataFrame) -> Any:
            raise ValueError("no")

        shipped_learner(broken, task)


@pytest.mark.parametrize(
    ("threshold", "reason"),
    [
        ("0.99999", "calls no test row of 'data' favourable: its scores go from"),
        ("1e-9", "calls every test row of 'data' favourable"),
        ("620", "gives probabilities; expected a number between 0 and 1"),
        ("<=0.2", "more is better"),
    ],
)
def test_a_threshold_that_nobody_can_be_on_the_other_side_of_is_refused(
    task: Task, today: Pipeline, threshold: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        shipped_learner(today, task, threshold=threshold)


def test_fitted_models_are_found_by_reference(tmp_path: Path) -> None:
    shipped.written(tmp_path)
    reference = f"pickle:{tmp_path / 'today.pkl'}"
    with pytest.raises(InputError, match="pass --unpickle-and-run-its-code"):
        find_shipped(reference)
    found = find_shipped(reference, unpickle=True)
    assert (found.name, found.reference) == ("today", reference)
    assert found.digest == find_shipped(reference, unpickle=True).digest
    for wrong in ("sklearn:LogisticRegression", "mlp", "pickle:", "scores:a.csv"):
        with pytest.raises(InputError, match="unknown fitted model"):
            find_shipped(wrong)
    with pytest.raises(InputError, match="cannot read model file"):
        find_shipped(f"onnx:{tmp_path / 'nothing.onnx'}")


def test_another_state_is_another_model(frame: pd.DataFrame, task: Task) -> None:
    first, second = shipped.current(frame), shipped.stricter(frame)
    marks = {
        as_shipped(first).digest,
        as_shipped(second).digest,
        as_shipped(shipped.current(frame)).digest,
    }
    assert len(marks) == 2
    learners: list[Learner] = [ShippedLearner(as_shipped(each), task) for each in (first, second)]
    assert learners[0].fingerprint != learners[1].fingerprint
