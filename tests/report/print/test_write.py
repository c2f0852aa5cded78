from __future__ import annotations

from pathlib import PurePath

import pandas as pd
import pytest

from changeproof import Results
from changeproof.report.printing import print_files
from changeproof.tables.registry import read_tables

FIGURES = ("robustness", "decomposition", "tradeoff", "magnitude")
TABLES = (
    "dataset_summary", "change_magnitude", "full_results", "family_results",
    "generation_seconds", "advice", "price", "certified", "people_intervals",
)  # fmt: skip


@pytest.fixture(scope="module")
def tables(quick_run: Results) -> dict[str, pd.DataFrame]:
    return read_tables(quick_run.folder)


def test_a_run_gets_all_figures_and_tables(tables: dict[str, pd.DataFrame]) -> None:
    written = print_files(tables)
    expected = {f"figures/{n}.{kind}" for n in FIGURES for kind in ("pdf", "svg", "png")}
    expected |= {f"tables/{n}.{kind}" for n in TABLES for kind in ("tex", "md", "csv")}
    assert set(written) == expected
    assert all(len(content) > 100 for content in written.values())


def test_nothing_comes_of_nothing(tables: dict[str, pd.DataFrame]) -> None:
    assert print_files({}) == {}
    empty = {name: table.iloc[:0] for name, table in tables.items()}
    assert print_files(empty) == {}
    only = print_files({"change_magnitude": tables["change_magnitude"]})
    assert {PurePath(name).stem for name in only} == {"magnitude", "change_magnitude"}


def test_many_datasets_are_spread_over_columns(tables: dict[str, pd.DataFrame]) -> None:
    one = tables["family_results"].query("dataset == 'diabetes'")
    many = pd.concat([one.assign(dataset=f"data {n}") for n in range(8)])
    written = print_files({"family_results": many})
    pictures = {name: content for name, content in written.items() if name.endswith(".png")}
    assert list(pictures) == ["figures/robustness.png", "figures/robustness-2.png"]
    for content in pictures.values():
        assert int.from_bytes(content[20:24], "big") <= 8.6 * 300
