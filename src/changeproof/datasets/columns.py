"""What a column of somebody's table is: numbers, two values or categories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from changeproof.datasets.raw import RawColumn
from changeproof.errors import InputError, setting
from changeproof.feasible.feature import (
    LARGEST_NUMBER,
    Feature,
    FeatureKind,
    as_numbers,
    number_kind,
    refuse_first,
    refuse_some,
    text_of,
)
from changeproof.model import Booleans, Integers

# What to do about missing values: refuse them, fill them in, fill them in and have advice leave
# them alone, or hand them to the model as they are.
AS_IS: Literal["as-is"] = "as-is"
Missing = Literal["refuse", "impute", "impute-and-keep", "as-is"]
# So many categories of one feature can be searched, one column each. Text that has more than a few
# values, and another one in nearly every row, names something and says nothing.
MOST_CATEGORIES, FEW_CATEGORIES, NEARLY_EVERY_ROW = 200, 50, 0.5
# A text column with at least this share of numbers is a numeric column with mistakes in it.
NEARLY_NUMERIC = 0.8
# So many distinct texts are looked at to see what a column is.
ENOUGH_TEXTS = 1000
POSSIBLE = f"numbers of at most {LARGEST_NUMBER:g} in size: correct it, or give other units"
NUMBERS = int | float | np.integer | np.floating

CURRENCIES = "$€£¥₹₽₩₺₿"
CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
# What people write for an unknown value, beside what pandas reads as missing.
PLACEHOLDERS = frozenset(
    {"?", "??", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*", "**", "#", "_", "/"}
    | {"na", "n.a.", "n.a", "n. a.", "n/a", "nan", "nil", "null", "missing", "not available", "!"}
    | {"(blank)", "blank", "(missing)", "(null)", "undefined", "tbd", "#n/a", "#ref!", "#value!"}
    | {"#div/0!", "#name?", "#null!", "#num!", "<na>", "no data", "not applicable", "not given"}
)

_GROUPS = r"\d{1,3}(?:[,.'\u2019 \u00a0\u202f]\d{3})+(?:[.,]\d+)?"
_NUMBER = re.compile(rf"[+\-\u2212]?(?:{_GROUPS}|\d+(?:[.,]\d+)?|[.,]\d+)")
_MARKS = re.compile(
    rf"(?P<sign>[+\-\u2212]?)\s*(?:[{re.escape(CURRENCIES)}]|{CODES})?\s*(?P<number>.*?)\s*"
    rf"(?:[{re.escape(CURRENCIES)}]|{CODES}|%|‰)?",
    re.IGNORECASE,
)
_CLOCK = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm]|Z|[+\-]\d{2}:?\d{2})?)?"
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"
    r"|\d{1,2}\.?[- ](?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?[- ]\d{2,4}"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2},? \d{4})" + _CLOCK,
    re.IGNORECASE,
)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_marked_number(text: str) -> bool:
    """Return whether a text is a number with a percent sign, a currency or separators.

    >>> [is_marked_number(text) for text in ("12 %", "$1,200.50", "1.200,50 €", "12", "10-20")]
    [True, True, True, False, False]
    """
    if is_number(text):
        return False
    found = _MARKS.fullmatch(text.strip())
    return found is not None and _NUMBER.fullmatch(found["number"]) is not None


def is_date(text: str) -> bool:
    """Return whether a text looks like a date, with or without a time of day.

    >>> [is_date(text) for text in ("2026-11-17", "17.11.2026", "17 Nov 2026", "2026", "1.2.3")]
    [True, True, True, False, False]
    """
    return _DATE.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Return whether a text often stands for an unknown value."""
    return text.strip().lower() in PLACEHOLDERS


def shown(values: Sequence[Any], most: int = 3) -> str:
    """Return a few values for a message."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


def as_named(columns: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return a model's columns as a table names them: LightGBM writes blanks as underlines."""
    own = {re.sub(r"\s", "_", name): name for name in known} | {name: name for name in known}
    return tuple(own.get(column, column) for column in columns)


@dataclass(frozen=True)
class Column:
    """A column of a table: its cells are floats, or categories, or missing.

    `raw` says how the table writes it. `carried` says why advice leaves it as it is: it holds
    dates or texts that cannot be searched, and numbers stand for them. Where missing values are
    values of their own, `absent` says which are.
    """

    name: str
    kind: FeatureKind
    cells: pd.Series[Any]
    categories: tuple[Any, ...] = ()
    raw: RawColumn = field(default_factory=lambda: RawColumn("object"))
    carried: str = ""
    absent: Booleans | None = None

    def feature(self, first: int) -> Feature:
        """Return the feature, held by the encoded columns from `first` on."""
        after = first + (len(self.categories) if self.kind == "categorical" else 1)
        missing = None if self.absent is None else after
        return Feature(self.name, self.kind, tuple(range(first, after)), self.categories, missing)


def understand(values: pd.Series[Any], listed: bool, *, carry: bool = False) -> Column:
    """Decide what a column is; the index of `values` names rows in messages.

    Where it is `listed` as categorical, it is that, whatever it holds. To `carry` a column means
    to keep dates, and texts with very many values, for a model that takes them.
    """
    raw = RawColumn.of(values)
    if carry and (reason := _cannot_search(values)):
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            column = Column(str(values.name), "integer", raw.numbers(values), raw=raw)
        else:
            codes, texts = pd.factorize(values, sort=False)
            raw = replace(raw, texts=tuple(texts.tolist()))
            numbers = pd.Series(codes, index=values.index, dtype=np.float64)
            column = Column(str(values.name), "integer", numbers.where(codes >= 0), raw=raw)
        return replace(column, carried=reason)
    column = _understand(values, listed)
    return replace(column, raw=replace(raw, spelled=_spelling(column, values)))


def _cannot_search(values: pd.Series[Any]) -> str:
    """Return why advice cannot change a column: it holds dates, or too many texts; else ""."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return "it is a date"
    if pd.api.types.is_numeric_dtype(values.dtype):
        return ""
    distinct = values.dropna().unique()
    if _too_many(len(distinct), len(values)) and not all(map(is_number, map(str, distinct))):
        return f"it has {len(distinct)} different values"
    dates = bool(len(distinct)) and stands_for(list(distinct)) == "dates"
    return "it is a date" if dates else ""


def _spelling(column: Column, values: pd.Series[Any]) -> tuple[Any, ...]:
    """Return how the table spells the categories; nothing where they are spelled like that."""
    if not column.categories:
        return ()
    first = values[~column.cells.duplicated()]
    known = column.cells[first.index]
    texts = dict(zip(known, first.astype(object), strict=True))
    spelled = tuple(texts.get(category, category) for category in column.categories)
    same = all(
        type(a) is type(b) and a == b for a, b in zip(spelled, column.categories, strict=True)
    )
    return () if same else spelled


def _understand(values: pd.Series[Any], listed: bool) -> Column:
    name, dtype = str(values.name), values.dtype
    categories = isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype)
    if not (listed or categories):
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
            return _numeric(name, values)
        if not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)):
            raise InputError(
                f"column {name!r} is of type {dtype}; expected numbers, text or booleans: "
                "convert it to a number, or drop it"
            )
    distinct, codes = _distinct(values)
    if not (listed or categories or _holds_categories(name, distinct, codes)):
        return _numeric(name, _stripped(values))
    column = _categorical(name, distinct, len(values))
    places = pd.Index(column.categories, dtype=object).get_indexer(pd.Index(column.cells))
    cells: Any = pd.Categorical.from_codes(
        np.append(places, -1)[codes], pd.Index(list(column.categories))
    )
    return replace(column, cells=pd.Series(cells, index=values.index))


def complete(
    column: Column, missing: Missing, train: Integers, texts: Mapping[str, int] | None = None
) -> Column:
    """Return a column without missing values: refused, or imputed from the rows of `train`.

    `texts` were read as missing, each in so many rows.
    """
    absent = column.cells.isna()
    if not absent.any():
        return column
    count, first = int(absent.sum()), column.cells.index[absent][0]
    if missing == "refuse":
        raise InputError(
            f"column {column.name!r} has {count} of {len(absent)} values missing (first at row "
            f"{first!r}{read_as_missing(texts)}); fill them in, drop the column, or ask for "
            f"{setting(missing='impute')}"
        )
    known = column.cells.iloc[train].dropna()
    if known.empty and missing == AS_IS:
        known = column.cells.dropna()
        known = pd.Series(column.categories[:1] or [0.0]) if known.empty else known
    if known.empty:
        raise InputError(
            f"column {column.name!r} has no value in the training part to impute from; drop it"
        )
    # Of several modes the first is the first category: both are sorted.
    typical = known.mode().iloc[0] if column.categories else known.median()
    if missing == AS_IS and not column.categories:
        # One of the values: half-way between two, it would make whole numbers decimals.
        typical = known.quantile(interpolation="lower")
    if column.carried:
        typical = known.iloc[0]
    filled = replace(column, cells=column.cells.where(~absent, typical))
    if missing != AS_IS:
        return filled
    plain = typical.item() if isinstance(typical, np.generic) else typical
    return replace(filled, raw=replace(column.raw, filler=plain), absent=absent.to_numpy())


def read_as_missing(texts: Mapping[str, int] | None) -> str:
    """Return the end of a message: which texts were read as missing, in how many rows."""
    if not texts:
        return ""
    each = ", ".join(f"{text!r} in {count} rows" for text, count in texts.items())
    return f"; read as missing: {each}; a category needs another name"


def _numeric(name: str, values: pd.Series[Any]) -> Column:
    numbers, _ = as_numbers(values)
    infinite = np.isinf(numbers)
    refuse_some(f"column {name!r}", values, infinite, "infinite", "finite numbers")
    refuse_first(f"column {name!r}", values, np.abs(numbers) > LARGEST_NUMBER, POSSIBLE)
    return Column(name, number_kind(numbers), pd.Series(numbers, index=values.index))


def _distinct(values: pd.Series[Any]) -> tuple[pd.Series[Any], Integers]:
    """Return the distinct values, stripped, at their first rows, and which one every cell is.

    Of a million cells with seven categories, only seven are then looked at. Among Python objects 1
    equals True, so every cell counts as distinct. A missing cell may be -1.
    """
    if pd.api.types.is_object_dtype(values.dtype):
        return _stripped(values), np.arange(len(values))
    codes, _ = pd.factorize(values)
    found, firsts = np.unique(codes, return_index=True)
    return _stripped(values.iloc[firsts[found >= 0]]), codes.astype(np.int64)


def _holds_categories(name: str, distinct: pd.Series[Any], codes: Integers) -> bool:
    """Return whether so many cells are text that is no number, or refuse a few such cells."""
    if _are(distinct.dropna(), bool | np.bool_).all():
        return True
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    present = int(counts[distinct.notna().to_numpy()].sum())
    _, text = as_numbers(distinct)
    n_text = int(counts[text].sum())
    if n_text and not _mostly_text(n_text, present):
        position = int(text.argmax())
        raise InputError(
            f"column {name!r} holds the text {distinct.iloc[position]!r} at row "
            f"{distinct.index[position]!r}, but {present - n_text} of its {present} values "
            "are numbers; correct the text, or list the column as categorical: "
            f"{setting(categorical=[name])}"
        )
    return n_text > 0


def stands_for(texts: Sequence[Any]) -> Literal["numbers", "dates"] | None:
    """Return what nearly all of some categories are: numbers with marks, dates, or neither."""
    few = [text for text in texts[:ENOUGH_TEXTS] if isinstance(text, str)]
    marked = sum(map(is_marked_number, few))
    if marked and not _mostly_text(len(few) - marked - sum(map(is_number, few)), len(few)):
        return "numbers"
    dates = sum(map(is_date, few))
    return "dates" if dates and not _mostly_text(len(few) - dates, len(few)) else None


def rewriting(name: str, kind: Literal["numbers", "dates"]) -> str:
    """Return what to do about a column of numbers with marks, or of dates."""
    if kind == "numbers":
        return "write plain numbers, such as 1200.5"
    return f"make numbers of them (days since a date), drop it, or ask for {setting(time=name)}"


def _categorical(name: str, known: pd.Series[Any], n_rows: int) -> Column:
    present = known.dropna()
    if present.empty:
        raise InputError(f"column {name!r} has no values; drop it")
    other = ~_are(present, str | bool | np.bool_ | NUMBERS)
    refuse_first(f"column {name!r}", present, other, "numbers, text or booleans")
    if _are(present, bool | np.bool_).all():
        plain = known.map(bool, na_action="ignore").astype(object)
        return Column(name, "binary", plain, (False, True))
    # Plain Python values with different texts.
    plain_of = _plain_number if _are(present, NUMBERS).all() else text_of
    plain = known.map(plain_of, na_action="ignore").astype(object)
    categories = tuple(sorted(plain.dropna().unique().tolist()))
    if _too_many(len(categories), n_rows):
        kind = stands_for(categories)
        if kind is not None:
            raise InputError(
                f"column {name!r} holds {kind} as text ({shown(categories)}); "
                f"{rewriting(name, kind)}"
            )
        raise InputError(
            f"column {name!r} has {len(categories)} categories ({shown(categories)}) in {n_rows} "
            f"rows; at most {MOST_CATEGORIES} are allowed, or {FEW_CATEGORIES} in so few rows: "
            f"drop it, group the values, or ask for {setting(id_column=name)}"
        )
    return Column(name, "binary" if len(categories) == 2 else "categorical", plain, categories)


def _too_many(categories: int, n_rows: int) -> bool:
    few = max(FEW_CATEGORIES, NEARLY_EVERY_ROW * n_rows)
    return categories > min(MOST_CATEGORIES, few)


def _mostly_text(n_text: int, present: int) -> bool:
    return n_text > (1 - NEARLY_NUMERIC) * present


def _stripped(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values without surrounding blanks; a blank cell is missing."""
    return (
        values.astype(object)
        .map(lambda value: (value.strip() or None) if isinstance(value, str) else value)
        .astype(object)
    )


def _are(values: pd.Series[Any], types: Any) -> Booleans:
    return np.array([isinstance(value, types) for value in values], dtype=np.bool_)


def _plain_number(value: Any) -> int | float:
    whole = isinstance(value, int | np.integer) or float(value).is_integer()
    return int(value) if whole else float(value)
