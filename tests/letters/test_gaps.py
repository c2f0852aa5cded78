"""Letters to people with a gap: what stays a gap is a value, and the letter is tested like any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from changeproof import Task, evaluate, own_task, read_counterfactuals, write_letters
from changeproof.adapters.tables import EMPTY_IN_TABLE
from changeproof.methods.given import PREFIX
from loans import loans

FAMILIES = ["bootstrap(replicates=2)"]


def with_gaps() -> pd.DataFrame:
    """Return loans of which a third of debts and a third of purposes are unknown."""
    generator = np.random.default_rng(5)
    table = loans(300)
    table["debts"] = table["debts"].astype(float).mask(generator.random(300) < 0.35)
    table["purpose"] = table["purpose"].mask(generator.random(300) < 0.35)
    return table


def fitted(table: pd.DataFrame, outcomes: pd.Series[Any]) -> Pipeline:
    """Return a model of income, debts and purpose that takes gaps."""
    columns = ["income", "debts"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepared = ColumnTransformer([("as is", "passthrough", columns), ("one", encoder, ["purpose"])])
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    steps = [("prepared", prepared), ("model", model)]
    return Pipeline(steps).fit(table[[*columns, "purpose"]], outcomes)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return with_gaps()


@pytest.fixture(scope="module")
def today(table: pd.DataFrame) -> Pipeline:
    return fitted(table, table["approved"])


@pytest.fixture(scope="module")
def task(table: pd.DataFrame) -> Task:
    kept = table[["applicant", "income", "debts", "purpose", "approved"]]
    return own_task(
        kept, target="approved", favourable="yes", id_column="applicant", missing="as-is"
    )


def test_letters_to_people_with_a_gap_are_tested_as_a_hand_would(
    table: pd.DataFrame, today: Pipeline, task: Task, tmp_path: Path
) -> None:
    audit = evaluate(
        task, today, ["nearest-row"], FAMILIES, factuals=25, out=tmp_path / "audit", jobs=1
    )
    folder = tmp_path / "letters"
    write_letters(audit, folder, pdf=False)
    sent = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    told = {each["person"]: each["ways"][0]["row"] for each in sent if each["ways"]}
    gaps = {person for person, row in told.items() if None in row.values()}
    assert len(gaps) >= 5
    strict = np.where(table["income"] - 300 * table["debts"].fillna(3) > 3200, "yes", "no")
    successor = fitted(table, pd.Series(strict))
    later = evaluate(
        task,
        today,
        [],
        FAMILIES,
        counterfactuals={"letters": folder},
        successors={"next": successor},
        jobs=1,
    )
    found = later.table("letters").set_index("id")
    assert set(found.index[found["verdict"] != "not tested"]) == set(told)
    rows = pd.DataFrame(told.values(), index=list(told))
    rows["debts"] = rows["debts"].astype(float)
    assert (today.predict(rows) == "yes").all()
    accepted = pd.Series(successor.predict(rows) == "yes", index=rows.index)
    assert (found.loc[rows.index, "verdict"] == np.where(accepted, "holds", "breaks")).all()
    assert not accepted[list(gaps)].all()


def test_a_gap_is_a_value_and_rules_say_whether_it_may_be_one(
    today: Pipeline, task: Task, table: pd.DataFrame
) -> None:
    """Of a row from elsewhere: a gap stays, and nobody's value becomes known or unknown."""
    decisions = today.predict(table[["income", "debts", "purpose"]]) == "no"
    refused = table[decisions & table["purpose"].notna()]
    gap, known = refused[refused["debts"].isna()].iloc[:2], refused[refused["debts"].notna()]
    given = pd.concat([gap, known.iloc[:3]])[["applicant", "income", "debts", "purpose"]]
    given = given.rename(columns={"applicant": "id"}).reset_index(drop=True)
    given["income"] = given["income"].max() + 100
    given.loc[1, "debts"], given.loc[2, "debts"] = 0.0, np.nan
    given.loc[4, ["income", "debts", "purpose"]] = np.nan
    read = read_counterfactuals(given, task)
    assert read["reason"].tolist() == ["", "", "", "", EMPTY_IN_TABLE]
    assert read.attrs["notes"] == ["1 of 5 rows have no counterfactual"]
    back = task.readable(read.filter(like=PREFIX).to_numpy()[:4])
    assert back["debts"].isna().tolist() == [True, False, True, False]
    answers = evaluate(task, today, [], FAMILIES, counterfactuals=given, jobs=1)
    outcomes = answers.counterfactuals(task.name, 2026, "given").outcomes.tolist()
    learnt, lost = "debts may not change", "debts may not become known or unknown"
    assert outcomes == ["found", learnt, lost, "found", EMPTY_IN_TABLE]


def test_a_gap_where_the_task_knows_none_is_no_counterfactual(table: pd.DataFrame) -> None:
    whole = table[["applicant", "income", "debts", "approved"]].dropna()
    task = own_task(whole, target="approved", favourable="yes", id_column="applicant")
    given = whole.drop(columns="approved").head(2).rename(columns={"applicant": "id"})
    given.iloc[0, 2] = np.nan
    assert read_counterfactuals(given, task)["reason"].tolist() == [
        "missing in the table: debts",
        "",
    ]
