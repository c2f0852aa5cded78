"""Tables as CSV files that people open in spreadsheets, and that are read back as they were.

A text that begins like a formula, =HYPERLINK(...) or @SUM(1+1), would be one there. Such texts get
an apostrophe in front, which spreadsheets take for "this is text", and lose it when they are read.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import pandas as pd

# How a formula begins; an apostrophe as well, so that every text can be read back.
BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "'")
# Names of groups and words about models are text, whatever they look like: "1", "None", or nothing.
NAMES = (
    "group", "highest", "lowest",
    "model", "reference", "kind", "digest", "columns", "threshold", "refit_by", "no_refit",
)  # fmt: skip
# What people are called may look like a number and be none: 007.
IDS = ("id",)
# Values of different features, numbers and categories, under one heading.
MIXED = ("before", "after")


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as a CSV file in which no text is a formula."""
    guarded = _mapped(table, guarded_text)
    return guarded.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()


def read_table(content: bytes) -> pd.DataFrame:
    """Return the table of a file that a run has written.

    Only what is empty is missing, as it is written so; a category may be called "None" or "NA".
    """
    table = read_csv(content, keep_default_na=False, na_values=[""])
    there = [name for name in (*NAMES, *IDS) if name in table.columns]
    texts = read_csv(content, usecols=there, dtype=str, keep_default_na=False) if there else table
    for name in there:
        if name in NAMES or not (table[name].astype(str) == texts[name]).all():
            table[name] = texts[name]
    for name in MIXED:
        if name in table.columns and not pd.api.types.is_numeric_dtype(table[name].dtype):
            numbers = pd.to_numeric(table[name], errors="coerce").tolist()
            both = zip(table[name], numbers, strict=True)
            values = [text if math.isnan(number) else whole_as_int(number) for text, number in both]
            table[name] = pd.Series(values, index=table.index, dtype=object)
    return table


def read_csv(content: bytes, **options: Any) -> pd.DataFrame:
    """Return the table of a CSV file that `csv_bytes` made; options are those of pandas."""
    return _mapped(pd.read_csv(io.BytesIO(content), **options), _bare_text)


def guarded_text(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(BEGINNINGS) else text


def whole_as_int(value: float) -> int | float:
    """Return a number as it is written shortest: 3 and not 3.0."""
    return int(value) if float(value).is_integer() else value


def _bare_text(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(BEGINNINGS) else text


def _mapped(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return a table with changed texts, in cells and headings; the given one stays as it is."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    mapped = table.copy(deep=False)
    for position, dtype in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            values = table.iloc[:, position]
            mapped.isetitem(position, values.map(changed, na_action="ignore").astype(dtype).array)
    mapped.columns = pd.Index([changed(name) for name in table.columns])
    return mapped
