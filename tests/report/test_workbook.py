"""A whole run as a workbook, read here as what it is: XML in a ZIP file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof import InputError, Results, build_tables
from changeproof.cli import app
from changeproof.report import workbook as books
from changeproof.report.document import document
from changeproof.report.workbook import workbook
from workbooks import MAIN, read

pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed (extra: xlsx)")

EVIL = ["=cmd|'/c calc'!A0", "@SUM(1+1)", "-2", "<r><t>x</t></r>", "a\x01b<&", "x" * 40_000]


@pytest.fixture(scope="module")
def tables(advised_run: Results) -> dict[str, pd.DataFrame]:
    return build_tables(advised_run)


@pytest.fixture(scope="module")
def told(advised_run: Results, tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    return document(advised_run, tables)


def test_the_verdict_comes_first_and_every_table_has_a_sheet(
    advised_run: Results, tables: dict[str, pd.DataFrame], told: dict[str, Any], tmp_path: Path
) -> None:
    path = advised_run.to_xlsx(tmp_path / "audit.xlsx")
    sheets = read(path)
    assert list(sheets)[:6] == [
        "verdict", "full_results", "people_intervals", "family_results", "people", "told",
    ]  # fmt: skip
    assert set(sheets) == {"verdict", *tables}
    words = [text for _, text, _ in sheets["verdict"].cells.values()]
    assert set(told["verdict"]["lines"]) < set(words)
    people = sheets["people"]
    assert people.root.find(f".//{MAIN}pane[@state='frozen'][@ySplit='1']") is not None
    assert people.text("A1") == "dataset" and people.text("D1") == "id"
    assert people.text("D2") == tables["people"]["id"].iloc[0]
    widths = [float(each.get("width", 0)) for each in people.root.iter(f"{MAIN}col")]
    assert 5 < min(widths) < max(widths) < 65
    number = people.cells["I2"]
    assert number[0] is None and float(number[1]) == pytest.approx(tables["people"]["distance"][0])
    assert people.cells["G2"][0] == "b"
    before = path.read_bytes()
    assert workbook(told, tables) == workbook(told, tables)
    assert advised_run.to_xlsx(path).read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["audit.xlsx"]


def test_text_is_text_and_nothing_is_a_formula(told: dict[str, Any], tmp_path: Path) -> None:
    table = pd.DataFrame({"=head": EVIL, "number": [np.nan, np.inf, -2.0, 1.0, 2.0, 3.0]})
    path = tmp_path / "evil.xlsx"
    path.write_bytes(workbook(told, {"evil": table}))
    sheet = read(path)["evil"]
    assert not sheet.formulas
    texts = [sheet.text(f"A{row}") for row in range(2, 8)]
    assert texts[:3] == EVIL[:3]
    assert texts[3].strip() == EVIL[3] and "\\x01" in texts[4] and len(texts[5]) == 32_767
    assert {sheet.cells[f"A{row}"][0] for row in range(1, 8)} == {"inlineStr"}
    with ZipFile(path) as file:
        styles = ElementTree.fromstring(file.read("xl/styles.xml"))
    formats = styles.find(f"{MAIN}cellXfs")
    assert formats is not None
    guarded = [formats[sheet.cells[f"A{row}"][2]].get("quotePrefix") for row in (2, 3, 4, 5)]
    assert guarded == ["1", "1", "1", None]
    assert "B2" not in sheet.cells and sheet.text("B3") == "inf" and float(sheet.text("B4")) == -2.0


def test_what_a_sheet_cannot_hold_is_said(
    told: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books, "MOST_ROWS", 2)
    path = tmp_path / "long.xlsx"
    path.write_bytes(workbook(told, {"long": pd.DataFrame({"x": [1, 2, 3]})}))
    sheets = read(path)
    assert "A3" in sheets["long"].cells and "A4" not in sheets["long"].cells
    said = [text for _, text, _ in sheets["verdict"].cells.values()]
    assert any(text.startswith("3 rows and 1 columns, of which a sheet holds 2") for text in said)


def test_without_the_library_one_line_says_what_to_install(
    advised_run: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=r"an extra: pip install 'changeproof\[xlsx\]'$"):
        advised_run.to_xlsx(tmp_path / "audit.xlsx")
    done = CliRunner().invoke(
        app, ["report", str(advised_run.folder), "--xlsx", str(tmp_path / "audit.xlsx")]
    )
    assert done.exit_code != 0 and isinstance(done.exception, InputError)
    assert not list(tmp_path.iterdir()) and not (advised_run.folder / "report").exists()


def test_other_files_are_refused(advised_run: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a name that ends in \.xlsx"):
        advised_run.to_xlsx(tmp_path / "audit.csv")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        advised_run.to_xlsx(tmp_path / "folder.xlsx")
