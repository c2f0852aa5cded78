"""Figures for print: one module for each, all with the same lettering and marks."""

from __future__ import annotations

from changeproof.report.figures.decomposition import score_decomposition
from changeproof.report.figures.life import life_curves
from changeproof.report.figures.magnitude import change_magnitude_chart
from changeproof.report.figures.robustness import robustness_heat_map
from changeproof.report.figures.sheet import FORMATS, HEIGHT, encoded
from changeproof.report.figures.tradeoff import distance_tradeoff

__all__ = [
    "FORMATS",
    "HEIGHT",
    "change_magnitude_chart",
    "distance_tradeoff",
    "encoded",
    "life_curves",
    "robustness_heat_map",
    "score_decomposition",
]
