"""One published number beside ours: the difference, what to think of it, and known reasons."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

PUBLISHED = Path(__file__).parent / "published"
TEXT = "text"
ALL_DATASETS = "all"
# Decimal fractions are not exact: 62.2 - 60.2 must count as 2.
SLACK = 1e-9


class Rule(StrEnum):
    """How a number is compared with the published one."""

    NEAR = "near"
    ABOVE = "above"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    SHOWN = "shown"


class Verdict(StrEnum):
    """What came of a comparison."""

    WITHIN = "within"
    EXPLAINED = "explained"
    OUTSIDE = "outside"
    NOT_JUDGED = "not judged"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Line:
    """A published number and ours.

    `ours` is None where the run does not have it, and NaN where it has it and it is undefined;
    undefined is never within tolerance.
    """

    table: str
    dataset: str
    method_or_family: str
    metric: str
    published: float
    published_sd: float = math.nan
    ours: float | None = None
    ours_sd: float = math.nan
    rule: Rule = Rule.NEAR
    tolerance: float = 0.0
    explanation: str = ""

    @property
    def difference(self) -> float:
        """Ours minus published; NaN where there is nothing to subtract."""
        return math.nan if self.ours is None else self.ours - self.published

    @property
    def within(self) -> bool | None:
        """Whether the tolerance holds; None where that is not asked."""
        if self.ours is None or self.rule is Rule.SHOWN:
            return None
        allowed = self.tolerance + SLACK
        return {
            Rule.ABOVE: self.ours > self.published,
            Rule.AT_LEAST: self.difference >= -allowed,
            Rule.AT_MOST: self.difference <= allowed,
            Rule.NEAR: abs(self.difference) <= allowed,
        }[self.rule]

    @property
    def verdict(self) -> Verdict:
        """The judgement in a word."""
        if self.ours is None:
            return Verdict.NOT_COVERED
        if self.within is None:
            return Verdict.NOT_JUDGED
        if self.within:
            return Verdict.WITHIN
        return Verdict.EXPLAINED if self.explanation else Verdict.OUTSIDE


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
        theirs = (line.table, line.dataset, line.method_or_family)
        return mine == theirs and line.metric in self.metrics

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


def with_explanations(lines: Iterable[Line], deviations: Sequence[Deviation]) -> list[Line]:
    """Return the lines, each with the reasons of the deviations that explain it."""
    return [
        replace(line, explanation=" ".join(d.reason for d in deviations if d.explains(line)))
        for line in lines
    ]
