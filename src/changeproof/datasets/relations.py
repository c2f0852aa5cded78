"""What holds between the columns of a table, as far as its rows show: found on a sample of them.

It may be true of the world (a charge is computed from minutes) or of these rows only. So it is said
or proposed, with its evidence, and never imposed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, combinations, permutations
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from changeproof.datasets.columns import Column
from changeproof.feasible.decimals import decimals_of
from changeproof.feasible.parser import written_category, written_name
from changeproof.model import Floats, Integers

# With fewer rows than this, distinct values, rare ones and perfect predictions may be chance.
ENOUGH_ROWS = 50
# With fewer rows of an outcome or a category, what holds in all of them may be chance.
ENOUGH_OF_BOTH = 5
# So many rows are compared between columns; so many columns in pairs, and so many in triples.
ROWS_COMPARED, MOST_IN_PAIRS, MOST_IN_TRIPLES = 2_000, 2_000, 40
# Numbers with fewer distinct values follow from each other by chance.
ENOUGH_VALUES = 10
# So many numbers show with how many decimals a column is written.
DIGITS_LOOKED_AT = 30
# A column has to vary this much more than rounding, if rounding is to explain a difference.
SPREAD_OVER_ROUNDING = 20.0
# Coefficients are written with at most so many digits.
MOST_DIGITS = 12
# An order of two columns means something if it would fail in this share of rows with the values of
# one of them shuffled.
WOULD_FAIL = 0.05
# A category that goes with one number only has to have so many rows.
ROWS_OF_CATEGORY = 20


class Relation(NamedTuple):
    """Something that holds between columns in all rows that were compared.

    `words` continue a sentence that begins with the column; `rule` says the same in the language of
    rules, "" where that cannot be said, and `evidence` what was seen.
    """

    column: str
    words: str
    rule: str = ""
    evidence: str = ""


class Sample(NamedTuple):
    """Rows of a table, evenly spread, at which columns are compared.

    The numbers are those of columns with many distinct values and none missing [columns, rows],
    `rounding` by how much it moves a number of each at most. Of categories there are codes.
    """

    rows: int
    names: list[str]
    values: Floats
    rounding: Floats
    categories: list[tuple[Column, Integers]]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Self | None:
        """Return the rows of a table that are compared; None if there are too few."""
        rows = evenly_spread(len(columns[0].cells), ROWS_COMPARED)
        if len(rows) < ENOUGH_ROWS:
            return None
        found: dict[str, Floats] = {}
        named: list[tuple[Column, Integers]] = []
        for column in columns:
            if not column.categories:
                values = column.cells.iloc[rows].to_numpy(np.float64)
                enough = not np.isnan(values).any() and len(np.unique(values)) >= ENOUGH_VALUES
                if enough and len(found) < MOST_IN_PAIRS:
                    found[column.name] = values
                continue
            codes, texts = pd.factorize(column.cells.iloc[rows])
            counts = np.bincount(codes[codes >= 0], minlength=len(texts))
            often = len(texts) > 1 and (codes >= 0).all() and counts.min() >= ENOUGH_OF_BOTH
            if often and len(named) < MOST_IN_TRIPLES:
                named.append((column, codes.astype(np.int64)))
        table = np.array(list(found.values())).reshape(len(found), len(rows))
        decimals = [max(map(decimals_of, each)) for each in table[:, :DIGITS_LOOKED_AT].tolist()]
        rounding = np.array([0.500001 * 10.0**-each for each in decimals])
        return cls(len(rows), list(found), table, rounding, named)

    def without(self, columns: Collection[str]) -> Sample:
        """Return the same without some columns of numbers."""
        kept = [place for place, name in enumerate(self.names) if name not in columns]
        names = [self.names[place] for place in kept]
        return self._replace(names=names, values=self.values[kept], rounding=self.rounding[kept])

    def few(self) -> Sample:
        """Return the same with the columns that are compared in triples."""
        n = MOST_IN_TRIPLES
        return self._replace(
            names=self.names[:n], values=self.values[:n], rounding=self.rounding[:n]
        )


def evenly_spread(rows: int, most: int) -> Integers:
    """Return the positions of at most so many rows, evenly spread."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))


def following(sample: Sample) -> Iterator[Relation]:
    """Yield columns that follow from others: numbers from one or two others, and categories."""
    yield from _linear(sample)
    yield from _computed(sample.few())
    yield from _mappings(sample)


def _linear(sample: Sample) -> Iterator[Relation]:
    _, names, values, rounding, _ = sample
    if len(names) < 2:
        return
    middle = values - values.mean(axis=1, keepdims=True)
    middle /= np.maximum(np.sqrt((middle**2).sum(axis=1, keepdims=True)), 1e-300)
    alike = np.triu(np.abs(middle @ middle.T) > 0.9999, 1)
    for one, other in np.argwhere(alike).tolist():
        slope, start = np.polyfit(values[one], values[other], 1)
        slack = rounding[other] + abs(slope) * rounding[one]
        if np.array_equal(values[one], values[other]):
            rule = f"{written_name(names[other])} = {written_name(names[one])}"
            yield Relation(names[other], f"is the same as {names[one]!r}", rule)
        elif _same(values[other], slope * values[one] + start, slack):
            yield Relation(
                names[other],
                f"is a linear function of {names[one]!r}",
                _line(sample, one, other, float(slope), float(start)),
            )


def _line(sample: Sample, one: int, other: int, slope: float, start: float) -> str:
    """Return a rule with the shortest coefficients that give the numbers; "" if there are none.

    Of minutes and their charge, the rounded one is computed from the other.
    """
    _, names, values, rounding, _ = sample
    for source, result, ratio, offset in (
        (one, other, slope, start),
        (other, one, 1.0 / slope, -start / slope),
    ):
        largest = np.abs(values[source]).max()
        for digits in range(1, MOST_DIGITS + 1):
            factor = float(f"{ratio:.{digits}g}")
            if abs(factor - ratio) * largest > 4 * rounding[result] + 1e-9 * abs(ratio) * largest:
                continue
            for shift in dict.fromkeys((0.0, *(round(offset, n) for n in range(7)))):
                given = factor * values[source] + shift
                if (
                    np.abs(values[result] - given) <= rounding[result] + 1e-9 * np.abs(given)
                ).all():
                    times = "" if factor == 1.0 else f"{factor:.{MOST_DIGITS}g} * "
                    sign = "-" if shift < 0 else "+"
                    more = f" {sign} {abs(shift):.{MOST_DIGITS}g}" if shift else ""
                    left, right = (written_name(names[place]) for place in (result, source))
                    return f"{left} = {times}{right}{more}"
    return ""


def _computed(sample: Sample) -> Iterator[Relation]:
    """Yield columns that are the sum, the difference, the product or the ratio of two others."""
    _, names, values, rounding, _ = sample
    if len(names) < 3:
        return
    # A few rows rule out nearly all.
    few = values[:, :: max(1, values.shape[1] // 20)]
    both, ordered = combinations(range(len(names)), 2), permutations(range(len(names)), 2)
    tried = chain(
        (
            (pair, *operation)
            for pair in both
            for operation in ((np.add, "plus", "+"), (np.multiply, "times", "*"))
        ),
        ((pair, np.divide, "divided by", "/") for pair in ordered),
    )
    told: set[frozenset[int]] = set()
    for (one, other), operation, words, sign in tried:
        with np.errstate(all="ignore"):
            guess = operation(few[one], few[other])
            near = np.abs(few - guess) <= rounding[:, None] + 1e-9 * np.abs(guess)
        near[[one, other]] = False
        for place in np.flatnonzero(near.all(axis=1)).tolist():
            with np.errstate(all="ignore"):
                given = operation(values[one], values[other])
            known = frozenset((place, one, other)) in told
            if known or not np.isfinite(given).all():
                continue
            if _same(values[place], given, rounding[place]):
                told.add(frozenset((place, one, other)))
                named = [written_name(names[each]) for each in (place, one, other)]
                yield Relation(
                    names[place],
                    f"is {names[one]!r} {words} {names[other]!r}",
                    f"{named[0]} = {named[1]} {sign} {named[2]}",
                )


def _same(values: Floats, others: Floats, rounding: float) -> bool:
    """Whether numbers differ by rounding alone, which is little beside how much they vary."""
    if values.std() < SPREAD_OVER_ROUNDING * rounding:
        return bool(np.allclose(values, others, rtol=1e-9, atol=0.0))
    apart = np.abs(values - others)
    return bool((apart <= rounding + 1e-9 * np.abs(others)).all())


def _mappings(sample: Sample) -> Iterator[Relation]:
    """Yield categories that are determined by another column of categories, or of numbers."""
    named = [(column.name, codes) for column, codes in sample.categories]
    for (one, first), (other, second) in combinations(named, 2):
        pairs = len(np.unique(first * (second.max() + 1) + second))
        if pairs == first.max() + 1 == second.max() + 1:
            yield Relation(other, f"is {one!r} with other names for its values")
        elif pairs == first.max() + 1:
            yield Relation(other, f"is determined by {one!r}")
        elif pairs == second.max() + 1:
            yield Relation(one, f"is determined by {other!r}")
    few = sample.few()
    for name, readings in zip(few.names, few.values, strict=True):
        order = np.argsort(readings, kind="stable")
        ordered = readings[order]
        for category, codes in named:
            switches = np.flatnonzero(np.diff(codes[order]))
            cut = ordered[switches] < ordered[switches + 1]
            if len(switches) == codes.max() and bool(cut.all()):
                yield Relation(category, f"is determined by thresholds on {name!r}")


def orderings(sample: Sample) -> Iterator[Relation]:
    """Yield pairs of numbers of which one is never above the other, though it might well be."""
    _, names, values, rounding, _ = sample.few()
    shuffled = np.random.default_rng(0).permuted(values, axis=1)
    for low, high in permutations(range(len(names)), 2):
        gap = float((values[high] - values[low]).min())
        if gap < 0.0 or np.mean(values[low] > shuffled[high]) < WOULD_FAIL:
            continue
        decimals = max(0, round(-np.log10(2 * max(rounding[low], rounding[high]))))
        least = np.floor(gap * 10.0**decimals + 1e-6) / 10.0**decimals
        minus = f" - {least:.{MOST_DIGITS}g}" if least > 0 else ""
        left, right = written_name(names[low]), written_name(names[high])
        touching = int((values[high] - values[low] <= gap + rounding[high]).sum())
        yield Relation(
            names[low],
            f"is never above {names[high]!r}",
            f"{left} <= {right}{minus}",
            f"{touching:,} are at this limit",
        )


def constants(sample: Sample, columns: Sequence[Column]) -> Iterator[Relation]:
    """Yield categories that always go with one and the same number, which others do not."""
    rows = evenly_spread(len(columns[0].cells), ROWS_COMPARED)
    numbers = [column for column in columns if not column.categories][:MOST_IN_TRIPLES]
    for column, codes in sample.categories:
        texts = column.cells.iloc[rows].to_numpy(object)
        for number in numbers:
            values = number.cells.iloc[rows].to_numpy(np.float64)
            if len(np.unique(values[~np.isnan(values)])) < ENOUGH_VALUES:
                continue
            for code in range(int(codes.max()) + 1):
                mine, others = values[codes == code], values[codes != code]
                if len(mine) < ROWS_OF_CATEGORY or not (mine == mine[0]).all():
                    continue
                if np.mean(others == mine[0]) > 1.0 - WOULD_FAIL:
                    continue
                text = written_category(texts[codes == code][0])
                yield Relation(
                    number.name,
                    f"is always {mine[0]:.{MOST_DIGITS}g} where {column.name!r} is {text}",
                    f"if {written_name(column.name)} == {text} then "
                    f"{written_name(number.name)} == {mine[0]:.{MOST_DIGITS}g}",
                    f"{len(mine):,} such rows",
                )


def rising(table: pd.DataFrame, ids: str, order: str, columns: Sequence[Column]) -> Iterator[str]:
    """Yield columns that rise and never fall from one row of an id to its next, in some order.

    The order is a column with times, or a person's age.
    """
    along = table[order]
    if not pd.api.types.is_numeric_dtype(along):
        along = pd.to_datetime(along, errors="coerce")
    placed = pd.DataFrame({"id": table[ids].to_numpy(), "order": along.to_numpy()})
    numbers = {c.name: c.cells.to_numpy(np.float64) for c in columns if not c.categories}
    placed = placed.assign(**{f"column {name}": values for name, values in numbers.items()})
    placed = placed.dropna(subset=["order"]).sort_values(["id", "order"], kind="stable")
    again = (placed["id"] == placed["id"].shift()).to_numpy()
    for name in numbers:
        if name == order:
            continue
        steps = placed[f"column {name}"].diff().to_numpy()[again]
        steps = steps[~np.isnan(steps)]
        if len(steps) >= ENOUGH_ROWS and (steps >= 0).all() and (steps > 0).sum() >= ENOUGH_OF_BOTH:
            yield name
