"""Which group every row of a task is in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.grouping import Grouping, decimal_text
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.feature import as_numbers, text_of
from changeproof.model import Floats

MISSING = "missing"
# More different numbers than this are better read in bands.
MOST_NUMBERS = 12
MOST_GROUPS = 50
# About how many bands a suggested width makes.
FEW_BANDS = 6
NUMBERS = str | int | float | np.number
NO_NUMBERS = bool | np.bool_


def groups_of(task: Task, by: str) -> pd.Series[Any]:
    """Return the group of every row, by row id; the categories are the groups in order.

    Values that are missing are a group of their own.

    Parameters
    ----------
    task
        Whose rows.
    by
        A feature or a column beside the features; of numbers also with the width of bands:
        "age:10".
    """
    grouping = Grouping.of(by)
    values, categories = _values(task, grouping.column)
    if categories is not None or not _are_numbers(values):
        found = _of_texts(grouping, values, categories)
    else:
        numbers, _ = as_numbers(values)
        if np.isinf(numbers).any():
            raise InputError(f"groups {by!r}: column {grouping.column!r} holds infinity")
        found = _of_numbers(grouping, numbers)
    return found.set_axis(task.frame.index)


def _values(task: Task, column: str) -> tuple[pd.Series[Any], Sequence[Any] | None]:
    """Return the values of a column, and its categories where it is a feature that has some."""
    if column in task.beside.columns:
        return task.beside[column], None
    for feature in task.features:
        if feature.name == column:
            encoded = task.frame.iloc[:, list(feature.columns)].to_numpy(dtype=np.float64)
            return feature.decode(encoded), feature.categories or None
    known = dict.fromkeys([*(feature.name for feature in task.features), *task.beside.columns])
    raise InputError(
        f"dataset {task.name!r} has no column {column!r} to group people by; expected one of: "
        f"{', '.join(map(str, known))}"
    )


def _of_numbers(grouping: Grouping, numbers: Floats) -> pd.Series[Any]:
    known = np.unique(numbers[~np.isnan(numbers)])
    column, width = grouping
    if width is None:
        if len(known) > MOST_NUMBERS:
            raise InputError(
                f"groups {column!r}: the column has {len(known)} different numbers; say how wide "
                f"bands of them are, such as {column}:{_suggested(known)}"
            )
        return _named(numbers, {value: text_of(value) for value in known.tolist()})
    places = {value: math.floor(_exactly(value) / Fraction(width)) for value in known.tolist()}
    number = len(set(places.values()))
    if number > MOST_GROUPS:
        raise InputError(
            f"groups {grouping.text!r} are {number} bands; expected at most {MOST_GROUPS}: say "
            f"wider ones, such as {column}:{_suggested(known)}"
        )
    whole = bool((known == np.rint(known)).all()) and width == int(width)
    return _named(
        numbers, {value: _band(place * width, width, whole) for value, place in places.items()}
    )


def _of_texts(
    grouping: Grouping, values: pd.Series[Any], categories: Sequence[Any] | None
) -> pd.Series[Any]:
    texts = values.map(text_of, na_action="ignore").astype(object).replace("", None)
    known = sorted(set(texts.dropna())) if categories is None else list(map(text_of, categories))
    column, width = grouping
    if width is not None:
        raise InputError(
            f"groups {grouping.text!r}: column {column!r} holds {known[0]!r}; bands need numbers, "
            f"expected {column!r} alone"
        )
    if len(known) > MOST_GROUPS:
        raise InputError(
            f"groups {column!r}: the column has {len(known)} different values, such as "
            f"{known[0]!r}; expected at most {MOST_GROUPS}"
        )
    return _named(texts, {text: text for text in known})


def _named(values: Any, names: dict[Any, str]) -> pd.Series[Any]:
    """Return the names of values, in the order of `names`; what has none is missing."""
    found = pd.Series(values, dtype=object).map(names).fillna(MISSING)
    order = [*names.values(), *([MISSING] if (found == MISSING).any() else [])]
    return pd.Series(pd.Categorical(found, list(dict.fromkeys(order)), ordered=True))


def _are_numbers(values: pd.Series[Any]) -> bool:
    there = values.dropna()
    if any(not isinstance(v, NUMBERS) or isinstance(v, NO_NUMBERS) for v in there):
        return False
    return not as_numbers(values)[1].any()


def _exactly(value: float) -> Fraction:
    """Return a number as its decimals say: three bands of 0.1 end at 0.3."""
    return Fraction(repr(value))


def _band(low: Decimal, width: Decimal, whole: bool) -> str:
    if whole and width == 1:
        return decimal_text(low)
    if whole:
        return f"{decimal_text(low)} to {decimal_text(low + width - 1)}"
    return f"{decimal_text(low)} to below {decimal_text(low + width)}"


def _suggested(known: Floats) -> str:
    """Return a round width that makes a few bands."""
    rough = float(known[-1] - known[0]) / FEW_BANDS
    unit = Decimal(10) ** math.floor(math.log10(rough))
    return decimal_text(next(unit * k for k in (1, 2, 5, 10) if float(unit * k) >= rough))
