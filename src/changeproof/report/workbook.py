"""A whole run as a workbook: what was found in words, then a sheet for every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.errors import InputError, visible
from changeproof.report.document import plain
from changeproof.tables.advice import PEOPLE, TOLD
from changeproof.tables.spreadsheets import BEGINNINGS

ENDING = ".xlsx"
FIRST = "verdict"
# The tables that most people look for, before all others.
FOREMOST = ("full_results", "people_intervals", "family_results", PEOPLE, TOLD)
# What a sheet can hold, without its heading.
MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_575, 16_384, 32_767
# Widths in characters; those of a column are of what stands in its first rows.
WIDEST, NARROWEST, LOOKED_AT = 60, 8, 200
LABELS, WORDS = 18, 110
# Not when it was written: the same run gives the same bytes.
CREATED = datetime(2000, 1, 1, tzinfo=UTC)
# How the library begins and ends what it takes for markup.
MARKUP = ("<r>", "</r>")


def check_workbook(path: str | Path) -> Path:
    """Refuse in one line, before anything is done, where no workbook can be written."""
    _library()
    out = Path(path)
    if out.suffix.lower() != ENDING:
        raise InputError(f"cannot write a workbook to {out}; expected a name that ends in {ENDING}")
    return out


def workbook(document: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> bytes:
    """Return the workbook of a run as the bytes of an XLSX file.

    Parameters
    ----------
    document
        What there is to say of the run; see `document`.
    tables
        Its tables by name.
    """
    content = BytesIO()
    # Row by row, so that memory does not grow with tables; no text is taken for anything else.
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    book = _library().Workbook(content, options)
    book.set_properties({"title": "changeproof", "created": CREATED})
    writer = _Writer(book)
    writer.first_sheet(list(_words(document, tables)), list(tables))
    for name in _in_order(tables):
        writer.table(name, tables[name])
    book.close()
    return content.getvalue()


class _Writer:
    """Puts texts and tables into the sheets of a workbook."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.heading = book.add_format({"bold": True, "bottom": 1})
        self.label = book.add_format({"bold": True, "valign": "top"})
        self.words = book.add_format({"text_wrap": True, "valign": "top"})
        self.link = book.get_default_url_format()
        # Text also after somebody has been in the cell, as an apostrophe in front makes it.
        self.guarded = book.add_format({"quote_prefix": True})

    def first_sheet(self, words: list[tuple[str, str]], names: list[str]) -> None:
        """Write labels with texts, and where there is a sheet of that name, a way to it."""
        sheet = self.book.add_worksheet(FIRST)
        sheet.set_column(0, 0, LABELS)
        sheet.set_column(1, 1, WORDS)
        for row, (label, text) in enumerate(words):
            if label in names:
                sheet.write_url(row, 0, f"internal:'{label}'!A1", self.link, label)
            else:
                sheet.write_string(row, 0, _text(label), self.label)
            sheet.write_string(row, 1, _text(text), self.words)

    def table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table with its heading, as much of it as a sheet can hold."""
        sheet = self.book.add_worksheet(name)
        shown = table.iloc[:MOST_ROWS, :MOST_COLUMNS]
        for column in range(shown.shape[1]):
            sheet.set_column(column, column, _width(shown.iloc[:, column]))
            sheet.write_string(0, column, _text(str(shown.columns[column])), self.heading)
        for row, values in enumerate(shown.itertuples(index=False, name=None), start=1):
            for column, value in enumerate(values):
                self._write(sheet, row, column, plain(value))
        sheet.freeze_panes(1, 0)
        if shown.shape[1]:
            sheet.autofilter(0, 0, len(shown), shown.shape[1] - 1)

    def _write(self, sheet: Any, row: int, column: int, value: Any) -> None:
        """Write a value as what it is: numbers as numbers, text as text, nothing as nothing."""
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value)
        elif isinstance(value, int | float):
            sheet.write_number(row, column, value)
        elif value:
            how = self.guarded if value.startswith(BEGINNINGS) else None
            sheet.write_string(row, column, _text(value), how)


def _words(
    document: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]
) -> Iterator[tuple[str, str]]:
    """Yield what stands on the first sheet, each text behind its label."""
    plan, run = document["plan"], document["run"]
    yield "changeproof", document["changeproof"]
    yield from _under("What was found", document["verdict"]["lines"])
    yield from _under("Letters", document["letters"])
    left_out = [f"{name}: {reason}" for name, reason in document["left_out"].items()]
    yield from _under("Left out", left_out)
    yield from _under("Notes", document["notes"])
    asked = {"People at most": plan["factuals"], "Model": plan["model"]}
    told = "feasible, so that people can be told" if plan["feasible"] else "as published"
    for label, value in (asked | {"Answers": told}).items():
        yield label, str(value)
    yield "Data", ", ".join(each["name"] for each in run["datasets"])
    for key in ("methods", "families", "base_seeds"):
        yield key.replace("_", " ").capitalize(), ", ".join(map(str, plan[key]))
    yield "Repeat it with", run["command"]
    yield from _under("Methods, families", [f"{n}: {what}" for n, what, _ in run["sources"]])
    yield "Versions", ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    yield "Fingerprint", run["fingerprint"]
    for name in _in_order(tables):
        yield name, _size(tables[name])


def _in_order(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the names of tables, the foremost first."""
    return list(dict.fromkeys([*(name for name in FOREMOST if name in tables), *tables]))


def _under(label: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield texts one under the other, the first behind the label."""
    for number, text in enumerate(texts):
        yield label if number == 0 else "", text


def _size(table: pd.DataFrame) -> str:
    rows, columns = table.shape
    size = f"{rows:,} {'row' if rows == 1 else 'rows'}"
    if rows <= MOST_ROWS and columns <= MOST_COLUMNS:
        return size
    return (
        f"{size} and {columns:,} columns, of which a sheet holds {MOST_ROWS:,} and "
        f"{MOST_COLUMNS:,}; the CSV file has all"
    )


def _width(column: pd.Series[Any]) -> int:
    """Return how wide a column is to be, in characters."""
    values = (plain(value) for value in column.head(LOOKED_AT).tolist())
    texts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    longest = max(map(len, [str(column.name), *texts]))
    return min(max(longest + 2, NARROWEST), WIDEST)


def _text(text: str) -> str:
    """Return text as a sheet can hold it, and as nothing but text."""
    shown = visible(text, lines=True)
    if shown.startswith(MARKUP[0]) and shown.endswith(MARKUP[1]):
        shown += " "
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[: LONGEST_TEXT - 1]}…"


def _library() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise InputError(
            "a workbook needs XlsxWriter, an extra: pip install 'changeproof[xlsx]'"
        ) from None
    return xlsxwriter
