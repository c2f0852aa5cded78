from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from changeproof import Results
from changeproof.report.print.write import write_print
from changeproof.runs.tables import read_tables

FIGURES = ("robustness", "decomposition", "tradeoff", "magnitude")
TABLES = (
    "dataset_summary", "change_magnitude", "full_results", "family_results",
    "generation_seconds", "advice", "price", "certified",
)  # fmt: skip


@pytest.fixture(scope="module")
def tables(quick_run: Results) -> dict[str, pd.DataFrame]:
    return read_tables(quick_run.folder)


def test_a_run_gets_all_figures_and_tables(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    written = write_print(tmp_path, tables)
    report = tmp_path / "report"
    expected = {
        report / "figures" / f"{n}.{kind}" for n in FIGURES for kind in ("pdf", "svg", "png")
    }
    expected |= {report / "tables" / f"{n}.{kind}" for n in TABLES for kind in ("tex", "md", "csv")}
    assert set(written) == expected == {p for p in tmp_path.rglob("*") if p.is_file()}
    assert len(written) == len(expected)
    assert all(path.stat().st_size > 100 for path in written)


def test_nothing_comes_of_nothing(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    assert write_print(tmp_path, {}) == []
    empty = {name: table.iloc[:0] for name, table in tables.items()}
    assert write_print(tmp_path, empty) == []
    only = write_print(tmp_path, {"change_magnitude": tables["change_magnitude"]})
    assert {path.stem for path in only} == {"magnitude", "change_magnitude"}


def test_many_datasets_are_spread_over_columns(
    tables: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    one = tables["family_results"].query("dataset == 'diabetes'")
    many = pd.concat([one.assign(dataset=f"data {n}") for n in range(8)])
    written = write_print(tmp_path, {"family_results": many})
    names = [path.name for path in written if path.suffix == ".png"]
    assert names == ["robustness.png", "robustness-2.png"]
    for path in written:
        if path.suffix == ".png":
            assert int.from_bytes(path.read_bytes()[20:24], "big") <= 8.6 * 300
