"""The table of intervals over people, for the verdict and the gate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from changeproof import Plan, Results
from changeproof.evaluation.metrics import METRICS, People
from changeproof.evaluation.people import estimates
from changeproof.tables.people import interval_tables
from changeproof.tables.registry import read_tables
from tabled import tabled

WHERE = ["dataset", "method", "family", "metric"]


def test_values_are_those_of_the_other_tables_and_lie_in_their_intervals(
    quick_run: Results,
) -> None:
    tables = read_tables(quick_run.folder)
    table = tables["people_intervals"]
    both = table.merge(tables["intervals"], on=WHERE, suffixes=("", "_over_seeds"))
    assert len(both) == len(table) == 2 * 10 * 9 * len(METRICS)
    np.testing.assert_allclose(both["value"], both["mean"], rtol=1e-5)
    known = table.dropna()
    assert (known["low"] <= known["value"]).all() and (known["value"] <= known["high"]).all()
    asked = table["metric"].isin(["coverage", "end_to_end_robustness"])
    assert (table.loc[asked, "people"] == 25).all() and table["people"].between(0, 25).all()
    assert (table["base_models"] == 1).all()


def test_intervals_are_over_the_people_of_a_family(quick_run: Results) -> None:
    where = ("diabetes", 2026, "wachter")
    mine = quick_run.variants(*where[:2])["family"].to_numpy() == "label-update"
    answers, survived = quick_run.counterfactuals(*where), quick_run.survival(*where)
    people = People.of(
        quick_run.task("diabetes"), answers, survived[:, mine], ["label-update"] * mine.sum()
    )
    expected = estimates([people])["empirical_robustness"]
    table = interval_tables(quick_run)["people_intervals"].set_index(WHERE)
    found = table.loc[("diabetes", "wachter", "label-update", "empirical_robustness")]
    assert found[["value", "low", "high"]].tolist() == pytest.approx(list(expected[:3]))
    assert 15.0 < expected.low < expected.high < 85.0


def test_few_people_prove_little(quick_run: Results) -> None:
    table = interval_tables(quick_run)["people_intervals"]
    rates = table[table["metric"] == "end_to_end_robustness"]
    alike, others = (rates[chosen] for chosen in (rates["value"] == 100.0, rates["value"] < 60.0))
    assert len(alike) > 3 and len(others) > 3
    assert alike["low"].to_numpy() == pytest.approx(100.0 * 0.025 ** (1 / 25))
    assert (alike["high"] == 100.0).all()
    assert (others["high"] - others["low"]).max() < 45.0
    distances = table[table["metric"] == "distance"]
    assert (distances["low"] > 0.0).all()


def test_base_models_and_their_people_count(tmp_path: Path) -> None:
    plan = Plan(
        datasets=("diabetes",),
        methods=("kdtree",),
        families=("parameter-perturbation",),
        base_seeds=(2026, 2027),
        factuals=10,
    )
    results = tabled(plan, tmp_path, jobs=1)
    table = interval_tables(results)["people_intervals"]
    rows = {row for seed in plan.base_seeds for row in _asked(results, seed)}
    assert 10 < len(rows) <= 20
    assert (table["people"] == len(rows)).all() and (table["base_models"] == 2).all()
    seeds = read_tables(tmp_path)["seed_results"].query("family == 'all'")
    distance = table.query("metric == 'distance' and family == 'all'")
    assert distance["value"].item() == pytest.approx(seeds["distance"].mean(), rel=1e-5)
    assert distance["low"].item() < seeds["distance"].min()


def _asked(results: Results, seed: int) -> list[int]:
    return [int(row) for row in results.counterfactuals("diabetes", seed, "kdtree").row_ids]
