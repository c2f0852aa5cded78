from __future__ import annotations

import math

import numpy as np
import pytest

from changeproof import Plan, Results
from changeproof.evaluation.metrics import METRICS
from changeproof.report.page.payload import answers
from changeproof.report.scores import Score, Spread, frontier, ranked, scores
from changeproof.tables.registry import read_tables


def score(**means: float) -> Score:
    return Score(**{metric: Spread(mean) for metric, mean in means.items()})


def test_a_score_has_the_metrics_in_their_order() -> None:
    assert Score._fields == tuple(METRICS)


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
    table = scores(tables["intervals"], plan)
    rows = tables["family_results"].set_index(["dataset", "family", "method"])
    for d, dataset in enumerate(plan.datasets):
        for f, family in enumerate(plan.families):
            for m, method in enumerate(plan.methods):
                for metric, values in zip(METRICS, table[d][f + 1][m] or [], strict=True):
                    expected = rows.loc[(dataset, family, method), f"{metric}_mean"]
                    assert values[0] == pytest.approx(expected, nan_ok=True, abs=0)
                    assert values[1:] == (None, None, None)


def test_with_one_base_model_intervals_are_over_people(quick_run: Results) -> None:
    plan, tables = quick_run.plan, read_tables(quick_run.folder)
    people = tables["people_intervals"]
    table = scores(tables["intervals"], plan, people)
    rows = people.set_index(["dataset", "method", "family", "metric"])
    expected = rows.loc[("diabetes", "rbr", "bootstrap", "distance")]
    place = [plan.datasets.index("diabetes"), plan.families.index("bootstrap") + 1]
    found = table[place[0]][place[1]][plan.methods.index("rbr")]
    assert found is not None and found.distance.sd is None
    assert list(found.distance[2:]) == expected[["low", "high"]].tolist()


def test_methods_that_are_not_finished_are_left_out(quick_run: Results) -> None:
    plan: Plan = quick_run.plan
    intervals = read_tables(quick_run.folder)["intervals"]
    some = intervals.query("method != 'kdtree' and dataset != 'diabetes'")
    table = scores(some, plan)
    every = answers(table, plan, ["Averaged over both", *plan.families], ["people"] * 2)
    assert plan.methods.index("kdtree") not in every[0][0]["order"]
    assert len(every[0][0]["order"]) == len(plan.methods) - 1
    assert every[1][0] == {"order": [], "frontier": [], "sentences": [""] * len(plan.methods)}
