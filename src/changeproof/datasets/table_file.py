"""Tables that people give: CSV, Parquet or a DataFrame."""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from changeproof.errors import InputError, setting
from changeproof.files import MOST_ROWS, check_table_size

DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
UTF8 = "utf-8"
# The attribute of a table from a CSV file with the texts read as missing: {column: {text: rows}}.
READ_AS_MISSING = "read as missing"
WHOLE, LEADING_ZERO = r"-?(0|[1-9][0-9]*)", r"[+-]?0[0-9].*"
# The first two bytes of a file, and its likely encoding.
BEGINNINGS = {
    re.compile(rb"\xff\xfe|\xfe\xff"): "utf-16",
    re.compile(rb"[^\0]\0", re.DOTALL): "utf-16-le",
    re.compile(rb"\0[^\0]", re.DOTALL): "utf-16-be",
}


def read_table(
    source: pd.DataFrame | str | Path,
    text_columns: Iterable[str] = (),
    unread: Iterable[str] = (),
    encoding: str | None = None,
    id_column: str | None = None,
    as_written: bool = False,
) -> pd.DataFrame:
    """Return a table with unique column names, from a DataFrame or a CSV or Parquet file.

    Like pandas, it reads empty cells and texts such as NA, null and None as missing.

    Parameters
    ----------
    text_columns
        Columns of a CSV file to be kept as text, so that a code like 007 stays one.
    unread
        Columns of a Parquet file that nobody needs: they are left empty. (A CSV file is read in
        full, to see that it is whole.)
    encoding
        The encoding of a CSV file; None where it has to be UTF-8.
    id_column
        A column of a CSV file with ids: numbers, unless some have leading zeros (00985).
    as_written
        Whether to keep blanks at the start of texts, and codes that are numbers as numbers, for a
        model that was fitted with them.
    """
    if isinstance(source, pd.DataFrame):
        table, where = source.copy(), "the DataFrame"
    elif isinstance(source, str | Path):
        where = str(Path(source))
        layout = _layout(encoding) | {"skipinitialspace": not as_written}
        texts = {*text_columns}
        table = _read_file(Path(source), texts, {*unread}, encoding, id_column, layout)
        if as_written and Path(source).suffix.lower() == ".csv":
            for column in texts & {*table.columns}:
                table[column] = _numbers_if_all_are(table[column])
    else:
        raise InputError(f"expected a DataFrame or the path of a file; got {source!r}")
    table.columns = [str(column).strip() for column in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InputError(f"{where}: column {twice[0]!r} appears more than once")
    if table.empty:
        raise InputError(f"{where}: expected rows and columns; got a table of shape {table.shape}")
    # pandas has no index, and much else, of half precision; wider numbers are the same numbers.
    half = [name for name, dtype in table.dtypes.items() if dtype == np.float16]
    return table.astype(dict.fromkeys(half, np.float64))


def _read_file(
    path: Path,
    text_columns: set[str],
    unread: set[str],
    encoding: str | None,
    ids: str | None,
    layout: dict[str, Any],
) -> pd.DataFrame:
    kind = path.suffix[1:].lower()
    if kind not in ("csv", "parquet"):
        raise InputError(f"cannot read {path}: expected a file that ends in .csv or .parquet")
    if not path.is_file():
        raise InputError(f"cannot read {path}: there is no such file")
    if not os.access(path, os.R_OK):
        raise InputError(f"cannot read {path}: permission denied")
    try:
        if kind == "csv":
            return _read_csv(path, text_columns, layout, ids)
        return _read_parquet(path, unread)
    except UnicodeError:
        raise InputError(_not_readable(path, encoding)) from None
    except (OSError, pd.errors.ParserError, pa.ArrowException) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"cannot read {path} as {kind}: {reason}") from None


def _layout(encoding: str | None) -> dict[str, Any]:
    try:
        known = codecs.lookup(encoding or UTF8).name
    except LookupError:
        raise InputError(
            f"unknown encoding {encoding!r}; expected a name such as utf-8, latin-1 or utf-16"
        ) from None
    return {"encoding": "utf-8-sig" if known == UTF8 else known}


def _not_readable(path: Path, encoding: str | None) -> str:
    if encoding is not None and codecs.lookup(encoding).name != UTF8:
        return f"cannot read {path}: it is not in the encoding {encoding!r}"
    with path.open("rb") as file:
        first = file.read(2)
    likely = next(
        (name for bytes_, name in BEGINNINGS.items() if bytes_.fullmatch(first)), "latin-1"
    )
    or_else = "" if encoding is None else f", or ask for {setting(encoding=likely)}"
    return (
        f"cannot read {path}: it is not in UTF-8 but perhaps in {likely}; save it as UTF-8{or_else}"
    )


def check_size(source: Any, where: str) -> None:
    """Refuse a Parquet file of too large a table, by its metadata."""
    about = pq.read_metadata(source)
    check_table_size(about.num_rows, about.num_columns, where)


def _read_parquet(path: Path, unread: set[str]) -> pd.DataFrame:
    check_size(path, str(path))
    schema = pq.read_schema(path)
    described: dict[str, Any] = schema.pandas_metadata or {}
    index = [name for name in described.get("index_columns", []) if isinstance(name, str)]
    left = [name for name in schema.names if name.strip() in unread and name not in index]
    if not left:
        return pd.read_parquet(path)
    table = pd.read_parquet(path, columns=[name for name in schema.names if name not in left])
    names = [name for name in schema.names if name in table.columns or name in left]
    return table.reindex(columns=names)


def _read_csv(
    path: Path, text_columns: set[str], layout: dict[str, Any], id_column: str | None
) -> pd.DataFrame:
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **layout)
    except pd.errors.EmptyDataError:
        raise InputError(f"cannot read {path}: the file is empty") from None
    written = [str(name) for name in header.iloc[0]]
    names = [name.strip() for name in written]
    _check_header(path, names)
    texts = {name: str for name in written if name.strip() in {*text_columns, id_column}}
    with warnings.catch_warnings():
        # Surplus fields would be lost, or taken for an index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table: pd.DataFrame = pd.read_csv(
                path, index_col=False, dtype=texts, low_memory=False, nrows=MOST_ROWS + 1, **layout
            )
        except pd.errors.ParserWarning:
            raise InputError(
                f"{path}: the rows have more fields than the header, which has {len(names)}"
            ) from None
    check_table_size(*table.shape, str(path))
    table = table.set_axis(names, axis="columns")
    if id_column in names and id_column not in text_columns:
        table[id_column] = _numbers_if_all_are(table[id_column])
    table.attrs[READ_AS_MISSING] = _read_as_missing(path, table, layout)
    return table


def _numbers_if_all_are(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return texts as numbers if all are, and no leading zero is lost."""
    there = texts.dropna().str.strip()
    if there.str.fullmatch(WHOLE).all():
        return texts.map(int, na_action="ignore")
    if there.str.fullmatch(LEADING_ZERO).any():
        return texts
    numbers = pd.to_numeric(texts, errors="coerce")
    return texts if numbers[texts.notna()].isna().any() else numbers


def _read_as_missing(
    path: Path, table: pd.DataFrame, layout: dict[str, Any]
) -> dict[str, dict[str, int]]:
    """Return {column: {text: rows}} of texts of a CSV file that were read as missing."""
    places = [int(place) for place in np.flatnonzero(table.isna().any())]
    if not places:
        return {}
    written = pd.read_csv(
        path, usecols=places, dtype=str, keep_default_na=False, index_col=False, **layout
    )
    found = {}
    for position, place in enumerate(places):
        texts = written.iloc[:, position][table.iloc[:, place].isna().to_numpy()]
        counts = texts[texts != ""].value_counts()
        found[str(table.columns[place])] = {str(text): int(n) for text, n in counts.items()}
    return {name: texts for name, texts in found.items() if texts}


def _check_header(path: Path, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} appears more than once")
    if "" in names:
        raise InputError(
            f"{path}: column {names.index('') + 1} has no name (was an index written as well?); "
            "name every column"
        )
    if any("\0" in name for name in names):
        raise UnicodeError  # As in UTF-16 without a byte order mark.
    for delimiter, word in DELIMITERS.items():
        if len(names) == 1 and delimiter in names[0]:
            raise InputError(
                f"{path} has one column, {names[0]!r}: its fields seem to be separated by {word}; "
                "expected commas"
            )
