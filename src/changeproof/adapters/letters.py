"""Letters as they went out: a folder that `changeproof letters` wrote, read for another audit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from changeproof.datasets.table_file import read_table
from changeproof.errors import InputError, one_line
from changeproof.files import safe_name

FORMAT = 1
# The index of a folder of letters: a row for each document, with whose advice it tells, and its
# checksum.
INDEX = "letters.csv"
INDEX_COLUMNS = ["id", "document", "file", "method", "sha256"]
READ = ["document", "file", "sha256"]
COPY = "json"


def is_folder(source: object) -> bool:
    """Say whether a source of counterfactuals is a folder, as letters are in."""
    return isinstance(source, str | Path) and Path(source).is_dir()


class Letters(NamedTuple):
    """Whom letters went to, and the row that each of their ways tells; None without a way."""

    people: list[Any]
    rows: list[dict[str, Any] | None]


def read_letters(folder: Path) -> Letters:
    """Read letters as they went out; every document has to be as the index says."""
    found = Letters([], [])
    for each in _index(folder).to_dict("records"):
        content = _checked(folder, str(each["file"]), str(each["sha256"]))
        if each["document"] != COPY:
            continue
        letter = _letter(folder / str(each["file"]), content)
        rows = [way["row"] for way in letter["ways"]] or [None]
        found.people.extend([letter["person"]] * len(rows))
        found.rows.extend(rows)
    if not found.people:
        raise InputError(f"{folder / INDEX} lists no letter")
    return found


def _index(folder: Path) -> pd.DataFrame:
    path = folder / INDEX
    if not path.is_file():
        raise InputError(f"{folder} is no folder of letters: it has no {INDEX}")
    index = read_table(path, text_columns=INDEX_COLUMNS)
    if not set(READ) <= set(index.columns):
        raise InputError(f"{path} is no index of letters; its columns are {list(index.columns)}")
    return index


def _checked(folder: Path, file: str, sha256: str) -> bytes:
    """Return a document, whose bytes have to be those of the index."""
    path = folder / safe_name(file, "a letter")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(f"{path} is not as it went out: its checksum is not that of {INDEX}")
    return content


def _letter(path: Path, content: bytes) -> dict[str, Any]:
    try:
        letter: dict[str, Any] = json.loads(content)
        if letter["format"] != FORMAT:
            raise ValueError(f"format {letter['format']!r}")
        for way in letter["ways"]:
            dict(way["row"])
        letter["person"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is no letter of this version: {one_line(error)}") from None
    return letter
