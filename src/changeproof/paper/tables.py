"""The tables of the paper: what was published, and how far a run may be from it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.paper.lines import ALL_DATASETS, PUBLISHED, Line, Rule

Row = Mapping[Hashable, Any]
# What the published times were measured on (section Evaluation of the paper).
PAPER_MACHINE = "Apple M4 Pro"
KEYS = ("dataset", "method", "family")


@cache
def published_table(name: str) -> pd.DataFrame:
    """Return a table of the paper, as it was published."""
    return pd.read_csv(PUBLISHED / f"{name}.csv")


def published_families() -> set[str]:
    """Return the families of change of the paper."""
    return set(published_table("change_magnitude")["family"])


@dataclass(frozen=True)
class Measure:
    """A column of a published table, and how far a run may be from it; see tolerances.toml."""

    metric: str
    column: str
    sd: str
    absolute: float = 0.0
    share: float = 0.0
    sds: float = 0.0
    judged: bool = True

    def line(self, table: str, row: Row, mine: Row | None, *, judged: bool) -> Line:
        """Return the published number of a row beside that of the run's row, if it has one."""
        published, sd = float(row[self.column]), float(row.get(self.sd, math.nan))
        ours = None if mine is None else float(mine[self.column])
        # A time that was not recorded is none, and not undefined.
        if ours is not None and math.isnan(ours) and not self.judged:
            ours = None
        by_sd = 0.0 if math.isnan(sd) else self.sds * sd
        return Line(
            table,
            row.get("dataset", ALL_DATASETS),
            row.get("method", row.get("family", "")),
            self.metric,
            published,
            sd,
            ours,
            math.nan if mine is None else float(mine.get(self.sd, math.nan)),
            Rule.NEAR if judged and self.judged else Rule.SHOWN,
            max(self.absolute, self.share * abs(published), by_sd),
        )


def read_measures(path: Path = PUBLISHED / "tolerances.toml") -> dict[str, list[Measure]]:
    """Return what is compared, by published table."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        table: [_measure(table, metric, values) for metric, values in measures.items()]
        for table, measures in entries.items()
    }


def table_lines(
    tables: Mapping[str, pd.DataFrame], partial: Mapping[str, tuple[str, ...]]
) -> Iterator[Line]:
    """Yield the numbers of all published tables row by row; those in `partial` are not judged."""
    for table, measures in read_measures().items():
        published = published_table(table)
        keys = [key for key in KEYS if key in published]
        found = {tuple(row[key] for key in keys): row for row in tables[table].to_dict("records")}
        for row in published.to_dict("records"):
            mine = found.get(tuple(row[key] for key in keys))
            for measure in measures:
                judged = measure.metric not in partial.get(table, ())
                yield measure.line(table, row, mine, judged=judged)


def _measure(table: str, metric: str, values: dict[str, Any]) -> Measure:
    with_sd = f"{metric}_mean" in published_table(table)
    column = f"{metric}_mean" if with_sd else metric
    return Measure(metric, column, **{"sd": f"{metric}_std", **values})
