"""What is odd between columns: said before anything is trained, or refused.

A column that gives the target away, columns of which one follows from others, and columns that
nobody can change and no rule is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.columns import Column
from changeproof.datasets.texts import shown
from changeproof.errors import InputError, setting
from changeproof.feasible.decimals import decimals_of
from changeproof.model import Floats, Integers

# With fewer rows, or fewer of one outcome, that a column tells them apart may be chance.
ENOUGH_ROWS, ENOUGH_OF_BOTH = 50, 5
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
