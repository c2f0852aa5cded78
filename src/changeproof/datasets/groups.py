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
# More distinct numbers than this are better read in bands.
MOST_NUMBERS = 12
MOST_GROUPS = 50
# About how many bands a suggested width makes.
FEW_BANDS = 6


def groups_of(task: Task, by: str) -> pd.Series[Any]:
    """Return the group of every row, by row id; the categories are the groups in order.

    `by` is a feature or a column beside the features, for numbers also with the width of bands:
    "age:10". Missing values are a group of their own.
    """
    grouping = Grouping.of(by)
    values, categories = _values(task, grouping.column)
    keys: Any
    if categories is None and _are_numbers(values):
        keys, _ = as_numbers(values)
        names = _of_numbers(grouping, keys)
    else:
        keys = values.map(text_of, na_action="ignore").astype(object).replace("", None)
        names = _of_texts(grouping, sorted(set(keys.dropna())), categories)
    found = pd.Series(keys, dtype=object).map(names).fillna(MISSING)
    order = dict.fromkeys([*names.values(), *found[found == MISSING]])
    return pd.Series(pd.Categorical(found, list(order), ordered=True), index=task.frame.index)


def _values(task: Task, column: str) -> tuple[pd.Series[Any], Sequence[Any] | None]:
    """Return the values of a column, and its categories where it is a feature that has some."""
    if column in task.beside.columns:
        return task.beside[column], None
    features = {feature.name: feature for feature in task.features}
    if column in features:
        encoded = task.frame.iloc[:, list(features[column].columns)].to_numpy(dtype=np.float64)
        return features[column].decode(encoded), features[column].categories or None
    known = dict.fromkeys([*features, *task.beside.columns])
    raise InputError(
        f"dataset {task.name!r} has no column {column!r} to group people by; expected one of: "
        f"{', '.join(map(str, known))}"
    )


def _are_numbers(values: pd.Series[Any]) -> bool:
    for value in values.dropna():
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, str | int | float | np.number
        ):
            return False
    return not as_numbers(values)[1].any()


def _of_numbers(grouping: Grouping, numbers: Floats) -> dict[Any, str]:
    """Return the name of the group of every number."""
    column, width = grouping
    if np.isinf(numbers).any():
        raise InputError(f"groups {grouping.text!r}: column {column!r} holds infinity")
    known = np.unique(numbers[~np.isnan(numbers)])
    if width is None:
        if len(known) > MOST_NUMBERS:
            raise InputError(
                f"groups {column!r}: the column has {len(known)} different numbers; give the width "
                f"of bands, such as {column}:{_suggested(known)}"
            )
        return {value: text_of(value) for value in known.tolist()}
    # Exact fractions: three bands of 0.1 end at 0.3.
    bands = {value: math.floor(Fraction(repr(value)) / Fraction(width)) for value in known.tolist()}
    number = len(set(bands.values()))
    if number > MOST_GROUPS:
        raise InputError(
            f"groups {grouping.text!r} are {number} bands; expected at most {MOST_GROUPS}: give a "
            f"larger width, such as {column}:{_suggested(known)}"
        )
    whole = bool((known == np.rint(known)).all()) and width == int(width)
    return {value: _band(band * width, width, whole) for value, band in bands.items()}


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


def _of_texts(
    grouping: Grouping, texts: Sequence[str], categories: Sequence[Any] | None
) -> dict[Any, str]:
    known = texts if categories is None else list(map(text_of, categories))
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
    return {text: text for text in known}
