"""The picture of expected changes: what quorum was built for, and what it was tested on."""

from __future__ import annotations

import io
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from changeproof import get_family
from changeproof.report.figures import encoded, print_style

# In inches.
WIDTH, LEFT, RIGHT, TOP, FOOT = 7.6, 1.5, 0.95, 0.32, 1.36
ROW, BETWEEN = 0.215, 0.1
DOTS_PER_INCH = 220
NUMBER, NAME = 6.0, 6.8
TITLE = {"fontsize": NAME, "fontweight": "bold", "va": "bottom"}
# Read as well in grey and by the colour-blind. Colours differ most where robustness is high.
COLOURS, GAMMA, STEP = mpl.colormaps["cividis"], 2.0, 10.0
DARK = 0.45
OUTLINE = "#D55E00"


def picture(found: pd.DataFrame) -> bytes:
    """Return a PNG file of what `summary` returns: cells, and distances beside them."""
    families = [name for name in found.columns if name != "distance"]
    own = [name for name in families if name in found.index]
    other = [name for name in families if name not in found.index]
    height = TOP + ROW * len(found) + FOOT
    cell = (WIDTH - LEFT - RIGHT - 2 * BETWEEN) / len(families)
    with print_style():
        sheet = Sheet(Figure(figsize=(WIDTH, height)), height, found)
        first = sheet.cells(own, LEFT, cell, "tested on what it can expect")
        first.set_yticks(range(len(found)), [_label(name) for name in found.index], fontsize=NAME)
        first.text(-0.5 - (LEFT - 0.2) / cell, -0.62, "quorum built for", **TITLE)
        sheet.cells(other, LEFT + cell * len(own) + BETWEEN, cell, "tested on other changes")
        sheet.distances(WIDTH - RIGHT, RIGHT - 0.34)
        sheet.key()
        content = encoded(sheet.figure, "png", dots_per_inch=DOTS_PER_INCH)
    # As many colours as these need.
    buffer, image = io.BytesIO(), Image.open(io.BytesIO(content)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
    return buffer.getvalue()


@dataclass(frozen=True, eq=False)
class Sheet:
    """A figure whose parts are placed in inches from its upper left corner."""

    figure: Figure
    height: float
    found: pd.DataFrame

    @property
    def norm(self) -> PowerNorm:
        lowest = np.nanmin(self.found.drop(columns="distance").to_numpy())
        return PowerNorm(GAMMA, STEP * np.floor(lowest / STEP), 100.0)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        bottom = (self.height - top - height) / self.height
        place = (left / WIDTH, bottom, width / WIDTH, height / self.height)
        return self.figure.add_axes(place)

    def cells(self, families: list[str], left: float, cell: float, title: str) -> Axes:
        axes = self.axes(left, TOP, cell * len(families), ROW * len(self.found))
        for column, family in enumerate(families):
            for row, (built_for, value) in enumerate(self.found[family].items()):
                self._cell(axes, column, row, value)
                if built_for == family:
                    axes.add_artist(_outline(column, row))
        axes.set_xlim(-0.5, len(families) - 0.5)
        axes.set_ylim(len(self.found) - 0.5, -0.5)
        names = [_label(family) for family in families]
        axes.set_xticks(range(len(families)), names, fontsize=NAME, rotation=50,
            ha="right", va="top", rotation_mode="anchor")  # fmt: skip
        axes.set_yticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.text(-0.5, -0.62, title, **TITLE)
        return axes

    def _cell(self, axes: Axes, column: int, row: int, value: float) -> None:
        if np.isnan(value):
            return
        shade = float(self.norm(value))
        place, look = (column - 0.5, row - 0.5), {"edgecolor": "white", "linewidth": 0.5}
        axes.add_artist(Rectangle(place, 1, 1, facecolor=COLOURS(shade), **look))
        text = "100" if value >= 99.95 else f"{value:.1f}"
        colour = "white" if shade < DARK else "black"
        axes.text(column, row, text, fontsize=NUMBER, color=colour, ha="center",
            va="center_baseline")  # fmt: skip

    def distances(self, left: float, width: float) -> None:
        values = self.found["distance"].to_numpy()
        axes = self.axes(left, TOP, width, ROW * len(values))
        axes.barh(range(len(values)), values, height=0.62, color="#BDBDBD")
        axes.axvline(1.0, color="#444444", linewidth=0.6, linestyle=(0, (2, 2)))
        for row, value in enumerate(values):
            axes.text(max(value, 1.0) + 0.06, row, f"{value:.2f}", fontsize=NUMBER,
                va="center_baseline")  # fmt: skip
        axes.set_xlim(0, max(1.0, values.max()))
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_xticks([0, 1], ["0", "1"], fontsize=NUMBER)
        axes.set_yticks([])
        axes.spines[["top", "right"]].set_visible(False)
        axes.text(0, -0.62, "distance,\nall kinds: 1", **TITLE)

    def key(self) -> None:
        """Draw what colours and outlines mean."""
        top = self.height - 0.36
        bar = self.axes(WIDTH - 3.0, top, 1.6, 0.09)
        lowest = float(self.norm.vmin or 0.0)
        values = np.linspace(lowest, 100.0, 257)
        bar.pcolormesh(values, [0, 1], [self.norm(values[1:])], cmap=COLOURS, vmin=0, vmax=1)
        bar.set_xticks([*np.arange(lowest, 100.0, STEP), 100.0])
        bar.set_yticks([])
        bar.set_title("robustness, %", loc="left", fontsize=NAME)
        mark = self.axes(WIDTH - 1.2, top, 0.22, 0.12)
        mark.set_axis_off()
        mark.set_xlim(-0.6, 0.6)
        mark.set_ylim(-0.6, 0.6)
        mark.add_artist(_outline(0, 0))
        mark.text(0.8, 0, "built for what\nis tested", fontsize=NUMBER, va="center")


def _outline(column: int, row: int) -> Rectangle:
    place = (column - 0.5, row - 0.5)
    return Rectangle(
        place, 1, 1, fill=False, edgecolor=OUTLINE, linewidth=1.2, zorder=3, clip_on=False
    )


def _label(name: str) -> str:
    """Return a family's name, or words for several kinds, as people read them."""
    return name.capitalize() if name.startswith("all ") else get_family(name).label.full
