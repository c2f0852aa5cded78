from __future__ import annotations

import pandas as pd
import pytest

from changeproof import Plan
from changeproof.report.page.rankings import rankings

METHODS = ("kdtree", "rnce", "wachter")
FAMILIES = ("bootstrap", "architecture")


def table(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"dataset": d, "family": f, "method": m, "end_to_end_robustness_mean": row[i]}
            for d, rows in values.items()
            for f, row in zip(FAMILIES, rows, strict=True)
            for i, m in enumerate(METHODS)
        ]
    )


def plan(*datasets: str) -> Plan:
    return Plan.preset("quick", datasets=datasets, methods=METHODS, families=FAMILIES)


def test_ranks_and_correlations() -> None:
    found = rankings(table({"diabetes": [[90, 99, 50], [50, 40, 60]]}), plan("diabetes"))
    (view,) = found["views"]
    assert view["ranks"] == [[2, 2], [1, 3], [3, 1]]
    assert view["tau"] == [[1, -1], [-1, 1]]
    assert view["rank_words"].startswith("Wachter moves the most: from rank 1 to 3 of 3.")
    assert "Kendall's tau -1.00" in view["tau_words"]


def test_ties_share_their_rank_and_alike_methods_have_no_correlation() -> None:
    found = rankings(table({"diabetes": [[90, 90, 50], [70, 70, 70]]}), plan("diabetes"))
    (view,) = found["views"]
    assert [row[0] for row in view["ranks"]] == [1.5, 1.5, 3]
    assert view["tau"][0][1] is None
    assert "No two families can be compared" in view["tau_words"]


def test_the_mean_of_datasets_comes_first() -> None:
    values = {"diabetes": [[90, 99, 50], [90, 99, 50]], "heloc": [[90, 99, 50], [99, 90, 50]]}
    found = rankings(table(values), plan("diabetes", "heloc"))
    assert [view["name"] for view in found["views"]] == [
        "Mean of all datasets",
        "Diabetes",
        "HELOC",
    ]
    assert found["views"][0]["ranks"][0] == [2, 1.5]
    assert found["views"][0]["tau"][0][1] == pytest.approx((1 + 1 / 3) / 2, abs=1e-5)


def test_one_method_has_no_ranking() -> None:
    alone = Plan.preset("quick", methods=["kdtree"])
    assert rankings(table({"diabetes": [[1, 2, 3], [1, 2, 3]]}), alone) is None
