from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from changeproof import Plan, Results
from changeproof.evaluation.metrics import METRICS
from changeproof.report.page.rankings import COLUMNS, answers
from changeproof.report.scores import UNKNOWN, Score, Scores, Spread, frontier, ranked
from changeproof.tables.registry import read_tables


def score(**means: float) -> Score:
    return {**UNKNOWN, **{metric: Spread(mean) for metric, mean in means.items()}}


def test_frontier_keeps_what_no_other_beats() -> None:
    points = [(90.0, 1.0), (95.0, 2.0), (80.0, 1.5), (95.0, 3.0), (50.0, 0.2), (None, 0.1)]
    assert frontier(points) == [4, 0, 1]
    assert frontier([(90.0, 1.0), (90.0, 1.0)]) == [0, 1]
    assert frontier([(90.0, 1.0), (80.0, 1.0), (90.0, 1.0)]) == [0, 2]
    assert frontier([(0.0, None), (math.nan, 1.0), (1.0, math.nan)]) == []


def test_frontier_is_what_its_definition_says() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        points = [(float(r), float(d)) for r, d in generator.integers(0, 6, (12, 2))]
        unbeaten = {
            place
            for place, (robust, far) in enumerate(points)
            if not any(r >= robust and d <= far and (r, d) != (robust, far) for r, d in points)
        }
        assert set(frontier(points)) == unbeaten


def test_ranking_is_by_what_people_get_then_by_distance() -> None:
    row = [
        score(empirical_robustness=99.0, end_to_end_robustness=60.0, distance=1.0),
        score(end_to_end_robustness=90.0, distance=2.0),
        None,
        score(end_to_end_robustness=90.0, distance=1.0),
        score(end_to_end_robustness=0.0),
    ]
    assert ranked(row) == [3, 1, 0, 4]


def test_scores_are_the_numbers_of_the_tables(quick_run: Results) -> None:
    plan, tables = quick_run.plan, read_tables(quick_run.folder)
    scores = Scores({name: tables[name] for name in ("full_results", "family_results")})
    rows = tables["intervals"].set_index(["dataset", "family", "method", "metric"])
    for dataset, family, method in product(plan.datasets, ("all", *plan.families), plan.methods):
        found = scores.get(dataset, method, family)
        assert found is not None and list(found) == list(METRICS)
        for metric, values in found.items():
            expected = rows.loc[(dataset, family, method, metric), "mean"]
            assert values[0] == pytest.approx(expected, nan_ok=True, abs=0)
            assert values[1:] == (None, None, None)


def test_the_ranking_of_the_page_has_every_metric() -> None:
    # Sentences say what coverage and base validity come to together.
    assert {metric.name for metric in COLUMNS} == METRICS.keys() - {"base_validity"}


def test_with_one_base_model_intervals_are_over_people(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    rows = tables["people_intervals"].set_index(["dataset", "method", "family", "metric"])
    expected = rows.loc[("diabetes", "rbr", "bootstrap", "distance")]
    found = Scores(tables).of("distance", "diabetes", "rbr", "bootstrap")
    assert found.sd is None
    assert list(found[2:]) == expected[["low", "high"]].tolist()


def test_methods_that_are_not_finished_are_left_out(quick_run: Results) -> None:
    plan: Plan = quick_run.plan
    tables = read_tables(quick_run.folder)
    some = {
        name: tables[name].query("method != 'kdtree' and dataset != 'diabetes'")
        for name in ("full_results", "family_results")
    }
    changes = ["Averaged over both", *plan.families]
    every = answers(Scores(some), plan, changes, ["people"] * 2)
    assert plan.methods.index("kdtree") not in every[0][0]["order"]
    assert len(every[0][0]["order"]) == len(plan.methods) - 1
    nothing = [None] * len(plan.methods)
    assert every[1][0] == {
        "order": [],
        "frontier": [],
        "values": nothing,
        "sentences": [""] * len(plan.methods),
    }
