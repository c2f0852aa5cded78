"""Tables as CSV files that people open in spreadsheets.

A text that begins like a formula, =HYPERLINK(...) or @SUM(1+1), would be one there. Such texts get
an apostrophe in front, which spreadsheets take for "this is text", and lose it when they are read.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pandas as pd

# How a formula begins; an apostrophe as well, so that every text can be read back.
BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "'")


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as a CSV file in which no text is a formula."""
    guarded = _mapped(table, guarded_text)
    text = guarded.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text.encode()


def read_csv(content: bytes, **options: Any) -> pd.DataFrame:
    """Return the table of a CSV file that `csv_bytes` made; options are those of pandas."""
    return _mapped(pd.read_csv(io.BytesIO(content), **options), _bare_text)


def guarded_text(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(BEGINNINGS) else text


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
