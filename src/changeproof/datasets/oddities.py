"""What is odd about a table, column by column and between columns.

It is said, or refused, before anything is trained.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.columns import (
    Column,
    is_placeholder,
    read_as_missing,
    rewriting,
    shown,
    stands_for,
)
from changeproof.errors import InputError, setting
from changeproof.feasible.decimals import decimals_of
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


# With fewer rows, or fewer of one outcome, that a column tells them apart may be chance.
ENOUGH_OF_BOTH = 5
# So many rows stand behind every category on average, or nothing is said of it.
ROWS_PER_CATEGORY = 10
# A near copy of the target is right so often, and makes so few of the mistakes that always
# guessing the same would.
NEARLY, FEWER_MISTAKES = 0.99, 0.1
# So many rows, evenly spread, are looked at to see whether a column predicts the target; whether
# it does so without a mistake is then checked on all.
ROWS_LOOKED_AT = 50_000
# So many rows are compared between columns; so many columns in pairs of two; so many in sums and
# products, of which there are as many as triples.
ROWS_COMPARED, MOST_IN_PAIRS, MOST_IN_TRIPLES = 2_000, 2_000, 40
# Numbers with fewer different values follow from each other by chance.
ENOUGH_VALUES = 10
# So many numbers say with how many decimals a column is written.
DIGITS_LOOKED_AT = 30
# What rounding can explain is small beside how much a column varies.
SPREAD_OVER_ROUNDING = 20.0
NOT_BY_CHOICE = re.compile(
    r"(?<![a-z])(age|ages|birth\w*|dob|sex|gender|race|racial|ethnic\w*|nationality|native\w*"
    r"|religio\w*|disab\w*|pregnan\w*)(?![a-z])"
)
ONLY_UP = re.compile(r"(?<![a-z])ages?(?![a-z])")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class _Numbers(NamedTuple):
    """Columns of numbers at some rows, with how many decimals they are written."""

    names: list[str]
    values: Floats
    decimals: list[int]


def leak_notes(
    columns: Iterable[Column], labels: Any, target: str, allowed: Sequence[str] = ()
) -> list[str]:
    """Return a note for every column that predicts the target nearly without a mistake.

    One that makes no mistake at all is refused, unless it was asked for.

    Parameters
    ----------
    columns
        The features.
    labels
        The outcomes, 0 or 1.
    target
        What the outcome is called.
    allowed
        Columns that may.
    """
    notes = []
    for column in columns:
        mistakes = _mistakes(column, labels)
        if mistakes is None:
            continue
        known = column.cells.notna().to_numpy()
        rows, favourable = int(known.sum()), int(np.asarray(labels)[known].sum())
        if mistakes == 0 and column.name not in allowed:
            raise InputError(
                f"column {column.name!r} tells the target {target!r} without a mistake in all "
                f"{rows} rows, as a copy of it or something that is known only afterwards would; "
                f"drop it ({setting(drop=[column.name])}), or keep it by "
                f"{setting(allow_leak=[column.name])}"
            )
        guessing = min(favourable, rows - favourable)
        if mistakes <= (1.0 - NEARLY) * rows and mistakes <= FEWER_MISTAKES * guessing:
            right = f"all {rows}" if mistakes == 0 else f"{rows - mistakes} of {rows}"
            notes.append(
                f"column {column.name!r} tells the target {target!r} by itself in {right} rows; if "
                f"it is known only afterwards, drop it ({setting(drop=[column.name])})"
            )
    return notes


def _mistakes(column: Column, labels: Any) -> int | None:
    """Return how many rows one threshold, or the usual outcome of each value, gets wrong.

    None where there are too few rows, or so many mistakes in some of them that it does not matter.
    """
    known = column.cells.notna().to_numpy()
    outcomes = np.asarray(labels)[known]
    rows, favourable = len(outcomes), int(outcomes.sum())
    if rows < ENOUGH_ROWS or min(favourable, rows - favourable) < ENOUGH_OF_BOTH:
        return None
    cells = column.cells[known]
    some = _spread(rows, ROWS_LOOKED_AT)
    if len(some) < rows:
        few = _wrong(column, cells.iloc[some], outcomes[some])
        if few is None or few > 2 * (1.0 - NEARLY) * len(some):
            return None
    return _wrong(column, cells, outcomes)


def _wrong(column: Column, cells: pd.Series[Any], outcomes: Integers) -> int | None:
    codes, values = pd.factorize(cells, sort=not column.categories)
    counts = np.zeros((len(values), 2), dtype=np.int64)
    np.add.at(counts, (codes, outcomes.astype(np.int64)), 1)
    each: int | None = None
    if len(values) * ROWS_PER_CATEGORY <= len(outcomes):
        each = int(counts.min(axis=1).sum())
    if column.categories:
        return each
    # Adverse up to a threshold and favourable above it, or the other way round.
    below = np.vstack([[0, 0], counts.cumsum(axis=0)])
    above = below[-1] - below
    cuts = int(min((below[:, 1] + above[:, 0]).min(), (below[:, 0] + above[:, 1]).min()))
    return cuts if each is None else min(cuts, each)


def relation_notes(columns: Sequence[Column], fixed: Sequence[str] = ()) -> Iterator[str]:
    """Yield notes on columns of which one follows from one or two others.

    Parameters
    ----------
    columns
        The features.
    fixed
        Those that may not change: advice cannot tear them from others.
    """
    rows = _spread(len(columns[0].cells), ROWS_COMPARED)
    if len(rows) < ENOUGH_ROWS:
        return
    numbers = _numbers(columns, rows)
    told = set(fixed)
    for name, words in (
        *_lines(numbers),
        *_sums_and_products(numbers),
        *_of(columns, rows, numbers),
    ):
        if name not in told:
            told.add(name)
            yield (
                f"column {name!r} {words} in all {len(rows)} rows that were compared, and advice "
                f"may change one without the other; drop it ({setting(drop=[name])}), or have it "
                f"stay ({setting(actions={name: {'change': 'none'}})})"
            )


def _numbers(columns: Sequence[Column], rows: Integers) -> _Numbers:
    """Return the columns of numbers that have many different values and none missing."""
    names: list[str] = []
    found: list[Floats] = []
    decimals: list[int] = []
    for column in columns:
        if column.categories or len(names) == MOST_IN_PAIRS:
            continue
        values = column.cells.iloc[rows].to_numpy(np.float64)
        different = np.unique(values[~np.isnan(values)])
        if np.isnan(values).any() or len(different) < ENOUGH_VALUES:
            continue
        names.append(column.name)
        found.append(values)
        decimals.append(max(map(decimals_of, values[:DIGITS_LOOKED_AT].tolist())))
    return _Numbers(names, np.array(found).reshape(len(names), len(rows)), decimals)


def _lines(numbers: _Numbers) -> Iterator[tuple[str, str]]:
    """Yield columns that are another one, times a number and plus a number."""
    names, values, _ = numbers
    if len(names) < 2:
        return
    middle = values - values.mean(axis=1, keepdims=True)
    middle /= np.maximum(np.sqrt((middle**2).sum(axis=1, keepdims=True)), 1e-300)
    alike = np.triu(np.abs(middle @ middle.T) > 0.9999, 1)
    for one, other in np.argwhere(alike).tolist():
        slope, start = np.polyfit(values[one], values[other], 1)
        rounding = _rounding(numbers, other) + abs(slope) * _rounding(numbers, one)
        if _same(values[other], slope * values[one] + start, rounding):
            if np.array_equal(values[one], values[other]):
                yield names[other], f"is the same as {names[one]!r}"
            else:
                yield names[other], f"follows from {names[one]!r} by a straight line"


def _sums_and_products(numbers: _Numbers) -> Iterator[tuple[str, str]]:
    """Yield columns that are the sum, the difference, the product or the ratio of two others."""
    names, values, _ = numbers
    names, values = names[:MOST_IN_TRIPLES], values[:MOST_IN_TRIPLES]
    if len(names) < 3:
        return
    # A few rows rule out nearly all.
    few = values[:, :: max(1, values.shape[1] // 20)]
    slack = np.array([_rounding(numbers, place) for place in range(len(names))])
    for one, other in combinations(range(len(names)), 2):
        for sign, made in (("plus", np.add), ("times", np.multiply)):
            with np.errstate(over="ignore"):
                guess = made(few[one], few[other])
            near = np.abs(few - guess) <= slack[:, None] + 1e-9 * np.abs(guess)
            near[[one, other]] = False
            for place in np.flatnonzero(near.all(axis=1)).tolist():
                whole = made(values[one], values[other])
                if _same(values[place], whole, slack[place]):
                    yield names[place], f"is {names[one]!r} {sign} {names[other]!r}"


def _rounding(numbers: _Numbers, place: int) -> float:
    """Return by how much rounding moves a number of a column at most."""
    return 0.500001 * 10.0 ** -numbers.decimals[place]


def _same(values: Floats, others: Floats, rounding: float) -> bool:
    """Whether numbers differ by rounding alone, which is little beside how much they vary."""
    if values.std() < SPREAD_OVER_ROUNDING * rounding:
        return bool(np.allclose(values, others, rtol=1e-9, atol=0.0))
    apart = np.abs(values - others)
    return bool((apart <= rounding + 1e-9 * np.abs(others)).all())


def _of(columns: Sequence[Column], rows: Integers, numbers: _Numbers) -> Iterator[tuple[str, str]]:
    """Yield categories that follow from another column of categories, or from where a number is."""
    named: list[tuple[str, Integers]] = []
    for column in columns:
        if not column.categories or len(named) == MOST_IN_TRIPLES:
            continue
        codes, values = pd.factorize(column.cells.iloc[rows])
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        if len(values) > 1 and (codes >= 0).all() and counts.min() >= ENOUGH_OF_BOTH:
            named.append((column.name, codes.astype(np.int64)))
    for (one, first), (other, second) in combinations(named, 2):
        pairs = len(np.unique(first * (second.max() + 1) + second))
        if pairs == first.max() + 1 == second.max() + 1:
            yield other, f"is {one!r} under other names"
        elif pairs == first.max() + 1:
            yield other, f"follows from {one!r}"
        elif pairs == second.max() + 1:
            yield one, f"follows from {other!r}"
    names, readings, _ = numbers
    for place, name in enumerate(names[:MOST_IN_TRIPLES]):
        order = np.argsort(readings[place], kind="stable")
        ordered = readings[place][order]
        for category, codes in named:
            switches = np.flatnonzero(np.diff(codes[order]))
            cut = ordered[switches] < ordered[switches + 1]
            if len(switches) == codes.max() and bool(cut.all()):
                yield category, f"follows from {name!r} by thresholds"


def alike_notes(columns: Iterable[Column]) -> Iterator[str]:
    """Yield a note for every column with categories that differ in case or blanks only."""
    for column in columns:
        found: dict[str, list[str]] = {}
        for category in column.categories:
            if isinstance(category, str):
                found.setdefault(" ".join(category.casefold().split()), []).append(category)
        groups = [texts for texts in found.values() if len(texts) > 1]
        if groups:
            each = "; ".join(shown(texts) for texts in groups[:3])
            more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
            yield (
                f"column {column.name!r} has categories that differ in case or blanks only "
                f"({each}{more}), and advice may tell people to go from one to the other; write "
                "them alike"
            )


def hard_to_change(names: Iterable[str]) -> list[str]:
    """Return the names of columns that people can hardly change, as far as names say it."""
    return [name for name in names if _matches(NOT_BY_CHOICE, name)]


def rule_notes(names: Iterable[str], declared: Iterable[str]) -> list[str]:
    """Return a note where no rule is about columns that people can hardly change."""
    known = set(declared)
    fixed = hard_to_change(name for name in names if name not in known)
    if not fixed:
        return []
    rules = {name: {"change": "increase" if _matches(ONLY_UP, name) else "none"} for name in fixed}
    begin = "nothing says what may change" if not known else "no rule is about every column"
    return [
        f"{begin}, so advice may ask people to change {shown(fixed)}; if they cannot, say so: "
        f"{setting(actions=rules)}"
    ]


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.search(_WORDS.sub(" ", name).lower()) is not None


def _spread(rows: int, most: int) -> Integers:
    """Return the positions of so many rows at most, evenly spread."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))
