"""Datasets by reference: embedded ones by name, one's own by the path of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from changeproof.datasets.builtin import dataset_names, load_task
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.datasets.task import Task

# Dataset files that people write, and tasks as runs keep them.
FILE_ENDINGS = (".toml", ".task.parquet")


def find_task(reference: str, beside: Sequence[str] = ()) -> Task:
    """Return the task that a reference means.

    Parameters
    ----------
    reference
        The name of an embedded dataset, the path of a dataset file (.toml), or the path of a
        task that a run has kept (.task.parquet).
    beside
        Columns of a dataset file's table to remember as well, features or not.
    """
    if reference in dataset_names():
        return load_task(reference)
    if not reference.endswith(FILE_ENDINGS):
        raise InputError(
            f"unknown dataset {reference!r}; expected one of: {', '.join(dataset_names())}, "
            "or the path of a dataset file that ends in .toml"
        )
    if reference.endswith(".toml"):
        from changeproof.datasets.dataset_file import load_dataset

        return load_dataset(reference, beside)
    from changeproof.datasets.kept import task_from_bytes

    try:
        return task_from_bytes(Path(reference).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read task file {reference}: {error.strerror}") from None
