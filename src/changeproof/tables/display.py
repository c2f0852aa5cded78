"""Tables that people read: numbers as text, headings, cells, and how a run's table gets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from changeproof.evaluation.metrics import METRICS, Metric
from changeproof.tables.names import dataset_name, in_order, method_name

UNDEFINED = "undefined"
SIGNIFICANT_DIGITS = 6
ENDS = ("", "_low", "_high")
# The datasets whose base models, of several seeds, are all the same.
SAME_BASES = "same_base_models"
BASES, DRAWS = "base models", "draws of people and changed models"

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Hashable, Any]


class Measured(NamedTuple):
    """A mean with its standard deviation, either of which may be undefined (NaN)."""

    mean: float
    sd: float
    digits: int

    @property
    def mean_text(self) -> str:
        return fixed(self.mean, self.digits)

    @property
    def sd_text(self) -> str:
        """The standard deviation alone; nothing where there is none."""
        return "" if math.isnan(self.sd) else f"{self.sd:.{self.digits}f}"

    def text(self, plus_minus: str = " ± ") -> str:
        """Return mean and sd; only the mean where there is no sd."""
        if math.isnan(self.mean) or math.isnan(self.sd):
            return self.mean_text
        return f"{self.mean_text}{plus_minus}{self.sd_text}"


# A metric is a cell where rows are about different ones: in full, or in short on screens.
Cell = str | int | Measured | Metric


class Heading(NamedTuple):
    """The heading of a column, and whether more (↑) or less (↓) is better.

    Where room is scarce, LaTeX sets `lines` one over the other, and screens show `short`.
    """

    name: str
    arrow: str = ""
    left: bool = False
    short: str = ""
    lines: tuple[str, ...] = ()

    @property
    def on_screen(self) -> str:
        return self.short or self.name


@dataclass(frozen=True)
class Table:
    """A table: headings, and rows in sections, each with a title of its own (or none).

    `title` is short, for screens, and `caption` says everything, for print. A `compact` table has
    so many columns that screens show means alone.
    """

    name: str
    title: str
    caption: str
    headings: tuple[Heading, ...]
    sections: list[tuple[str, list[list[Cell]]]]
    section_heading: str
    compact: bool

    def flat(self) -> tuple[list[Heading], list[list[Cell]]]:
        """Return headings and rows; sections, if any, are a first column."""
        rows = [[title, *row] for title, rows in self.sections for row in rows]
        if not self.section_heading:
            return list(self.headings), [row[1:] for row in rows]
        return [Heading(self.section_heading, left=True), *self.headings], rows

    def on_screen(self, cell: Cell) -> str:
        if isinstance(cell, Measured):
            return cell.mean_text if self.compact else cell.text()
        if isinstance(cell, Metric):
            return cell.short.lower()
        return f"{cell:,}" if isinstance(cell, int) else cell


# A heading, and how the cells below it are made from the rows of a run's table.
Column = tuple[Heading, Callable[[Row], Cell]]


def dataset_of(row: Row) -> str:
    return dataset_name(row["dataset"])


@dataclass(frozen=True)
class Form:
    """How a table of a run becomes one to read.

    Attributes
    ----------
    title, caption
        For screens and for print. {over} in them is what `over` says.
    columns
        Headings and cells, or a function that returns them for a table.
    rows
        Returns the rows to show, where these are not those of the table.
    section, section_heading
        Returns the title of the section that a row is in (None: there are no sections), and what
        sections are called.
    over
        Says what means, or intervals, are over.
    ending
        Says what the caption ends with, where this depends on the run.
    compact
        Whether screens show means alone.
    """

    title: str
    caption: str
    columns: tuple[Column, ...] | Callable[[pd.DataFrame], tuple[Column, ...]]
    rows: Callable[[Tables, pd.DataFrame], Sequence[Row]] | None = None
    section: Callable[[Row], str] | None = dataset_of
    section_heading: str = "Dataset"
    over: Callable[[Tables, pd.DataFrame], str] | None = None
    ending: Callable[[Tables, pd.DataFrame], str] | None = None
    compact: bool = False

    def table(self, name: str, tables: Tables) -> Table | None:
        """Return the table to read; None where it has no rows."""
        frame = tables.get(name, pd.DataFrame())
        if frame.empty:
            return None
        columns = self.columns(frame) if callable(self.columns) else self.columns
        # Two datasets may have the same name.
        sections: dict[tuple[str, str], list[list[Cell]]] = {}
        for row in self.rows(tables, frame) if self.rows else frame.to_dict("records"):
            section = (row["dataset"], self.section(row)) if self.section else ("", "")
            sections.setdefault(section, []).append([cell(row) for _, cell in columns])
        if not sections:
            return None
        over = self.over(tables, frame) if self.over else ""
        ending = self.ending(tables, frame) if self.ending else ""
        return Table(
            name,
            self.title.format(over=over),
            self.caption.format(over=over) + ending,
            tuple(heading for heading, _ in columns),
            [(title, rows) for (_, title), rows in sections.items()],
            self.section_heading if self.section else "",
            self.compact,
        )


def spread(tables: Tables, frame: pd.DataFrame) -> str:
    """Say what means and standard deviations are over."""
    if frame.filter(regex="_std$").isna().all(axis=None):
        return "one base model"
    return f"mean ± standard deviation over {spread_over(tables, in_order(frame['dataset']))}"


def spread_over(tables: Tables, datasets: Sequence[str]) -> str:
    """Return what a standard deviation is over, in a table of some datasets."""
    same = [dataset for dataset in datasets if dataset in same_bases(tables)]
    if not same:
        return BASES
    if len(same) == len(datasets):
        return f"{DRAWS}, as all base models are the same"
    where = listed([dataset_name(dataset) for dataset in same])
    return f"{BASES}; on {where}, where all are the same, over {DRAWS}"


def same_bases(tables: Tables) -> set[str]:
    """Return the datasets whose base models, of several seeds, are all the same."""
    return set(tables[SAME_BASES]["dataset"]) if SAME_BASES in tables else set()


def measured(metric: str, digits: int) -> Callable[[Row], Measured]:
    return lambda row: Measured(float(row[f"{metric}_mean"]), float(row[f"{metric}_std"]), digits)


def metric_heading(metric: Metric) -> Heading:
    return Heading(metric.heading, "↑" if metric.rate else "↓", short=metric.short)


METHOD: Column = (Heading("Method", left=True), lambda row: method_name(row["method"]))
METRIC: Column = (Heading("Metric", left=True), lambda row: METRICS[row["metric"]])


def number(value: Any) -> float | None:
    """Return a number as it stands in the CSV files; None where it is undefined."""
    value = float(value)
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None


def numbers(values: Any) -> list[Any]:
    """Return numbers like `number`, for values in any number of dimensions."""
    return [numbers(each) if hasattr(each, "__len__") else number(each) for each in values]


def fixed(value: float, digits: int) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:z.{digits}f}"


def with_interval(value: str, low: str, high: str) -> str:
    """Return a value with its interval, "62.9 (50.3 to 74.0)"; alone where that is undefined."""
    return value if UNDEFINED in (value, low, high) else f"{value} ({low} to {high})"


def interval_text(value: float, low: float, high: float, digits: int) -> str:
    return with_interval(*(fixed(each, digits) for each in (value, low, high)))


def percent(value: float) -> str:
    """Return a rate for reading: 100.0 % or 0.0 % only if it is exactly that."""
    shown = f"{value:.1f}"
    if shown == "100.0" and value < 100.0:
        return "over 99.9 %"
    if shown == "0.0" and value > 0.0:
        return "under 0.1 %"
    return f"{shown} %"


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
