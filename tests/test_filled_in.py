"""What was filled in is never told as a fact, and never where advice starts from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import Results, build_tables, evaluate, explain
from changeproof.datasets.custom import own_task
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.datasets.recourse import Wording
from changeproof.datasets.task import Task
from changeproof.explanation import explanation_lines
from changeproof.report.page.write import build_bulk
from loans import loans

LOANS = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
METHODS = ["kdtree", "quorum(members=2, judges=4, people=8)", "apds"]


def gaps(rows: int = 240) -> pd.DataFrame:
    """Loans of which half of the incomes and a third of the purposes are missing."""
    table = loans(rows)
    table["income"] = table["income"].round(-1)
    table.loc[::2, "income"] = np.nan
    table.loc[::3, "purpose"] = None
    return table


def filled(missing: str = "impute") -> Task:
    return own_task(gaps(), missing=missing, **LOANS)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluated(tmp_path_factory.mktemp("told"), "impute")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluated(tmp_path_factory.mktemp("kept"), "impute-and-keep")


def evaluated(folder: Path, missing: str) -> Results:
    few = {"families": ["bootstrap(replicates=4)"], "factuals": 20, "jobs": 1, "publish": False}
    settings = {"methods": METHODS, "feasible": True, **few}
    return evaluate(gaps(), "mlp", out=folder, missing=missing, **settings, **LOANS)


def test_a_task_remembers_what_was_filled_in() -> None:
    task, table = filled(), gaps()
    assert task.filled is not None
    names = [feature.name for feature in task.features]
    expected = table[names].isna().to_numpy()
    np.testing.assert_array_equal(task.filled, expected)
    again = task_from_bytes(task_to_bytes(task))
    np.testing.assert_array_equal(again.filled, expected)
    assert again.fingerprint == task.fingerprint
    assert not again.keep_filled
    assert task_from_bytes(task_to_bytes(filled("impute-and-keep"))).keep_filled
    assert len({task.fingerprint, filled("impute-and-keep").fingerprint}) == 2
    whole = own_task(table.fillna({"income": 2900.0, "purpose": "car"}), **LOANS)
    assert whole.filled is None
    timed = own_task(gaps().assign(day=range(240)), missing="impute", time="day", **LOANS)
    np.testing.assert_array_equal(timed.over_time().filled, expected)


def test_a_value_that_a_letter_told_is_known() -> None:
    task = filled()
    rows, row_ids = task.rows("test"), task.row_ids("test")
    before = task.filled_of(row_ids, rows)
    assert before.any()
    moved = rows.copy()
    moved[:, 0] += 1.0
    after = task.filled_of(row_ids, moved)
    assert not after[:, 0].any()
    np.testing.assert_array_equal(after[:, 1:], before[:, 1:])
    assert not task.filled_of(row_ids + 10_000, rows).any()


def test_advice_names_the_goal() -> None:
    task = filled()
    row_id = int(next(row for row in task.frame.index if row % 6 == 0))
    before = task.standardise(task.frame.loc[[row_id]])
    value = task.frame.loc[row_id, "income"]

    def advice(income: float, purpose: str) -> list[str]:
        frame = task.readable(before).assign(income=income, purpose=purpose)
        changes = Wording(task, feasible=True).changes(before[0], task.encoded(frame)[0], row_id)
        # Letters say of what was filled in just what advice says.
        assert all(str(change) == change.short for change in changes)
        return sorted(map(str, changes))

    other = "car" if task.readable(before)["purpose"].item() != "car" else "house"
    assert advice(value + 100, other) == [
        f"income of at least {value + 100:.0f} (unknown now; tested at {value + 100:.0f})",
        f"purpose: {other} (unknown now)",
    ]
    (lower,) = advice(value - 100, task.readable(before)["purpose"].item())
    assert lower.startswith(f"income of at most {value - 100:.0f} (unknown")
    # Of somebody whose income is known, it is where advice starts.
    known = Wording(task, feasible=True).changes(before[0], before[0] + np.eye(1, 7)[0], 1)
    assert str(known[0]).startswith("Raise income from ")


def test_every_surface_marks_what_was_filled_in(told: Results) -> None:
    task, tables = told.task("data"), build_tables(told)
    people, changes = tables["people"], tables["told"]
    unknown = people["filled_in"].str.contains("income")
    assert 0 < unknown.sum() < len(people)
    starts = people["advice"].str.contains("income from")
    goals = people["advice"].str.contains("income of at least")
    assert not (starts & unknown).any()
    assert (goals <= unknown).all()
    assert goals.any()
    started = changes["filled_in"].astype(bool)
    assert (changes.loc[started, "before"] == "").all()
    assert (changes.loc[~started, "before"] != "").all()
    # In the terminal, in JSON and on the page.
    row = people[unknown & goals].iloc[0]
    answer = explain(told, row["id"], row["method"])
    value = answer.filled_in["income"]
    lines = "\n".join(explanation_lines(answer, task))
    assert f"income ({value} was filled in)" in lines
    assert f"income from {value}" not in lines
    assert answer.as_dict()["filled_in"]["income"] == value
    network = build_bulk(told)[0]["people"]["networks"][0]
    place = network["ids"].index(row["id"])
    assert 0 in network["filled"][place]


def test_a_setting_leaves_what_was_filled_in_alone(told: Results, kept: Results) -> None:
    task = kept.task("data")
    found = 0
    for key in kept.answered:
        answers = kept.counterfactuals(*key)
        unknown = task.filled_of(answers.row_ids, answers.factuals)
        changed = task.actions.changed(answers.factuals, answers.rows)
        assert not (changed & unknown)[answers.found].any()
        found += int((answers.base_valid & unknown.any(axis=1)).sum())
    assert found > 0
    # Of people of whom all is known, methods that learn nothing from others say the same.
    for key in (key for key in told.answered if key.method == "kdtree"):
        one, other = told.counterfactuals(*key), kept.counterfactuals(*key)
        known = ~task.filled_of(one.row_ids, one.factuals).any(axis=1)
        np.testing.assert_array_equal(one.rows[known], other.rows[known])


def test_whoever_is_outside_a_range_by_what_was_filled_in_is_told_so() -> None:
    actions = {"income": {"low": 4000.0, "high": 9000.0}}
    task = own_task(gaps(), missing="impute", actions=actions, **LOANS)
    rows, row_ids = task.rows("test"), task.row_ids("test")
    unknown = task.filled_of(row_ids, rows)
    for reason, mine in zip(task.actions.refusals(rows, unknown), unknown, strict=True):
        assert ("was filled in, outside" in reason) == bool(mine[0])
