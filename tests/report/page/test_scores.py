from __future__ import annotations

import pytest

from changeproof import Plan, Results
from changeproof.evaluation.metrics import METRICS
from changeproof.report.page.scores import answers, frontier, ranked, scores, sentence
from changeproof.report.page.words import after, of_hundred
from changeproof.runs.tables import read_tables


def score(**values: float | None) -> list[list[float | None]]:
    """A score with an interval of one point to either side."""
    every = {"coverage": 100.0, "base_validity": 100.0, **values}
    every.setdefault("end_to_end_robustness", every.get("empirical_robustness"))
    return [
        [v, 1.0, v - 1.0, v + 1.0] if (v := every.get(m)) is not None else [None] * 4
        for m in METRICS
    ]


def test_frontier_keeps_what_no_other_beats() -> None:
    points = [(90.0, 1.0), (95.0, 2.0), (80.0, 1.5), (95.0, 3.0), (50.0, 0.2), None, (None, 0.1)]
    assert frontier(points) == [4, 0, 1]
    assert frontier([(90.0, 1.0), (90.0, 1.0)]) == [0, 1]
    assert frontier([(0.0, None), None]) == []


def test_ranking_is_by_what_people_get_then_by_distance() -> None:
    row = [
        score(empirical_robustness=99.0, end_to_end_robustness=60.0, distance=1.0),
        score(empirical_robustness=90.0, distance=2.0),
        None,
        score(empirical_robustness=90.0, distance=1.0),
        score(end_to_end_robustness=0.0),
    ]
    assert ranked(row) == [3, 1, 0, 4]


def test_sentence_in_plain_words() -> None:
    text = sentence(after("bootstrap"), "rnce", score(empirical_robustness=97.2, distance=1.91))
    assert text == (
        "After retraining on a bootstrap sample of the training rows, 97 of 100 CFEs by rnce still "
        "hold (95 % interval 96.2 to 98.2); people are asked to move 1.9 typical deviations per "
        "feature."
    )


def test_sentence_says_who_is_left_out_and_what_is_undefined() -> None:
    values = score(
        coverage=80.0, empirical_robustness=90.0, end_to_end_robustness=72.0, distance=0.5
    )
    text = sentence(after("architecture"), "rbr", values)
    assert text.startswith("After a change of the model (another width or depth")
    assert "Only 80 of 100 people get a CFE" in text
    assert "72 of 100 requests end with one that holds." in text
    nothing = score(coverage=0.0, base_validity=None, end_to_end_robustness=0.0)
    assert "gave nobody a CFE" in sentence(after(None, 8), "rbr", nothing)


def test_one_base_network_has_no_interval() -> None:
    alone = [
        [values[0], None, None, None] for values in score(empirical_robustness=50.0, distance=1)
    ]
    assert "interval" not in sentence(after(None, 8), "rbr", alone)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (97.4, "97 of 100"),
        (99.7, "more than 99 of 100"),
        (100.0, "100 of 100"),
        (0.2, "fewer than 1 of 100"),
        (0.0, "0 of 100"),
    ],
)
def test_all_and_none_are_said_only_when_true(value: float, words: str) -> None:
    assert of_hundred(value) == words


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
                    assert values[1:] == [None, None, None]


def test_methods_that_are_not_finished_are_left_out(quick_run: Results) -> None:
    plan: Plan = quick_run.plan
    intervals = read_tables(quick_run.folder)["intervals"]
    some = intervals.query("method != 'kdtree' and dataset != 'diabetes'")
    table = scores(some, plan)
    every = answers(table, plan)
    assert plan.methods.index("kdtree") not in every[0][0]["order"]
    assert len(every[0][0]["order"]) == len(plan.methods) - 1
    assert every[1][0] == {"order": [], "frontier": [], "sentences": [""] * len(plan.methods)}
