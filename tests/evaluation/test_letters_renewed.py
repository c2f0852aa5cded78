from __future__ import annotations

import numpy as np
import pandas as pd

import shipped
from answered import Answered
from changeproof import Context, Factuals, own_task
from changeproof.changes.successors import Successor
from changeproof.datasets.threshold import Threshold
from changeproof.evaluation.letters import renewals
from changeproof.methods.extension import KIND
from changeproof.methods.method import Method
from changeproof.models.find import as_shipped


def line(at: float) -> Successor:
    """Return a model that accepts who earns enough."""

    def earns(people: pd.DataFrame) -> pd.Series[float]:
        return people["income"]

    return Successor(as_shipped(earns), Threshold(at))


def to_the_line(context: Context, factuals: Factuals) -> np.ndarray:
    """Raise the first column until the model accepts: the shortest change there is."""
    rows = factuals.rows.copy()
    for row in rows:
        while not context.model.favourable(row[None])[0]:
            row[0] += 0.01
    return rows


def test_broken_letters_are_renewed_from_where_they_brought_people() -> None:
    frame = shipped.table()[["applicant", "income", "debts", "approved"]]
    actions = {"income": {"change": "increase"}, "debts": {"change": "none"}}
    task = own_task(frame, **shipped.DATA, actions=actions)
    people = task.encoded(pd.DataFrame({"income": [2000.0, 2000.0, 2000.0], "debts": [1, 2, 3]}))
    told = task.encoded(pd.DataFrame({"income": [2500.0, 2900.0, 2500.0], "debts": [1, 2, 3]}))
    valid = np.array([True, True, False])
    there = np.ones(3, bool)
    letters = Answered(people, told, there, valid, np.zeros((3, 0), bool)).answers
    method: Method = KIND.from_function(to_the_line, "to-the-line")()
    table = renewals(
        letters,
        {"easy": line(2400.0), "hard": line(2800.0)},
        method,
        task,
        2026,
        task.actions,
    )
    # Of the three, the second holds, and the third was never accepted.
    assert table["successor"].tolist() == ["hard"] and table["row_id"].tolist() == [0]
    assert table["outcome"].tolist() == ["found"] and table["base_valid"].all()
    renewed = table.filter(like="counterfactual:").to_numpy(float)
    income = task.readable(renewed)["income"][0]
    assert 2800.0 <= income < 2810.0
    np.testing.assert_array_equal(table.filter(like="factual:").iloc[:, :2], told[:1])


def test_rules_apply_from_the_letter_on() -> None:
    frame = shipped.table()[["applicant", "income", "debts", "approved"]]
    task = own_task(frame, **shipped.DATA, actions={"debts": {"change": "none"}})
    people = task.encoded(pd.DataFrame({"income": [2000.0], "debts": [4]}))
    told = task.encoded(pd.DataFrame({"income": [2000.0], "debts": [1]}))
    there = np.ones(1, bool)
    letters = Answered(people, told, there, there, np.zeros((1, 0), bool)).answers
    successors = {"next": line(2500.0)}
    table = renewals(letters, successors, get("kdtree"), task, 2026, task.actions)
    renewed = task.readable(table.filter(like="counterfactual:").to_numpy(float))
    assert table["base_valid"].all() and renewed["debts"].tolist() == [1]


def get(name: str) -> Method:
    from changeproof.methods import get_method

    return get_method(name)()
