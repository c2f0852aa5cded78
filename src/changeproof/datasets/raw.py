"""How a table writes its columns, so that a fitted model sees them as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from changeproof.feasible.feature import text_of

# Dates are numbers inside: microseconds, which floats hold exactly for centuries.
DATES, PRECISE = "datetime64[", "datetime64[us]"


@dataclass(frozen=True)
class RawColumn:
    """How a column is written in the table.

    Parameters
    ----------
    dtype
        Its pandas dtype as text; ``category`` for all categorical ones.
    levels, ordered
        The categories of a categorical dtype.
    spelled
        How each category of the feature is spelled, where that differs from the category.
    texts
        What numbers stand for, where the column is text with more values than a search can carry.
    none
        Whether a missing object is None, and not NaN.
    filler
        What stands underneath missing values, where these are values of their own.
    """

    dtype: str
    levels: tuple[Any, ...] = ()
    ordered: bool = False
    spelled: tuple[Any, ...] = ()
    texts: tuple[Any, ...] = ()
    none: bool = False
    filler: Any = None

    @classmethod
    def of(cls, values: pd.Series[Any], **more: Any) -> Self:
        """Describe a column of a table."""
        dtype = values.dtype
        if pd.api.types.is_object_dtype(dtype):
            return cls("object", none=any(value is None for value in values), **more)
        if not isinstance(dtype, pd.CategoricalDtype):
            return cls(str(dtype), **more)
        return cls("category", tuple(dtype.categories.tolist()), bool(dtype.ordered), **more)

    @property
    def stands_for_numbers(self) -> bool:
        """Whether the feature holds numbers that people cannot read: dates, or codes."""
        return bool(self.texts) or self.dtype.startswith(DATES)

    def numbers(self, values: pd.Series[Any]) -> pd.Series[Any]:
        """Return what stands for dates or texts; NaN for what is missing or unknown."""
        if self.texts:
            return values.map(self._codes, na_action="ignore").astype(np.float64)
        times = pd.to_datetime(values, errors="coerce")
        if times.dt.tz is not None:
            times = times.dt.tz_convert("UTC").dt.tz_localize(None)
        numbers = times.to_numpy(PRECISE).astype(np.int64).astype(np.float64)
        return pd.Series(np.where(times.isna(), np.nan, numbers), index=values.index)

    def readable(self, numbers: pd.Series[Any]) -> pd.Series[Any]:
        """Return the dates or texts that numbers stand for."""
        if self.texts:
            last = len(self.texts) - 1
            found = [
                None if np.isnan(number) else self.texts[min(max(round(number), 0), last)]
                for number in numbers
            ]
            return pd.Series(found, index=numbers.index, dtype=object)
        times = pd.to_datetime(numbers.round(), unit="us")
        if "," in self.dtype:
            zone = self.dtype.partition(",")[2].strip(" ]")
            return times.dt.tz_localize("UTC").dt.tz_convert(zone)
        return times

    def restored(self, values: pd.Series[Any], categories: Sequence[Any]) -> pd.Series[Any]:
        """Return readable values of the feature as the table has them.

        Whole numbers stay floats where not all are whole, or some are missing.
        """
        if self.spelled:
            spelled = dict(zip(categories, self.spelled, strict=True))
            values = values.map(spelled, na_action="ignore")
        if self.dtype == "category":
            return values.astype(pd.CategoricalDtype(pd.Index(list(self.levels)), self.ordered))
        if pd.api.types.is_integer_dtype(self.dtype):
            whole = values.dropna()
            if bool((whole != np.rint(whole)).any()) or (
                self.dtype[0] in "iu" and len(whole) < len(values)
            ):
                return values.astype(np.float64)
        if self.dtype == "bool" and values.isna().any():
            return values.astype(object)
        if self.dtype == "object":
            objects = values.astype(object)
            objects[values.isna()] = None if self.none else np.nan
            return objects
        dtype: Any = self.dtype
        return values.astype(dtype)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        codes = {text_of(value): code for code, value in enumerate(self.texts)}
        return codes | {value: code for code, value in enumerate(self.texts)}
