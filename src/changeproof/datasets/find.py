"""Datasets by reference: the embedded ones by name, others by the path of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from changeproof.datasets import (
    FILE_ENDINGS,
    FILES,
    DatasetRecord,
    dataset_names,
    dataset_records,
)
from changeproof.datasets.columns import as_named
from changeproof.datasets.custom import Taken, load_dataset
from changeproof.datasets.kept import task_from_bytes
from changeproof.datasets.split import Split
from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown


def find_task(reference: str, beside: Sequence[str] = (), taken: Taken | None = None) -> Task:
    """Return the task that a reference means.

    Parameters
    ----------
    reference
        The name of an embedded dataset, the path of a dataset file (.toml), or the path of a
        task that a run has kept (.task.parquet).
    beside
        Columns of a dataset file's table to remember as well, features or not.
    taken
        The columns that a fitted model takes, or "all"; other features are kept beside.
    """
    if reference in dataset_names():
        return taken_by(load_task(reference), taken)
    if not reference.endswith(FILE_ENDINGS):
        raise InputError(
            f"unknown dataset {reference!r}; expected one of: {', '.join(dataset_names())}, "
            "or the path of a dataset file that ends in .toml"
        )
    if reference.endswith(".toml"):
        return load_dataset(reference, beside, taken)
    try:
        return taken_by(task_from_bytes(Path(reference).read_bytes()), taken)
    except OSError as error:
        raise InputError(f"cannot read task file {reference}: {error.strerror}") from None


def taken_by(task: Task, taken: Taken | None) -> Task:
    """Return a task with the features that a fitted model takes."""
    if taken is None or taken == "all":
        return task
    known = [feature.name for feature in task.features]
    taken = as_named(taken, known)
    if lacking := [name for name in taken if name not in known]:
        raise InputError(
            f"the model takes the columns {', '.join(taken)}; {task.name!r} has no "
            f"{', '.join(lacking)} among its features: {', '.join(known)}"
        )
    return task.with_features(taken)


@cache
def load_task(name: str) -> Task:
    """Load an embedded dataset, after checking it against its recorded hash.

    >>> load_task("heloc")
    Task('heloc', 8291 rows, 20 features)
    """
    records = dataset_records()
    if name not in records:
        raise unknown("dataset", name, records)
    return read_embedded(FILES, name, records[name])


def read_embedded(folder: Path, name: str, record: DatasetRecord) -> Task:
    """Read an embedded table, with its split or by its dataset file; refuse files that differ."""
    table = _undamaged(folder / record.file, record.sha256)
    if record.split is not None:
        frame = pd.read_parquet(table)
        # The protocol's split as it was drawn: to draw it again would import scikit-learn.
        with np.load(_undamaged(folder / record.split, record.split_sha256)) as parts:
            split = Split(**parts)
        return Task(name, frame.drop(columns="favourable"), frame["favourable"], split)
    assert record.dataset_file is not None
    task = load_dataset(_undamaged(folder / record.dataset_file, record.dataset_file_sha256))
    task.name = name  # `load_dataset` refuses the names of embedded datasets.
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
