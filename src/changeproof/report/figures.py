"""Pictures of a run."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

CELL = 0.52


def robustness_heat_map(family_results: pd.DataFrame) -> Figure:
    """Draw empirical robustness: a panel per dataset, methods down, families across."""
    datasets = list(dict.fromkeys(family_results["dataset"]))
    methods = list(dict.fromkeys(family_results["method"]))
    families = list(dict.fromkeys(family_results["family"]))
    columns = min(2, len(datasets))
    lines = -(-len(datasets) // columns)
    width = columns * (CELL * len(families) + 1.6) + 0.8
    height = lines * (0.42 * len(methods) + 0.5) + 1.7
    with mpl.rc_context({"svg.fonttype": "none", "font.size": 8, "svg.hashsalt": "changeproof"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False)
        image = None
        for number, axis in enumerate(axes.flat):
            if number >= len(datasets):
                axis.set_axis_off()
                continue
            mine = family_results[family_results["dataset"] == datasets[number]]
            values = (
                mine.pivot_table("empirical_robustness_mean", "method", "family", dropna=False)
                .reindex(index=methods, columns=families)
                .to_numpy(dtype=float)
            )
            image = axis.imshow(values, cmap="cividis", vmin=0, vmax=100, aspect="auto")
            axis.set_title(datasets[number], fontweight="bold", loc="left")
            axis.set_yticks(range(len(methods)), methods)
            last_line = number + columns >= len(datasets)
            names = [family.replace("-", " ") for family in families]
            axis.set_xticks(range(len(families)), names if last_line else [""] * len(names))
            axis.tick_params(axis="x", rotation=40, length=0)
            for label in axis.get_xticklabels():
                label.set_horizontalalignment("right")
                label.set_rotation_mode("anchor")
            for (row, column), value in np.ndenumerate(values):
                text = "?" if np.isnan(value) else f"{value:.0f}"
                colour = "white" if np.isnan(value) or value < 60 else "black"
                axis.text(column, row, text, ha="center", va="center", color=colour)
        if image is not None:
            figure.colorbar(image, ax=axes, label="empirical robustness (%)", shrink=0.8)
    return figure
