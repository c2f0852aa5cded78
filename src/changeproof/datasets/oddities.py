"""What looks odd about a table, within columns and between them: noted or refused before training.

It takes time about linear in the number of rows; columns are compared with each other on a sample.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.columns import (
    Column,
    is_placeholder,
    read_as_missing,
    rewriting,
    shown,
    stands_for,
)
from changeproof.datasets.relations import (
    ENOUGH_OF_BOTH,
    ENOUGH_ROWS,
    Sample,
    evenly_spread,
    following,
)
from changeproof.errors import InputError, setting
from changeproof.feasible.action import Action
from changeproof.model import Floats, Integers

# A share of the rows: with one value, with distinct values, or predicted correctly.
NEARLY_ALL = 0.99
# So many interquartile ranges away from the quartiles; and so many on a logarithmic scale.
FAR, FAR_IN_LOGARITHMS = 50.0, 8.0
# Smaller deviations count as none (see `Task.scale`).
SMALLEST_DEVIATION = 1e-8
# So many columns with the same oddity are named one by one.
MOST_ALIKE = 5
# A column of categories is tested as a predictor with so many rows per category on average.
ROWS_PER_CATEGORY = 10
# A near copy of the target makes at most this share of the mistakes of a constant guess.
FEWER_MISTAKES = 0.1
# So many rows, evenly spread, are tried first to see whether a column predicts the target.
ROWS_TRIED = 50_000

CALLED_ID = re.compile(r"(^|[^a-z])(id|ids|uid|uuid|guid|key|nr|no|number|index)([^a-z]|$)|ID$|Id$")
NINES = re.compile(r"-?99+")
NOT_BY_CHOICE = re.compile(
    r"(?<![a-z])(age|ages|birth\w*|dob|sex|gender|race|racial|ethnic\w*|nationality|native\w*"
    r"|religio\w*|disab\w*|pregnan\w*)(?![a-z])"
)
ONLY_UP = re.compile(r"(?<![a-z])ages?(?![a-z])")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_EMPTY = (
    "if it stands for a missing value, leave those cells empty and ask for "
    f"{setting(missing='impute')}, or leave those rows out"
)

# The kind of an oddity, and the end of a sentence that begins with the column.
Oddity = tuple[str, str]


def table_notes(
    columns: Sequence[Column],
    target: pd.Series[Any],
    labels: npt.NDArray[np.int8],
    favourable: Sequence[Any],
    declared: Mapping[str, Action],
    *,
    categorical: Collection[str],
    allow_leak: Collection[str],
    missing_texts: Mapping[str, Mapping[str, int]],
    ruled: Collection[str] = (),
) -> list[str]:
    """Return a line for everything odd about a table, with what to do about it.

    A column that predicts the target without a mistake is refused, unless `allow_leak` has it.
    `columns` are the features before missing values were filled in, `categorical` those that
    somebody listed as such, `missing_texts` what was read as missing: {column: {text: rows}}, and
    `ruled` those that rules between features name.
    """
    fixed = [name for name, action in declared.items() if action.change == "none"]
    return [
        *_target_note(str(target.name), target[labels == 0], favourable),
        *(
            f"column {column.name!r} is filled in where values are missing "
            f"({read_as_missing(missing_texts[column.name]).removeprefix('; ')})"
            for column in columns
            if column.categories and column.name in missing_texts
        ),
        *_column_notes(columns, categorical),
        *_leak_notes(columns, labels, str(target.name), allow_leak),
        *_spelling_notes(columns),
        *_relation_notes(columns, [*fixed, *ruled]),
        *_rule_notes([column.name for column in columns], declared),
    ]


def is_about_advice(note: str) -> bool:
    """Say whether a note is about what advice may say, and not about the data."""
    return "advice may" in note


def hard_to_change(names: Iterable[str]) -> list[str]:
    """Return the columns that people can hardly change, judging by their names."""
    return [name for name in names if _matches(NOT_BY_CHOICE, name)]


def declared_by_name(names: Iterable[str]) -> dict[str, str]:
    """Return how columns may change that people can hardly change, judging by their names."""
    return {
        name: "increase" if _matches(ONLY_UP, name) else "none" for name in hard_to_change(names)
    }


def _target_note(name: str, adverse: pd.Series[Any], favourable: Sequence[Any]) -> list[str]:
    counts = adverse.value_counts()
    counts = counts[counts > 0]
    if len(counts) < 2:
        return []
    each = ", ".join(f"{value!r} ({_rows(count)})" for value, count in counts.head(5).items())
    more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
    return [
        f"the target {name!r} has {len(counts)} values besides {shown(favourable)}, and all of "
        f"them count as adverse: {each}{more}; if one is neither, leave its rows out"
    ]


def _column_notes(columns: Iterable[Column], categorical: Collection[str]) -> list[str]:
    """Return what is odd within columns; of many with the same oddity, the rest share a line."""
    lines, counts, others = [], Counter[str](), defaultdict[str, list[str]](list)
    for column in columns:
        listed = column.name in categorical
        odd = _odd_categories(column, listed) if column.categories else _odd_numbers(column)
        for kind, words in odd:
            counts[kind] += 1
            if counts[kind] <= MOST_ALIKE:
                lines.append(f"column {column.name!r} {words}")
            else:
                others[kind].append(column.name)
    for kind, names in others.items():
        lines.append(
            f"{len(names)} more columns have the same problem ({kind}): {shown(names, 10)}"
        )
    return lines


def _odd_numbers(column: Column) -> Iterator[Oddity]:
    given = column.cells.to_numpy(dtype=np.float64)
    cells = np.sort(given[~np.isnan(given)])
    if not len(cells):
        return
    values, counts = np.unique(cells, return_counts=True)
    most = int(counts.argmax())
    usual = _one_value(_number(values[most]), int(counts[most]), len(values), len(given))
    if usual is not None:
        yield usual
        if len(values) == 1:
            return
    elif column.kind == "integer" and _like_ids(column.name, given, len(values)):
        what = "has a different whole number in nearly every row, like an id"
        yield "ids", f"{what}; {_drop_ids(column)}"
    elif values[-1] - values[0] < SMALLEST_DEVIATION:
        what = f"varies by less than {SMALLEST_DEVIATION:g}, which counts as constant"
        yield "tiny", f"{what}; give it in other units"
    yield from _far_away(column.cells, cells, values, counts)


def _like_ids(name: str, given: Floats, distinct: int) -> bool:
    """Whether whole numbers count rows, or are called an id and hardly ever repeat."""
    if len(given) < ENOUGH_ROWS or distinct < NEARLY_ALL * len(given):
        return False
    known = given[~np.isnan(given)]
    dense = known.max() - known.min() < 2 * len(given)
    return bool(dense or (known[1:] > known[:-1]).all() or CALLED_ID.search(name))


def _far_away(
    column: pd.Series[Any], cells: Floats, values: Floats, counts: Integers
) -> Iterator[Oddity]:
    """Yield a code for something else (-999), and numbers far from all others."""
    code = _code(values)
    if code is not None:
        count = int(counts[values == code][0])
        where = f"in {_rows(count)} ({_first(column, code)})"
        yield "code", f"holds {_number(code)} {where}, far from the rest; {_EMPTY}"
        kept = values != code
        values, counts = values[kept], counts[kept]
        cells = cells[cells != code]
    low, high = _limits(cells, values)
    far = (values < low) | (values > high)
    if far.any():
        number = values[far][-1] if abs(values[far][-1]) >= abs(values[far][0]) else values[far][0]
        middle = f"{_number(cells[len(cells) // 4])} to {_number(cells[(3 * len(cells)) // 4])}"
        yield (
            "outliers",
            f"holds {_number(number)} ({_first(column, number)}) and half of its values are "
            f"{middle}: {_rows(int(counts[far].sum()))} far from the rest; correct mistakes, or "
            "leave those rows out",
        )


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
    """Return the limits beyond which a number is far from the others.

    Far means far on a logarithmic scale as well: incomes may be a hundred times the usual one.
    """
    low, high = _quartiles(cells)
    if low == high:
        low, high = _quartiles(values)
    if len(values) < 4 or low == high:
        return -np.inf, np.inf
    with np.errstate(over="ignore"):
        far = FAR * (high - low)
        ratio = high / low if low > 0 else (low / high if high < 0 else 1.0)
        much = np.float64(ratio) ** FAR_IN_LOGARITHMS
        upper = max(high + far, high * much) if low > 0 else high + far
        lower = min(low - far, low * much) if high < 0 else low - far
    return float(lower), float(upper)


def _quartiles(ordered: Floats) -> tuple[float, float]:
    quarter = len(ordered) // 4
    return ordered[quarter], ordered[-1 - quarter]


def _odd_categories(column: Column, listed: bool) -> Iterator[Oddity]:
    counts = column.cells.value_counts()
    counts = counts[counts > 0]
    present = [value for value in column.categories if value in counts.index]
    rows = len(column.cells)
    usual = _one_value(repr(counts.index[0]), int(counts.iloc[0]), len(present), rows)
    if usual is not None:
        yield usual
    elif rows >= ENOUGH_ROWS // 2 and len(present) > 0.9 * rows:
        what = "has a different text in nearly every row, like a name or an id"
        yield "ids", f"{what}; {_drop_ids(column)}"
    for text in present:
        if isinstance(text, str) and is_placeholder(text):
            where = f"in {_rows(int(counts[text]))} ({_first(column.cells, text)})"
            what = f"holds {text!r} {where}, which is taken as a category"
            yield "placeholder", f"{what}; {_EMPTY}"
    kind = None if listed else stands_for(present)
    if kind is not None:
        what = f"holds {kind} as text ({shown(present)}), which are taken as categories"
        listing = f"list it as categorical: {setting(categorical=[column.name])}"
        yield kind, f"{what}; {rewriting(column.name, kind)}, or {listing}"


def _one_value(most: str, count: int, distinct: int, rows: int) -> Oddity | None:
    if distinct == 1:
        return "constant", f"has one value only, {most}; no model can learn from it: drop it"
    if rows < ENOUGH_ROWS or count < NEARLY_ALL * rows:
        return None
    what = f"has one value, {most}, in {count} of {rows} rows"
    return "one value", f"{what}; a model can learn little from the others: check them, or drop it"


def _drop_ids(column: Column) -> str:
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


def _leak_notes(
    columns: Iterable[Column], labels: npt.NDArray[np.int8], target: str, allowed: Collection[str]
) -> Iterator[str]:
    for column in columns:
        known = column.cells.notna().to_numpy()
        cells, outcomes = column.cells[known], labels[known].astype(np.int64)
        rows, favourable = len(outcomes), int(outcomes.sum())
        guessing = min(favourable, rows - favourable)
        if rows < ENOUGH_ROWS or guessing < ENOUGH_OF_BOTH:
            continue
        tried = evenly_spread(rows, ROWS_TRIED)
        if len(tried) < rows:
            few = _mistakes(cells.iloc[tried], outcomes[tried], bool(column.categories))
            if few > 2 * (1.0 - NEARLY_ALL) * len(tried):
                continue
        mistakes = _mistakes(cells, outcomes, bool(column.categories))
        if mistakes == 0 and column.name not in allowed:
            raise InputError(
                f"column {column.name!r} predicts the target {target!r} without a mistake in all "
                f"{rows} rows, like a copy of it or something known only afterwards; drop it "
                f"({setting(drop=[column.name])}), or keep it by "
                f"{setting(allow_leak=[column.name])}"
            )
        if mistakes <= (1.0 - NEARLY_ALL) * rows and mistakes <= FEWER_MISTAKES * guessing:
            right = f"all {rows}" if mistakes == 0 else f"{rows - mistakes} of {rows}"
            yield (
                f"column {column.name!r} predicts the target {target!r} by itself in {right} rows; "
                f"if it is known only afterwards, drop it ({setting(drop=[column.name])})"
            )


def _mistakes(cells: pd.Series[Any], outcomes: Integers, categories: bool) -> float:
    """Return how many rows the usual outcome of each value, or one threshold, gets wrong.

    Infinite where there are too few rows per value to say, and no threshold.
    """
    codes, values = pd.factorize(cells, sort=not categories)
    counts = np.bincount(2 * codes + outcomes, minlength=2 * len(values)).reshape(-1, 2)
    wrong = [np.inf]
    if len(values) * ROWS_PER_CATEGORY <= len(outcomes):
        wrong.append(int(counts.min(axis=1).sum()))
    if not categories:
        # Adverse up to a threshold and favourable above it, or the other way round.
        below = np.vstack([[0, 0], counts.cumsum(axis=0)])
        above = below[-1] - below
        wrong += [int((below[:, 1] + above[:, 0]).min()), int((below[:, 0] + above[:, 1]).min())]
    return min(wrong)


def _spelling_notes(columns: Iterable[Column]) -> Iterator[str]:
    for column in columns:
        found = defaultdict[str, list[str]](list)
        for category in column.categories:
            if isinstance(category, str):
                found[" ".join(category.casefold().split())].append(category)
        groups = [texts for texts in found.values() if len(texts) > 1]
        if groups:
            each = "; ".join(shown(texts) for texts in groups[:3])
            more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
            yield (
                f"column {column.name!r} has categories that differ in case or blanks only "
                f"({each}{more}), and advice may tell people to go from one to the other; spell "
                "them the same way"
            )


def _relation_notes(columns: Sequence[Column], fixed: Iterable[str]) -> Iterator[str]:
    """Yield notes on columns that follow from others and may change without them."""
    sample = Sample.of(columns)
    if sample is None:
        return
    done = set(fixed)
    for relation in following(sample):
        if relation.column not in done:
            done.add(relation.column)
            name = relation.column
            yield (
                f"column {name!r} {relation.words} in all {sample.rows} rows that were compared, "
                f"and advice may change one without the other; drop it ({setting(drop=[name])}), "
                f"or rule out that it changes ({setting(actions={name: {'change': 'none'}})})"
                + (
                    f", or state the rule ({setting(rules=[relation.rule])})"
                    if relation.rule
                    else ""
                )
            )


def _rule_notes(names: Iterable[str], declared: Collection[str]) -> list[str]:
    """Return a note where no rule is about columns that people can hardly change."""
    changes = declared_by_name(name for name in names if name not in declared)
    if not changes:
        return []
    rules = {name: {"change": change} for name, change in changes.items()}
    begin = "some columns have no rule" if declared else "nothing says what may change"
    return [
        f"{begin}, so advice may ask people to change {shown(list(changes))}; if they cannot, say "
        f"so: {setting(actions=rules)}"
    ]


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.search(_WORDS.sub(" ", name).lower()) is not None
