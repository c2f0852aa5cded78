"""What is odd about a table, column by column: said before anything is trained.

What cannot be used is refused where it is read (`columns.py`). What is found here can be used, and
may be a mistake.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from changeproof.datasets.columns import Column, read_as_missing, rewriting, stands_for
from changeproof.datasets.texts import is_placeholder, shown
from changeproof.errors import setting
from changeproof.model import Floats, Integers

Kind = Literal[
    "constant", "one value", "ids", "outliers", "code", "tiny", "placeholder", "numbers", "dates"
]

# One value in so many rows, or so many different ones.
NEARLY_ALL = 0.99
# With fewer rows than this, different values and rare ones are no wonder.
ENOUGH_ROWS = 50
# So many spreads of the middle half away from it; and so many on the scale of logarithms.
FAR, FAR_IN_LOGARITHMS = 50.0, 8.0
# Smaller deviations count as none (see `Task.scale`).
SMALLEST_DEVIATION = 1e-8
CALLED_ID = re.compile(r"(^|[^a-z])(id|ids|uid|uuid|guid|key|nr|no|number|index)([^a-z]|$)|ID$|Id$")
NINES = re.compile(r"-?99+")
_EMPTY = (
    "if it stands for a missing value, leave those cells empty and ask for "
    f"{setting(missing='impute')}, or leave those rows out"
)
# So many columns with the same oddity are named one by one.
MOST_ALIKE = 5


@dataclass(frozen=True)
class Oddity:
    """Something odd about a column, and what to do.

    Parameters
    ----------
    column
        Its name.
    kind
        What kind of oddity it is.
    what
        What was found: the end of a sentence that begins with the column.
    advice
        What to do about it.
    """

    column: str
    kind: Kind
    what: str
    advice: str

    def __str__(self) -> str:
        return f"column {self.column!r} {self.what}; {self.advice}"


def oddities_of(column: Column, listed: bool = False) -> list[Oddity]:
    """Return what is odd about a column, in time that is about linear in its rows.

    Parameters
    ----------
    column
        The column as it was understood.
    listed
        Whether somebody said that it is categorical.
    """
    found = _of_categories(column, listed) if column.categories else _of_numbers(column)
    return [Oddity(column.name, *each) for each in found]


def notes_of(oddities: Iterable[Oddity]) -> list[str]:
    """Return oddities as lines; of many columns with the same one, the rest share a line."""
    lines, counts, others = [], Counter[str](), dict[str, list[str]]()
    for each in oddities:
        counts[each.kind] += 1
        if counts[each.kind] <= MOST_ALIKE:
            lines.append(str(each))
        else:
            others.setdefault(each.kind, []).append(each.column)
    for kind, names in others.items():
        lines.append(f"{len(names)} more columns are odd like that ({kind}): {shown(names, 10)}")
    return lines


def target_note(name: str, adverse: pd.Series[Any], favourable: Sequence[Any]) -> list[str]:
    """Return a note where several values of the target count as adverse, else nothing.

    Parameters
    ----------
    name
        The target.
    adverse
        Its adverse cells.
    favourable
        Its favourable values.
    """
    counts = adverse.value_counts()
    counts = counts[counts > 0]
    if len(counts) < 2:
        return []
    each = ", ".join(f"{value!r} ({_rows(count)})" for value, count in counts.head(5).items())
    more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
    return [
        f"the target {name!r} has {len(counts)} values beside {shown(favourable)}, and all of them "
        f"count as adverse: {each}{more}; if one is neither, leave its rows out"
    ]


def filled_notes(
    columns: Iterable[Column], nothing: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Yield a note for every column of categories in which a text was read as missing."""
    for column in columns:
        if column.categories and column.name in nothing:
            said = read_as_missing(nothing[column.name]).removeprefix("; ")
            yield f"column {column.name!r} is filled in where nothing is known ({said})"


def _of_numbers(column: Column) -> Iterator[tuple[Kind, str, str]]:
    given = column.cells.to_numpy(dtype=np.float64)
    cells = np.sort(given[~np.isnan(given)])
    if not len(cells):
        return
    starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    values, counts = cells[starts], np.diff(np.append(starts, len(cells)))
    most = int(counts.argmax())
    usual = _one_value(_number(values[most]), int(counts[most]), len(values), len(given))
    if usual is not None:
        yield usual
        if len(values) == 1:
            return
    elif column.kind == "integer" and _like_ids(column.name, given, len(values)):
        what = "has another whole number in nearly every row, as ids have"
        yield "ids", what, _ids(column)
    elif values[-1] - values[0] < SMALLEST_DEVIATION:
        what = f"varies by less than {SMALLEST_DEVIATION:g}, which counts as not at all"
        yield "tiny", what, "give it in other units"
    yield from _far_away(column, cells, values, counts)


def _like_ids(name: str, given: Floats, different: int) -> bool:
    """Whether whole numbers count rows, or are called an id and hardly ever repeat."""
    if len(given) < ENOUGH_ROWS or different < NEARLY_ALL * len(given):
        return False
    known = given[~np.isnan(given)]
    dense = known.max() - known.min() < 2 * len(given)
    return bool(dense or (known[1:] > known[:-1]).all() or CALLED_ID.search(name))


def _far_away(
    column: Column, cells: Floats, values: Floats, counts: Integers
) -> Iterator[tuple[Kind, str, str]]:
    """Yield numbers that stand for something else (-999), and those far from all others."""
    where = column.cells
    code = _code(values)
    if code is not None:
        count = int(counts[values == code][0])
        what = f"holds {_number(code)} in {_rows(count)} ({_first(where, code)}), far from the rest"
        yield "code", what, _EMPTY
        kept = values != code
        values, counts = values[kept], counts[kept]
        cells = cells[cells != code]
    low, high = _limits(cells, values)
    far = (values < low) | (values > high)
    if far.any():
        number = values[far][-1] if abs(values[far][-1]) >= abs(values[far][0]) else values[far][0]
        middle = f"{_number(cells[len(cells) // 4])} to {_number(cells[(3 * len(cells)) // 4])}"
        what = (
            f"holds {_number(number)} ({_first(where, number)}) and half of its values are "
            f"{middle}: {_rows(int(counts[far].sum()))} far from the rest"
        )
        yield "outliers", what, "correct what is a mistake, or leave those rows out"


def _code(values: Floats) -> float | None:
    """Return an extreme such as -999 or 99999 that is farther away than the rest is wide."""
    if len(values) < 3:
        return None
    ends = ((values[0], values[1], values[-1]), (values[-1], values[-2], values[0]))
    for extreme, next_one, other_end in ends:
        nines = NINES.fullmatch(_number(extreme)) is not None
        if nines and abs(extreme - next_one) > abs(next_one - other_end):
            return float(extreme)
    return None


def _limits(cells: Floats, values: Floats) -> tuple[float, float]:
    """Return between what no number is far from the others.

    Far is far on the scale of logarithms as well: incomes may be a hundred times the usual one.
    """
    low, high = _quarters(cells)
    if low == high:
        low, high = _quarters(values)
    if len(values) < 4 or low == high:
        return -np.inf, np.inf
    with np.errstate(over="ignore"):
        far = FAR * (high - low)
        ratio = high / low if low > 0 else (low / high if high < 0 else 1.0)
        much = np.float64(ratio) ** FAR_IN_LOGARITHMS
        upper = max(high + far, high * much) if low > 0 else high + far
        lower = min(low - far, low * much) if high < 0 else low - far
    return float(lower), float(upper)


def _quarters(ordered: Floats) -> tuple[float, float]:
    quarter = len(ordered) // 4
    return ordered[quarter], ordered[-1 - quarter]


def _of_categories(column: Column, listed: bool) -> Iterator[tuple[Kind, str, str]]:
    counts = column.cells.value_counts()
    counts = counts[counts > 0]
    present = [value for value in column.categories if value in counts.index]
    rows = len(column.cells)
    usual = _one_value(repr(counts.index[0]), int(counts.iloc[0]), len(present), rows)
    if usual is not None:
        yield usual
    elif rows >= ENOUGH_ROWS // 2 and len(present) > 0.9 * rows:
        what = "has another text in nearly every row, as names and ids have"
        yield "ids", what, _ids(column)
    texts = [value for value in present if isinstance(value, str)]
    for text in filter(is_placeholder, texts):
        what = f"holds {text!r} in {_rows(int(counts[text]))} ({_first(column.cells, text)})"
        yield "placeholder", f"{what}, which is taken as a category", _EMPTY
    kind = None if listed else stands_for(present)
    if kind is not None:
        what = f"holds {kind} as text ({shown(present)}), which are taken as categories"
        listing = f"list it as categorical: {setting(categorical=[column.name])}"
        yield kind, what, f"{rewriting(column.name, kind)}, or {listing}"


def _one_value(most: str, count: int, different: int, rows: int) -> tuple[Kind, str, str] | None:
    """Return the oddity of one value in nearly all rows."""
    if different == 1:
        return "constant", f"has one value only, {most}", "no model can learn from it: drop it"
    if rows < ENOUGH_ROWS or count < NEARLY_ALL * rows:
        return None
    what = f"has one value, {most}, in {count} of {rows} rows"
    return "one value", what, "little can be learnt from the others: drop it, or look at them"


def _ids(column: Column) -> str:
    named = setting(id_column=column.name)
    return f"drop it, or ask for {named}, unless it says something about people"


def _rows(count: int) -> str:
    return f"{count} row{'s' if count != 1 else ''}"


def _first(cells: pd.Series[Any], value: Any) -> str:
    return f"first at row {cells.index[int((cells == value).to_numpy().argmax())]!r}"


def _number(value: float) -> str:
    """Return a number as people write it: whole ones without a point."""
    whole = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else repr(float(value))
