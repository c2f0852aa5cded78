"""How long advice lasts: the share that held through every update so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from changeproof.report.figures.lettering import SMALL, labels, literal, undefined_note
from changeproof.report.figures.marks import Mark, method_marks
from changeproof.report.figures.sheet import EDGE, GAP, WIDTH, Grid, Sheet, axis_start, for_print
from changeproof.report.figures.tradeoff import FOOT, LEFT, LONGEST_NAME, SHAPE, TICKS
from changeproof.tables.names import family_name, in_order, method_name

HELD = "advice that held so far (%)"
UPDATE = "update"
MEASURE = (
    "{family}: of the counterfactuals that are valid on the base model, the share that held "
    "through every update so far. Bars at the end: 95 % intervals."
)
# Bars of intervals stand side by side behind the last update.
BESIDE = 0.2


@for_print
def life_curves(
    life: pd.DataFrame,
    *,
    datasets: Sequence[str] | None = None,
    columns: int = 2,
    width: float = WIDTH,
) -> Figure:
    """Draw the share of advice that has held so far: a panel per dataset, a line per method.

    Parameters
    ----------
    life
        The rows of one family in the table of that name.
    datasets, columns, width
        As of `robustness_heat_map`.
    """
    methods = in_order(life["method"])
    marks = method_marks(methods)
    names = list(datasets) if datasets is not None else in_order(life["dataset"])
    columns = min(columns, len(names))
    panel_width = (width - LEFT - EDGE - 0.06 - (columns - 1) * GAP) / columns
    grid = Grid(names, columns, LEFT, GAP, panel_width, min(panel_width * SHAPE, 1.7), TICKS)
    shown = labels(methods, method_name, size=SMALL, room=LONGEST_NAME)
    key = [(marks[method], shown[method]) for method in methods]
    notes = [
        MEASURE.format(family=literal(family_name(str(life["family"].iloc[0])))),
        undefined_note(life[life["update"] == 1], names, "held_so_far_mean"),
    ]
    sheet = Sheet(width, grid.depth + FOOT - TICKS, key, "\n".join(filter(None, notes)))
    lowest = axis_start(life[["held_so_far_mean", "held_so_far_low"]])
    for name, axes, first, _ in sheet.panels(grid):
        _draw_panel(axes, life[life["dataset"] == name], marks)
        axes.set_ylim(lowest, 102)
        axes.set_yticks(np.arange(lowest, 101, 20))
        axes.tick_params(labelleft=first)
    depth = grid.depth / sheet.height
    sheet.figure.text((LEFT + width) / 2 / width, 1 - depth, UPDATE, ha="center", va="top")
    sheet.figure.text(EDGE / width, 1 - depth / 2, HELD, rotation=90, ha="left", va="center")
    return sheet.figure


def _draw_panel(axes: Axes, life: pd.DataFrame, marks: dict[str, Mark]) -> None:
    defined = life.dropna(subset=["held_so_far_mean"])
    if defined.empty:
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", va="center")
    last = int(life["update"].max())
    for place, (method, rows) in enumerate(defined.groupby("method", sort=False)):
        mark = marks[str(method)]
        held = [100.0, *rows["held_so_far_mean"]]
        axes.step(range(len(held)), held, where="post", color=mark.colour, linewidth=0.9, zorder=2)
        end = last + BESIDE * (place + 1) * last / 12
        low, high = rows[["held_so_far_low", "held_so_far_high"]].iloc[-1]
        axes.plot([last, end], [held[-1]] * 2, color=mark.colour, linewidth=0.9, zorder=2)
        axes.plot([end] * 2, [low, high], color=mark.colour, linewidth=0.7, zorder=3)
        small = Mark(mark.colour, mark.shape, mark.filled, 3.0)
        small.draw(axes, end, held[-1])
    axes.set_xlim(0, last + BESIDE * (defined["method"].nunique() + 3) * last / 12)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 4, 5, 10]))
    axes.grid(color="#EEEEEE")
