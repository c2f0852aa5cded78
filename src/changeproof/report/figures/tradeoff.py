"""What robustness costs: empirical robustness against distance, with the frontier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from changeproof.report.figures.lettering import LINE, SMALL, TEXT, labels
from changeproof.report.figures.marks import Mark, method_marks
from changeproof.report.figures.sheet import (
    COLUMN_HEIGHT,
    COLUMN_WIDTH,
    EDGE,
    GAP,
    TITLE,
    Sheet,
    for_print,
    key_shape,
    note_height,
)
from changeproof.report.figures.undefined import undefined_notes
from changeproof.report.print_names import DATASETS, METHODS, in_order

LEFT = 0.42
FOOT = 0.32
TICKS = 0.18
LONGEST_NAME = 1.3
SHAPE = 0.85
ROBUSTNESS = "empirical robustness (%)"
DISTANCE = "distance (typical deviations per feature)"


@for_print
def distance_tradeoff(
    full_results: pd.DataFrame,
    *,
    datasets: Sequence[str] | None = None,
    columns: int = 2,
    width: float = COLUMN_WIDTH,
) -> Figure:
    """Draw empirical robustness against distance: a panel per dataset, a mark per method.

    Thin lines span one standard deviation over base models to each side; a pale line joins the
    methods that no other beats in both. The parameters are those of `robustness_heat_map`, for
    the table of full results.
    """
    methods = in_order(full_results["method"])
    marks = method_marks(methods)
    names = list(datasets) if datasets is not None else in_order(full_results["dataset"])
    columns = min(columns, len(names))
    panel_width = (width - LEFT - EDGE - 0.06 - (columns - 1) * GAP) / columns
    panel_height = min(panel_width * SHAPE, 1.7)
    step = TITLE + panel_height + TICKS
    lines = -(-len(names) // columns)
    shown = labels(methods, METHODS, size=SMALL, room=LONGEST_NAME)
    key = [(marks[method], shown[method]) for method in methods]
    key_top = lines * step + FOOT - TICKS
    notes = undefined_notes(full_results, names, "empirical_robustness_mean")
    notes_top = key_top + key_shape(list(shown.values()), width)[1] * LINE + 0.04
    sheet = Sheet(width, notes_top + note_height(notes, width))
    lowest = _lowest(full_results)
    titles = labels(names, DATASETS, size=TEXT, room=0.85 * panel_width)
    for number, name in enumerate(names):
        line, column = divmod(number, columns)
        place = (LEFT + column * (panel_width + GAP), line * step + TITLE)
        axes = sheet.axes(*place, panel_width, panel_height)
        sheet.title(axes, titles[name])
        _draw_panel(axes, full_results[full_results["dataset"] == name], marks)
        axes.set_ylim(lowest, 102)
        axes.set_yticks(np.arange(lowest, 101, 20))
        if column:
            axes.tick_params(labelleft=False)
    _label_axes(sheet, lines * step)
    sheet.key(key, key_top)
    sheet.notes(notes, notes_top)
    return sheet.figure


def datasets_per_column(methods: int) -> int:
    """Return how many panels, two to a line, a column has room for."""
    panel = (COLUMN_WIDTH - LEFT - EDGE - 0.06 - GAP) / 2 * SHAPE
    return 2 * max(1, int((COLUMN_HEIGHT - FOOT - methods * LINE) / (TITLE + panel + TICKS)))


def frontier(points: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that no other row beats: nearer ones are all less robust."""
    defined = points.dropna(subset=["distance_mean", "empirical_robustness_mean"])
    ordered = defined.sort_values(
        ["distance_mean", "empirical_robustness_mean"], ascending=[True, False]
    )
    best_before = (
        ordered["empirical_robustness_mean"].astype(float).cummax().shift(fill_value=-np.inf)
    )
    return ordered[ordered["empirical_robustness_mean"] > best_before]


def _lowest(full_results: pd.DataFrame) -> float:
    values = full_results["empirical_robustness_mean"].to_numpy(dtype=float)
    lowest = np.nanmin(values, initial=100.0)
    return float(np.clip(20 * np.floor((lowest - 2) / 20), 0, 80))


def _label_axes(sheet: Sheet, depth: float) -> None:
    """Put one label under all panels and one beside them."""
    across, down = (LEFT + sheet.width) / 2 / sheet.width, 1 - depth / 2 / sheet.height
    sheet.figure.text(across, 1 - depth / sheet.height, DISTANCE, ha="center", va="top")
    sheet.figure.text(EDGE / sheet.width, down, ROBUSTNESS, rotation=90, ha="left", va="center")


def _draw_panel(axes: Axes, results: pd.DataFrame, marks: dict[str, Mark]) -> None:
    best = frontier(results)
    axes.plot(
        best["distance_mean"], best["empirical_robustness_mean"],
        color="#BDBDBD", linewidth=2.2, solid_joinstyle="round", zorder=1,
    )  # fmt: skip
    defined = results.dropna(subset=["distance_mean", "empirical_robustness_mean"])
    for row in defined.to_dict("records"):
        x, y = row["distance_mean"], row["empirical_robustness_mean"]
        axes.errorbar(
            x, y,
            xerr=np.nan_to_num(row["distance_std"]),
            yerr=np.nan_to_num(row["empirical_robustness_std"]),
            color="#444444", elinewidth=0.6, fmt="none", zorder=3,
        )  # fmt: skip
        marks[row["method"]].draw(axes, x, y)
    if defined.empty:
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", va="center")
    farthest = (defined["distance_mean"] + defined["distance_std"].fillna(0)).max()
    axes.set_xlim(0, 1.06 * (farthest if farthest > 0 else 1.0))
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.grid(color="#EEEEEE", linewidth=0.5)
    axes.set_axisbelow(True)
