from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import Task, own_task
from changeproof.report.constraints import broken, constraints, reasons, respected, rules, why

ACTIONS: dict[str, Any] = {
    "age": {"change": "increase", "reason": "Nobody gets younger."},
    "sex": {"change": "none", "reason": "It is not for sale"},
    "purpose": {"change": "none", "reason": "It is not for sale"},
    "income": {"low": 0.0, "high": 9000.0},
    "debts": {"change": "decrease", "low": 0},
    "ratio": {"step": 0.05, "reason": "Banks round."},
    "savings": {"order": ["none", "much"], "cost": 2.0, "reason": "Not a rule."},
}


def table() -> pd.DataFrame:
    generator = np.random.default_rng(8)
    n = 90
    return pd.DataFrame(
        {
            "age": generator.integers(18, 80, n),
            "sex": generator.choice(["f", "m"], n),
            "purpose": generator.choice(["car", "house", "study"], n),
            "income": generator.normal(3000, 500, n).round(2),
            "debts": generator.integers(0, 6, n),
            "ratio": generator.uniform(0, 1, n).round(2),
            "savings": generator.choice(["none", "much"], n),
            "other": generator.integers(0, 9, n),
            "approved": np.arange(n) % 2,
        }
    )


def task(actions: Any = None, most_changes: int | None = None) -> Task:
    given = ACTIONS if actions is None else actions
    more = {"actions": given, "most_changes": most_changes}
    return own_task(table(), target="approved", favourable=1, **more)


def test_rules_in_words() -> None:
    assert rules(task(most_changes=3)) == (
        "sex and purpose may not change; age may only increase; debts may only decrease; "
        "income stays between 0 and 9000; debts stays at 0 or more; "
        "ratio moves in whole steps of 0.05; at most 3 features change"
    )
    assert rules(task({}, 1)) == "at most 1 feature changes"
    assert rules(task({"income": {"high": 50, "step": 5.0}})) == (
        "income stays at 50 or less, in whole steps of 5"
    )
    assert rules(task({})) == ""


def test_constraints_and_reasons() -> None:
    found = {each.feature: each for each in constraints(task())}
    assert list(found) == ["age", "sex", "purpose", "income", "debts", "ratio"]
    assert found["income"]._asdict() == {
        "feature": "income",
        "change": "any",
        "low": 0,
        "high": 9000,
        "by": None,
        "step": None,
        "reason": "",
    }
    assert reasons(task()) == [
        ("age", "Nobody gets younger."),
        ("sex and purpose", "It is not for sale"),
        ("ratio", "Banks round."),
    ]
    assert why(reasons(task())[:2]) == (
        "age: Nobody gets younger. sex and purpose: It is not for sale."
    )


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, ""),
        ({"age": 50, "debts": 1, "ratio": 0.35, "savings": "much"}, ""),
        ({"age": 39.5}, "age may only increase"),
        ({"age": 40.5}, ""),  # nobody stated a step
        ({"sex": "m"}, "sex may not change"),
        ({"income": 9000.01}, "income leaves its range, 0 to 9000"),
        ({"ratio": 0.07}, "ratio is no whole step of 0.05"),
        ({"other": -50}, ""),  # nobody stated a range
        (
            {"age": 41, "debts": 1, "savings": "much", "income": 1.0},
            "more than 3 features change",
        ),
    ],
)
def test_what_is_broken_is_named(after: dict[str, Any], words: str) -> None:
    given = task(most_changes=4 if after.get("ratio") == 0.35 else 3)
    person = {"age": 40, "sex": "f", "purpose": "car", "income": 3000.0, "debts": 2}
    person |= {"ratio": 0.5, "savings": "none", "other": 3}
    rows = given.encoded(pd.DataFrame([person, person | after]))
    assert broken(given, rows[:1], rows[1:], np.array([0])) == [words]


def test_a_category_may_not_change_in_part_either() -> None:
    given = task()
    person = {"age": 40, "sex": "f", "purpose": "car", "income": 3000.0, "debts": 2}
    person |= {"ratio": 0.5, "savings": "none", "other": 3}
    others = [person, person | {"purpose": "study"}, person | {"savings": "much"}]
    rows = given.encoded(pd.DataFrame(others))
    partly = 0.7 * rows[:1] + 0.3 * rows[1:]
    # Savings are not constrained.
    expected = ["purpose may not change in part", ""]
    assert broken(given, rows[[0, 0]], partly, np.array([0, 0])) == expected


def test_whether_it_was_respected() -> None:
    assert respected("a may not change") == "Respected: a may not change."
    assert respected("a may not change", advised=False) == "Constraints: a may not change."
    said = respected("a may not change", breach="a may not change")
    assert said.startswith("Not respected: a may not change.")
    assert respected("") == ""
