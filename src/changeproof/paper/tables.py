"""The tables of the paper: what was published, and how far a run may be from it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import RATES
from changeproof.paper.lines import ALL_DATASETS, Line, Rule

Row = Mapping[Hashable, Any]
PUBLISHED = Path(__file__).parent / "published"
# What the published times were measured on (section Evaluation of the paper).
PAPER_MACHINE = "Apple M4 Pro"
COUNTS = (
    "observations", "features", "train", "update", "validation", "test",
    "factuals_total", "factuals_min", "factuals_max",
)  # fmt: skip
ACCURACIES = ("balanced_accuracy_min", "balanced_accuracy_mean", "balanced_accuracy_max")


@cache
def published_table(name: str) -> pd.DataFrame:
    """Return a table of the paper, as it was published."""
    return pd.read_csv(PUBLISHED / f"{name}.csv")


def published_families() -> set[str]:
    """Return the families of change of the paper."""
    return set(published_table("change_magnitude")["family"])


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

    def sd(self, row: Row) -> float:
        """Return the standard deviation in a row; NaN where the table has none."""
        return math.nan if self.sd_column is None else float(row[self.sd_column])

    def ours(self, row: Row) -> float | None:
        """Return the run's number; a time that was not recorded is none, and not undefined."""
        value = float(row[self.column])
        return value if self.judged or not math.isnan(value) else None


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper: the columns that tell its rows apart, and what is compared."""

    name: str
    keys: tuple[str, ...]
    measures: tuple[Measure, ...]

    def lines(self, ours: pd.DataFrame, partial: tuple[str, ...] = ()) -> Iterator[Line]:
        """Yield the numbers of a table row by row; those in `partial` are not judged."""
        found = {tuple(row[key] for key in self.keys): row for row in ours.to_dict("records")}
        for row in published_table(self.name).to_dict("records"):
            mine = found.get(tuple(row[key] for key in self.keys))
            for measure in self.measures:
                published, sd = float(row[measure.column]), measure.sd(row)
                judged = measure.judged and measure.metric not in partial
                yield Line(
                    self.name,
                    row.get("dataset", ALL_DATASETS),
                    row.get("method", row.get("family", "")),
                    measure.metric,
                    published,
                    sd,
                    None if mine is None else measure.ours(mine),
                    math.nan if mine is None else measure.sd(mine),
                    Rule.NEAR if judged else Rule.SHOWN,
                    measure.tolerance(published, sd),
                )


def _with_sd(
    metric: str, *, absolute: float = 0.0, share: float = 0.0, sds: float = 0.0
) -> Measure:
    return Measure(metric, f"{metric}_mean", f"{metric}_std", absolute, share, sds)


TABLES = (
    PublishedTable(
        "full_results",
        ("dataset", "method"),
        (
            *(_with_sd(rate, absolute=2.0, sds=2.0) for rate in RATES),
            _with_sd("distance", share=0.05, sds=2.0),
        ),
    ),
    PublishedTable(
        "dataset_summary",
        ("dataset",),
        (
            *(Measure(count, count) for count in COUNTS),
            *(Measure(accuracy, accuracy, absolute=0.002) for accuracy in ACCURACIES),
        ),
    ),
    PublishedTable(
        "change_magnitude",
        ("family",),
        (
            _with_sd("hard_disagreement_percent", absolute=0.25),
            _with_sd("probability_mae", absolute=0.003),
        ),
    ),
    # Times are those of the paper's machine.
    PublishedTable(
        "generation_seconds",
        ("method",),
        (
            Measure("mean_seconds", "mean_seconds", "std_seconds", judged=False),
            *(Measure(n, n, judged=False) for n in ("median_seconds", "p90_seconds", "timeouts")),
        ),
    ),
)
