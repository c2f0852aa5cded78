"""A sheet of paper with places measured in inches, and its bytes in each format."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Self

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from changeproof.report.figures.lettering import (
    FONT,
    LINE,
    SMALL,
    TEXT,
    labels,
    text_width,
    wrapped,
)
from changeproof.report.figures.marks import Mark
from changeproof.report.names import dataset_name

# One column of a two-column paper, and about as much of its height as a figure may take.
WIDTH = 3.3
HEIGHT = 8.6
EDGE = 0.04
GAP = 0.14
TITLE = 0.17
DOTS_PER_INCH = 300
WIDER_ON_SCREENS = 1.06
FORMATS = ("pdf", "svg", "png")
UNDATED: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
STYLE: dict[Any, object] = {
    "font.family": FONT,
    "font.size": TEXT,
    "text.parse_math": False,
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "axes.linewidth": 0.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.0,
    "ytick.major.size": 2.0,
    "xtick.major.pad": 1.5,
    "ytick.major.pad": 1.5,
    "axes.labelpad": 2.0,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "changeproof",
}

P = ParamSpec("P")


@contextmanager
def print_style() -> Iterator[None]:
    """Draw as for print, whatever a matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def for_print(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run a drawing function in print style, down to the ticks that matplotlib makes late."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with print_style():
            figure = draw(*args, **kwargs)
            for axes in figure.axes:
                axes.get_xticklabels()
                axes.get_yticklabels()
        return figure

    return drawn


def encoded(figure: Figure, kind: str, *, dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """Return a figure as a file's bytes: the same figure, the same bytes."""
    buffer = io.BytesIO()
    with print_style():
        figure.savefig(buffer, format=kind, dpi=dots_per_inch, metadata=UNDATED[kind])
    return buffer.getvalue()


class Grid(NamedTuple):
    """Panels of one size, in lines: a dataset each, with its name above and room below."""

    datasets: list[str]
    columns: int
    left: float
    gap: float
    width: float
    height: float
    below: float

    @property
    def step(self) -> float:
        """From the top of a line to that of the next."""
        return TITLE + self.height + self.below

    @property
    def depth(self) -> float:
        """The height of all lines."""
        return -(-len(self.datasets) // self.columns) * self.step


class Sheet:
    """A figure whose parts are placed in inches from its upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))

    @classmethod
    def with_key(
        cls, width: float, top: float, key: Sequence[tuple[Mark, str]], notes: Sequence[str]
    ) -> Self:
        """Return a sheet with some room at the top, a key below it and notes at the foot."""
        foot = top + key_shape([label for _, label in key], width)[1] * LINE + 0.04
        sheet = cls(width, foot + note_height(notes, width))
        sheet.key(key, top)
        sheet.notes(notes, foot)
        return sheet

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return axes that fill a rectangle."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )

    def panels(self, grid: Grid) -> Iterator[tuple[str, Axes, bool, bool]]:
        """Yield each dataset, its axes, and if they begin a line, and if they end a column."""
        names = labels(grid.datasets, dataset_name, size=TEXT, room=0.85 * grid.width)
        for place, dataset in enumerate(grid.datasets):
            line, column = divmod(place, grid.columns)
            left = grid.left + column * (grid.width + grid.gap)
            axes = self.axes(left, line * grid.step + TITLE, grid.width, grid.height)
            axes.set_title(names[dataset], loc="left", fontweight="bold", pad=2.5)
            yield dataset, axes, column == 0, place + grid.columns >= len(grid.datasets)

    def key(self, entries: Sequence[tuple[Mark, str]], top: float) -> None:
        """Explain marks, in as many columns as fit."""
        columns, lines = key_shape([label for _, label in entries], self.width)
        axes = self.axes(0, top, self.width, lines * LINE)
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(lines * LINE, 0)
        step = (self.width - 2 * EDGE) / columns
        for number, (mark, label) in enumerate(entries):
            column, line = divmod(number, lines)
            x, y = EDGE + column * step + 0.06, (line + 0.5) * LINE
            mark.draw(axes, x, y)
            axes.text(x + 0.08, y, label, fontsize=SMALL, va="center_baseline")

    def notes(self, texts: Sequence[str], top: float) -> None:
        """Put small print at the foot."""
        text = "\n".join(note_lines(texts, self.width))
        place = EDGE / self.width, 1 - top / self.height
        self.figure.text(*place, text, fontsize=SMALL, va="top", linespacing=1.25)


def key_shape(entries: Sequence[str], width: float) -> tuple[int, int]:
    """Return columns and lines of a key."""
    broadest = max(text_width(label, SMALL) for label in entries) + 0.24
    columns = max(1, min(len(entries), int((width - 2 * EDGE) / broadest)))
    lines = -(-len(entries) // columns)
    return -(-len(entries) // lines), lines


def note_lines(texts: Sequence[str], width: float) -> list[str]:
    """Return small print in lines that fit, also where letters are moved to whole pixels."""
    room = (width - 2 * EDGE) / WIDER_ON_SCREENS
    return [line for text in texts for line in wrapped(text, SMALL, room)]


def note_height(texts: Sequence[str], width: float) -> float:
    """Return the height of small print, with some air above it."""
    lines = len(note_lines(texts, width))
    return lines * LINE + 0.06 if lines else 0.0


def axis_start(percentages: pd.DataFrame | pd.Series[float], room: float = 0.0) -> float:
    """Return where an axis begins: at the next multiple of 20 below all values, 80 at most."""
    lowest = np.nanmin(percentages.to_numpy(dtype=float), initial=100.0)
    return float(np.clip(20 * np.floor((lowest - room) / 20), 0, 80))
