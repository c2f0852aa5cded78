"""What answers ask of people, and which rules they would have broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.datasets.breaches import WAYS
from changeproof.runs.plan import Plan
from changeproof.tables.display import number, percent
from changeproof.tables.names import dataset_name, method_name

SHOWN = (
    "features_changed",
    "inside_data",
    "plausibility",
    "without_answer",
    "raw_broken",
    "validity_lost",
    "distance_added",
)


def advice(tables: Mapping[str, pd.DataFrame], plan: Plan) -> dict[str, Any]:
    """Return the qualities of advice by dataset and method, and what they say in words."""
    table = tables.get("advice", pd.DataFrame())
    if table.empty:
        return {"nothing": "No method is finished yet."}
    known = table.set_index(["dataset", "method"])
    broken = tables.get("breaches", pd.DataFrame(columns=["dataset", "method", "breach", "share"]))
    rows, breaches = [], []
    for place, dataset in enumerate(plan.datasets):
        for which, method in enumerate(plan.methods):
            if (dataset, method) not in known.index:
                continue
            values = known.loc[[(dataset, method)]].iloc[0]
            rows.append([place, which, *(number(values[f"{name}_mean"]) for name in SHOWN)])
            own = broken[(broken["dataset"] == dataset) & (broken["method"] == method)]
            shares = own.set_index("breach")["share"].to_dict()
            breaches.append([place, which, *(number(shares.get(way, 0.0)) for way in WAYS)])
    return {
        "realisable": plan.realisable,
        "rows": rows,
        "ways": list(WAYS),
        "breaches": breaches,
        "words": _words(table, plan),
    }


def _words(table: pd.DataFrame, plan: Plan) -> str:
    """Say whether people can be told what was tested, and whose answers could not be told most."""
    known = table.dropna(subset=["raw_broken_mean"]).sort_values("raw_broken_mean", kind="stable")
    if known.empty:
        return ""
    worst = known.to_dict("records")[-1]
    share = float(worst["raw_broken_mean"])
    who = f"{method_name(worst['method'])} on {dataset_name(worst['dataset'])}"
    if plan.realisable:
        said = (
            "Every answer that counts as found is one that the person can be told: one category of "
            "each feature, whole steps, inside the range, and no change that is not allowed. "
        )
        if share == 0.0:
            return said + "No answer had to be mended for that."
        return f"{said}Most answers had to be mended for {who}: {percent(share)}."
    if share == 0.0:
        return "Answers were tested as the methods gave them, and all of them can be told."
    return (
        "Answers were tested as the methods gave them. Not all of them can be told to a person: "
        "they have categories in part, fractions of whole numbers, or values outside the data. "
        f"Such answers are most frequent for {who}: {percent(share)}."
    )
