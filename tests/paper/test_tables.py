from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from changeproof import compare_with_paper
from published_run import outside, setting

Fabricate = Callable[..., Path]


@pytest.mark.parametrize(
    ("table", "column", "where", "limits"),
    [
        # two published sd (1.2) are more than 2 points
        ("full_results", "empirical_robustness_mean", {"method": "kdtree"}, (80.7, 85.5)),
        # no sd: 2 points
        ("full_results", "base_validity_mean", {"method": "kdtree"}, (98.0, 102.0)),
        # 5 % of 0.435 are less than two published sd (0.021); of 0.858 they are more (0.018)
        ("full_results", "distance_mean", {"method": "wachter"}, (0.393, 0.477)),
        ("full_results", "distance_mean", {"method": "kdtree"}, (0.8151, 0.9009)),
        ("dataset_summary", "factuals_total", {}, (1250, 1250)),
        ("dataset_summary", "balanced_accuracy_mean", {}, (0.728, 0.732)),
        ("change_magnitude", "probability_mae_mean", {"family": "bootstrap"}, (0.036, 0.042)),
        (
            "change_magnitude",
            "hard_disagreement_percent_mean",
            {"family": "bootstrap"},
            (4.67, 5.17),
        ),
    ],
)
def test_edges_of_the_tolerances(
    fabricate: Fabricate,
    tmp_path: Path,
    table: str,
    column: str,
    where: dict[str, str],
    limits: tuple[float, float],
) -> None:
    if table != "change_magnitude":
        where = {"dataset": "heloc", **where}
    for limit, step in zip(limits, (-1e-4, 1e-4), strict=True):
        for value, fits in ((limit, True), (limit + step, False)):
            comparison = compare_with_paper(fabricate(setting(table, column, value, **where)))
            assert comparison.passed == fits, value
            assert len(outside(comparison)) == (not fits)


def test_times_are_shown_and_never_judged(fabricate: Fabricate) -> None:
    folder = fabricate(setting("generation_seconds", "mean_seconds", 1e6, method="kdtree"))
    comparison = compare_with_paper(folder)
    assert comparison.passed
    table = comparison.table.set_index(["table", "method_or_family", "metric"])
    assert table.loc[("generation_seconds", "kdtree", "mean_seconds"), "ours"] == 1e6
