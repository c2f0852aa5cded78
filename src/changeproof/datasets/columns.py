"""What a column of somebody's table is: numbers, two values or categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.feature import Feature, FeatureKind, as_numbers, number_kind, text_of
from changeproof.errors import InputError

Missing = Literal["refuse", "impute"]

MOST_CATEGORIES = 50
# A text column with at least this share of numbers is a numeric column with mistakes in it.
NEARLY_NUMERIC = 0.8


@dataclass(frozen=True)
class Column:
    """A column as it was understood: its cells are floats, or categories, or missing."""

    name: str
    kind: FeatureKind
    cells: pd.Series[Any]
    categories: tuple[Any, ...] = ()

    def feature(self, first: int) -> Feature:
        """Return the feature, held by the encoded columns from `first` on."""
        width = len(self.categories) if self.kind == "categorical" else 1
        return Feature(self.name, self.kind, tuple(range(first, first + width)), self.categories)


def understand(values: pd.Series[Any], listed: bool) -> Column:
    """Decide what a column is; the index of `values` names rows in messages.

    Parameters
    ----------
    values
        The column as it was given.
    listed
        Whether it is to be taken as categorical, whatever is in it.
    """
    name, dtype = str(values.name), values.dtype
    if listed or isinstance(dtype, pd.CategoricalDtype):
        return _categorical(name, values.astype(object))
    if pd.api.types.is_bool_dtype(dtype):
        return _categorical(name, values.astype(object))
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return _numeric(name, values)
    if not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)):
        raise InputError(
            f"column {name!r} is of type {dtype}; expected numbers, text or booleans: "
            "convert it to a number, or drop it"
        )
    return _from_text(name, values.astype(object))


def complete(column: Column, missing: Missing, train: npt.NDArray[np.int64]) -> Column:
    """Return a column without missing values: refused, or imputed from the training part."""
    absent = column.cells.isna()
    if not absent.any():
        return column
    count, first = int(absent.sum()), column.cells.index[absent][0]
    if missing == "refuse":
        raise InputError(
            f"column {column.name!r} has {count} of {len(absent)} values missing (first at row "
            f'{first!r}); fill them in, drop the column, or ask for missing = "impute"'
        )
    known = column.cells.iloc[train].dropna()
    if known.empty:
        raise InputError(
            f"column {column.name!r} has no value in the training part to impute from; drop it"
        )
    filled = column.cells.where(~absent, _typical(column, known))
    return Column(column.name, column.kind, filled, column.categories)


def _typical(column: Column, known: pd.Series[Any]) -> Any:
    if not column.categories:
        return known.median()
    counts = [int((known == category).sum()) for category in column.categories]
    return column.categories[int(np.argmax(counts))]


def _numeric(name: str, values: pd.Series[Any]) -> Column:
    numbers, _ = as_numbers(values)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"column {name!r} holds {int(infinite.sum())} infinite values (first at row "
            f"{values.index[infinite][0]!r}); expected finite numbers"
        )
    return Column(name, number_kind(numbers), pd.Series(numbers, index=values.index))


def _from_text(name: str, values: pd.Series[Any]) -> Column:
    known = _stripped(values)
    present = known.dropna()
    if len(present) == 0 or present.map(lambda value: isinstance(value, bool | np.bool_)).all():
        return _categorical(name, known)
    _, text = as_numbers(known)
    n_text = int(text.sum())
    if n_text == 0:
        return _numeric(name, pd.Series(as_numbers(known)[0], index=known.index))
    if n_text <= (1 - NEARLY_NUMERIC) * len(present):
        position = int(np.flatnonzero(text)[0])
        raise InputError(
            f"column {name!r} holds the text {known.iloc[position]!r} at row "
            f"{known.index[position]!r}, but {len(present) - n_text} of its {len(present)} values "
            "are numbers; correct the text, or list the column as categorical"
        )
    return _categorical(name, known)


def _categorical(name: str, values: pd.Series[Any]) -> Column:
    known = _stripped(values)
    present = known.dropna()
    if present.empty:
        raise InputError(f"column {name!r} has no values; drop it")
    _refuse_other_types(name, present)
    if present.map(lambda value: isinstance(value, bool | np.bool_)).all():
        plain = known.map(lambda value: bool(value), na_action="ignore").astype(object)
        return Column(name, "binary", plain, (False, True))
    plain = known.map(_plain_value(present), na_action="ignore").astype(object)
    categories = tuple(sorted(plain.dropna().unique().tolist()))
    if len(categories) > MOST_CATEGORIES:
        examples = ", ".join(repr(category) for category in categories[:3])
        raise InputError(
            f"column {name!r} has {len(categories)} categories ({examples}, ...); at most "
            f"{MOST_CATEGORIES} are allowed: drop it, make it the id column, or group the values"
        )
    return Column(name, "binary" if len(categories) == 2 else "categorical", plain, categories)


def _stripped(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values without surrounding blanks; nothing but blanks is missing."""
    return values.map(
        lambda value: (value.strip() or None) if isinstance(value, str) else value
    ).astype(object)


def _plain_value(present: pd.Series[Any]) -> Any:
    """Return what turns values into plain Python ones that can be told apart by their text."""
    if present.map(lambda value: isinstance(value, int | np.integer)).all():
        return int
    numbers = int | float | np.integer | np.floating
    if present.map(lambda value: isinstance(value, numbers)).all():
        return lambda value: int(value) if float(value).is_integer() else float(value)
    return text_of


def _refuse_other_types(name: str, present: pd.Series[Any]) -> None:
    allowed = str | int | float | np.bool_ | np.integer | np.floating
    for row, value in present.items():
        if not isinstance(value, allowed):
            raise InputError(
                f"column {name!r} holds {value!r} at row {row!r}; expected numbers, text "
                "or booleans"
            )
