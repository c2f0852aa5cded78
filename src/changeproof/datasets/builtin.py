"""The four datasets of the paper, embedded in the package."""

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


@cache
def dataset_records() -> dict[str, DatasetRecord]:
    """Return the record of every embedded dataset, in the paper's order."""
    entries = json.loads((FILES / "manifest.json").read_text(encoding="utf-8"))
    return {name: DatasetRecord(**entry) for name, entry in entries.items()}


def dataset_names() -> tuple[str, ...]:
    """Return the names of the embedded datasets, in the paper's order."""
    return tuple(dataset_records())


def paper_datasets() -> tuple[str, ...]:
    """Return the names of the paper's datasets."""
    return dataset_names()


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
    return Task(name, *read_embedded(FILES, records[name]))


def read_embedded(folder: Path, record: DatasetRecord) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Read one embedded file and refuse it when it is not the recorded one."""
    import pandas as pd

    path = folder / record.file
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != record.sha256:
        raise InputError(
            f"embedded file {record.file} is damaged: its SHA-256 starts with {found[:12]}, "
            f"expected {record.sha256[:12]}; reinstall changeproof"
        )
    frame = pd.read_parquet(path)
    return frame.drop(columns="favourable"), frame["favourable"]
