"""Tables that people bring: CSV, Parquet or a DataFrame."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from changeproof.errors import InputError

DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
LAYOUT: dict[str, Any] = {"skipinitialspace": True, "encoding": "utf-8-sig"}


def read_table(
    source: pd.DataFrame | str | Path,
    text_columns: Iterable[str] = (),
    unread: Iterable[str] = (),
) -> pd.DataFrame:
    """Return a table with column names that are unique texts.

    Parameters
    ----------
    source
        A DataFrame, or the path of a CSV file (commas, a header) or a Parquet file.
    text_columns
        Columns of a CSV file to be kept as text, so that a code like 007 stays one.
    unread
        Columns of a Parquet file that nobody needs: they are there, and empty. (All of a CSV file
        is read, to see that it is whole.)
    """
    if isinstance(source, pd.DataFrame):
        table, where = source.copy(), "the DataFrame"
    elif isinstance(source, str | Path):
        left = frozenset(unread)
        table, where = _read_file(Path(source), tuple(text_columns), left), str(Path(source))
    else:
        raise InputError(f"expected a DataFrame or the path of a file; got {source!r}")
    table.columns = [str(column).strip() for column in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InputError(f"{where}: column {twice[0]!r} appears more than once")
    if table.empty:
        raise InputError(f"{where}: expected rows and columns; got a table of shape {table.shape}")
    return table


def _read_file(path: Path, text_columns: tuple[str, ...], unread: frozenset[str]) -> pd.DataFrame:
    kind = path.suffix[1:].lower()
    if kind not in ("csv", "parquet"):
        raise InputError(f"cannot read {path}: expected a file that ends in .csv or .parquet")
    if not path.is_file():
        raise InputError(f"cannot read {path}: there is no such file")
    if not os.access(path, os.R_OK):
        raise InputError(f"cannot read {path}: permission denied")
    try:
        if kind == "csv":
            return _read_csv(path, text_columns)
        return _read_parquet(path, unread)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pa.ArrowException) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"cannot read {path} as {kind}: {reason}") from None


def _read_parquet(path: Path, unread: frozenset[str]) -> pd.DataFrame:
    schema = pq.read_schema(path)
    left = [name for name in schema.names if name.strip() in unread and name not in _index(schema)]
    if not left:
        return pd.read_parquet(path)
    read = [name for name in schema.names if name not in left]
    table = pd.read_parquet(path, columns=read)
    shown = [name for name in schema.names if name in table.columns or name in left]
    return table.reindex(columns=shown)


def _index(schema: pa.Schema) -> list[str]:
    """Return the columns of a Parquet file that pandas wrote its index to."""
    described: dict[str, Any] = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _read_csv(path: Path, text_columns: tuple[str, ...]) -> pd.DataFrame:
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, **LAYOUT)
    except pd.errors.EmptyDataError:
        raise InputError(f"cannot read {path}: the file is empty") from None
    written = ["" if pd.isna(name) else str(name) for name in header.iloc[0]]
    names = [name.strip() for name in written]
    _check_header(path, names)
    kept = [name for name in written if name.strip() in text_columns]
    with warnings.catch_warnings():
        # Surplus fields would be lost, or taken for an index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            types = dict.fromkeys(kept, str)
            table: pd.DataFrame = pd.read_csv(
                path, index_col=False, dtype=types, low_memory=False, **LAYOUT
            )
        except pd.errors.ParserWarning:
            raise InputError(
                f"{path}: the rows have more fields than the header, which has {len(names)}"
            ) from None
    return table.set_axis(names, axis="columns")


def _check_header(path: Path, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} appears more than once")
    if "" in names:
        raise InputError(
            f"{path}: column {names.index('') + 1} has no name (was an index written, too?); "
            "name every column"
        )
    for delimiter, word in DELIMITERS.items():
        if len(names) == 1 and delimiter in names[0]:
            raise InputError(
                f"{path} has one column, {names[0]!r}: it seems to be separated by {word}; "
                "expected commas"
            )
