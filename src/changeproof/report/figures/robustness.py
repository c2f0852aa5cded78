"""The heat map: which method holds under which family of change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from changeproof.report.figures.lettering import SMALL, labels, text_width, widest
from changeproof.report.figures.sheet import EDGE, GAP, WIDTH, Grid, Sheet, for_print
from changeproof.tables.names import family_name, in_order, method_name

ROW = 0.148
WIDEST_CELL = 0.5
TILT = math.radians(40)
LONGEST_NAME = 1.1
LONGEST_FAMILY = 1.4
BAR = 0.4
DASH = "\N{EN DASH}"
UNDEFINED = f"{DASH}  undefined: no counterfactual is valid on the base model"
MEASURE = "Empirical robustness (%), mean over base models"
BLANK = "blank: not evaluated"


@for_print
def robustness_heat_map(
    family_results: pd.DataFrame,
    *,
    datasets: Sequence[str] | None = None,
    columns: int = 1,
    width: float = WIDTH,
) -> Figure:
    """Draw mean empirical robustness: a panel per dataset, methods down, families across.

    Parameters
    ----------
    family_results
        The table of that name.
    datasets
        Which of its datasets to draw; all by default.
    columns
        Panels side by side.
    width
        Width of the figure in inches; by default one column of a two-column paper.
    """
    methods, families = in_order(family_results["method"]), in_order(family_results["family"])
    names = list(datasets) if datasets is not None else in_order(family_results["dataset"])
    columns = min(columns, len(names))
    beside = labels(methods, method_name, size=SMALL, room=LONGEST_NAME)
    below = labels(families, family_name, size=SMALL, room=LONGEST_FAMILY)
    # Room for the names of methods, and for where the tilted first family begins.
    overhang = text_width(below[families[0]], SMALL) * math.cos(TILT)
    left = EDGE + max(widest(beside.values(), SMALL) + 0.05, overhang)
    room = (width - left - EDGE - (columns - 1) * GAP) / columns
    panel_width = min(room, WIDEST_CELL * len(families))
    grid = Grid(names, columns, left, GAP, panel_width, ROW * len(methods), 0.05)
    foot = widest(below.values(), SMALL) * math.sin(TILT) + 0.11

    numbers = panel_width / len(families) >= text_width("100", SMALL) + 0.02
    cells = family_results[family_results["dataset"].isin(names)]
    notes = [MEASURE] + [UNDEFINED] * int(cells["empirical_robustness_mean"].isna().any())
    notes += [BLANK] * (len(cells) < len(names) * len(methods) * len(families))
    room = grid.depth + foot + (0.0 if numbers else BAR)
    sheet = Sheet(width, room, notes="\n".join(notes))
    for name, axes, first, last in sheet.panels(grid):
        for row in cells[cells["dataset"] == name].to_dict("records"):
            place = families.index(row["family"]), methods.index(row["method"])
            _draw_cell(axes, *place, row["empirical_robustness_mean"], number=numbers)
        axes.set_xlim(-0.5, len(families) - 0.5)
        axes.set_ylim(len(methods) - 0.5, -0.5)
        axes.set_yticks(range(len(methods)), beside.values() if first else [])
        axes.set_xticks(
            range(len(families)), below.values() if last else [],
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


def _draw_cell(axes: Axes, column: int, row: int, value: float, *, number: bool) -> None:
    # Cells are drawn one by one: an image would be resampled, and blurred by some viewers.
    defined = not math.isnan(value)
    fill = mpl.colormaps["cividis"](value / 100) if defined else (1.0, 1.0, 1.0, 1.0)
    cell = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor="white", lw=0.4)
    if not defined:
        cell.set(hatch="////", edgecolor="#BBBBBB")
    axes.add_patch(cell)
    if number or not defined:
        axes.text(
            column, row, f"{value:.0f}" if defined else DASH, fontsize=SMALL,
            ha="center", va="center_baseline", color=_ink(to_rgb(fill)),
        )  # fmt: skip


def _ink(fill: tuple[float, float, float]) -> str:
    """Return black or white, whichever stands out more."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in fill]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "white"
