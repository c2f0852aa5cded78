from __future__ import annotations

import json

import numpy as np

from changeproof import Results
from changeproof.evaluation.fragility import fragile_picks
from changeproof.tables.registry import read_tables


def test_the_files_of_a_run_say_the_same(quick_run: Results) -> None:
    table = read_tables(quick_run.folder)["tuning"]
    assert table.columns.tolist() == [
        "dataset", "method", "settings", "validation_rows", "valid_rows", "base_validity",
        "distance", "rows_behind", "distance_behind", "chosen",
    ]  # fmt: skip
    valid = table["base_validity"] * table["validation_rows"]
    np.testing.assert_allclose(table["valid_rows"], valid, rtol=1e-5)
    said = fragile_picks(table)
    for (dataset, method), mine in table.groupby(["dataset", "method"]):
        order = mine.sort_values(["rows_behind", "distance"])
        assert order["chosen"].tolist() == [True] + [False] * (len(mine) - 1)
        closest = order.iloc[1]
        words = [text for text in said if text.startswith(f"{method} on {dataset}:")]
        assert len(words) == (closest["rows_behind"] <= 1)
        penalty = json.loads(closest["settings"])["penalty"]
        assert all(f"{penalty:g}" in text for text in words)
