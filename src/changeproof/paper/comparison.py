"""The paper's numbers beside those of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from changeproof.datasets.builtin import paper_datasets
from changeproof.errors import InputError
from changeproof.evaluation.fragility import fragile_picks
from changeproof.paper.claims import claim_lines
from changeproof.paper.lines import TEXT, Line, Verdict, read_deviations, with_explanations
from changeproof.paper.tables import published_families, published_table, table_lines
from changeproof.runs.directory import TABLES
from changeproof.runs.plan import BASE_SEEDS, FACTUALS, Plan
from changeproof.runs.published import add
from changeproof.tables.registry import read_finished
from changeproof.tables.spreadsheets import csv_bytes

FILE = "paper_comparison.csv"
COLUMNS = (
    "table", "dataset", "method_or_family", "metric", "published", "published_sd",
    "ours", "ours_sd", "difference", "within", "explanation",
)  # fmt: skip
# Tables that only the claims of the text need.
CLAIM_TABLES = ("certified", "diagnostics")
# What is said of averages over other families or datasets than the paper's.
PARTIAL = {
    "full_results": "robustness over all families is not judged: the run has other families",
    "change_magnitude": "sizes of changes are means over datasets and are not judged: the run has "
    "other datasets",
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
        Picks of tuning that hang on one validation row or on none, a sentence each.
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
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({"ours": float, "within": "boolean"})

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


def compare_tables(tables: Mapping[str, pd.DataFrame]) -> PaperComparison:
    """Put the published numbers beside those in the tables of a finished run."""
    partial = _partial_averages(tables)
    lines = [*table_lines(tables, partial), *claim_lines(tables)]
    return PaperComparison(
        tuple(with_explanations(lines, read_deviations())),
        tuple(PARTIAL[table] for table in partial),
        _missing(tables),
        tuple(fragile_picks(tables.get("tuning", pd.DataFrame()))),
    )


def write_comparison(folder: Path, comparison: PaperComparison) -> Path:
    """Write the comparison beside the other tables of the run, and return where."""
    return add(folder / TABLES, FILE, csv_bytes(comparison.table))


def _partial_averages(tables: Mapping[str, pd.DataFrame]) -> dict[str, tuple[str, ...]]:
    """Return the metrics by table that average over other families or datasets than the paper."""
    partial: dict[str, tuple[str, ...]] = {}
    if set(tables["family_results"]["family"]) != published_families():
        partial["full_results"] = ("empirical_robustness", "end_to_end_robustness")
    datasets = published_table("dataset_summary")["dataset"]
    if set(tables["dataset_summary"]["dataset"]) != set(datasets):
        partial["change_magnitude"] = ("hard_disagreement_percent", "probability_mae")
    return partial


def _missing(tables: Mapping[str, pd.DataFrame]) -> dict[str, tuple[str, ...]]:
    """Return what of the paper is not in the tables, by kind."""
    missing = {"tables": tuple(name for name in CLAIM_TABLES if name not in tables)}
    kinds = {"dataset": "datasets", "method": "methods", "family": "families"}
    for column, kind in kinds.items():
        theirs = published_table("change_magnitude" if kind == "families" else "full_results")
        mine = set(tables["family_results"][column])
        missing[kind] = tuple(name for name in theirs[column].unique() if name not in mine)
    return missing
