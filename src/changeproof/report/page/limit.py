"""The limit that no method can pass, and what methods cost beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.report.recommendation import LEAST_PERCENT
from changeproof.runs.plan import Plan
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import number
from changeproof.tables.names import dataset_name, method_name


def limit(tables: Mapping[str, pd.DataFrame], plan: Plan) -> dict[str, Any] | None:
    """Return the limit as points [distance, share] by dataset, and [limit, price] by method.

    None if the run did not look for it, or has not found it yet.
    """
    table, prices = tables.get("limit", pd.DataFrame()), tables.get("price", pd.DataFrame())
    if table.empty:
        return None
    overall = table[table["family"] == ALL_FAMILIES].dropna(subset=["distance_mean"])
    overall = overall.sort_values("share", kind="stable")
    compared = prices.set_index(["dataset", "method"])[["limit_mean", "price_mean"]]
    known = {
        key: [number(value) for value in row]
        for key, row in zip(compared.index, compared.to_numpy(dtype=float), strict=True)
    }
    return {
        "curves": [
            [
                [number(x), int(y)]
                for x, y in overall.loc[
                    overall["dataset"] == dataset, ["distance_mean", "share"]
                ].to_numpy()
            ]
            for dataset in plan.datasets
        ],
        "prices": [
            [known.get((dataset, method), [None, None]) for method in plan.methods]
            for dataset in plan.datasets
        ],
    }


def limit_words(tables: Mapping[str, pd.DataFrame]) -> str:
    """Say where the limit lies, and who is closest to it of those whose answers mostly hold."""
    table, prices = tables.get("limit", pd.DataFrame()), tables.get("price", pd.DataFrame())
    if table.empty:
        return ""
    strict = table[(table["family"] == ALL_FAMILIES) & (table["share"] == table["share"].max())]
    strict = strict.dropna(subset=["distance_mean"])
    where = [
        f"{row.distance_mean:.2f} on {dataset_name(str(row.dataset))}"
        for row in strict.itertuples()
    ]
    said = (
        f" The limit for advice that holds in every changed model: {', '.join(where)}."
        if where
        else ""
    )
    firm = prices[prices["empirical_robustness_mean"] >= LEAST_PERCENT].dropna(
        subset=["price_mean"]
    )
    if firm.empty:
        return said
    best = firm.sort_values("price_mean", kind="stable").to_dict("records")[0]
    who = f"{method_name(best['method'])} on {dataset_name(best['dataset'])}"
    return (
        f"{said} Of the methods at {LEAST_PERCENT} % or more, closest to the limit at the same "
        f"robustness is {who}: {best['price_mean']:.2f} times as far."
    )
