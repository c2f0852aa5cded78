"""A chart as one specification: the page draws it with Plotly, print with matplotlib.

Sizes are in pixels of the page. A place on an axis with names is the position of the name. What a
reader is told of a point when pointing at it is text; its first line is the most important.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import pandas as pd

from changeproof.tables.display import number
from changeproof.tables.names import dataset_name, family_name, in_order, mark_places, method_name

# Okabe and Ito's eight colours, a grey, and a wine red: one for each method of the package.
COLOURS = (
    "#D55E00", "#56B4E9", "#C4C4C4", "#E69F00", "#009E73",
    "#CC79A7", "#0072B2", "#000000", "#F0E442", "#882255",
)  # fmt: skip
# The same hues where the page is dark: black would not be seen there.
ON_DARK = (
    "#F0803C", "#8FD0F5", "#A0A0A0", "#F0B23C", "#2FC596",
    "#E09BC6", "#4EA6E0", "#E8EAEA", "#F0E442", "#D9709F",
)  # fmt: skip


class Shape(NamedTuple):
    """A shape as Plotly and matplotlib call it, and as a path of 20 by 20."""

    plotly: str
    matplotlib: str
    path: str


# Ten colours and eleven shapes have no common divisor: 110 pairs before one comes again.
SHAPES = (
    Shape("circle", "o", "M10 2a8 8 0 1 0 .01 0z"),
    Shape("square", "s", "M3 3h14v14H3z"),
    Shape("cross", "P", "M7 2h6v5h5v6h-5v5H7v-5H2V7h5z"),
    Shape("triangle-up", "^", "M10 2l9 16H1z"),
    Shape("diamond", "D", "M10 1l8 9-8 9-8-9z"),
    Shape("triangle-down", "v", "M10 18L1 2h18z"),
    Shape("x", "X", "M5 2l5 5 5-5 3 3-5 5 5 5-3 3-5-5-5 5-3-3 5-5-5-5z"),
    Shape("pentagon", "p", "M10 1l9 6.6-3.4 10.6H4.4L1 7.6z"),
    Shape("triangle-left", "<", "M2 10l16-9v18z"),
    Shape("triangle-right", ">", "M18 10L2 1v18z"),
    Shape("star", "*", "M10 1l2.7 6 6.3.6-4.8 4.2 1.4 6.2L10 14.8 4.4 18l1.4-6.2L1 7.6 7.3 7z"),
)


@dataclass(frozen=True)
class Mark:
    """A colour that colour-blind people can tell apart, and a shape; open when all pairs are used.

    A colour is one of the page's: "series-3", "text", "line".
    """

    colour: str
    shape: str
    open: bool = False

    @classmethod
    def at(cls, place: int) -> Mark:
        """Return one of 220 different marks."""
        shape, pairs = SHAPES[place % len(SHAPES)], len(COLOURS) * len(SHAPES)
        return cls(f"series-{place % len(COLOURS)}", shape.plotly, place // pairs % 2 == 1)


def method_marks(methods: Sequence[str]) -> dict[str, Mark]:
    """Return a mark for each method; those of the package always have the same."""
    return {name: Mark.at(place) for name, place in mark_places(methods).items()}


def stylesheet() -> str:
    themes = {":root": COLOURS, ':root[data-theme="dark"]': ON_DARK}
    return "\n".join(
        f"{theme} {{ {' '.join(f'--series-{n}: {c};' for n, c in enumerate(colours))} }}"
        for theme, colours in themes.items()
    )


@dataclass(frozen=True)
class Axis:
    """An axis: its title, the unit behind its numbers, where it begins and ends, or its names."""

    title: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    names: Sequence[str] | None = None
    log: bool = False
    step: float | None = None


@dataclass(frozen=True)
class Layer:
    """What is drawn in one way: "points", "line", "steps", "bars" or "cells"."""

    kind: str
    # Where; None is a gap. Bars go across, from 0 to `x`.
    x: Sequence[float | None] = ()
    y: Sequence[float | None] = ()
    # How points and lines look; a line has the colour of its mark.
    mark: Mark | None = None
    size: float = 8
    width: float = 1
    dashed: bool = False
    # What it is called in a legend, and what is told of each point.
    name: str = ""
    hover: Sequence[str] | None = None
    # Standard deviations, which bars show and print shows of points.
    spread: Sequence[float | None] | None = None
    spread_y: Sequence[float | None] | None = field(default=None, metadata={"page": False})
    # Intervals: print draws that of the last step, the page those of a layer that readers choose.
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    # Of cells, line by line: the numbers, and what stands in them.
    values: Sequence[Sequence[float | None]] | None = None
    shown: Sequence[Sequence[str]] | None = None
    # Which point is ringed.
    ringed: int | None = None
    # Whether print draws it; the page always does.
    print: bool = field(default=True, metadata={"page": False})


@dataclass(frozen=True)
class Panel:
    """One picture of a chart; `height` is in pixels."""

    layers: Sequence[Layer]
    x: Axis
    y: Axis
    title: str = ""
    height: float = 330
    legend: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart with everything that belongs to it."""

    # Its name in addresses and files, what it is called, how to read it, what it shows.
    id: str
    title: str
    caption: str = ""
    words: str = ""
    panels: Sequence[Panel] = ()
    # Its data as a table, the first columns of which are text.
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    texts: int = 1
    legend: Sequence[tuple[Mark, str]] = ()
    # For cells: where colours begin and end, and whether less is better.
    scale: tuple[float, float, bool] | None = None
    # Every panel has the whole width.
    single: bool = False
    # Readers may choose a layer whose intervals are drawn.
    intervals: bool = False
    # What print says below it.
    notes: str = field(default="", metadata={"page": False})


def for_page(part: Any) -> Any:
    """Return a specification as JSON holds it, without what only print needs."""
    if isinstance(part, float):
        return number(part)
    if is_dataclass(part):
        return {
            each.name: for_page(value)
            for each in fields(part)
            if each.metadata.get("page", True)
            and (value := getattr(part, each.name)) != each.default
        }
    if isinstance(part, Mapping):
        return {str(key): for_page(value) for key, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [for_page(each) for each in part]
    return part


class Shown(NamedTuple):
    """What charts show, in order, and what it is called.

    `over` says by dataset what intervals are over.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    families: tuple[str, ...]
    names: Mapping[str, str] = {}
    over: Mapping[str, str] = {}

    @classmethod
    def of(cls, table: pd.DataFrame) -> Shown:
        """Return what a table has, in its order, under the names that people read."""
        kinds = {"dataset": dataset_name, "method": method_name, "family": family_name}
        found = [tuple(in_order(table[kind])) if kind in table else () for kind in kinds]
        pairs = zip(found, kinds.values(), strict=True)
        names = {each: name_of(each) for some, name_of in pairs for each in some}
        return cls(found[0], found[1], found[2], names)

    def name(self, reference: str) -> str:
        return self.names.get(reference, reference)

    def called(self, references: Sequence[str]) -> list[str]:
        return [self.name(reference) for reference in references]

    @property
    def legend(self) -> list[tuple[Mark, str]]:
        """The marks of the methods."""
        marks = method_marks(self.methods)
        return [(marks[method], self.name(method)) for method in self.methods]


def tall(lines: int, each: float, rest: float) -> float:
    """Return the height of a panel with so many lines; Plotly needs some for its labels."""
    return max(200.0, rest + each * lines)


def cells(
    rows: Axis,
    columns: Axis,
    values: Sequence[Sequence[float | None]],
    text: Callable[[float], str],
    hover: Sequence[Sequence[str]],
    title: str = "",
    there: Sequence[Sequence[bool]] | None = None,
) -> Panel:
    """Return a panel of cells with numbers on colours.

    What is undefined has a question mark; what is not `there` is left blank.
    """
    shown = [["?" if value is None else text(value) for value in line] for line in values]
    if there is not None:
        both = zip(shown, there, strict=True)
        shown = [[t if e else "" for t, e in zip(*pair, strict=True)] for pair in both]
    names = rows.names or (), columns.names or ()
    texts = [
        f"{row}, {column}\n{words}"
        for row, line in zip(names[0], hover, strict=True)
        for column, words in zip(names[1], line, strict=True)
    ]
    layer = Layer("cells", values=values, shown=shown, hover=texts)
    return Panel([layer], columns, rows, title, tall(len(names[0]), 27, 108))
