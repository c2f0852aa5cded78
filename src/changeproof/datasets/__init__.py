"""Rows with outcomes: the embedded datasets and the `Task` that everything starts from.

Four of the embedded datasets are the paper's, three state what people may change. Their names are
known without importing pandas.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILES = Path(__file__).parent / "files"
# Dataset files that people write, and tasks that runs keep.
FILE_ENDINGS = (".toml", ".task.parquet")


class DatasetRecord(NamedTuple):
    """What is known of an embedded file: see `tools/build_datasets.py`, which writes it."""

    title: str
    file: str
    sha256: str
    rows: int
    original_rows: int
    features: int
    favourable: str
    package: str
    members: list[str]
    origin: str
    licence: str
    paper: bool
    dataset_file: str | None = None
    dataset_file_sha256: str | None = None
    sample: str | None = None
    split: str | None = None
    split_sha256: str | None = None


@cache
def dataset_records() -> dict[str, DatasetRecord]:
    entries = json.loads((FILES / "manifest.json").read_text(encoding="utf-8"))
    return {name: DatasetRecord(**entry) for name, entry in entries.items()}


def dataset_names() -> tuple[str, ...]:
    """Return the names of the embedded datasets, the paper's first, in its order."""
    return tuple(dataset_records())


def paper_datasets() -> tuple[str, ...]:
    """Return the names of the paper's datasets, in its order."""
    return tuple(name for name, record in dataset_records().items() if record.paper)
