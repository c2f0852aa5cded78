"""Embedded datasets: the four of the paper, and three that say what people may change."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from changeproof.errors import InputError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from changeproof.datasets.task import Task

FILES = Path(__file__).parent / "files"


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


@cache
def dataset_records() -> dict[str, DatasetRecord]:
    """Return the record of every embedded dataset, the paper's first, in its order."""
    entries = json.loads((FILES / "manifest.json").read_text(encoding="utf-8"))
    return {name: DatasetRecord(**entry) for name, entry in entries.items()}


def dataset_names() -> tuple[str, ...]:
    """Return the names of the embedded datasets, the paper's first, in its order."""
    return tuple(dataset_records())


def paper_datasets() -> tuple[str, ...]:
    """Return the names of the paper's datasets, in its order."""
    return tuple(name for name, record in dataset_records().items() if record.paper)


@cache
def load_task(name: str) -> Task:
    """Load an embedded dataset, after checking it against its recorded hash.

    >>> load_task("heloc")
    Task('heloc', 8291 rows, 20 features)
    """
    from changeproof.datasets.task import Task

    records = dataset_records()
    if name not in records:
        raise unknown("dataset", name, records)
    record = records[name]
    if record.dataset_file is None:
        return Task(name, *read_embedded(FILES, record))
    return read_described(FILES, name, record)


def read_embedded(folder: Path, record: DatasetRecord) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Read one embedded file and refuse it when it is not the recorded one."""
    import pandas as pd

    frame = pd.read_parquet(_undamaged(folder / record.file, record.sha256))
    return frame.drop(columns="favourable"), frame["favourable"]


def read_described(folder: Path, name: str, record: DatasetRecord) -> Task:
    """Read an embedded table by its dataset file; both have to be the recorded ones."""
    from changeproof.datasets.dataset_file import load_dataset

    _undamaged(folder / record.file, record.sha256)
    task = load_dataset(_undamaged(folder / str(record.dataset_file), record.dataset_file_sha256))
    task.name = name  # as a dataset of somebody's own it could not have this name
    task.notes = ()
    return task


def _undamaged(path: Path, recorded: str | None) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != recorded:
        raise InputError(
            f"embedded file {path.name} is damaged: its SHA-256 starts with {found[:12]}, "
            f"expected {str(recorded)[:12]}; reinstall changeproof"
        )
    return path
