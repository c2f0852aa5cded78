"""Charts for print, drawn with matplotlib."""

from __future__ import annotations

from changeproof.report.figures.draw import draw, figures_of
from changeproof.report.figures.sheet import FORMATS, encoded

__all__ = ["FORMATS", "draw", "encoded", "figures_of"]
