"""Datasets by reference: an embedded one by name, one's own by the path of its dataset file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from changeproof.datasets.builtin import dataset_names, load_task
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.datasets.task import Task

# When a file was last written, and its size.
Stamp = tuple[int, int]


def find_task(reference: str) -> Task:
    """Return the task that a reference means.

    Asking again costs little: a task is made again only when its dataset file or its table has
    changed.

    Parameters
    ----------
    reference
        The name of an embedded dataset, or the path of a dataset file that ends in .toml.
    """
    if not _is_file(reference):
        return load_task(reference)
    from changeproof.datasets.dataset_file import DatasetFile

    path = Path(reference).resolve()
    table = DatasetFile.read(path).table(path)
    return _load(path, _stamp(path), _stamp(table))


def task_name(reference: str) -> str:
    """Return the name of the task that a reference means, without reading its table."""
    if not _is_file(reference):
        return reference
    from changeproof.datasets.dataset_file import DatasetFile

    path = Path(reference).resolve()
    return DatasetFile.read(path).task_name(path)


def _is_file(reference: str) -> bool:
    if reference in dataset_names():
        return False
    if not reference.endswith(".toml"):
        raise InputError(
            f"unknown dataset {reference!r}; expected one of: {', '.join(dataset_names())}, "
            "or the path of a dataset file that ends in .toml"
        )
    return True


@lru_cache(maxsize=16)
def _load(path: Path, written: Stamp | None, table_written: Stamp | None) -> Task:
    from changeproof.datasets.dataset_file import load_dataset

    return load_dataset(path)


def _stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file; a missing one is reported by whoever reads it."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size
