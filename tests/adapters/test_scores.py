from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shipped
from changeproof import InputError, Task, read_counterfactuals
from changeproof.adapters.scores import ScoreTable
from changeproof.datasets.threshold import Threshold


@pytest.fixture(scope="module")
def told(frame: pd.DataFrame) -> pd.DataFrame:
    return shipped.letters(frame, shipped.current(frame), people=6)


@pytest.fixture(scope="module")
def given(told: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"id": told["id"], "score": [0.1, 0.4, 0.5, 0.6, 0.9, 0.2]})


def test_scores_are_those_of_the_letters_and_of_nothing_else(
    task: Task, told: pd.DataFrame, given: pd.DataFrame
) -> None:
    letters = read_counterfactuals(told, task)
    table = ScoreTable.read(given.sample(frac=1.0, random_state=1), "house", None)
    model = table.of_letters(task, letters).model(task, None)
    rows = letters.filter(like="counterfactual:").to_numpy(float)
    np.testing.assert_array_equal(model.scores(rows), given["score"])
    np.testing.assert_array_equal(model.favourable(rows), given["score"] >= 0.5)
    assert np.isnan(model.probabilities(task.rows("test"))).all()
    stricter = table.of_letters(task, letters).model(task, Threshold(0.55))
    np.testing.assert_array_equal(stricter.favourable(rows), given["score"] >= 0.55)
    assert (
        table.of_letters(task, letters).digest
        != ScoreTable.read(given.assign(score=0.3), "house", None).of_letters(task, letters).digest
    )


def test_other_scores_need_a_threshold(task: Task, told: pd.DataFrame, given: pd.DataFrame) -> None:
    letters = read_counterfactuals(told, task)
    points = ScoreTable.read(given.assign(score=given["score"] * 900), "house", None)
    table = points.of_letters(task, letters)
    with pytest.raises(InputError, match="the scores go from 90 to 810; say which are favourable"):
        table.model(task, None)
    rows = letters.filter(like="counterfactual:").to_numpy(float)
    accepted = table.model(task, Threshold(450.0)).favourable(rows)
    np.testing.assert_array_equal(accepted, given["score"] >= 0.5)


def test_files_and_indexes_will_do(
    task: Task, told: pd.DataFrame, given: pd.DataFrame, tmp_path: Path
) -> None:
    letters = read_counterfactuals(told, task)
    given.rename(columns={"id": "applicant", "score": "p"}).to_parquet(tmp_path / "s.parquet")
    tables = [
        ScoreTable.read(tmp_path / "s.parquet", "house", "applicant"),
        ScoreTable.read(given.set_index("id"), "house", None),
    ]
    assert len({table.of_letters(task, letters).digest for table in tables}) == 1


def test_letters_without_a_counterfactual_need_no_score(
    task: Task, told: pd.DataFrame, given: pd.DataFrame
) -> None:
    silent = told.copy()
    silent.iloc[0, 1:] = np.nan
    letters = read_counterfactuals(silent, task)
    assert len(ScoreTable.read(given[1:], "house", None).of_letters(task, letters).known) == 5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.drop(columns="id"), "no column has the ids of people; expected id or"),
        (lambda t: t.rename(columns={"score": "a"}).assign(b=1), "no column has the scores"),
        (lambda t: t.assign(score=["?", *t["score"][1:]]), r"row 1 has the score '\?'; expected a"),
        (lambda t: t.assign(id=["X1", *t["id"][1:]]), r"id X1 \(row 1\) is not in task 'data'"),
        (lambda t: t[2:], "2 people have a letter, but no score: A"),
        (lambda t: pd.concat([t, t[:1]]), "appears twice, in rows 1 and 7"),
    ],
)
def test_what_is_wrong_with_scores_is_said_in_one_line(
    task: Task, told: pd.DataFrame, given: pd.DataFrame, change: object, reason: str
) -> None:
    letters = read_counterfactuals(told, task)
    with pytest.raises(InputError, match=reason) as refused:
        ScoreTable.read(change(given), "house", None).of_letters(task, letters)  # type: ignore[operator]
    assert "\n" not in str(refused.value)


def test_scores_of_people_without_a_letter_are_refused(
    frame: pd.DataFrame, task: Task, told: pd.DataFrame, given: pd.DataFrame
) -> None:
    letters = read_counterfactuals(told, task)
    stranger = next(name for name in frame["applicant"] if name not in set(told["id"]))
    more = pd.concat([given, pd.DataFrame({"id": [stranger], "score": [0.5]})])
    with pytest.raises(InputError, match=f"1 person has a score, but no letter: {stranger}"):
        ScoreTable.read(more, "house", None).of_letters(task, letters)


def test_one_row_has_one_score(task: Task, told: pd.DataFrame, given: pd.DataFrame) -> None:
    alike = told.copy()
    alike.iloc[1, 1:] = alike.iloc[0, 1:]
    letters = read_counterfactuals(alike, task)
    with pytest.raises(InputError, match="says the same as another, but has another score"):
        ScoreTable.read(given, "house", None).of_letters(task, letters)
