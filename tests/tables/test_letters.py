from __future__ import annotations

import pandas as pd

import shipped
from changeproof.tables.letters import changes_in_words


def test_changes_are_told_in_the_units_of_the_data_the_largest_first() -> None:
    task = shipped.task(shipped.table())
    before = pd.DataFrame(
        {"income": [2000.5, 3000.0], "debts": [3, 1], "purpose": ["car"] * 2, "owner": ["no"] * 2}
    )
    after = before.assign(income=[2100.25, 3000.0], debts=[0, 1], purpose=["study", "car"])
    rows, others = task.encoded(before), task.encoded(after)
    several, nothing = changes_in_words(task, rows, others, realisable=True)
    assert several == "debts from 3 to 0; purpose from car to study; income from 2000.5 to 2100.25"
    assert nothing == ""
    # Answers as published may have any number of digits.
    others[0, 0] += 1e-9
    assert "to 2100.25" in changes_in_words(task, rows, others, realisable=False)[0]
