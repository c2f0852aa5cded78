"""Whether the parts of a task fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.errors import InputError, unknown
from changeproof.feasible.feature import LARGEST_NUMBER, refuse_first, refuse_some
from changeproof.model import Booleans


def checked_labels(name: str, labels: npt.ArrayLike, rows: int) -> npt.NDArray[np.int8]:
    array = np.asarray(labels)
    if array.shape != (rows,):
        raise InputError(f"task {name!r}: {rows} rows but labels of shape {array.shape}")
    wrong = set(np.unique(array).tolist()) - {0, 1}
    if wrong:
        raise InputError(
            f"task {name!r}: labels must be 0 (adverse) or 1 (favourable); got {sorted(wrong)}"
        )
    return array.astype(np.int8)


def checked_ids(name: str, ids: Sequence[Any] | None, rows: int) -> tuple[Any, ...] | None:
    if ids is None:
        return None
    if len(ids) != rows:
        raise InputError(f"task {name!r}: {rows} rows but {len(ids)} ids")
    twice = pd.Series(list(ids)).duplicated()
    if twice.any():
        raise InputError(f"task {name!r}: id {ids[int(twice.argmax())]!r} appears more than once")
    return tuple(ids)


def checked_filled(
    name: str, filled: npt.ArrayLike | None, shape: tuple[int, int]
) -> Booleans | None:
    if filled is None:
        return None
    array = np.asarray(filled, dtype=np.bool_)
    if array.shape != shape:
        raise InputError(
            f"task {name!r}: filled is of shape {array.shape}; expected one value per row and "
            f"feature, {shape}"
        )
    return array if array.any() else None


def check_frame(name: str, frame: pd.DataFrame) -> None:
    """Refuse row ids that appear twice, and columns that are not finite numbers."""
    if frame.index.has_duplicates:
        twice = frame.index[frame.index.duplicated()][0]
        raise InputError(f"task {name!r}: row id {twice} appears more than once")
    if not pd.api.types.is_integer_dtype(frame.index.dtype):
        raise InputError(f"task {name!r}: row ids must be integers; got {frame.index.dtype}")
    for position, column in enumerate(frame.columns):
        what, values = f"task {name!r}: feature {column!r}", frame.iloc[:, position]
        if not pd.api.types.is_numeric_dtype(values.dtype):
            raise InputError(f"{what} is {values.dtype}, not numeric")
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        refuse_some(what, values, ~np.isfinite(numbers), "missing or infinite", "finite numbers")
        large = np.abs(numbers) > LARGEST_NUMBER
        refuse_first(what, values, large, f"at most {LARGEST_NUMBER:g} in size")


def checked_beside(
    name: str, beside: pd.DataFrame | None, time: str | None, row_ids: pd.Index[Any]
) -> pd.DataFrame:
    if beside is None:
        beside = pd.DataFrame(index=row_ids)
    if len(beside) != len(row_ids):
        raise InputError(f"task {name!r}: {len(row_ids)} rows but {len(beside)} in `beside`")
    found = beside.set_axis(row_ids, axis="index")
    for column in found.columns.difference([time]):
        values = found[column].astype(object)
        found[column] = values.where(values.notna(), None)
    if time is not None and time not in found.columns:
        raise unknown("column with times", time, found.columns)
    if time is not None and found[time].isna().any():
        first = row_ids[found[time].isna()][0]
        raise InputError(f"task {name!r}: row {first} has no time in column {time!r}")
    return found
