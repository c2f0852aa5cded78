"""Dataset files: what a table means, written down in TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from changeproof.datasets.columns import Missing
from changeproof.datasets.custom import checked_name, default_name, own_task
from changeproof.datasets.table_file import UTF8
from changeproof.datasets.task import Task
from changeproof.errors import InputError, as_keys
from changeproof.files import read_toml, validated


class DatasetFile(BaseModel):
    """The keys of a dataset file; they mean what they mean to `own_task`.

    `data` is a path relative to the dataset file, `id` is the id column, and the name is that of
    the dataset file where none is given. `features` are tables of what may change, one per feature:
    see `Action`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    data: str = Field(min_length=1)
    target: str
    favourable: str | bool | int | float | list[str | bool | int | float]
    name: str | None = None
    id: str | None = None
    categorical: list[str] = []
    drop: list[str] = []
    missing: Missing = "refuse"
    split: str | None = None
    features: dict[str, dict[str, Any]] = {}
    most_changes: int | None = None
    beside: list[str] = []
    time: str | None = None
    encoding: str = UTF8
    allow_leak: list[str] = []

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a dataset file, but not the table that it names."""
        return validated(cls, read_toml(path, "dataset file"), f"dataset file {path}")


def load_dataset(path: str | Path, beside: Sequence[str] = ()) -> Task:
    """Make a task of a dataset file.

    Parameters
    ----------
    path
        The dataset file.
    beside
        Columns to remember beside the features, as well as those that it names itself.

    Examples
    --------
    >>> load_dataset("loans.toml")
    Task('loans', 600 rows, 6 features)
    """
    path = Path(path)
    given = DatasetFile.read(path)
    try:
        name = default_name(path) if given.name is None else checked_name(given.name)
        others = given.model_dump(exclude={"data", "name", "id", "features", "beside"})
        task = own_task(
            path.parent / given.data,
            name=name,
            id_column=given.id,
            actions=given.features,
            beside=[*given.beside, *beside],
            **others,
        )
    except InputError as error:
        raise InputError(f"dataset file {path}: {as_keys(str(error))}") from None
    task.notes = tuple(map(as_keys, task.notes))
    return task
