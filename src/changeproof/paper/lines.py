"""One published number beside ours: the difference, and what to think of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

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
        if self.rule is Rule.ABOVE:
            return self.ours > self.published
        if self.rule is Rule.AT_LEAST:
            return self.difference >= -self.tolerance - SLACK
        if self.rule is Rule.AT_MOST:
            return self.difference <= self.tolerance + SLACK
        return abs(self.difference) <= self.tolerance + SLACK

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
