"""An audit of a mixed table with constraints, small enough for every test that reads advice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof import Method, Results, evaluate
from changeproof.datasets.recourse import MOST_CHANGES
from changeproof.methods.method import Candidates, Factuals, People
from changeproof.model import Booleans, Floats
from loans import loans

LOGISTIC = "sklearn:LogisticRegression"
ACTIONS: dict[str, Any] = {
    "purpose": {"change": "none", "reason": "It is what the loan is for."},
    "age": {"change": "increase", "reason": "Nobody gets younger."},
    "savings": {"change": "increase", "order": ["none", "some", "much"]},
    "income": {"low": 0.0, "high": 9000.0},
}
RULES = "purpose may not change; age and savings may only increase; income stays between 0 and 9000"


class Younger(Method):
    """Tells everybody to be like somebody who was accepted, in part."""

    name = "younger"
    summary = "half of the way to the nearest who was accepted"

    def _search(self, factuals: Factuals) -> Candidates:
        rows = self.context.task.rows("train")
        accepted = rows[self.context.model.favourable(rows)]
        return Candidates(factuals.rows + 0.6 * (accepted[0] - factuals.rows))


class More(Method):
    """Tells everybody to have more of everything."""

    name = "more"
    summary = "more than half of the way to the most that anybody accepted has"

    def _search(self, factuals: Factuals) -> Candidates:
        rows = self.context.task.rows("train")
        most = rows[self.context.model.favourable(rows)].max(axis=0)
        return Candidates(factuals.rows + 0.6 * (most - factuals.rows))

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        changed = self.context.task.actions.changed(people.factuals, rows)
        return np.asarray(changed.sum(axis=1) > MOST_CHANGES)


def applicants(rows: int = 300) -> pd.DataFrame:
    """Return people with all kinds of features."""
    table = loans(rows)
    generator = np.random.default_rng(12)
    table.insert(1, "age", generator.integers(19, 75, rows))
    table.insert(2, "savings", generator.choice(["none", "some", "much"], rows))
    table.insert(3, "ratio", generator.uniform(0, 1, rows).round(3))
    return table


def unkind_tool(table: pd.DataFrame) -> pd.DataFrame:
    """Tell refused people to be like others: every second one keeps age and purpose."""
    refused = table[table["approved"] == "no"].head(12).reset_index(drop=True)
    approved = table[table["approved"] == "yes"].head(12).reset_index(drop=True)
    kept = ["age", "savings", "purpose"]
    told = approved.drop(columns="approved").assign(applicant=refused["applicant"])
    told.loc[::2, kept] = refused.loc[::2, kept]
    return told.rename(columns={"applicant": "id"})


def in_groups(results: Results, smallest: int = 3) -> Results:
    """Return the same run, asked for groups as well."""
    asked = {"by": ("owner", "purpose"), "smallest_group": smallest}
    plan = results.plan.model_copy(update=asked)
    return Results(results.folder, replace(results.manifest, plan=plan))


def advised(out: Path, *, feasible: bool = True, **more: Any) -> Results:
    """Audit advice of six sources to 12 people."""
    table = applicants()
    return evaluate(
        table,
        LOGISTIC,
        ["kdtree", "rbr", "robx-robust", Younger, More],
        ["bootstrap", "label-update"],
        out=out,
        counterfactuals={"unkind-tool": unkind_tool(table)},
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions=ACTIONS,
        feasible=feasible,
        jobs=1,
        **more,
    )
