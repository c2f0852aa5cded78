"""A sheet of paper with places in inches: its lettering, its panels, its bytes in each format."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, NamedTuple, ParamSpec

from fontTools import subset
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

from changeproof.report.formats import plain

# Comes with matplotlib, so that a figure is the same on every machine.
FONT = "DejaVu Sans"
TEXT = 7.0
SMALL = 6.5
LINE = 0.13
POINTS_PER_INCH = 72.0
# One column of a two-column paper, and about as much of its height as a figure may take.
WIDTH = 3.3
HEIGHT = 8.6
EDGE = 0.04
GAP = 0.14
TITLE = 0.17
DOTS_PER_INCH = 300
WIDER_ON_SCREENS = 1.06
FORMATS = ("pdf", "svg", "png")
# What a PDF needs of a font whose glyphs it names by number (ISO 32000-2, 9.9): outlines, their
# places and widths, and hints.
FONT_TABLES = {
    "GlyphOrder", "cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep",
}  # fmt: skip
UNDATED: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
TICKS = {"labelsize": SMALL, "major.width": 0.5, "major.size": 2.0, "major.pad": 1.5}
STYLE: dict[str, Any] = {
    "font.family": FONT,
    "font.size": TEXT,
    "text.parse_math": False,
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.5,
    "axes.labelpad": 2.0,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in TICKS.items()},
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "changeproof",
}

P = ParamSpec("P")
Draw = Callable[[Axes, float, float], None]


# Draw as for print, whatever a matplotlibrc says.
print_style = partial(style.context, ["default", STYLE])


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
    with print_style(), _lean_fonts():
        figure.savefig(buffer, format=kind, dpi=dots_per_inch, metadata=UNDATED[kind])
    return buffer.getvalue()


@contextmanager
def _lean_fonts() -> Iterator[None]:
    """Embed fonts with no more tables than a PDF needs.

    It says by number which glyph is where, so nobody reads tables of characters, names and
    kerning. To cut them down for every figure takes about as long as to draw it.
    """
    load = subset.load_font

    def load_lean(*args: Any, **kwargs: Any) -> Any:
        font = load(*args, **kwargs)
        for table in set(font.keys()) - FONT_TABLES:
            del font[table]
        return font

    subset.load_font = load_lean
    try:
        yield
    finally:
        subset.load_font = load


class Grid(NamedTuple):
    """Panels of one size, in lines, each with its title above and room below."""

    titles: list[str]
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
        return -(-len(self.titles) // self.columns) * self.step


class Sheet:
    """A figure whose parts are placed in inches from its upper left corner.

    There is some room at the top, a key of marks below it, and small print at the foot.
    """

    def __init__(
        self, width: float, room: float, key: Sequence[tuple[Draw, str]] = (), notes: str = ""
    ) -> None:
        fitting = int((width - 2 * EDGE) / (widest((text for _, text in key), SMALL) + 0.24))
        lines = -(-len(key) // max(1, fitting))
        foot = room + (lines * LINE + 0.04 if key else 0.0)
        # Also where letters are moved to whole pixels the lines have to fit.
        broad = (width - 2 * EDGE) / WIDER_ON_SCREENS
        small = [line for note in notes.splitlines() for line in wrapped(note, SMALL, broad)]
        self.width, self.height = width, foot + (len(small) * LINE + 0.06 if small else 0.0)
        self.figure = Figure(figsize=(self.width, self.height))
        if key:
            self._draw_key(key, room, lines)
        place = EDGE / width, 1 - (foot if key else foot + 0.03) / self.height
        text = "\n".join(small)
        self.figure.text(*place, text, fontsize=SMALL, va="top", linespacing=1.25)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return axes that fill a rectangle."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )

    def panels(self, grid: Grid) -> Iterator[tuple[Axes, bool, bool]]:
        """Yield the axes of each panel, and if they begin a line, and if they end a column."""
        titles = (
            labels(grid.titles, size=TEXT, room=0.85 * grid.width)
            if any(grid.titles)
            else grid.titles
        )
        for place, title in enumerate(titles):
            line, column = divmod(place, grid.columns)
            left = grid.left + column * (grid.width + grid.gap)
            axes = self.axes(left, line * grid.step + TITLE, grid.width, grid.height)
            axes.set_title(title, loc="left", fontweight="bold", pad=2.5)
            yield axes, column == 0, place + grid.columns >= len(titles)

    def _draw_key(self, key: Sequence[tuple[Draw, str]], top: float, lines: int) -> None:
        axes = self.axes(0, top, self.width, lines * LINE)
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(lines * LINE, 0)
        step = (self.width - 2 * EDGE) / -(-len(key) // lines)
        for number, (draw_mark, label) in enumerate(key):
            column, line = divmod(number, lines)
            x, y = EDGE + column * step + 0.06, (line + 0.5) * LINE
            draw_mark(axes, x, y)
            axes.text(x + 0.08, y, label, fontsize=SMALL, va="center_baseline")


@cache
def _characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def literal(name: str) -> str:
    """Return a name in characters that can be drawn; those that cannot, as escapes."""
    return plain(name, lambda character: ord(character) in _characters())


@cache
def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in inches."""
    font = FontProperties(family=FONT, size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / POINTS_PER_INCH


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width of the widest of some lines."""
    return max((text_width(text, size) for text in texts), default=0.0)


def shortened(text: str, size: float, room: float) -> str:
    """Return a text that fits: its beginning and its end, where it is too long."""
    if text_width(text, size) <= room:
        return text

    def keeping(kept: int) -> str:
        head = (kept + 1) // 2
        return f"{text[:head]}…{text[len(text) - kept + head :]}"

    too_many = bisect_left(
        range(len(text)), True, key=lambda kept: text_width(keeping(kept), size) > room
    )
    return keeping(max(too_many - 1, 0))


def labels(names: Sequence[str], *, size: float, room: float) -> list[str]:
    """Return a label for each name that fits into the room, and no label twice."""
    found: list[str] = []
    for name in names:
        text = literal(name)
        label, number = shortened(text, size, room), 1
        while label in found:
            number += 1
            suffix = f" ({number})"
            label = shortened(text, size, room - text_width(suffix, size)) + suffix
        found.append(label)
    return found


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Return a text in lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(shortened(word, size, room))
        else:
            lines[-1] = shortened(longer, size, room)
    return lines
