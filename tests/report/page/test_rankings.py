from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof import Plan
from changeproof.report.charts import Shown
from changeproof.report.page.rankings import rank_words, rankings, tau_words

METHODS = ("kdtree", "rnce", "wachter")
FAMILIES = ("bootstrap", "architecture")
SHOWN = Shown(("diabetes",), METHODS, FAMILIES, {"wachter": "Wachter"})


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
    ((ranks, tau),) = found.values()
    assert ranks.tolist() == [[2, 2], [1, 3], [3, 1]]
    assert tau == pytest.approx(np.array([[1, -1], [-1, 1]]))
    assert rank_words(ranks, SHOWN).startswith("Wachter moves the most: from rank 1 to 3 of 3.")
    assert tau_words(tau, SHOWN) == "Kendall's tau of architecture and bootstrap is -1.00."


def test_ties_share_their_rank_and_alike_methods_have_no_correlation() -> None:
    found = rankings(table({"diabetes": [[90, 90, 50], [70, 70, 70]]}), plan("diabetes"))
    ((ranks, tau),) = found.values()
    assert ranks[:, 0].tolist() == [1.5, 1.5, 3]
    assert np.isnan(tau[0, 1])
    assert "No two families can be compared" in tau_words(tau, SHOWN)


def test_the_mean_of_datasets_comes_first() -> None:
    values = {"diabetes": [[90, 99, 50], [90, 99, 50]], "heloc": [[90, 99, 50], [99, 90, 50]]}
    found = rankings(table(values), plan("diabetes", "heloc"))
    assert list(found) == ["Mean of all datasets", "Diabetes", "HELOC"]
    ranks, tau = found["Mean of all datasets"]
    assert ranks[0].tolist() == [2, 1.5]
    assert tau[0, 1] == pytest.approx((1 + 1 / 3) / 2, abs=1e-5)
