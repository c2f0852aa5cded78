"""Charts for print: a chart's specification drawn with matplotlib, one column of a paper wide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from changeproof.report.charts import COLOURS, SHAPES, Axis, Chart, Layer, Mark, Panel
from changeproof.report.figures.sheet import (
    EDGE,
    GAP,
    HEIGHT,
    SMALL,
    WIDTH,
    Grid,
    Sheet,
    for_print,
    labels,
    literal,
    text_width,
    widest,
)

MARKERS = {shape.plotly: shape.matplotlib for shape in SHAPES}
INKS = {f"series-{place}": colour for place, colour in enumerate(COLOURS)}
INKS |= {"text": "#000000", "muted": "#999999", "line": "#BBBBBB", "bar": "#BDBDBD"}
INK, WHISKER = "#222222", "#444444"
# Points per pixel of the page, and thinner lines.
SCALE, THINNER = 4.4 / 12, 2.2 / 6
DASH = "\N{EN DASH}"
PERCENT = " %"
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


def figures_of(chart: Chart, columns: int = 2, width: float = WIDTH) -> Iterator[Figure]:
    """Yield figures that are no higher than a column: with half of the panels where need be."""
    figure = draw(chart, columns, width)
    if len(chart.panels) == 1 or figure.get_figheight() <= HEIGHT:
        yield figure
        return
    middle = -(-len(chart.panels) // 2)
    for part in (chart.panels[:middle], chart.panels[middle:]):
        yield from figures_of(replace(chart, panels=part), columns, width)


@for_print
def draw(chart: Chart, columns: int = 2, width: float = WIDTH) -> Figure:
    """Draw a chart.

    Parameters
    ----------
    chart
        The chart.
    columns
        Panels side by side; those of cells are wide, and have one by default.
    width
        Width of the figure in inches; by default one column of a two-column paper.
    """
    columns = min(columns, len(chart.panels))
    if chart.scale is not None:
        return _draw_cells(chart, columns if width > WIDTH else 1, width)
    key = _key(chart)
    if chart.panels[0].y.names is not None:
        return _draw_lines(chart, columns, width, key)
    return _draw_plane(chart, columns, width, key)


def _key(chart: Chart) -> list[tuple[Mark, float, str]]:
    """Return marks with their names, those of layers that are drawn."""
    drawn = [layer for panel in chart.panels for layer in panel.layers if layer.print]
    size = {layer.mark: layer.size * SCALE for layer in drawn if layer.kind == "points"}
    if any(layer.kind == "bars" for layer in drawn):
        return []
    names = labels([name for _, name in chart.legend], size=SMALL, room=LONGEST_KEY)
    pairs = zip(chart.legend, names, strict=True)
    return [(mark, size.get(mark, 12 * SCALE), name) for (mark, _), name in pairs]


def _sheet(
    chart: Chart, width: float, room: float, key: Sequence[tuple[Mark, float, str]] = ()
) -> Sheet:
    notes = "\n".join(literal(line) for line in chart.notes.splitlines())
    lettered = [(lambda axes, x, y, m=m, s=s: _mark(axes, x, y, m, s), name) for m, s, name in key]
    return Sheet(width, room, lettered, notes)


def _draw_lines(
    chart: Chart, columns: int, width: float, key: Sequence[tuple[Mark, float, str]]
) -> Figure:
    """Draw panels with a name on every line."""
    names = chart.panels[0].y.names or ()
    beside = labels(names, size=SMALL, room=LONGEST_NAME)
    left = EDGE + widest(beside, SMALL) + 0.06
    # The number 100 is centred on the right end of an axis.
    panel_width = (width - left - EDGE - 0.08 - (columns - 1) * BETWEEN) / columns
    # Panels are told apart by what is measured, or by their titles.
    titles = ["" if panel.x.title else panel.title for panel in chart.panels]
    grid = Grid(titles, columns, left, BETWEEN, panel_width, ROW * len(names), 0.16)
    sheet = _sheet(chart, width, grid.depth + FOOT - 0.16, key)
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
            axes.set_xlim(0, 1.05 * _farthest([panel]) or 1.0)
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel(panel.x.title)
            axes.spines[["top", "right"]].set_visible(False)
    return sheet.figure


def _draw_plane(
    chart: Chart, columns: int, width: float, key: Sequence[tuple[Mark, float, str]]
) -> Figure:
    """Draw panels with numbers on both axes; labels stand once, under and beside all panels."""
    panel_width = (width - LEFT - EDGE - 0.06 - (columns - 1) * GAP) / columns
    height = min(panel_width * SHAPE, HIGHEST)
    titles = [panel.title for panel in chart.panels]
    grid = Grid(titles, columns, LEFT, GAP, panel_width, height, TICKS)
    sheet = _sheet(chart, width, grid.depth + FOOT - TICKS, key)
    lowest = _lowest(chart.panels, "y", room=2)
    for panel, (axes, first, _) in zip(chart.panels, sheet.panels(grid), strict=True):
        farthest = _draw_layers(axes, panel) or 1.06 * (_farthest([panel]) or 1.0)
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
    depth, (x, y) = grid.depth / sheet.height, (chart.panels[0].x, chart.panels[0].y)
    across, up = _title(x), _title(y)
    sheet.figure.text((LEFT + width) / 2 / width, 1 - depth, across, ha="center", va="top")
    sheet.figure.text(EDGE / width, 1 - depth / 2, up, rotation=90, ha="left", va="center")
    return sheet.figure


def _title(axis: Axis) -> str:
    unit = axis.unit.strip()
    return f"{axis.title} ({unit})" if unit and f"({unit})" not in axis.title else axis.title


def _values(panels: Iterable[Panel], across: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = [
        value
        for panel in panels
        for layer in panel.layers
        if layer.print
        for values in ((layer.x,) if across == "x" else (layer.y, layer.low or ()))
        for value in values
        if value is not None
    ]
    return np.array(found, dtype=np.float64)


def _lowest(panels: Iterable[Panel], across: str, room: float = 0.0) -> float:
    """Return where an axis in percent begins: at a multiple of 20 below all values, 80 at most."""
    lowest = np.nanmin(_values(panels, across), initial=100.0)
    return float(np.clip(20 * np.floor((lowest - room) / 20), 0, 80))


def _farthest(panels: Iterable[Panel]) -> float:
    """Return how far values and their spread reach across."""
    reached = [
        value + (spread or 0.0)
        for panel in panels
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
    for layer in drawn:
        if layer.kind == "line":
            _draw_line(axes, layer)
        elif layer.kind == "points":
            _draw_points(axes, layer)
        elif layer.kind == "bars":
            _draw_bars(axes, layer)
    for place, layer in enumerate(steps):
        _draw_steps(axes, layer, place)
    last = max((len(layer.x) - 1 for layer in steps), default=0)
    return last + BESIDE * (len(steps) + 3) * last / 12 if steps else None


def _floats(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _ink(layer: Layer) -> str:
    return INKS[layer.mark.colour] if layer.mark is not None else INK


def _mark(axes: Axes, x: float, y: float, mark: Mark, size: float) -> None:
    """Draw a mark at a point."""
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
    sheet = _sheet(chart, width, grid.depth + foot + (0.0 if numbers else BAR))
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
    axes.add_patch(cell)
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
