"""Tables that people open in spreadsheets hold no formulas, and are read back unchanged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from changeproof.report.formats import as_csv
from changeproof.tables.registry import readable_tables
from changeproof.tables.spreadsheets import BEGINNINGS, csv_bytes, read_csv, read_table

NAMES = [
    "@SUM(1+1)",
    "=cmd|'/c calc'!A0",
    "+1",
    "-1",
    "\tx",
    "'quoted'",
    "'=x",
    "''",
    "plain",
    "a=b",
]


def test_no_text_begins_like_a_formula_and_all_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame({"method": NAMES, "=head": NAMES, "robustness": range(-5, len(NAMES) - 5)})
    path = tmp_path / "table.csv"
    path.write_bytes(csv_bytes(table))
    raw = pd.read_csv(path, skip_blank_lines=False)
    cells = [*raw.columns, *raw.iloc[:, 0], *raw.iloc[:, 1]]
    assert all(cell[:1] not in set(BEGINNINGS) - {"'"} for cell in cells)
    assert raw["method"][0] == "'@SUM(1+1)"
    assert raw["robustness"][0] == -5
    pd.testing.assert_frame_equal(read_csv(path.read_bytes()), table)
    pd.testing.assert_frame_equal(read_table(path.read_bytes()), table)


def test_missing_texts_and_numbers_stay_as_they_are(tmp_path: Path) -> None:
    table = pd.DataFrame({"reason": ["-", None, "b"], "value": [-1.5, None, 2.0]})
    before = table.copy()
    (tmp_path / "table.csv").write_bytes(csv_bytes(table))
    pd.testing.assert_frame_equal(table, before)
    assert (tmp_path / "table.csv").read_text() == "reason,value\n'-,-1.5\n,\nb,2\n"


def test_ordinary_tables_are_written_as_before() -> None:
    table = pd.DataFrame({"method": ["kdtree", "rbr(delta=0.1)"], "robustness": [-0.1234567, 1.0]})
    assert csv_bytes(table).decode() == "method,robustness\nkdtree,-0.123457\nrbr(delta=0.1),1\n"


def test_tables_for_print_are_guarded_as_well() -> None:
    row: dict[str, object] = {"dataset": "own", "method": "=cmd()"}
    metrics = ("coverage", "base_validity", "empirical_robustness", "end_to_end_robustness")
    for metric in (*metrics, "distance"):
        row |= {f"{metric}_mean": -50.0, f"{metric}_std": 1.0}
    (table,) = readable_tables({"full_results": pd.DataFrame([row])})
    cells = as_csv(table).splitlines()[1].split(",")
    assert "'=cmd()" in cells
    assert "-50.0" in cells
