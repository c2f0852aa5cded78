"""Further choices: other advice for the same person, tested like the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from changeproof import InputError
from changeproof.methods.alternatives import main_features
from changeproof.runs.pieces import first_choice, further_choice
from changeproof.runs.results import AnswerKey

METHODS = ["kdtree", "rbr", "quorum(members=6, judges=20, people=40)"]
MORE = {"families": ["bootstrap(replicates=3)"], "factuals": 15, "target": "ok"}


def table(n: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "income": draw.normal(3000, 700, n).round(),
            "savings": draw.integers(0, 50, n) * 100,
            "debts": draw.integers(0, 8, n),
            "home": draw.choice(["rent", "own", "family"], n),
        }
    )
    score = frame["income"] + 0.5 * frame["savings"] - 200 * frame["debts"]
    score = score + 300 * (frame["home"] == "own") + draw.normal(0, 100, n)
    return frame.assign(ok=np.where(score > 3800, "yes", "no"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> cp.Results:
    out = tmp_path_factory.mktemp("alternatives") / "run"
    return cp.evaluate(
        table(), "mlp", METHODS, favourable="yes", alternatives=3, out=out, jobs=1, **MORE
    )


def test_every_choice_leaves_the_main_features_of_those_before_alone(results: cp.Results) -> None:
    task = results.task("data")
    furthest = 0
    for key in results.answered:
        first, *further = (results.counterfactuals(*each) for each in results.choices(key))
        assert len(further) == 2
        kept = np.zeros((len(first), len(task.features)), bool)
        before = first
        for answers in further:
            # The obvious way: the feature with the largest part of the distance.
            for place in range(len(before)):
                if not before.base_valid[place]:
                    kept[place] = True
                    continue
                moved = before.rows[place] - before.factuals[place]
                parts = [
                    sum(abs(moved[c]) * task.distance_weights[c] for c in f.columns)
                    for f in task.features
                ]
                kept[place, int(np.argmax(parts))] = True
            found = np.flatnonzero(answers.found)
            changed = task.actions.changed(answers.factuals[found], answers.rows[found])
            assert not (changed & kept[found]).any()
            assert task.actions.feasible(answers.factuals[found], answers.rows[found]).all()
            assert not answers.found[kept.all(axis=1)].any()
            furthest += len(found)
            before = answers
    assert furthest > 20


def test_each_choice_is_tested_and_has_its_own_numbers(results: cp.Results) -> None:
    summary = results.table("alternatives").set_index(["method", "choice"])
    for key in results.answered:
        for number, each in enumerate(results.choices(key), start=1):
            answers, survived = results.counterfactuals(*each), results.survived(*each)
            valid = answers.base_valid
            row = summary.loc[(key.method, number)]
            assert row["people"] == valid.sum()
            if valid.any():
                assert row["empirical_robustness_mean"] == pytest.approx(
                    100 * survived[valid].mean()
                )
    people = results.table("people")
    assert set(map(first_choice, people["method"])) == set(results.methods)
    assert further_choice("kdtree", 3) in set(people["method"])
    # Averages are about first choices.
    assert set(results.table("full_results")["method"]) == set(results.methods)


def test_first_choices_are_those_of_a_run_without_others(
    results: cp.Results, tmp_path: Path
) -> None:
    alone = cp.evaluate(
        table(), "mlp", METHODS, favourable="yes", out=tmp_path / "alone", jobs=2, **MORE
    )
    for key in alone.answered:
        one, other = (each.counterfactuals(*key) for each in (alone, results))
        np.testing.assert_array_equal(one.rows, other.rows)
        assert alone.choices(key) == [key]
    assert "alternatives" not in alone.tables()


def test_quorum_calibrates_each_choice(results: cp.Results) -> None:
    key = AnswerKey("data", 2026, next(name for name in results.methods if "quorum" in name))
    estimates = [
        np.unique(results.counterfactuals(*each).diagnostics["estimated_share"].astype(float))
        for each in results.choices(key)
    ]
    assert all(len(each[np.isfinite(each)]) == 1 for each in estimates)


def test_people_read_the_other_choices(results: cp.Results) -> None:
    answers = results.counterfactuals("data", 2026, "kdtree #2")
    person = answers.row_ids[answers.found][0]
    found = cp.explain(results, person, "kdtree")
    assert found.alternatives
    assert found.alternatives[0].method == "kdtree #2"
    assert found.as_dict()["alternatives"][0]["advice"] == found.alternatives[0].advice
    told = {change.feature for change in found.changes}
    assert {change.feature for change in found.alternatives[0].changes} != told


def test_answers_as_published_have_no_other_choice() -> None:
    with pytest.raises(InputError, match="alternatives: 2 differ in what people leave alone"):
        cp.evaluate("diabetes", "mlp", ["kdtree"], alternatives=2)


def test_the_main_feature_counts_most_of_the_distance() -> None:
    task = cp.own_task(table(), target="ok", favourable="yes")
    own = task.rows("test")[:3].copy()
    told = own.copy()
    told[0, 0] += 5.0 * task.distance_scale[0]
    told[0, 1] += 1.0 * task.distance_scale[1]
    told[1] = np.nan
    told[2, 2] += task.distance_scale[2]
    found = main_features(task, own, told)
    np.testing.assert_array_equal(found[0], [True, False, False, False])
    np.testing.assert_array_equal(found[1], [True] * 4)
    np.testing.assert_array_equal(found[2], [False, False, True, False])
