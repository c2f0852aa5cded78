"""Features as people know them, and the encoded columns that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from changeproof.errors import InputError
from changeproof.model import Booleans, Floats, Integers

# Beyond this, sums of squares overflow.
LARGEST_NUMBER = 1e100

FeatureKind = Literal["numeric", "integer", "binary", "categorical"]


@dataclass(frozen=True)
class Feature:
    """An original feature and the encoded columns that hold it.

    Parameters
    ----------
    name
        Its name in the original data.
    kind
        ``numeric`` and ``integer`` are one column in original units, ``binary`` is one column
        of 0 and 1, ``categorical`` one column of 0 and 1 per category.
    columns
        Positions of its columns in the encoded rows.
    categories
        Its original values: of 0 and of 1 where it is binary, one per column where it is
        categorical, none otherwise.
    missing
        Position of the column of 0 and 1 that says where its value is missing, if missing is a
        value of its own. Something stands in the other columns there, which means nothing.
    """

    name: str
    kind: FeatureKind
    columns: tuple[int, ...]
    categories: tuple[Any, ...] = ()
    missing: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        expected = {"binary": (1, 2), "categorical": (len(self.categories),) * 2}
        given = (len(self.columns), len(self.categories))
        if given != expected.get(self.kind, (1, 0)) or not self.columns:
            raise InputError(
                f"feature {self.name!r}: {given[0]} columns and {given[1]} categories do not "
                f"make a feature of kind {self.kind!r}"
            )

    @property
    def all_columns(self) -> tuple[int, ...]:
        return self.columns if self.missing is None else (*self.columns, self.missing)

    @property
    def column_names(self) -> list[str]:
        """The names of all its columns."""
        names = [self.name]
        if self.kind == "categorical":
            names = [f"{self.name}={category}" for category in self.categories]
        return names if self.missing is None else [*names, f"{self.name} is missing"]

    def encode(self, values: pd.Series[Any]) -> Floats:
        """Return the columns for original values; the index of `values` names bad rows."""
        what = f"feature {self.name!r}"
        if not self.categories:
            numbers, text = as_numbers(values)
            refuse_first(what, values, text, "a number")
            infinite = ~np.isfinite(numbers)
            refuse_some(what, values, infinite, "missing or infinite", "finite numbers")
            large = np.abs(numbers) > LARGEST_NUMBER
            refuse_first(what, values, large, f"at most {LARGEST_NUMBER:g} in size")
            return numbers[:, None]
        expected = "one of: " + ", ".join(str(category) for category in self.categories)
        refuse_some(what, values, values.isna().to_numpy(), "missing", expected)
        codes = self._codes(values)
        refuse_first(what, values, codes < 0, expected)
        if self.kind == "binary":
            return codes[:, None].astype(np.float64)
        return np.eye(len(self.categories))[codes]

    def decode(self, block: Floats) -> pd.Series[Any]:
        """Return the original values that columns stand for; missing where they are NaN."""
        if not self.categories:
            return pd.Series(block[:, 0], name=self.name)
        known = np.asarray(~np.isnan(block).any(axis=1))
        filled = np.where(known[:, None], block, 0.0)
        codes = filled[:, 0] >= 0.5 if self.kind == "binary" else filled.argmax(axis=1)
        pairs = zip(codes.astype(int), known, strict=True)
        values = [self.categories[code] if there else None for code, there in pairs]
        return pd.Series(values, name=self.name, dtype=object).infer_objects()

    def _codes(self, values: pd.Series[Any]) -> Integers:
        if not isinstance(values.dtype, pd.CategoricalDtype):
            return np.array([self.code_of(value) for value in values], dtype=np.int64)
        known = [self.code_of(value) for value in values.cat.categories]
        return np.array(known, dtype=np.int64)[values.cat.codes]

    def code_of(self, value: object) -> int:
        """Return the position of a category, compared by its text; -1 where there is none."""
        code = self._codes_by_text.get(text_of(value), -1)
        if code < 0 and isinstance(value, bool | np.bool_):
            code = max(self._codes_by_text.get(text, -1) for text in _other_spellings(value))
        return code

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        codes = {text_of(category): code for code, category in enumerate(self.categories)}
        if all(isinstance(category, bool) for category in self.categories):
            for code, category in enumerate(self.categories):
                codes |= dict.fromkeys(_other_spellings(category), code)
        return codes


def _other_spellings(value: bool | np.bool_) -> tuple[str, ...]:
    return str(value).lower(), str(value).upper(), str(int(value))


def text_of(value: object) -> str:
    """Return the text by which values are compared: 1, 1.0 and "1" are the same."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def as_numbers(values: pd.Series[Any]) -> tuple[Floats, Booleans]:
    """Return values as numbers (missing: NaN), and which ones are text that is no number."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(values), bool)
    stripped = values.map(lambda value: value.strip() if isinstance(value, str) else value)
    numbers = pd.to_numeric(stripped, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    absent = (stripped.isna() | stripped.isin(["", "nan", "NaN"])).to_numpy(dtype=bool)
    return numbers, np.isnan(numbers) & ~absent


def numeric_features(frame: pd.DataFrame) -> tuple[Feature, ...]:
    values = frame.to_numpy(dtype=np.float64)
    return tuple(
        Feature(str(column), number_kind(values[:, position]), (position,))
        for position, column in enumerate(frame.columns)
    )


def number_kind(values: Floats) -> FeatureKind:
    """Missing numbers do not count."""
    known = values[~np.isnan(values)]
    return "integer" if bool((known == np.round(known)).all()) else "numeric"


def checked_features(task: str, features: Sequence[Feature], width: int) -> tuple[Feature, ...]:
    names = [feature.name for feature in features]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"task {task!r}: feature {twice[0]!r} appears more than once")
    held = sorted(column for feature in features for column in feature.all_columns)
    if held != list(range(width)):
        raise InputError(
            f"task {task!r}: the features hold the columns {held}; expected each of "
            f"0 to {width - 1} once"
        )
    return tuple(features)


def refuse_first(what: str, values: pd.Series[Any], bad: Booleans, expected: str) -> None:
    """Refuse values where one is bad, and name the first; the index names rows."""
    if bad.any():
        position = int(bad.argmax())
        value = values.iloc[position]
        plain = value.item() if isinstance(value, np.generic) else value
        raise InputError(
            f"{what} holds {plain!r} at row {values.index[position]!r}; expected {expected}"
        )


def refuse_some(what: str, values: pd.Series[Any], bad: Booleans, kind: str, expected: str) -> None:
    """Refuse values where some are bad in a way that has a name, and count them."""
    if bad.any():
        raise InputError(
            f"{what} holds {int(bad.sum())} {kind} values "
            f"(first at row {values.index[bad][0]!r}); expected {expected}"
        )
