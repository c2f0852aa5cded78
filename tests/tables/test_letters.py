from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import shipped
from changeproof.datasets.recourse import Wording
from changeproof.methods.answers import Counterfactuals
from changeproof.tables.letters import short_advice


def test_changes_are_told_in_the_units_of_the_data_the_largest_first() -> None:
    task = shipped.task(shipped.table())
    before = pd.DataFrame(
        {"income": [2000.5, 3000.0], "debts": [3, 1], "purpose": ["car"] * 2, "owner": ["no"] * 2}
    )
    after = before.assign(income=[2100.25, 3000.0], debts=[0, 1], purpose=["study", "car"])
    rows, others = task.encoded(before), task.encoded(after)
    found = np.array(["found", "found"])
    whole = np.ones(2)
    letters = Counterfactuals(np.arange(2), rows, others, found, whole > 0, whole, {})
    several, nothing = short_advice(Wording(task, feasible=True), letters)
    assert several == "debts from 3 to 0; purpose from car to study; income from 2000.50 to 2100.25"
    assert nothing == ""
    # Answers as published may have any number of digits.
    others[0, 0] += 1e-9
    assert "to 2100.3" in short_advice(Wording(task), letters)[0]
    none = replace(letters, outcomes=np.array(["no answer", "found"]))
    assert short_advice(Wording(task), none) == ["", ""]
