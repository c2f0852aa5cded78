"""The picture of growth: a panel per dimension and kind of work."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Panels, line by line: kinds of work, and the dimension that grows.
PANELS = (
    (("answer", "evaluate"), "people"),
    (("answer",), "rows"),
    (("answer", "evaluate"), "features"),
    (("answer", "evaluate"), "width"),
    (("train", "evaluate"), "variants"),
    (("fit", "train"), "rows"),
    (("fit", "train"), "features"),
    (("fit", "train"), "width"),
)
LABELS = {
    "people": "people who ask",
    "rows": "training rows",
    "features": "features",
    "width": "hidden width (two layers)",
    "variants": "networks",
}
MARKERS = "osD^v<>PX*p"


def draw(table: pd.DataFrame, fitted: pd.DataFrame, path: Path) -> None:
    """Draw time by size, with the fitted exponents in the legends."""
    subjects = list(dict.fromkeys(table["subject"]))
    colours = dict(zip(subjects, (*mpl.colormaps["tab20"].colors[::2], (0, 0, 0)), strict=False))
    markers = dict(zip(subjects, MARKERS, strict=False))
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(15, 8.5), layout="constrained", dpi=110)
        for axis, (works, dimension) in zip(figure.subplots(2, 4).flat, PANELS, strict=True):
            mine = table[table["work"].isin(works) & (table["dimension"] == dimension)]
            slopes = fitted[fitted["work"].isin(works) & (fitted["dimension"] == dimension)]
            for subject in subjects:
                points = mine[mine["subject"] == subject].sort_values("size")
                slope = slopes.loc[slopes["subject"] == subject, "exponent"]
                if slope.empty:
                    continue
                axis.plot(
                    points["size"],
                    points["seconds"],
                    marker=markers[subject],
                    markersize=4,
                    linewidth=1.2,
                    color=colours[subject],
                    label=f"{subject}  {slope.iloc[0]:.2f}",
                )
            _dress(axis, works, dimension, np.unique(mine["size"]))
        figure.savefig(path)


def _dress(axis: Axes, works: tuple[str, ...], dimension: str, sizes: np.ndarray) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel(LABELS[dimension])
    axis.set_ylabel("seconds")
    axis.set_title(f"{' / '.join(works)} by {dimension}", loc="left", fontweight="bold")
    axis.grid(axis="y", linewidth=0.3)
    legend = axis.legend(
        title="exponent", fontsize=7, title_fontsize=7, frameon=False, loc="upper left", ncols=2
    )
    legend.set_zorder(0)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * 60)  # room for the legend
