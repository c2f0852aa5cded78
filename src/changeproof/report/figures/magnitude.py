"""How big the changes were: disagreement and difference in probability, family by family."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from changeproof.report.figures.lettering import SMALL, labels, widest
from changeproof.report.figures.sheet import EDGE, GAP, WIDTH, Sheet, for_print
from changeproof.tables.names import family_name, in_order

ROW = 0.165
LONGEST_NAME = 1.2
FOOT = 0.31
MEASURES = {
    "hard_disagreement_percent": ("disagreement (%)", "#0072B2"),
    "probability_mae": ("probability MAE", "#E69F00"),
}


@for_print
def change_magnitude_chart(change_magnitude: pd.DataFrame, *, width: float = WIDTH) -> Figure:
    """Draw how far each family moves the predictions: mean and sd over the changed models.

    Parameters
    ----------
    change_magnitude
        The table of that name.
    width
        Width of the figure in inches; by default one column of a two-column paper.
    """
    families = in_order(change_magnitude["family"])
    beside = labels(families, family_name, size=SMALL, room=LONGEST_NAME)
    left = EDGE + widest(beside.values(), SMALL) + 0.06
    panel_width = (width - left - EDGE - 0.06 - GAP) / 2
    panel_height = ROW * len(families)
    sheet = Sheet(width, EDGE + panel_height + FOOT)
    places = np.arange(len(families))
    for number, (measure, (title, colour)) in enumerate(MEASURES.items()):
        axes = sheet.axes(left + number * (panel_width + GAP), EDGE, panel_width, panel_height)
        mean = change_magnitude[f"{measure}_mean"].to_numpy(dtype=float)
        std = np.nan_to_num(change_magnitude[f"{measure}_std"].to_numpy(dtype=float))
        axes.barh(places, mean, height=0.62, color=colour, edgecolor="#222222", linewidth=0.4)
        axes.errorbar(
            mean, places, xerr=std, fmt="none", color="#222222", elinewidth=0.7, capsize=1.6,
            capthick=0.7,
        )  # fmt: skip
        axes.set_xlim(0, 1.05 * np.nanmax(mean + std, initial=0.0) or 1.0)
        axes.set_ylim(len(families) - 0.5, -0.5)
        axes.set_yticks(places, beside.values() if number == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="x")
        axes.set_xlabel(title)
        axes.spines[["top", "right"]].set_visible(False)
    return sheet.figure
