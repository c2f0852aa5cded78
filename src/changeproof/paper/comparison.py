"""The paper's numbers and claims beside those of a run, and whether each difference is allowed.

`published/` has the paper's tables, how far a run may be from them (tolerances.toml), the claims of
its text (claims.toml), and documented differences with their reasons (deviations.toml).
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.datasets import paper_datasets
from changeproof.errors import InputError
from changeproof.evaluation.fragility import fragile_picks
from changeproof.runs.directory import TABLES
from changeproof.runs.plan import BASE_SEEDS, FACTUALS, Plan
from changeproof.runs.published import add
from changeproof.tables.display import Tables
from changeproof.tables.registry import read_finished
from changeproof.tables.spreadsheets import csv_bytes

PUBLISHED = Path(__file__).parent / "published"
FILE = "paper_comparison.csv"
COLUMNS = [
    "table", "dataset", "method_or_family", "metric", "published", "published_sd",
    "ours", "ours_sd", "difference", "within", "explanation",
]  # fmt: skip
# What the published times were measured on (section Evaluation of the paper).
PAPER_MACHINE = "Apple M4 Pro"
# The "table" of the claims of the text, and the "dataset" of means over datasets.
TEXT, ALL_DATASETS = "text", "all"
# Decimal fractions are not exact: 62.2 - 60.2 must count as 2.
SLACK = 1e-9
# Why averages over other families or datasets than the paper's are not judged.
PARTIAL = {
    "full_results": "robustness over all families is not judged: the run has other families",
    "change_magnitude": "sizes of changes are means over datasets and are not judged: the run has "
    "other datasets",
}


class Rule(StrEnum):
    """How a number is compared with the published one."""

    NEAR = "near"
    ABOVE = "above"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    SHOWN = "shown"


class Verdict(StrEnum):
    """The result of a comparison."""

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
        if self.ours is None:
            return Verdict.NOT_COVERED
        if self.within is None:
            return Verdict.NOT_JUDGED
        if self.within:
            return Verdict.WITHIN
        return Verdict.EXPLAINED if self.explanation else Verdict.OUTSIDE


@dataclass(frozen=True)
class Deviation:
    """A documented difference from the paper: where, how far, and why.

    It explains a number that is near what is `expected` instead; by default the published one.
    """

    table: str
    dataset: str
    method_or_family: str
    metrics: list[str]
    allowance: float
    reason: str
    expected: float | None = None

    def names(self, line: Line) -> bool:
        mine = (self.table, self.dataset, self.method_or_family)
        theirs = (line.table, line.dataset, line.method_or_family)
        return mine == theirs and line.metric in self.metrics

    def explains(self, line: Line) -> bool:
        if line.ours is None or not self.names(line):
            return False
        expected = line.published if self.expected is None else self.expected
        return abs(line.ours - expected) <= self.allowance + SLACK


def read_deviations() -> list[Deviation]:
    return [Deviation(**entry) for entry in _read("deviations")["deviation"]]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((PUBLISHED / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def published_table(name: str) -> pd.DataFrame:
    """Return a table of the paper, as it was published."""
    return pd.read_csv(PUBLISHED / f"{name}.csv")


def published_families() -> set[str]:
    return set(published_table("change_magnitude")["family"])


def _table_lines(tables: Tables, partial: Mapping[str, tuple[str, ...]]) -> Iterator[Line]:
    """Yield the numbers of all published tables row by row; those in `partial` are not judged."""
    for table, metrics in _read("tolerances").items():
        published = published_table(table)
        keys = [key for key in ("dataset", "method", "family") if key in published]
        found = {tuple(row[key] for key in keys): row for row in tables[table].to_dict("records")}
        for row in published.to_dict("records"):
            mine = found.get(tuple(row[key] for key in keys))
            for metric, tolerance in metrics.items():
                column = f"{metric}_mean" if f"{metric}_mean" in row else metric
                sd_column = tolerance.get("sd", f"{metric}_std")
                value, sd = float(row[column]), float(row.get(sd_column, math.nan))
                ours = None if mine is None else float(mine[column])
                judged = tolerance.get("judged", True)
                # Only times are not judged; one that was not recorded is missing, not undefined.
                if not judged and ours is not None and math.isnan(ours):
                    ours = None
                allowed = (
                    tolerance.get("absolute", 0.0),
                    tolerance.get("share", 0.0) * abs(value),
                    0.0 if math.isnan(sd) else tolerance.get("sds", 0.0) * sd,
                )
                yield Line(
                    table,
                    row.get("dataset", ALL_DATASETS),
                    row.get("method", row.get("family", "")),
                    metric,
                    value,
                    sd,
                    ours,
                    math.nan if mine is None else float(mine.get(sd_column, math.nan)),
                    Rule.NEAR if judged and metric not in partial.get(table, ()) else Rule.SHOWN,
                    max(allowed),
                )


# An entry of claims.toml: what the text says of some methods, by dataset.
Claim = Mapping[str, Any]
# What is compared: metric, rule, published value, ours (None where the run has none), our sd.
Compared = tuple[str, Rule, float, float | None, float]


def _claim_lines(tables: Tables) -> Iterator[Line]:
    """Yield what the text says of each dataset and method beside what the run has."""
    claims = _read("claims")
    for kind, (name, compared) in CLAIMS.items():
        table = tables.get(name, pd.DataFrame(columns=["dataset", "method", "name"]))
        for claim in claims[kind]:
            for dataset, method in product(claim["published"], claim["methods"]):
                rows = table[(table["dataset"] == dataset) & (table["method"] == method)]
                published = claim["published"][dataset]
                for metric, rule, theirs, ours, sd in compared(claim, rows, published):
                    suffix = "" if rule is Rule.NEAR else f" ({rule})"
                    yield Line(
                        TEXT, dataset, method, metric + suffix, theirs,
                        ours=ours, ours_sd=sd, rule=rule, tolerance=claim["tolerance"],
                    )  # fmt: skip


def _robustness(claim: Claim, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
    """Compare robustness under one family, or the lowest or highest of all families.

    Ours is None where a family is missing, and NaN where one is undefined.
    """
    family, rule = claim["family"], Rule(claim["rule"])
    metric, needed = f"empirical_robustness under {family}", {family}
    if family in ("lowest", "highest"):
        metric, needed = f"{family} empirical_robustness of all families", published_families()
    rows = rows[rows["family"].isin(needed)].set_index("empirical_robustness_mean")
    ours, sd = None if len(rows) < len(needed) else math.nan, math.nan
    if ours is not None and rows.index.notna().all():
        ours = float(rows.index.min() if family == "lowest" else rows.index.max())
        sd = float(rows.loc[[ours], "empirical_robustness_std"].iloc[0])
    yield metric, rule, published, ours, sd


def _certified(_: Claim, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
    ours, sd = None, math.nan
    if not rows.empty:
        ours, sd = map(float, rows[["certified_share_mean", "certified_share_std"]].iloc[0])
    yield "certified_share", Rule.NEAR, published, ours, sd


def _range(claim: Claim, rows: pd.DataFrame, published: list[float]) -> Iterator[Compared]:
    """Compare both ends of the range over base networks of something a method reports."""
    mine = rows[rows["name"] == claim["name"]]
    lowest = None if mine.empty else float(mine["min"].min(skipna=False))
    highest = None if mine.empty else float(mine["max"].max(skipna=False))
    yield claim["name"], Rule.AT_LEAST, published[0], lowest, math.nan
    yield claim["name"], Rule.AT_MOST, published[1], highest, math.nan


# The kinds of claims: the table that has the run's numbers, and how they are compared.
CLAIMS: dict[str, tuple[str, Callable[[Claim, pd.DataFrame, Any], Iterator[Compared]]]] = {
    "robustness": ("family_results", _robustness),
    "certified": ("certified", _certified),
    "diagnostic": ("diagnostics", _range),
}


@dataclass(frozen=True)
class PaperComparison:
    """Every number of the paper beside that of a run.

    Attributes
    ----------
    lines
        One per published number, in the order of the paper's tables, then the claims of the
        text; also those that the run does not cover.
    warnings
        What to keep in mind when reading them, a sentence each.
    missing
        What the run does not have: names of datasets, methods, families and tables.
    fragile
        Choices of tuning that one validation row, or none, decided, a sentence each.
    """

    lines: tuple[Line, ...]
    warnings: tuple[str, ...]
    missing: dict[str, tuple[str, ...]]
    fragile: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything that the run covers is within tolerance or explained."""
        return all(line.verdict is not Verdict.OUTSIDE for line in self.lines)

    @property
    def compared(self) -> list[Line]:
        """The numbers that both have, and every claim of the text, covered or not."""
        return [line for line in self.lines if line.ours is not None or line.table == TEXT]

    @property
    def table(self) -> pd.DataFrame:
        """The comparison as a table, as it is written to paper_comparison.csv.

        A row per number of `compared`. `within` is empty where nothing is judged: times (the
        published ones are of the paper's machine), averages over other families or datasets than
        the paper's, and claims that the run does not cover (there `ours` is empty as well).
        """
        rows = [[getattr(line, column) for column in COLUMNS] for line in self.compared]
        table = pd.DataFrame(rows, columns=COLUMNS)
        return table.astype({"ours": float, "within": "boolean"})

    def counts(self, table: str) -> Counter[Verdict]:
        """Count the verdicts of a table ("text" for the claims of the text)."""
        return Counter(line.verdict for line in self.lines if line.table == table)


def compare_with_paper(folder: str | Path) -> PaperComparison:
    """Put the published numbers beside those of a finished run.

    Parameters
    ----------
    folder
        The run directory.

    Returns
    -------
    PaperComparison
        ``table`` has a row per number, ``passed`` says whether everything that the run covers is
        within tolerance or a documented deviation.
    """
    plan, tables = read_finished(Path(folder))
    comparison = compare_tables(tables)
    judged = (Verdict.WITHIN, Verdict.EXPLAINED, Verdict.OUTSIDE)
    if not any(line.verdict in judged for line in comparison.lines):
        raise InputError(
            f"nothing to compare: the run in {folder} has no number that the paper has; "
            f"its datasets are {', '.join(paper_datasets())}"
        )
    if reason := reason_against(plan):
        raise InputError(f"the run in {folder} cannot be compared: {reason}")
    return comparison


def reason_against(plan: Plan) -> str | None:
    """Return why the numbers of a run cannot be compared with the published ones, if so."""
    if plan.base_seeds == BASE_SEEDS and plan.factuals == FACTUALS:
        return None
    seeds = ", ".join(map(str, plan.base_seeds))
    return (
        f"the published numbers are of base seeds {BASE_SEEDS[0]} to {BASE_SEEDS[-1]} with up to "
        f"{FACTUALS} people each, this run has {seeds} with up to {plan.factuals}"
    )


def compare_tables(tables: Tables) -> PaperComparison:
    """Put the published numbers beside those in the tables of a finished run."""
    partial, deviations = _partial_averages(tables), read_deviations()
    lines = (
        replace(line, explanation=" ".join(d.reason for d in deviations if d.explains(line)))
        for line in (*_table_lines(tables, partial), *_claim_lines(tables))
    )
    return PaperComparison(
        tuple(lines),
        tuple(PARTIAL[table] for table in partial),
        _missing(tables),
        tuple(fragile_picks(tables.get("tuning", pd.DataFrame()))),
    )


def write_comparison(folder: Path, comparison: PaperComparison) -> Path:
    """Write the comparison beside the other tables of the run, and return where."""
    return add(folder / TABLES, FILE, csv_bytes(comparison.table))


def _partial_averages(tables: Tables) -> dict[str, tuple[str, ...]]:
    """Return the metrics by table that average over other families or datasets than the paper."""
    partial: dict[str, tuple[str, ...]] = {}
    if set(tables["family_results"]["family"]) != published_families():
        partial["full_results"] = ("empirical_robustness", "end_to_end_robustness")
    datasets = set(published_table("dataset_summary")["dataset"])
    if set(tables["dataset_summary"]["dataset"]) != datasets:
        partial["change_magnitude"] = ("hard_disagreement_percent", "probability_mae")
    return partial


def _missing(tables: Tables) -> dict[str, tuple[str, ...]]:
    """Return what of the paper is not in the tables, by kind."""
    full, families = published_table("full_results"), published_table("change_magnitude")
    mine = tables["family_results"]

    def absent(theirs: pd.DataFrame, column: str) -> tuple[str, ...]:
        return tuple(name for name in theirs[column].unique() if name not in set(mine[column]))

    return {
        "tables": tuple(name for name, _ in CLAIMS.values() if name not in tables),
        "datasets": absent(full, "dataset"),
        "methods": absent(full, "method"),
        "families": absent(families, "family"),
    }
