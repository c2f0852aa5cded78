"""A whole run as a workbook: what was found in words, then a sheet for every table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.errors import InputError, visible
from changeproof.report.document import plain
from changeproof.tables.advice import PEOPLE, TOLD
from changeproof.tables.display import Tables
from changeproof.tables.spreadsheets import BEGINNINGS

ENDING = ".xlsx"
FIRST = "verdict"
# The tables that most people look for, before all others.
FOREMOST = ("full_results", "people_intervals", "family_results", PEOPLE, TOLD)
# What a sheet can hold, without its heading.
MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_575, 16_384, 32_767
# Widths in characters; that of a column is of what stands in its first rows.
WIDEST, NARROWEST, ROWS_MEASURED = 60, 8, 200
LABELS, WORDS = 18, 110
# Not when it was written: the same run gives the same bytes.
CREATED = datetime(2000, 1, 1, tzinfo=UTC)
# How the library begins and ends what it takes for markup.
MARKUP = ("<r>", "</r>")


def check_workbook(path: str | Path) -> Path:
    """Check that a workbook can be written there, before anything is done."""
    _library()
    out = Path(path)
    if out.suffix.lower() != ENDING:
        raise InputError(f"cannot write a workbook to {out}; expected a name that ends in {ENDING}")
    return out


def workbook(document: Mapping[str, Any], tables: Tables) -> bytes:
    """Return the workbook of a run, its `document` and its tables, as the bytes of an XLSX file."""
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
    first = [name for name in FOREMOST if name in tables]
    tables = {name: tables[name] for name in dict.fromkeys([*first, *tables])}
    _write_first(book, _entries(document, tables), tables)
    heading = book.add_format({"bold": True, "bottom": 1})
    # Still text after somebody edits the cell, as if it had an apostrophe in front.
    guarded = book.add_format({"quote_prefix": True})
    for name, table in tables.items():
        sheet = book.add_worksheet(name)
        shown = table.iloc[:MOST_ROWS, :MOST_COLUMNS]
        for column in range(shown.shape[1]):
            sheet.set_column(column, column, _width(shown.iloc[:, column]))
            sheet.write_string(0, column, _text(str(shown.columns[column])), heading)
        for row, values in enumerate(shown.itertuples(index=False, name=None), start=1):
            for column, value in enumerate(values):
                _write(sheet, row, column, plain(value), guarded)
        sheet.freeze_panes(1, 0)
        if shown.shape[1]:
            sheet.autofilter(0, 0, len(shown), shown.shape[1] - 1)
    book.close()
    return content.getvalue()


def _write_first(book: Any, entries: Iterable[tuple[str, str]], tables: Tables) -> None:
    """Write labels with texts; the name of a table is a link to its sheet."""
    labels = book.add_format({"bold": True, "valign": "top"})
    words = book.add_format({"text_wrap": True, "valign": "top"})
    sheet = book.add_worksheet(FIRST)
    sheet.set_column(0, 0, LABELS)
    sheet.set_column(1, 1, WORDS)
    for row, (label, text) in enumerate(entries):
        if label in tables:
            link = book.get_default_url_format()
            sheet.write_url(row, 0, f"internal:'{label}'!A1", link, label)
        else:
            sheet.write_string(row, 0, _text(label), labels)
        sheet.write_string(row, 1, _text(text), words)


def _write(sheet: Any, row: int, column: int, value: Any, guarded: Any) -> None:
    """Write a value as what it is: numbers as numbers, text as text, nothing as nothing."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, int | float):
        sheet.write_number(row, column, value)
    elif value:
        style = guarded if value.startswith(BEGINNINGS) else None
        sheet.write_string(row, column, _text(value), style)


def _entries(document: Mapping[str, Any], tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield what stands on the first sheet: labels with texts, one row for each text."""
    plan, run = document["plan"], document["run"]
    feasible = "feasible, so that people can be told" if plan["feasible"] else "as published"
    entries: dict[str, str | list[str]] = {
        "changeproof": document["changeproof"],
        "What was found": document["verdict"]["lines"],
        "Letters": document["letters"],
        "Left out": [f"{name}: {reason}" for name, reason in document["left_out"].items()],
        "Notes": document["notes"],
        "People at most": str(plan["factuals"]),
        "Model": str(plan["model"]),
        "Answers": feasible,
        "Data": ", ".join(each["name"] for each in run["datasets"]),
        "Methods": ", ".join(plan["methods"]),
        "Families": ", ".join(plan["families"]),
        "Base seeds": ", ".join(map(str, plan["base_seeds"])),
        "To repeat it": run["repeat"],
        "Methods, families": [f"{name}: {what}" for name, what, _ in run["sources"]],
        "Versions": ", ".join(f"{name} {version}" for name, version in run["versions"].items()),
        "Fingerprint": run["fingerprint"],
        **{name: _size(table) for name, table in tables.items()},
    }
    for label, texts in entries.items():
        for number, text in enumerate([texts] if isinstance(texts, str) else texts):
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
    """Return the width of a column in characters."""
    values = (plain(value) for value in column.head(ROWS_MEASURED).tolist())
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
