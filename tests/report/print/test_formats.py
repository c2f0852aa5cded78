from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof.paper.comparison import PUBLISHED
from changeproof.report.formats import as_csv, as_latex, as_markdown
from changeproof.tables.display import Table
from changeproof.tables.registry import readable_tables

ROOT = Path(__file__).resolve().parents[3]
NAMES = [
    "dataset_summary", "change_magnitude", "full_results", "family_results",
    "generation_seconds", "certified", "advice",
]  # fmt: skip
# An ampersand that is not escaped ends a cell.
CELL = re.compile(r"(?<!\\)&")


@pytest.fixture(scope="module")
def committed() -> dict[str, pd.DataFrame]:
    folder = ROOT / "results" / "paper"
    return {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}


@pytest.fixture(scope="module")
def printed(committed: dict[str, pd.DataFrame]) -> dict[str, Table]:
    return {table.name: table for table in readable_tables(committed)}


def body(latex: str) -> list[list[str]]:
    """Return the cells of all rows with as many as there are columns, headings included."""
    rows = [line.strip().removesuffix(r"\\").strip() for line in latex.splitlines()]
    return [[cell.strip() for cell in CELL.split(row)] for row in rows if CELL.search(row)]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def one_method(name: str = "mine", dataset: str = "own") -> pd.DataFrame:
    metrics = ["coverage", "base_validity", "empirical_robustness", "end_to_end_robustness"]
    row: dict[str, object] = {"dataset": dataset, "method": name}
    for metric in [*metrics, "distance"]:
        row |= {f"{metric}_mean": 50.0, f"{metric}_std": np.nan}
    return pd.DataFrame([row])


def test_all_tables_in_the_order_of_the_paper(printed: dict[str, Table]) -> None:
    assert list(printed) == NAMES


def test_what_is_absent_or_empty_is_left_out(committed: dict[str, pd.DataFrame]) -> None:
    some = {
        "full_results": committed["full_results"],
        "certified": committed["certified"].iloc[:0],
        "seed_results": committed["seed_results"],
    }
    assert [table.name for table in readable_tables(some)] == ["full_results"]
    assert readable_tables({}) == []


def test_published_numbers_are_set_as_in_the_paper() -> None:
    tables = {path.stem: pd.read_csv(path) for path in PUBLISHED.glob("*.csv")}
    printed = {table.name: as_latex(table) for table in readable_tables(tables)}
    for line in (
        r"ROAR-LIME & 100.0 $\pm$ 0.0 & 72.8 $\pm$ 4.9 & 93.1 $\pm$ 0.9 & 67.8 $\pm$ 4.5 "
        r"& 0.407 $\pm$ 0.012 \\",
        r"AP\ensuremath{\Delta}S & 90.4 $\pm$ 19.8 & 100.0 $\pm$ 0.0 & 58.5 $\pm$ 3.6 "
        r"& 53.1 $\pm$ 12.8 & 0.689 $\pm$ 0.201 \\",
    ):
        assert line in printed["full_results"]
    assert r"Bootstrap & 4.92 $\pm$ 1.25 & 0.039 $\pm$ 0.010 \\" in printed["change_magnitude"]
    assert (
        r"Breast Cancer & 569 & 30 & 284/57/57/171 & 312 (60{--}64) & 0.967/0.973/0.988 \\"
        in printed["dataset_summary"]
    )
    assert r"Wine Quality & 6,497 & 11" in printed["dataset_summary"]
    assert r"1,250 (250)" in printed["dataset_summary"]


@pytest.mark.parametrize("name", NAMES)
def test_latex_is_well_formed(name: str, printed: dict[str, Table]) -> None:
    text = as_latex(printed[name])
    alignment = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert alignment is not None
    rows = body(text)
    assert {len(row) for row in rows} == {len(alignment[1])}
    assert len(rows) == 1 + sum(len(section) for _, section in printed[name].sections)
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1
    opened, closed = (re.findall(rf"\\{word}\{{([\w*]+)\}}", text) for word in ("begin", "end"))
    assert opened == closed[::-1]
    assert text.replace(r"\{", "").count("{") == text.replace(r"\}", "").count("}")
    assert rf"\label{{tab:changeproof-{name.replace('_', '-')}}}" in text


def test_every_number_of_the_families_is_there(
    printed: dict[str, Table], committed: dict[str, pd.DataFrame]
) -> None:
    rows = read(as_csv(printed["family_results"]))
    assert len(rows) == 36
    source = committed["family_results"].set_index(["dataset", "method", "family"])
    mine = next(r for r in rows if (r["Dataset"], r["Method"]) == ("HELOC", "RBR"))
    expected = source.loc[("heloc", "rbr", "architecture")]
    assert mine["Architecture"] == f"{expected['empirical_robustness_mean']:.1f}"
    assert mine["Architecture sd"] == f"{expected['empirical_robustness_std']:.1f}"
    assert len(rows[0]) == 2 + 16
    lines = as_markdown(printed["family_results"]).splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 2 + 36


def test_seconds_are_shown_as_milliseconds(
    printed: dict[str, Table], committed: dict[str, pd.DataFrame]
) -> None:
    rows = {row["Method"]: row for row in read(as_csv(printed["generation_seconds"]))}
    source = committed["generation_seconds"].set_index("method").loc["rbr"]
    assert rows["RBR"]["Median (ms)"] == f"{1000 * source['median_seconds']:.3f}"
    assert rows["BetaRCE"]["Budget used up"] == "1"


def test_one_base_network_has_no_spread() -> None:
    (table,) = readable_tables({"full_results": one_method()})
    assert "±" not in as_markdown(table)
    assert r"\pm" not in as_latex(table)
    assert "one base model" in table.caption
    (row,) = read(as_csv(table))
    assert row["Coverage"] == "50.0"
    assert not any(name.endswith(" sd") for name in row)


def test_undefined_is_a_word() -> None:
    frame = one_method()
    frame["empirical_robustness_mean"] = np.nan
    (table,) = readable_tables({"full_results": frame})
    assert "& undefined &" in as_latex(table)
    assert "| undefined |" in as_markdown(table)
    assert read(as_csv(table))[0]["Emp. robust."] == "undefined"


def test_odd_names_stay_in_their_cells() -> None:
    name, dataset = "a&b|c_$5$ <script> \\end{tabular}\n,x", "50% | [own]"
    (table,) = readable_tables({"full_results": one_method(name, dataset)})
    text = as_latex(table)
    assert {len(row) for row in body(text)} == {6}
    assert text.count(r"\end{tabular}") == 1
    assert "<script>" not in text
    lines = as_markdown(table).splitlines()[2:]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {8}
    assert "<script>" not in as_markdown(table)
    (row,) = read(as_csv(table))
    assert row["Method"] == "a&b|c_$5$ <script> \\end{tabular} ,x"
    assert row["Dataset"] == dataset


def test_two_datasets_with_one_printed_name_stay_apart() -> None:
    frame = pd.concat([one_method(dataset="heloc"), one_method(dataset="HELOC")])
    (table,) = readable_tables({"full_results": frame})
    assert [len(rows) for _, rows in table.sections] == [1, 1]


def test_a_family_that_was_not_evaluated_leaves_its_cell_empty() -> None:
    frame = pd.concat(
        [
            one_method("a").assign(family="my own-kind of change"),
            one_method("a").assign(family="y"),
            one_method("b").assign(family="y"),
        ]
    )
    (table,) = readable_tables({"family_results": frame})
    assert read(as_csv(table))[1]["my own-kind of change"] == ""
    assert r"\shortstack[r]{my own kind \\ of change}" in as_latex(table)


def test_long_tables_go_on_over_pages_and_long_names_over_lines() -> None:
    frame = pd.concat([one_method(f"method {n}") for n in range(60)])
    (table,) = readable_tables({"full_results": frame})
    text = as_latex(table)
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
    assert r"\begin{table" not in text
    assert r"\endfirsthead" in text
    (wrapped,) = readable_tables({"full_results": one_method("word " * 20)})
    assert r"\begin{tabular}{p{9em}rrrrr}" in as_latex(wrapped)


def test_settings_are_printed_behind_the_name() -> None:
    frame = pd.concat(
        one_method(name) for name in ("robx-balanced(quantile=0.7)", "robx-balanced(quantile=0.9)")
    )
    (table,) = readable_tables({"full_results": frame})
    rows = read(as_csv(table))
    assert [row["Method"] for row in rows] == [
        "RobX balanced (quantile=0.7)",
        "RobX balanced (quantile=0.9)",
    ]
    assert "RobX balanced (quantile=0.7) & 50.0" in as_latex(table)
    assert "| RobX balanced (quantile=0.9) |" in as_markdown(table)
