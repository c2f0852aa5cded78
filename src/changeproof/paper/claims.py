"""The numbers in the paper's text, each checked against the tables of a run."""

from __future__ import annotations

import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from changeproof.paper.lines import PUBLISHED, TEXT, Line, Rule
from changeproof.paper.tables import published_families

Tables = Mapping[str, pd.DataFrame]
# What is compared: metric, rule, published value, ours (None where the run has none), our sd.
Compared = tuple[str, Rule, float, float | None, float]
EXTREMES = ("lowest", "highest")


@dataclass(frozen=True)
class Claim(ABC):
    """Numbers that the text gives for some methods, by dataset, and how near a run has to be."""

    table: ClassVar[str]
    methods: list[str]
    tolerance: float
    published: dict[str, Any]

    def lines(self, tables: Tables) -> Iterator[Line]:
        """Yield what the claim says of each dataset and method beside what the run has."""
        table = tables.get(self.table, pd.DataFrame(columns=["dataset", "method", "name"]))
        for dataset, published in self.published.items():
            for method in self.methods:
                rows = table[(table["dataset"] == dataset) & (table["method"] == method)]
                for metric, rule, theirs, ours, sd in self._compared(rows, published):
                    suffix = "" if rule is Rule.NEAR else f" ({rule})"
                    yield Line(
                        TEXT, dataset, method, metric + suffix, theirs,
                        ours=ours, ours_sd=sd, rule=rule, tolerance=self.tolerance,
                    )  # fmt: skip

    @abstractmethod
    def _compared(self, rows: pd.DataFrame, published: Any) -> Iterator[Compared]:
        """Yield what is compared, given the run's rows of one dataset and method."""


@dataclass(frozen=True)
class RobustnessClaim(Claim):
    """Empirical robustness under one family, or the lowest or highest of all families."""

    table = "family_results"
    family: str
    rule: str

    def _compared(self, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
        metric = f"empirical_robustness under {self.family}"
        if self.family in EXTREMES:
            metric = f"{self.family} empirical_robustness of all families"
        yield metric, Rule(self.rule), published, *self._value(rows)

    def _value(self, rows: pd.DataFrame) -> tuple[float | None, float]:
        """Return mean and sd: None where a family is missing, NaN where one is undefined."""
        needed = published_families() if self.family in EXTREMES else {self.family}
        rows = rows[rows["family"].isin(needed)]
        if len(rows) < len(needed):
            return None, math.nan
        means = rows["empirical_robustness_mean"]
        if means.isna().any():
            return math.nan, math.nan
        place = means.argmin() if self.family == "lowest" else means.argmax()
        return float(means.iloc[place]), float(rows["empirical_robustness_std"].iloc[place])


@dataclass(frozen=True)
class CertifiedClaim(Claim):
    """The share of requests whose counterfactual is certified."""

    table = "certified"

    def _compared(self, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
        ours, sd = None, math.nan
        if not rows.empty:
            ours = float(rows["certified_share_mean"].iloc[0])
            sd = float(rows["certified_share_std"].iloc[0])
        yield "certified_share", Rule.NEAR, published, ours, sd


@dataclass(frozen=True)
class DiagnosticClaim(Claim):
    """The range over base networks of something a method reports: a line for each end."""

    table = "diagnostics"
    name: str

    def _compared(self, rows: pd.DataFrame, published: list[float]) -> Iterator[Compared]:
        low, high = published
        mine = rows[rows["name"] == self.name]
        lowest = None if mine.empty else float(mine["min"].min(skipna=False))
        highest = None if mine.empty else float(mine["max"].max(skipna=False))
        yield self.name, Rule.AT_LEAST, low, lowest, math.nan
        yield self.name, Rule.AT_MOST, high, highest, math.nan


def read_claims(path: Path = PUBLISHED / "claims.toml") -> list[Claim]:
    """Return the claims of the paper's text."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        *(RobustnessClaim(**entry) for entry in entries["robustness"]),
        *(CertifiedClaim(**entry) for entry in entries["certified"]),
        *(DiagnosticClaim(**entry) for entry in entries["diagnostic"]),
    ]
