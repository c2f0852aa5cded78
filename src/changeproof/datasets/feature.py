"""Features as people know them, and the encoded columns that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.errors import InputError

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
    """

    name: str
    kind: FeatureKind
    columns: tuple[int, ...]
    categories: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        expected = {"binary": (1, 2), "categorical": (len(self.categories),) * 2}
        given = (len(self.columns), len(self.categories))
        if given != expected.get(self.kind, (1, 0)) or not self.columns:
            raise InputError(
                f"feature {self.name!r}: {given[0]} columns and {given[1]} categories do not "
                f"make a feature of kind {self.kind!r}"
            )

    @property
    def column_names(self) -> list[str]:
        """What its encoded columns are called."""
        if self.kind != "categorical":
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]

    def encode(self, values: pd.Series[Any]) -> npt.NDArray[np.float64]:
        """Return the columns for original values; the index of `values` names bad rows."""
        if not self.categories:
            return self._numbers(values)[:, None]
        codes = self._codes(values)
        if self.kind == "binary":
            return codes[:, None].astype(np.float64)
        return np.eye(len(self.categories))[codes]

    def decode(self, block: npt.NDArray[np.float64]) -> pd.Series[Any]:
        """Return the original values that columns stand for; missing where they are NaN."""
        if not self.categories:
            return pd.Series(block[:, 0], name=self.name)
        known = np.asarray(~np.isnan(block).any(axis=1))
        filled = np.where(known[:, None], block, 0.0)
        codes = filled[:, 0] >= 0.5 if self.kind == "binary" else filled.argmax(axis=1)
        values = np.empty(len(block), dtype=object)
        values[:] = [self.categories[code] for code in codes.astype(int)]
        values[~known] = None
        return pd.Series(values, name=self.name, dtype=object).infer_objects()

    def _numbers(self, values: pd.Series[Any]) -> npt.NDArray[np.float64]:
        numbers, text = as_numbers(values)
        if text.any():
            raise InputError(
                f"feature {self.name!r} holds {_first(values, text)}; expected a number"
            )
        bad = ~np.isfinite(numbers)
        if bad.any():
            raise InputError(
                f"feature {self.name!r} holds {int(bad.sum())} missing or infinite values "
                f"(first at row {values.index[bad][0]!r}); expected finite numbers"
            )
        return numbers

    def _codes(self, values: pd.Series[Any]) -> npt.NDArray[np.int64]:
        missing = values.isna().to_numpy()
        if missing.any():
            raise InputError(
                f"feature {self.name!r} holds {int(missing.sum())} missing values "
                f"(first at row {values.index[missing][0]!r}); expected {self._expected}"
            )
        codes = np.array([self.code_of(value) for value in values], dtype=np.int64)
        unknown = codes < 0
        if unknown.any():
            raise InputError(
                f"feature {self.name!r} holds {_first(values, unknown)}; expected {self._expected}"
            )
        return codes

    def code_of(self, value: object) -> int:
        """Return the position of the category that a value stands for, -1 where there is none.

        Values are compared by their text, and True and False also with 1 and 0.
        """
        code = self._codes_by_text.get(text_of(value), -1)
        if code < 0 and isinstance(value, bool | np.bool_):
            spelled = (str(value).lower(), str(value).upper(), str(int(value)))
            code = max(self._codes_by_text.get(text, -1) for text in spelled)
        return code

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        codes = {text_of(category): code for code, category in enumerate(self.categories)}
        if all(isinstance(category, bool) for category in self.categories):
            aliases = {True: ("1", "true", "TRUE"), False: ("0", "false", "FALSE")}
            for code, category in enumerate(self.categories):
                codes |= dict.fromkeys(aliases[category], code)
        return codes

    @property
    def _expected(self) -> str:
        return "one of: " + ", ".join(str(category) for category in self.categories)


def text_of(value: object) -> str:
    """Return the text by which values are compared: 1, 1.0 and "1" are the same."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def as_numbers(
    values: pd.Series[Any],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return values as numbers (missing: NaN), and which ones are text that is no number."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(values), bool)
    stripped = values.map(lambda value: value.strip() if isinstance(value, str) else value)
    numbers = pd.to_numeric(stripped, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    absent = (stripped.isna() | stripped.isin(["", "nan", "NaN"])).to_numpy(dtype=bool)
    return numbers, np.isnan(numbers) & ~absent


def numeric_features(frame: pd.DataFrame) -> tuple[Feature, ...]:
    """Return one numeric feature per column, of kind ``integer`` where all values are whole."""
    features = []
    for position, column in enumerate(frame.columns):
        values = frame.iloc[:, position].to_numpy(dtype=np.float64)
        features.append(Feature(str(column), number_kind(values), (position,)))
    return tuple(features)


def number_kind(values: npt.NDArray[np.float64]) -> FeatureKind:
    """Return whether numbers are whole; missing ones do not count."""
    known = values[~np.isnan(values)]
    return "integer" if bool((known == np.round(known)).all()) else "numeric"


def checked_features(
    task: str, features: Sequence[Feature], columns: Sequence[str]
) -> tuple[Feature, ...]:
    """Return features that hold every encoded column once, or say what is wrong."""
    names = [feature.name for feature in features]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"task {task!r}: feature {twice[0]!r} appears more than once")
    held = sorted(column for feature in features for column in feature.columns)
    if held != list(range(len(columns))):
        raise InputError(
            f"task {task!r}: the features hold the columns {held}; expected each of "
            f"0 to {len(columns) - 1} once"
        )
    return tuple(features)


def _first(values: pd.Series[Any], bad: npt.NDArray[np.bool_]) -> str:
    position = int(np.flatnonzero(bad)[0])
    return f"{values.iloc[position]!r} at row {values.index[position]!r}"
