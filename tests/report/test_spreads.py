"""What ± and intervals are over is said beside them, and it is true."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from changeproof import Plan, Results, build_tables, evaluate
from changeproof.report.page.write import build_payload
from changeproof.report.scores import ONE_BASE, SAME_BASE, SEVERAL_BASES, covered
from changeproof.report.verdict import verdict
from changeproof.tables.display import BASES, SAME_BASES, spread_over
from changeproof.tables.registry import read_tables, readable_tables
from paged import answer

PAPER = Path(__file__).resolve().parents[2] / "results" / "paper"


@pytest.fixture(scope="module")
def without_seeds() -> Results:
    """Three base models that are all the same."""
    return evaluate(
        "diabetes",
        LogisticRegression(),
        ["kdtree", "rbr"],
        ["bootstrap(replicates=3)"],
        base_seeds=[1, 2, 3],
        factuals=10,
        jobs=1,
    )


def test_the_spread_of_one_model_with_several_seeds_is_over_draws(without_seeds: Results) -> None:
    tables = build_tables(without_seeds)
    assert tables[SAME_BASES].to_numpy().tolist() == [["diabetes", 3]]
    results = readable_tables(tables)[2]
    words = "mean ± standard deviation over draws of people and changed models, as all base models"
    assert results.name == "full_results" and words in results.title and words in results.caption
    assert all(
        "deviation over base models" not in table.caption for table in readable_tables(tables)
    )
    payload = build_payload(without_seeds, tables)
    assert [each.repeated for each in covered(tables, without_seeds.shown)] == [
        "draws of people and changed models"
    ]
    assert answer(payload)["meaning"] == [SAME_BASE.meaning]
    # Three draws of ten people say less than the interval over three numbers would make believe.
    people = tables["people_intervals"].set_index(["method", "family", "metric"])
    low, high = people.loc[("rbr", "all", "empirical_robustness"), ["low", "high"]]
    said = answer(payload)["answers"][0][0]["sentences"][1]
    assert f"(95 % interval over people: {low:.1f} to {high:.1f})" in said
    (found,) = verdict(without_seeds, tables).findings
    assert "13 of 30 people of 3 draws get" in found.sentence
    assert "95 % interval for people like these, from 23 of 3 draws: " in found.sentence


def test_the_spread_of_networks_is_over_base_models() -> None:
    tables = {path.stem: pd.read_csv(path) for path in PAPER.glob("*.csv")}
    printed = {table.name: table for table in readable_tables(tables)}
    assert "mean ± standard deviation over base models." in printed["full_results"].caption
    assert "people_intervals" not in printed
    assert covered(tables, Plan.preset("paper")) == [SEVERAL_BASES] * 4


def test_where_only_some_base_models_are_the_same_they_are_named() -> None:
    tables = {SAME_BASES: pd.DataFrame({"dataset": ["heloc"], "base_models": [3]})}
    assert spread_over(tables, ["diabetes"]) == BASES
    assert spread_over(tables, ["diabetes", "heloc"]) == (
        "base models; on HELOC, where all are the same, over draws of people and changed models"
    )


def test_with_one_base_model_intervals_are_over_people(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    assert SAME_BASES not in tables
    payload = build_payload(quick_run, tables)
    assert answer(payload)["meaning"] == [ONE_BASE.meaning] * 2
    first = answer(payload)["answers"][0][0]
    assert "(95 % interval over people: " in first["sentences"][first["order"][0]]
    (table,) = (each for each in readable_tables(tables) if each.name == "people_intervals")
    assert table.title == "95 % intervals over 25 people (rates in %, one base model)"
    expected = tables["people_intervals"].set_index(["dataset", "method", "family", "metric"])
    row = expected.loc[("diabetes", "rbr", "all", "empirical_robustness")]
    cells = next(row for row in dict(table.sections)["Diabetes"] if row[0] == "RBR")
    assert cells[1] == f"{row['value']:.1f} ({row['low']:.1f} to {row['high']:.1f})"
