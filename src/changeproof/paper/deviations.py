"""Documented differences from the paper: where, how far, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from changeproof.paper.lines import SLACK, Line
from changeproof.paper.tables import PUBLISHED


@dataclass(frozen=True)
class Deviation:
    """A documented difference from the paper: where, how far, and why."""

    table: str
    dataset: str
    method_or_family: str
    metrics: list[str]
    allowance: float
    reason: str
    expected: float | None = None

    def names(self, line: Line) -> bool:
        """Whether the deviation is one of that number."""
        mine = (self.table, self.dataset, self.method_or_family)
        return mine == (line.table, line.dataset, line.method_or_family) and (
            line.metric in self.metrics
        )

    def explains(self, line: Line) -> bool:
        """Whether the run's number is the one that was expected instead."""
        if line.ours is None or not self.names(line):
            return False
        expected = line.published if self.expected is None else self.expected
        return abs(line.ours - expected) <= self.allowance + SLACK


def read_deviations(path: Path = PUBLISHED / "deviations.toml") -> list[Deviation]:
    """Return the documented deviations."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["deviation"]
    return [Deviation(**entry) for entry in entries]


def with_explanations(lines: Iterable[Line], deviations: Iterable[Deviation]) -> list[Line]:
    """Return the lines, each with the reasons of the deviations that explain it."""
    known = list(deviations)
    return [
        replace(line, explanation=" ".join(d.reason for d in known if d.explains(line)))
        for line in lines
    ]
