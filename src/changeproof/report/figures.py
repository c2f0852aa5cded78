"""Charts for print: a chart's specification drawn with matplotlib, one column of a paper wide.

A figure is a sheet of paper with places in inches: its lettering, its panels, its bytes as PDF, SVG
and PNG.
"""

from __future__ import annotations

import io
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from fontTools import subset
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from changeproof.report.charts import COLOURS, SHAPES, Axis, Chart, Layer, Mark, Panel
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
TICK_STYLE = {"labelsize": SMALL, "major.width": 0.5, "major.size": 2.0, "major.pad": 1.5}
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
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in TICK_STYLE.items()},
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "changeproof",
}
MARKERS = {shape.plotly: shape.matplotlib for shape in SHAPES}
INKS = {f"series-{place}": colour for place, colour in enumerate(COLOURS)}
INKS |= {"text": "#000000", "muted": "#999999", "line": "#BBBBBB", "bar": "#BDBDBD"}
INK, WHISKER = "#222222", "#444444"
# Points per pixel of the page, and thinner lines.
SCALE, THINNER = 4.4 / 12, 2.2 / 6
DASH = "\N{EN DASH}"
# Lines with names, and cells.
ROW, CELL_ROW, WIDEST_CELL = 0.155, 0.148, 0.5
LONGEST_NAME, LONGEST_FAMILY, LONGEST_KEY = 1.1, 1.4, 1.3
TILT = math.radians(40)
BAR = 0.4
# Panels with numbers on both axes: room for labels, and height by width.
LEFT, FOOT, TICKS, SHAPE, HIGHEST = 0.42, 0.32, 0.18, 0.85, 1.7
BETWEEN = 0.26
# Bars of intervals stand side by side behind the last update.
BESIDE = 0.2

# Draw as for print, whatever a matplotlibrc says.
print_style = partial(style.context, ["default", STYLE])


def figures_of(chart: Chart, columns: int = 2, width: float = WIDTH) -> Iterator[Figure]:
    """Yield figures that are no higher than a column: with half of the panels where need be."""
    figure = draw(chart, columns, width)
    if len(chart.panels) == 1 or figure.get_figheight() <= HEIGHT:
        yield figure
        return
    middle = -(-len(chart.panels) // 2)
    for part in (chart.panels[:middle], chart.panels[middle:]):
        yield from figures_of(replace(chart, panels=part), columns, width)


def draw(chart: Chart, columns: int = 2, width: float = WIDTH) -> Figure:
    """Draw a chart, so many inches wide, with panels side by side; cells are wide and have one."""
    columns = min(columns, len(chart.panels))
    with print_style():
        if chart.scale is not None:
            figure = _draw_cells(chart, columns if width > WIDTH else 1, width)
        elif chart.panels[0].y.names is not None:
            figure = _draw_lines(chart, columns, width)
        else:
            figure = _draw_plane(chart, columns, width)
        # In print style, down to the ticks that matplotlib makes late.
        for axes in figure.axes:
            axes.get_xticklabels()
            axes.get_yticklabels()
    return figure


def _key(chart: Chart) -> list[Key]:
    """Return the marks of layers that are drawn."""
    drawn = [layer for panel in chart.panels for layer in panel.layers if layer.print]
    size = {layer.mark: layer.size * SCALE for layer in drawn if layer.kind == "points"}
    if any(layer.kind == "bars" for layer in drawn):
        return []
    names = labels([name for _, name in chart.legend], size=SMALL, room=LONGEST_KEY)
    pairs = zip(chart.legend, names, strict=True)
    return [Key(mark, size.get(mark, 12 * SCALE), name) for (mark, _), name in pairs]


def _draw_lines(chart: Chart, columns: int, width: float) -> Figure:
    """Draw panels with a name on every line."""
    names = chart.panels[0].y.names or ()
    beside = labels(names, size=SMALL, room=LONGEST_NAME)
    left = EDGE + widest(beside, SMALL) + 0.06
    # The number 100 is centred on the right end of an axis.
    panel_width = (width - left - EDGE - 0.08 - (columns - 1) * BETWEEN) / columns
    # Panels are told apart by what is measured, or by their titles.
    titles = ["" if panel.x.title else panel.title for panel in chart.panels]
    grid = Grid(titles, columns, left, BETWEEN, panel_width, ROW * len(names), 0.16)
    sheet = Sheet(chart, width, grid.depth + FOOT - 0.16, _key(chart))
    for panel, (axes, first, last) in zip(chart.panels, sheet.panels(grid), strict=True):
        _draw_layers(axes, panel)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), beside if first else [])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x" if panel.x.title else "y")
        if not panel.x.title:
            lowest = _lowest(chart.panels, "x")
            axes.set_xlim(lowest, 100)
            axes.set_xticks(np.arange(lowest, 101, {0.0: 50.0, 20.0: 40.0}.get(lowest, 20)))
            axes.set_xlabel("%" if last else "")
        else:
            axes.set_xlim(0, 1.05 * _farthest(panel) or 1.0)
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel(panel.x.title)
            axes.spines[["top", "right"]].set_visible(False)
    return sheet.figure


def _draw_plane(chart: Chart, columns: int, width: float) -> Figure:
    """Draw panels with numbers on both axes; labels stand once, under and beside all panels."""
    panel_width = (width - LEFT - EDGE - 0.06 - (columns - 1) * GAP) / columns
    height = min(panel_width * SHAPE, HIGHEST)
    titles = [panel.title for panel in chart.panels]
    grid = Grid(titles, columns, LEFT, GAP, panel_width, height, TICKS)
    sheet = Sheet(chart, width, grid.depth + FOOT - TICKS, _key(chart))
    lowest = _lowest(chart.panels, "y", room=2)
    for panel, (axes, first, _) in zip(chart.panels, sheet.panels(grid), strict=True):
        farthest = _draw_layers(axes, panel) or 1.06 * (_farthest(panel) or 1.0)
        if not any(layer.kind in ("points", "steps") for layer in panel.layers):
            axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", va="center")
        axes.set_xlim(0, farthest)
        whole = all(layer.kind == "steps" for layer in panel.layers)
        steps = [1, 2, 4, 5, 10] if whole else [1, 2, 5, 10]
        axes.xaxis.set_major_locator(MaxNLocator(4 if whole else 3, integer=whole, steps=steps))
        axes.set_ylim(lowest, 102)
        axes.set_yticks(np.arange(lowest, 101, 20))
        axes.tick_params(labelleft=first)
        axes.grid(color="#EEEEEE")
    depth = grid.depth / sheet.height
    across, up = _title(chart.panels[0].x), _title(chart.panels[0].y)
    sheet.figure.text((LEFT + width) / 2 / width, 1 - depth, across, ha="center", va="top")
    sheet.figure.text(EDGE / width, 1 - depth / 2, up, rotation=90, ha="left", va="center")
    return sheet.figure


def _title(axis: Axis) -> str:
    unit = axis.unit.strip()
    return f"{axis.title} ({unit})" if unit and f"({unit})" not in axis.title else axis.title


def _lowest(panels: Iterable[Panel], across: str, room: float = 0.0) -> float:
    """Return where an axis in percent begins: at a multiple of 20 below all values, 80 at most."""
    found = [
        value
        for panel in panels
        for layer in panel.layers
        if layer.print
        for value in (layer.x if across == "x" else (*layer.y, *(layer.low or ())))
        if value is not None and not math.isnan(value)
    ]
    lowest = min(found, default=100.0)
    return float(np.clip(20 * np.floor((lowest - room) / 20), 0, 80))


def _farthest(panel: Panel) -> float:
    """Return how far values and their spread reach across."""
    reached = [
        value + (spread or 0.0)
        for layer in panel.layers
        if layer.print
        for value, spread in zip(layer.x, layer.spread or [0.0] * len(layer.x), strict=True)
        if value is not None
    ]
    return max(reached, default=0.0)


def _draw_layers(axes: Axes, panel: Panel) -> float | None:
    """Draw what a panel has; return where its axis ends, if that depends on what was drawn."""
    drawn = [layer for layer in panel.layers if layer.print]
    steps = [layer for layer in drawn if layer.kind == "steps"]
    ways = {"line": _draw_line, "points": _draw_points, "bars": _draw_bars}
    for layer in drawn:
        if layer.kind in ways:
            ways[layer.kind](axes, layer)
    for place, layer in enumerate(steps):
        _draw_steps(axes, layer, place)
    last = max((len(layer.x) - 1 for layer in steps), default=0)
    return last + BESIDE * (len(steps) + 3) * last / 12 if steps else None


def _floats(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _ink(layer: Layer) -> str:
    return INKS[layer.mark.colour] if layer.mark is not None else INK


def _mark(axes: Axes, x: float, y: float, mark: Mark, size: float) -> None:
    colour = INKS[mark.colour]
    face, edge = ("white", colour) if mark.open else (colour, INK)
    axes.plot(
        x, y, MARKERS[mark.shape], markersize=size, markerfacecolor=face, markeredgecolor=edge,
        markeredgewidth=1.0 if mark.open else 0.5, clip_on=False, zorder=4,
    )  # fmt: skip


def _draw_line(axes: Axes, layer: Layer) -> None:
    marked = layer.mark is not None and layer.mark.shape
    look = {"marker": "o", "markersize": 1.6, "markeredgewidth": 0, "clip_on": False, "zorder": 5}
    axes.plot(
        _floats(layer.x), _floats(layer.y), color=_ink(layer),
        linewidth=1.0 if marked else layer.width * THINNER, solid_joinstyle="round",
        solid_capstyle="butt", **(look if marked else {"zorder": 1}),
    )  # fmt: skip


def _draw_points(axes: Axes, layer: Layer) -> None:
    x, y = _floats(layer.x), _floats(layer.y)
    spreads = {
        f"{across}err": [0.0 if each is None else each for each in values]
        for across, values in (("x", layer.spread), ("y", layer.spread_y))
        if values is not None
    }
    axes.errorbar(x, y, **spreads, color=WHISKER, elinewidth=0.6, fmt="none", zorder=3)  # type: ignore[arg-type]
    assert layer.mark is not None
    for place in zip(x, y, strict=True):
        if not math.isnan(place[0]):
            _mark(axes, *place, layer.mark, layer.size * SCALE)


def _draw_bars(axes: Axes, layer: Layer) -> None:
    widths, places = _floats(layer.x), _floats(layer.y)
    spread = np.nan_to_num(_floats(layer.spread or []))
    axes.barh(places, widths, height=0.62, color=INKS["series-6"], edgecolor=INK, linewidth=0.4)
    axes.errorbar(
        widths, places, xerr=spread, fmt="none", color=INK, elinewidth=0.7, capsize=1.6,
        capthick=0.7,
    )  # fmt: skip


def _draw_steps(axes: Axes, layer: Layer, place: int) -> None:
    """Draw a line of steps, and the interval of its end behind the last."""
    values, colour = _floats(layer.y), _ink(layer)
    last = len(values) - 1
    axes.step(range(len(values)), values, where="post", color=colour, linewidth=0.9, zorder=2)
    end = last + BESIDE * (place + 1) * last / 12
    axes.plot([last, end], [values[-1]] * 2, color=colour, linewidth=0.9, zorder=2)
    if layer.low is not None and layer.high is not None:
        ends = _floats([layer.low[-1], layer.high[-1]])
        axes.plot([end] * 2, ends, color=colour, linewidth=0.7, zorder=3)
    assert layer.mark is not None
    _mark(axes, end, values[-1], layer.mark, 3.0)


def _draw_cells(chart: Chart, columns: int, width: float) -> Figure:
    """Draw panels of cells with numbers; a bar of colours where there is no room for numbers."""
    down, across = (axis.names or () for axis in (chart.panels[0].y, chart.panels[0].x))
    beside = labels(down, size=SMALL, room=LONGEST_NAME)
    below = labels(across, size=SMALL, room=LONGEST_FAMILY)
    # Room for the names of methods, and for where the tilted first family begins.
    overhang = text_width(below[0], SMALL) * math.cos(TILT)
    left = EDGE + max(widest(beside, SMALL) + 0.05, overhang)
    room = (width - left - EDGE - (columns - 1) * GAP) / columns
    panel_width = min(room, WIDEST_CELL * len(across))
    titles = [panel.title for panel in chart.panels]
    grid = Grid(titles, columns, left, GAP, panel_width, CELL_ROW * len(down), 0.05)
    foot = widest(below, SMALL) * math.sin(TILT) + 0.11
    numbers = panel_width / len(across) >= text_width("100", SMALL) + 0.02
    sheet = Sheet(chart, width, grid.depth + foot + (0.0 if numbers else BAR))
    for panel, (axes, first, last) in zip(chart.panels, sheet.panels(grid), strict=True):
        (layer,) = panel.layers
        for row, (values, texts) in enumerate(
            zip(layer.values or (), layer.shown or (), strict=True)
        ):
            for column, (value, text) in enumerate(zip(values, texts, strict=True)):
                if text:
                    _draw_cell(axes, column, row, value, text, number=numbers)
        axes.set_xlim(-0.5, len(across) - 0.5)
        axes.set_ylim(len(down) - 0.5, -0.5)
        axes.set_yticks(range(len(down)), beside if first else [])
        axes.set_xticks(
            range(len(across)), below if last else [],
            rotation=math.degrees(TILT), ha="right", va="top", rotation_mode="anchor",
        )  # fmt: skip
        axes.tick_params(length=0)
    if not numbers:
        bar = sheet.axes(left, grid.depth + foot, panel_width - 0.1, 0.08)
        shades = np.linspace(0, 100, 256)[None]
        bar.imshow(shades, cmap="cividis", aspect="auto", extent=(0, 100, 0, 1))
        bar.set_yticks([])
        bar.set_xlabel("empirical robustness (%)")
    return sheet.figure


def _draw_cell(
    axes: Axes, column: int, row: int, value: float | None, text: str, *, number: bool
) -> None:
    # Cells are drawn one by one: an image would be resampled, and blurred by some viewers.
    fill = (1.0, 1.0, 1.0, 1.0) if value is None else mpl.colormaps["cividis"](value / 100)
    cell = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor="white", lw=0.4)
    if value is None:
        cell.set(hatch="////", edgecolor="#BBBBBB")
    axes.add_artist(cell)
    if number or value is None:
        axes.text(
            column, row, DASH if value is None else text, fontsize=SMALL,
            ha="center", va="center_baseline", color=_readable(to_rgb(fill)),
        )  # fmt: skip


def _readable(fill: tuple[float, float, float]) -> str:
    """Return black or white, whichever stands out more."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in fill]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "white"


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


class Key(NamedTuple):
    """A mark with its size and name, for the key of a figure."""

    mark: Mark
    size: float
    name: str


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

    def __init__(self, chart: Chart, width: float, room: float, key: Sequence[Key] = ()) -> None:
        fitting = int((width - 2 * EDGE) / (widest((each.name for each in key), SMALL) + 0.24))
        lines = -(-len(key) // max(1, fitting))
        foot = room + (lines * LINE + 0.04 if key else 0.0)
        # Also where letters are moved to whole pixels the lines have to fit.
        broad = (width - 2 * EDGE) / WIDER_ON_SCREENS
        notes = map(literal, chart.notes.splitlines())
        small = [line for note in notes for line in wrapped(note, SMALL, broad)]
        self.width, self.height = width, foot + (len(small) * LINE + 0.06 if small else 0.0)
        self.figure = Figure(figsize=(self.width, self.height))
        if key:
            self._draw_key(key, room, lines)
        place = EDGE / width, 1 - (foot if key else foot + 0.03) / self.height
        text = "\n".join(small)
        self.figure.text(*place, text, fontsize=SMALL, va="top", linespacing=1.25)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
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

    def _draw_key(self, key: Sequence[Key], top: float, lines: int) -> None:
        axes = self.axes(0, top, self.width, lines * LINE)
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(lines * LINE, 0)
        step = (self.width - 2 * EDGE) / -(-len(key) // lines)
        for number, (mark, size, name) in enumerate(key):
            column, line = divmod(number, lines)
            x, y = EDGE + column * step + 0.06, (line + 0.5) * LINE
            _mark(axes, x, y, mark, size)
            axes.text(x + 0.08, y, name, fontsize=SMALL, va="center_baseline")


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
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(shortened(word, size, room))
        else:
            lines[-1] = shortened(longer, size, room)
    return lines
