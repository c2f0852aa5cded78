from __future__ import annotations

import pandas as pd
import pytest

from changeproof import Results
from changeproof.report.charts import Shown
from changeproof.report.page.robustness import limit_curves, limit_prices, limit_words
from changeproof.tables.registry import read_tables


def test_the_curve_and_the_prices_are_those_of_the_tables(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    table = tables["limit"].query("dataset == 'diabetes' and family == 'all'")
    expected = table.set_index("share")["distance_mean"]
    curve = limit_curves(tables)["diabetes"]
    assert [share for _, share in curve] == [95, 99, 100]
    assert [far for far, _ in curve] == pytest.approx([expected[s] for s in (95, 99, 100)], 1e-3)
    price = tables["price"].set_index(["dataset", "method"]).loc[("diabetes", "rnce")]
    ours = limit_prices(tables)["diabetes", "rnce"]
    assert ours == pytest.approx([price["limit_mean"], price["price_mean"]], rel=1e-3)


def test_words_name_who_is_closest(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    said = limit_words(tables, Shown.of(tables["full_results"]))
    assert "on Breast Cancer" in said and "on Diabetes" in said
    prices = tables["price"].query("empirical_robustness_mean >= 95")
    assert f"{prices['price_mean'].min():.2f} times as far" in said


def test_without_a_limit_nothing_is_said() -> None:
    shown = Shown(("diabetes",), (), ())
    empty = {"limit": pd.DataFrame(columns=["dataset"]), "price": pd.DataFrame(columns=["dataset"])}
    for tables in ({}, empty):
        assert limit_curves(tables) == {} and limit_prices(tables) == {}
        assert limit_words(tables, shown) == ""
