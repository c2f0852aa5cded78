"""Slow and obvious versions of what the package does fast: one person, one network at a time."""

from __future__ import annotations

from benchmarks.plain.apds import PlainAPDS
from benchmarks.plain.betarce import PlainBetaRCE
from benchmarks.plain.kdtree import PlainKDTree
from benchmarks.plain.method import PlainMethod
from benchmarks.plain.rbr import PlainRBR
from benchmarks.plain.rnce import PlainRNCE
from benchmarks.plain.roar_lime import PlainRoarLime
from benchmarks.plain.robx import PlainRobX
from benchmarks.plain.wachter import PlainWachter

PLAIN: dict[str, type[PlainMethod]] = {
    "apds": PlainAPDS,
    "betarce": PlainBetaRCE,
    "kdtree": PlainKDTree,
    "rbr": PlainRBR,
    "rnce": PlainRNCE,
    "roar-lime": PlainRoarLime,
    "robx-balanced": PlainRobX,
    "robx-robust": PlainRobX,
    "wachter": PlainWachter,
}
