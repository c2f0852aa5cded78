"""The tables that people read, from those of a run; terminal, print and notebooks write them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from changeproof.datasets.task import PARTS
from changeproof.report import lasting, names
from changeproof.report.interval_tables import people_interval_table
from changeproof.report.numbers import Measured
from changeproof.report.spreads import spread_over
from changeproof.report.table import METRICS, Cell, Heading, Table
from changeproof.runs.tables import unchanged_in

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Hashable, Any]
DASH = "\N{EN DASH}"
WIDEST_HEADING = 12
NO_CHANGE, ALL_HOLD = "no change", 100.0


# A heading, and how the cells below it are made from the rows of a run's table.
Column = tuple[Heading, Callable[[Row], Cell]]


@dataclass(frozen=True)
class Kind:
    """How a table of a run becomes one to read.

    {over} in title and caption says what means and their spread are over: there are several base
    models if the column `sd` has values. Of tables with `intervals` instead, it says what these are
    over. Without columns there is one for each family. Screens show a `compact` table with means
    alone.
    """

    title: str
    caption: str
    columns: tuple[Column, ...] = ()
    by_dataset: bool = False
    sd: str = ""
    intervals: bool = False
    compact: bool = False

    def table(self, name: str, tables: Tables) -> Table:
        """Return the table to read."""
        frame = tables[name]
        columns, rows = self.columns, frame.to_dict("records")
        if not columns:
            columns = (METHOD, *map(_family_column, names.in_order(frame["family"])))
            rows = _wide(rows, unchanged_in(tables))
        sections: dict[str, list[list[Cell]]] = {}
        for row in rows:
            section = row["dataset"] if self.by_dataset else ""
            sections.setdefault(section, []).append([cell(row) for _, cell in columns])
        over = self._over(tables, frame)
        return Table(
            name,
            self.title.format(over=over),
            self.caption.format(over=over),
            tuple(heading for heading, _ in columns),
            [(names.dataset_name(section), cells) for section, cells in sections.items()],
            "Dataset" if self.by_dataset else "",
            compact=self.compact or not self.columns,
        )

    def _over(self, tables: Tables, frame: pd.DataFrame) -> str:
        """Say what the spread, or the intervals, of a table are over."""
        if self.intervals:
            several = bool((frame["base_models"] > 1).any())
        else:
            several = bool(self.sd and frame[self.sd].notna().any())
        if not several:
            return "over people and futures" if self.intervals else "one base model"
        whose = f"over {spread_over(tables, names.in_order(frame['dataset']))}"
        return whose if self.intervals else f"mean ± standard deviation {whose}"


def print_tables(tables: Tables) -> list[Table]:
    """Return what can be printed of the tables that there are, in the paper's order."""
    there = [name for name in KINDS if len(tables.get(name, ()))]
    return [*(KINDS[name].table(name, tables) for name in there), *people_interval_table(tables)]


def screen_tables(tables: Tables) -> list[Table]:
    """Return the main tables for screens, the results first."""
    built = {table.name: table for table in print_tables(tables)}
    return [built[name] for name in ON_SCREEN if name in built]


def _measured(metric: str, digits: int) -> Callable[[Row], Cell]:
    return lambda row: Measured(float(row[f"{metric}_mean"]), float(row[f"{metric}_std"]), digits)


def _milliseconds(name: str, sd: str = "") -> Callable[[Row], Cell]:
    def cell(row: Row) -> Cell:
        spread = 1e3 * row[f"{sd}_seconds"] if sd else math.nan
        found = Measured(1e3 * row[f"{name}_seconds"], spread, 3)
        return "not recorded" if math.isnan(found.mean) else found

    return cell


def _factuals(row: Row) -> str:
    low, high = row["factuals_min"], row["factuals_max"]
    span = f"{low:,}" if low == high else f"{low:,}{DASH}{high:,}"
    return f"{row['factuals_total']:,} ({span})"


def _accuracy(row: Row) -> str:
    return "/".join(f"{row[f'balanced_accuracy_{each}']:.3f}" for each in ("min", "mean", "max"))


def _lasting(name: str) -> Callable[[Row], Cell]:
    return lambda row: lasting.told(row, name)


def _wide(rows: list[dict[Hashable, Any]], unchanged: frozenset[str]) -> list[dict[Hashable, Any]]:
    """Return a row per dataset and method, with empirical robustness by family.

    Advice that holds in models that have not changed says nothing.
    """
    wide: dict[tuple[str, str], dict[Hashable, Any]] = {}
    for row in rows:
        found = wide.setdefault((row["dataset"], row["method"]), row)
        nothing = row["family"] in unchanged and row["empirical_robustness_mean"] == ALL_HOLD
        cell = NO_CHANGE if nothing else _measured("empirical_robustness", 1)(row)
        found["family", row["family"]] = cell
    return list(wide.values())


def _family_column(family: str) -> Column:
    """Return a family's column, its heading in the paper's short lines or wrapped."""
    lines = textwrap.wrap(family.replace("-", " "), WIDEST_HEADING)
    if heading := names.family_label(family).heading:
        lines = heading.split()
    full, short = names.family_name(family), names.short_family(family)
    column = Heading(full, short=short, lines=tuple(lines))
    return column, lambda row: row.get(("family", family), "")


METHOD: Column = (Heading("Method", left=True), lambda row: names.method_name(row["method"]))
KINDS = {
    "dataset_summary": Kind(
        "Datasets and base models",
        "Datasets and base models: rows (n), features (p), rows for training, update, "
        "validation and test, requests in all (and per base model), and least, mean and largest "
        "balanced accuracy of the base models on the test rows.",
        (
            (Heading("Dataset", left=True), lambda row: names.dataset_name(row["dataset"])),
            (Heading("n", short="Rows"), lambda row: int(row["observations"])),
            (Heading("p", short="Features"), lambda row: int(row["features"])),
            (Heading("Split", left=True), lambda row: "/".join(str(row[part]) for part in PARTS)),
            (Heading("Factuals"), _factuals),
            (Heading("Balanced accuracy", left=True), _accuracy),
        ),
    ),
    "change_magnitude": Kind(
        "How big the changes were",
        "How far the changed models are from their base model on the test rows: mean ± "
        "standard deviation over the changed models of a dataset, then the mean over datasets.",
        (
            (Heading("Change family", left=True), lambda row: names.family_name(row["family"])),
            (Heading("Disagreement (%)"), _measured("hard_disagreement_percent", 2)),
            (Heading("Probability MAE"), _measured("probability_mae", 3)),
        ),
    ),
    "full_results": Kind(
        "Results (rates in %, {over})",
        "Results over all families of change, rates in percent: {over}. Empirical robustness and "
        "distance are those of counterfactuals that are valid on the base model, and undefined "
        "where there is none; end-to-end (E2E) robustness counts every request.",
        (METHOD, *((head, _measured(name, digits)) for name, (head, digits) in METRICS.items())),
        by_dataset=True,
        sd="coverage_std",
    ),
    "family_results": Kind(
        "Empirical robustness by family of change (%)",
        "Empirical robustness (%) by family of change: {over}.",
        by_dataset=True,
        sd="empirical_robustness_std",
    ),
    "generation_seconds": Kind(
        "Time per request, answered in full batches",
        "Milliseconds per request, answered in full batches: mean ± standard deviation over all "
        "requests, median, 90th percentile, and requests whose budget of work was used up.",
        (
            METHOD,
            (Heading("Mean (ms)"), _milliseconds("mean", "std")),
            (Heading("Median (ms)"), _milliseconds("median")),
            (Heading("90th percentile (ms)", short="90 % (ms)"), _milliseconds("p90")),
            (Heading("Budget used up"), lambda row: int(row["timeouts"])),
        ),
    ),
    "advice": Kind(
        "What people are told (means)",
        "What people are told: {over}. Features that an answer changes; answers inside the range "
        "of the training rows (%); distance to the nearest favourable training rows, where 1 is "
        "usual among them (plausibility); requests without an answer that a person can be told "
        "(%); the method's own answers that could not be told as they were (%), and what telling "
        "others cost: accepted answers (points) and distance.",
        (
            METHOD,
            (Heading("Features changed", "↓", short="Changed"), _measured("features_changed", 1)),
            (Heading("Inside the data (%)", "↑", short="Inside"), _measured("inside_data", 1)),
            (Heading("Plausibility", "↓", short="Plausib."), _measured("plausibility", 2)),
            (Heading("No answer (%)", "↓", short="None"), _measured("without_answer", 1)),
            (Heading("Not tellable (%)", "↓", short="Broken"), _measured("raw_broken", 1)),
            (Heading("Validity lost", "↓", short="Lost"), _measured("validity_lost", 1)),
            (Heading("Distance added", "↓", short="Added"), _measured("distance_added", 3)),
        ),
        by_dataset=True,
        sd="features_changed_std",
        compact=True,
    ),
    "price": Kind(
        "What methods cost over the limit ({over})",
        "What methods cost over the limit: {over}. The limit is the shortest change that the base "
        "model and a share of the changed models accept, found by a search that knows them; here "
        "at the method's own empirical robustness, between 95 and 100 % (below 95 % at 95 %). The "
        "price is the method's distance over it. All are of the people for whom the method has a "
        "valid answer and the limit was found.",
        (
            METHOD,
            (Heading("People"), lambda row: int(row["people"])),
            (Heading("Emp. robust.", "↑", short="Robust"), _measured("empirical_robustness", 1)),
            (Heading("Distance", "↓"), _measured("distance", 3)),
            (Heading("Limit"), _measured("limit", 3)),
            (Heading("Price over the limit", "↓", short="Price"), _measured("price", 2)),
        ),
        by_dataset=True,
        sd="price_std",
    ),
    "life_summary": Kind(
        "How long advice lasts (95 % interval {over})",
        lasting.CAPTION,
        (
            METHOD,
            (Heading("Sequence", left=True), lambda row: names.family_name(row["family"])),
            (Heading("Held to the end (%)", "↑", short="Held (%)"), _lasting("held_to_the_end")),
            (Heading("Median life", "↑"), _lasting("median_life")),
            (Heading("5 % broken by", "↑", short="5 % by"), _lasting("five_percent_broken_by")),
        ),
        by_dataset=True,
        intervals=True,
    ),
    "certified": Kind(
        "Certified by the method itself (%)",
        "Requests whose counterfactual the method itself certifies (%): {over}. A certificate is "
        "about the parameters that it covers, and says nothing about other changes.",
        (METHOD, (Heading("Certified (%)"), _measured("certified_share", 1))),
        by_dataset=True,
        sd="certified_share_std",
    ),
}
ON_SCREEN = (
    "full_results", "people_intervals", "family_results", "life_summary", "price", "advice",
    "change_magnitude", "dataset_summary", "generation_seconds",
)  # fmt: skip
