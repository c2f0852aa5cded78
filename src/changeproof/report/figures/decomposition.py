"""What a robustness score hides: coverage, empirical and end-to-end robustness side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from changeproof.report.figures.lettering import SMALL, labels, undefined_note, widest
from changeproof.report.figures.marks import Mark
from changeproof.report.figures.sheet import EDGE, WIDTH, Grid, Sheet, axis_start, for_print
from changeproof.tables.names import in_order, method_name

ROW = 0.15
LONGEST_NAME = 1.1
BETWEEN = 0.26
# Ticks, their numbers and the label of the axis.
FOOT = 0.32
TICKS = 0.16
METRICS = {
    "coverage": ("coverage", Mark("#999999", "o", filled=False, size=5.2)),
    "empirical_robustness": ("empirical robustness", Mark("#56B4E9", "s", size=3.9)),
    "end_to_end_robustness": ("end-to-end robustness", Mark("#D55E00", "D", size=2.6)),
}
# Where the axis begins, and the step from tick to tick.
STEPS = {0.0: 50.0, 20.0: 40.0}


@for_print
def score_decomposition(
    full_results: pd.DataFrame,
    *,
    datasets: Sequence[str] | None = None,
    columns: int = 2,
    width: float = WIDTH,
) -> Figure:
    """Draw coverage, empirical and end-to-end robustness: a panel per dataset, methods down.

    Thin lines span one standard deviation over base models to each side. The parameters are
    those of `robustness_heat_map`, for the table of full results.
    """
    methods = in_order(full_results["method"])
    names = list(datasets) if datasets is not None else in_order(full_results["dataset"])
    columns = min(columns, len(names))
    beside = labels(methods, method_name, size=SMALL, room=LONGEST_NAME)
    left = EDGE + widest(beside.values(), SMALL) + 0.06
    # The number 100 is centred on the right end of an axis.
    right = EDGE + 0.08
    panel_width = (width - left - right - (columns - 1) * BETWEEN) / columns
    grid = Grid(names, columns, left, BETWEEN, panel_width, ROW * len(methods), TICKS)
    key = [(mark, label) for label, mark in METRICS.values()]
    note = undefined_note(full_results, names)
    sheet = Sheet(width, grid.depth + FOOT - TICKS, key, note)
    lowest = axis_start(full_results[[f"{metric}_mean" for metric in METRICS]])
    for name, axes, first, last in sheet.panels(grid):
        for result in full_results[full_results["dataset"] == name].to_dict("records"):
            _draw_row(axes, methods.index(result["method"]), result)
        axes.set_xlim(lowest, 100)
        axes.set_ylim(len(methods) - 0.4, -0.6)
        axes.set_yticks(range(len(methods)), beside.values() if first else [])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y")
        axes.set_xticks(np.arange(lowest, 101, STEPS.get(lowest, 20)))
        axes.set_xlabel("%" if last else "")
    return sheet.figure


def _draw_row(axes: Axes, row: int, result: Mapping[Hashable, Any]) -> None:
    means = np.array([result[f"{metric}_mean"] for metric in METRICS], dtype=float)
    if np.isfinite(means).any():
        span = [np.nanmin(means), np.nanmax(means)]
        axes.plot(span, [row, row], color="#BBBBBB", linewidth=1.6, solid_capstyle="butt", zorder=2)
    for metric, (_, mark) in METRICS.items():
        mean, std = result[f"{metric}_mean"], result[f"{metric}_std"]
        # What is not defined (NaN) is not drawn.
        axes.plot([mean - std, mean + std], [row, row], color="#222222", linewidth=0.6, zorder=3)
        mark.draw(axes, mean, row)
