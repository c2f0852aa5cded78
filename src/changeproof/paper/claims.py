"""The numbers in the paper's text, each checked against the tables of a run."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from changeproof.paper.lines import PUBLISHED, TEXT, Line, Rule, published_families

Tables = Mapping[str, pd.DataFrame]
EXTREMES = ("lowest", "highest")


@dataclass(frozen=True)
class RobustnessClaim:
    """Empirical robustness under one family, or the lowest or highest of all families."""

    methods: list[str]
    family: str
    rule: str
    tolerance: float
    published: dict[str, float]

    def lines(self, tables: Tables) -> Iterator[Line]:
        """Yield one line per dataset and method."""
        rule = Rule(self.rule)
        for dataset, published in self.published.items():
            for method in self.methods:
                ours, sd = self._value(_rows(tables, "family_results", dataset, method))
                yield Line(
                    TEXT, dataset, method, self._metric(rule), published,
                    ours=ours, ours_sd=sd, rule=rule, tolerance=self.tolerance,
                )  # fmt: skip

    def _metric(self, rule: Rule) -> str:
        if self.family in EXTREMES:
            return f"{self.family} empirical_robustness of all families{_suffix(rule)}"
        return f"empirical_robustness under {self.family}{_suffix(rule)}"

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
class CertifiedClaim:
    """The share of requests whose counterfactual is certified."""

    methods: list[str]
    tolerance: float
    published: dict[str, float]

    def lines(self, tables: Tables) -> Iterator[Line]:
        """Yield one line per dataset and method."""
        for dataset, published in self.published.items():
            for method in self.methods:
                rows = _rows(tables, "certified", dataset, method)
                ours, sd = None, math.nan
                if not rows.empty:
                    ours = float(rows["certified_share_mean"].iloc[0])
                    sd = float(rows["certified_share_std"].iloc[0])
                yield Line(
                    TEXT, dataset, method, "certified_share", published,
                    ours=ours, ours_sd=sd, tolerance=self.tolerance,
                )  # fmt: skip


@dataclass(frozen=True)
class DiagnosticClaim:
    """The range over base networks of something a method reports."""

    methods: list[str]
    name: str
    tolerance: float
    published: dict[str, list[float]]

    def lines(self, tables: Tables) -> Iterator[Line]:
        """Yield two lines per dataset and method, one for each end of the range."""
        for dataset, (low, high) in self.published.items():
            for method in self.methods:
                rows = _rows(tables, "diagnostics", dataset, method)
                rows = rows[rows["name"] == self.name] if not rows.empty else rows
                lowest = None if rows.empty else float(rows["min"].min(skipna=False))
                highest = None if rows.empty else float(rows["max"].max(skipna=False))
                ends = ((Rule.AT_LEAST, low, lowest), (Rule.AT_MOST, high, highest))
                for rule, published, ours in ends:
                    metric = f"{self.name}{_suffix(rule)}"
                    yield Line(
                        TEXT, dataset, method, metric, published,
                        ours=ours, rule=rule, tolerance=self.tolerance,
                    )  # fmt: skip


Claim = RobustnessClaim | CertifiedClaim | DiagnosticClaim


def read_claims(path: Path = PUBLISHED / "claims.toml") -> list[Claim]:
    """Return the claims of the paper's text."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        *(RobustnessClaim(**entry) for entry in entries["robustness"]),
        *(CertifiedClaim(**entry) for entry in entries["certified"]),
        *(DiagnosticClaim(**entry) for entry in entries["diagnostic"]),
    ]


def claim_lines(tables: Tables) -> list[Line]:
    """Check every claim."""
    return [line for claim in read_claims() for line in claim.lines(tables)]


def _rows(tables: Tables, name: str, dataset: str, method: str) -> pd.DataFrame:
    """Return the rows of a table that a run need not have."""
    if name not in tables:
        return pd.DataFrame()
    table = tables[name]
    return table[(table["dataset"] == dataset) & (table["method"] == method)]


def _suffix(rule: Rule) -> str:
    return "" if rule is Rule.NEAR else f" ({rule})"
