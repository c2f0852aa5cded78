"""What robustness costs: empirical robustness against distance, with the frontier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from changeproof.report.figures.lettering import SMALL, labels, undefined_note
from changeproof.report.figures.marks import Mark, method_marks
from changeproof.report.figures.sheet import EDGE, GAP, WIDTH, Grid, Sheet, axis_start, for_print
from changeproof.report.scores import frontier
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.names import in_order, method_name

LEFT = 0.42
FOOT = 0.32
TICKS = 0.18
LONGEST_NAME = 1.3
SHAPE = 0.85
ROBUSTNESS = "empirical robustness (%)"
DISTANCE = "distance (typical deviations per feature)"
LEAST = ["dataset", "share", "distance_mean"]
LIMIT = (
    "Short black line: the limit at 95, 99 and 100 %. No method can be left of this line, as far "
    "as a search that knows the changes could find."
)


@for_print
def distance_tradeoff(
    full_results: pd.DataFrame,
    *,
    limit: pd.DataFrame | None = None,
    datasets: Sequence[str] | None = None,
    columns: int = 2,
    width: float = WIDTH,
) -> Figure:
    """Draw empirical robustness against distance: a panel per dataset, a mark per method.

    Thin lines span one standard deviation over base models to each side; a pale line joins the
    methods that no other beats in both. The parameters are those of `robustness_heat_map`, for
    the table of full results. The table `limit`, if there is one, is drawn as a short black line.
    """
    methods = in_order(full_results["method"])
    marks = method_marks(methods)
    names = list(datasets) if datasets is not None else in_order(full_results["dataset"])
    columns = min(columns, len(names))
    panel_width = (width - LEFT - EDGE - 0.06 - (columns - 1) * GAP) / columns
    grid = Grid(names, columns, LEFT, GAP, panel_width, min(panel_width * SHAPE, 1.7), TICKS)
    shown = labels(methods, method_name, size=SMALL, room=LONGEST_NAME)
    key = [(marks[method], shown[method]) for method in methods]
    least = pd.DataFrame(columns=LEAST) if limit is None else limit[limit["family"] == ALL_FAMILIES]
    notes = [undefined_note(full_results, names), LIMIT if len(least) else ""]
    note = "\n".join(filter(None, notes))
    sheet = Sheet(width, grid.depth + FOOT - TICKS, key, note)
    lowest = axis_start(full_results["empirical_robustness_mean"], room=2)
    for name, axes, first, _ in sheet.panels(grid):
        _draw_panel(axes, full_results[full_results["dataset"] == name], marks)
        _draw_limit(axes, least[least["dataset"] == name])
        axes.set_ylim(lowest, 102)
        axes.set_yticks(np.arange(lowest, 101, 20))
        axes.tick_params(labelleft=first)
    # One label under all panels and one beside them.
    depth = grid.depth / sheet.height
    sheet.figure.text((LEFT + width) / 2 / width, 1 - depth, DISTANCE, ha="center", va="top")
    sheet.figure.text(EDGE / width, 1 - depth / 2, ROBUSTNESS, rotation=90, ha="left", va="center")
    return sheet.figure


def _draw_limit(axes: Axes, least: pd.DataFrame) -> None:
    points = least.dropna(subset=["distance_mean"]).sort_values("share")
    if points.empty:
        return
    axes.plot(
        points["distance_mean"], points["share"],
        color="#000000", linewidth=1.0, marker="o", markersize=1.6, markeredgewidth=0,
        clip_on=False, zorder=5,
    )  # fmt: skip
    farthest = points["distance_mean"].max()
    if farthest > axes.get_xlim()[1]:
        axes.set_xlim(0, 1.06 * farthest)


def _draw_panel(axes: Axes, results: pd.DataFrame, marks: dict[str, Mark]) -> None:
    means = results[["empirical_robustness_mean", "distance_mean"]].to_numpy(dtype=float)
    best = results.iloc[frontier(map(tuple, means))]
    axes.plot(
        best["distance_mean"], best["empirical_robustness_mean"],
        color="#BDBDBD", linewidth=2.2, solid_joinstyle="round", zorder=1,
    )  # fmt: skip
    defined = results.dropna(subset=["distance_mean", "empirical_robustness_mean"])
    x, y = defined["distance_mean"], defined["empirical_robustness_mean"]
    sds = [defined[f"{name}_std"].fillna(0) for name in ("distance", "empirical_robustness")]
    axes.errorbar(
        x, y, xerr=sds[0], yerr=sds[1], color="#444444", elinewidth=0.6, fmt="none", zorder=3
    )
    for method, *place in zip(defined["method"], x, y, strict=True):
        marks[method].draw(axes, *place)
    if defined.empty:
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", va="center")
    farthest = (x + sds[0]).max()
    axes.set_xlim(0, 1.06 * (farthest if farthest > 0 else 1.0))
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.grid(color="#EEEEEE")
