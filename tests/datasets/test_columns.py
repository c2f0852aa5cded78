"""Columns by their different values give what every cell by itself gives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, own_task
from changeproof.datasets.columns import complete, understand
from loans import loans

ROWS = pd.Index([f"R{number}" for number in range(40)], dtype=object)
TRAIN = np.arange(0, 40, 2)


def repeated(values: list[Any], dtype: Any) -> pd.Series[Any]:
    return pd.Series((values * 40)[:40], index=ROWS, dtype=dtype, name="column")


COLUMNS = {
    "three": repeated(["car", " house", "study ", "car"], "str"),
    "two": repeated(["no", "yes", " no"], "str"),
    "gaps": repeated(["north", None, "  ", "south", "east", "east"], "str"),
    "some numbers": repeated(["1", "2.0", "two", "three", "1.0"], "str"),
    "all numbers": repeated(["1", " 2.5", None], "str"),
    "a mistake": repeated(["1", "2", "3", "4", "5", "6", "7", "8", "9", "ten"], "str"),
    "booleans": repeated([True, False, False], "bool"),
    "booleans with gaps": repeated([True, None, False], "boolean"),
    "categories": repeated(["b", "a", "c"], "category"),
    "nothing": repeated([None], "str"),
    "too many": pd.Series([f"value {n}" for n in range(60)], dtype="str", name="column"),
}
LISTED = {
    "categories of numbers": repeated([3, 1, 2.5], "category"),
    "whole": repeated([3, 1, 2], "int64"),
    "with gaps": repeated([3.0, np.nan, -0.0, 0.5], "float64"),
    "codes": repeated(["007", "7", "08"], "str"),
}


def outcome(values: pd.Series[Any], listed: bool) -> tuple[Any, ...]:
    """What a column is understood as, filled up and encoded; or what is said against it."""
    try:
        column = understand(values, listed)
        filled = complete(column, "impute", TRAIN)
    except InputError as error:
        return (str(error),)
    encoded = column.feature(0).encode(filled.cells)
    gaps = column.cells.isna()
    cells = column.cells.astype(object).where(~gaps, None).tolist()
    assert column.cells.index.equals(values.index)
    return column.name, column.kind, column.categories, cells, encoded.tobytes()


@pytest.mark.parametrize("name", COLUMNS)
def test_different_values_give_what_cells_give(name: str) -> None:
    values = COLUMNS[name]
    assert outcome(values, listed=False) == outcome(values.astype(object), listed=False)


@pytest.mark.parametrize("name", LISTED)
def test_listed_columns_too(name: str) -> None:
    values = LISTED[name]
    assert outcome(values, listed=True) == outcome(values.astype(object), listed=True)


def test_equal_objects_may_differ() -> None:
    found = understand(repeated([1, True, "x"], object), listed=True)
    assert found.categories == ("1", "True", "x")


@pytest.mark.parametrize("favourable", [1, True, "1", ["0", "1"]])
def test_outcomes_of_objects_are_those_of_their_type(favourable: Any) -> None:
    frame = loans().assign(approved=(loans()["approved"] == "yes").astype(int))
    described = {"target": "approved", "favourable": favourable, "id_column": "applicant"}

    def labels(approved: pd.Series[Any]) -> Any:
        try:
            return own_task(frame.assign(approved=approved), **described).labels.tolist()
        except InputError as error:
            return str(error)

    assert labels(frame["approved"]) == labels(frame["approved"].astype(object))


def test_a_task_travels_with_one_copy_of_its_rows() -> None:
    task = own_task(loans(), target="approved", favourable="yes", id_column="applicant")
    fresh = len(pickle.dumps(task))
    before = {part: task.rows(part) for part in ("train", "test")}
    assert task.fingerprint and task.actions and task.training_range
    content = pickle.dumps(task)
    assert len(content) < fresh + task.frame.size * 8 / 2
    other = pickle.loads(content)
    assert other.fingerprint == task.fingerprint
    assert all(other.rows(part).tobytes() == rows.tobytes() for part, rows in before.items())
