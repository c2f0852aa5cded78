"""The paper's numbers beside those of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.evaluation.fragility import fragile_picks
from changeproof.evaluation.metrics import RATES
from changeproof.files import write_whole
from changeproof.paper.claims import claim_lines
from changeproof.paper.lines import (
    ALL_DATASETS,
    TEXT,
    Line,
    Rule,
    Verdict,
    published_families,
    published_table,
    read_deviations,
    with_explanations,
)
from changeproof.runs.finished import read_finished
from changeproof.runs.plan import BASE_SEEDS, FACTUALS, Plan
from changeproof.runs.tables import FOLDER

FILE = "paper_comparison.csv"
COLUMNS = (
    "table", "dataset", "method_or_family", "metric", "published", "published_sd",
    "ours", "ours_sd", "difference", "within", "explanation",
)  # fmt: skip
# Tables that only the claims of the text need.
CLAIM_TABLES = ("certified", "diagnostics")
OVER_FAMILIES = ("empirical_robustness", "end_to_end_robustness")


@dataclass(frozen=True)
class Measure:
    """A column of a published table, and how far a run may be from it.

    The tolerance is the largest of an absolute one, a share of the published value and a number
    of published standard deviations. Without any of them the value has to be the same.
    """

    metric: str
    column: str
    sd_column: str | None = None
    absolute: float = 0.0
    share: float = 0.0
    sds: float = 0.0
    judged: bool = True

    def tolerance(self, published: float, sd: float) -> float:
        """Return the tolerance around a published value."""
        by_sd = 0.0 if math.isnan(sd) else self.sds * sd
        return max(self.absolute, self.share * abs(published), by_sd)


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper: by what its rows are told apart, and what is compared."""

    name: str
    dataset_column: str | None
    subject_column: str | None
    measures: tuple[Measure, ...]

    @property
    def keys(self) -> list[str]:
        """The columns that tell its rows apart."""
        return [key for key in (self.dataset_column, self.subject_column) if key is not None]


def _with_sd(
    metric: str, *, absolute: float = 0.0, share: float = 0.0, sds: float = 0.0
) -> Measure:
    return Measure(metric, f"{metric}_mean", f"{metric}_std", absolute, share, sds)


COUNTS = (
    "observations", "features", "train", "update", "validation", "test",
    "factuals_total", "factuals_min", "factuals_max",
)  # fmt: skip
ACCURACIES = ("balanced_accuracy_min", "balanced_accuracy_mean", "balanced_accuracy_max")
TABLES = (
    PublishedTable(
        "full_results",
        "dataset",
        "method",
        (
            *(_with_sd(rate, absolute=2.0, sds=2.0) for rate in RATES),
            _with_sd("distance", share=0.05, sds=2.0),
        ),
    ),
    PublishedTable(
        "dataset_summary",
        "dataset",
        None,
        (
            *(Measure(count, count) for count in COUNTS),
            *(Measure(accuracy, accuracy, absolute=0.002) for accuracy in ACCURACIES),
        ),
    ),
    PublishedTable(
        "change_magnitude",
        None,
        "family",
        (
            _with_sd("hard_disagreement_percent", absolute=0.25),
            _with_sd("probability_mae", absolute=0.003),
        ),
    ),
    # Times are those of the paper's machine.
    PublishedTable(
        "generation_seconds",
        None,
        "method",
        (
            Measure("mean_seconds", "mean_seconds", "std_seconds", judged=False),
            *(Measure(n, n, judged=False) for n in ("median_seconds", "p90_seconds", "timeouts")),
        ),
    ),
)


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
        rows = [
            (*astuple(line)[:8], line.difference, line.within, line.explanation)
            for line in self.compared
        ]
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
    return compare_tables(*read_finished(Path(folder)))


def compare_tables(plan: Plan, tables: Mapping[str, pd.DataFrame]) -> PaperComparison:
    """Put the published numbers beside those in the tables of a finished run."""
    partial = _partial_averages(tables)
    lines = [
        line
        for table in TABLES
        for line in _table_lines(table, tables[table.name], partial.get(table.name, ()))
    ]
    lines += claim_lines(tables)
    warnings = [*plan_warnings(plan), *_partial_warnings(partial)]
    return PaperComparison(
        tuple(with_explanations(lines, read_deviations())),
        tuple(warnings),
        _missing(tables),
        tuple(fragile_picks(tables.get("tuning", pd.DataFrame()))),
    )


def write_comparison(folder: Path, comparison: PaperComparison) -> Path:
    """Write the comparison beside the other tables of the run, and return where."""
    path = folder / FOLDER / FILE
    text = comparison.table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    write_whole(path, text.encode())
    return path


def plan_warnings(plan: Plan) -> list[str]:
    """Say in one line when a plan asks for other people or base networks than the paper's."""
    if plan.base_seeds == BASE_SEEDS and plan.factuals == FACTUALS:
        return []
    seeds = ", ".join(map(str, plan.base_seeds))
    return [
        f"the paper has base seeds {BASE_SEEDS[0]} to {BASE_SEEDS[-1]} and up to {FACTUALS} "
        f"factuals, this run {seeds} and {plan.factuals}: differences mean little"
    ]


def _table_lines(
    table: PublishedTable, ours: pd.DataFrame, partial: tuple[str, ...]
) -> Iterator[Line]:
    """Yield the numbers of a table row by row; those in `partial` are not judged."""
    found = {tuple(row[key] for key in table.keys): row for row in ours.to_dict("records")}
    for row in published_table(table.name).to_dict("records"):
        mine = found.get(tuple(row[key] for key in table.keys))
        for measure in table.measures:
            published, sd = float(row[measure.column]), _sd(row, measure)
            judged = measure.judged and measure.metric not in partial
            yield Line(
                table.name,
                ALL_DATASETS if table.dataset_column is None else row[table.dataset_column],
                "" if table.subject_column is None else row[table.subject_column],
                measure.metric,
                published,
                sd,
                None if mine is None else _ours(mine, measure),
                math.nan if mine is None else _sd(mine, measure),
                Rule.NEAR if judged else Rule.SHOWN,
                measure.tolerance(published, sd),
            )


def _ours(row: Mapping[Hashable, Any], measure: Measure) -> float | None:
    """Return the run's number; a time that was not recorded is none, and not undefined."""
    value = float(row[measure.column])
    return value if measure.judged or not math.isnan(value) else None


def _sd(row: Mapping[Hashable, Any], measure: Measure) -> float:
    return math.nan if measure.sd_column is None else float(row[measure.sd_column])


def _partial_averages(tables: Mapping[str, pd.DataFrame]) -> dict[str, tuple[str, ...]]:
    """Return the metrics by table that average over other families or datasets than the paper."""
    partial: dict[str, tuple[str, ...]] = {}
    if set(tables["family_results"]["family"]) != published_families():
        partial["full_results"] = OVER_FAMILIES
    datasets = published_table("dataset_summary")["dataset"]
    if set(tables["dataset_summary"]["dataset"]) != set(datasets):
        partial["change_magnitude"] = ("hard_disagreement_percent", "probability_mae")
    return partial


def _partial_warnings(partial: dict[str, tuple[str, ...]]) -> Iterator[str]:
    if "full_results" in partial:
        yield "robustness over all families is not judged: the run has other families"
    if "change_magnitude" in partial:
        yield "change magnitudes, means over datasets, are not judged: the run has other datasets"


def _missing(tables: Mapping[str, pd.DataFrame]) -> dict[str, tuple[str, ...]]:
    """Return what of the paper is not in the tables, by kind."""
    sources = {
        "datasets": ("dataset", "full_results", "full_results"),
        "methods": ("method", "full_results", "full_results"),
        "families": ("family", "change_magnitude", "family_results"),
    }
    missing = {"tables": tuple(name for name in CLAIM_TABLES if name not in tables)}
    for kind, (column, theirs, mine) in sources.items():
        names = dict.fromkeys(published_table(theirs)[column])
        missing[kind] = tuple(name for name in names if name not in set(tables[mine][column]))
    return missing
