"""The tables that people read, from those of a run; terminal, print and notebooks write them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from changeproof.report.names import (
    FAMILIES,
    dataset_name,
    family_name,
    in_order,
    method_name,
    short_family,
)
from changeproof.report.numbers import Measured

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Hashable, Any]
Cell = str | int | Measured
DASH = "\N{EN DASH}"
WIDEST_HEADING = 12


class Heading(NamedTuple):
    """The heading of a column, and whether more (↑) or less (↓) is better.

    Where room is scarce, LaTeX sets `lines` one over the other, and terminals show `short`.
    """

    name: str
    arrow: str = ""
    left: bool = False
    short: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table: headings, and rows in sections, each with a title of its own (or none).

    `title` is short, for screens, and `caption` says everything, for print. A `compact` table has
    so many columns that screens show means alone.
    """

    name: str
    title: str
    caption: str
    headings: tuple[Heading, ...]
    sections: list[tuple[str, list[list[Cell]]]]
    section_heading: str = ""
    compact: bool = False

    @property
    def rows(self) -> Iterator[tuple[str, list[Cell]]]:
        """Every row with the title of its section."""
        return ((title, row) for title, rows in self.sections for row in rows)

    def on_screen(self, cell: Cell) -> str:
        """Return a cell as terminals and notebooks show it."""
        if isinstance(cell, Measured):
            return cell.mean_text if self.compact else cell.text()
        return f"{cell:,}" if isinstance(cell, int) else cell


# A heading, and how the cells below it are made from the rows of a run's table.
Column = tuple[Heading, Callable[[Row], Cell]]


def _measured(metric: str, digits: int) -> Callable[[Row], Cell]:
    return lambda row: Measured(float(row[f"{metric}_mean"]), float(row[f"{metric}_std"]), digits)


METHOD: Column = (Heading("Method", left=True), lambda row: method_name(row["method"]))
RESULTS: dict[str, Column] = {
    "coverage": (Heading("Coverage", "↑"), _measured("coverage", 1)),
    "base_validity": (Heading("Base valid", "↑", short="Valid"), _measured("base_validity", 1)),
    "empirical_robustness": (
        Heading("Emp. robust.", "↑", short="Robust"),
        _measured("empirical_robustness", 1),
    ),
    "end_to_end_robustness": (
        Heading("E2E robust.", "↑", short="End-to-end"),
        _measured("end_to_end_robustness", 1),
    ),
    "distance": (Heading("Distance", "↓"), _measured("distance", 3)),
}


def print_tables(tables: Tables) -> list[Table]:
    """Return what can be printed of the tables that there are, in the paper's order."""
    return [build(tables[name]) for name, build in BUILDERS.items() if len(tables.get(name, ()))]


def screen_tables(tables: Tables) -> list[Table]:
    """Return the main tables for screens, the results first."""
    return [BUILDERS[name](tables[name]) for name in ON_SCREEN if len(tables.get(name, ()))]


def dataset_summary(table: pd.DataFrame) -> Table:
    """Return sizes, factuals and accuracy of the base models."""

    def factuals(row: Row) -> str:
        low, high = row["factuals_min"], row["factuals_max"]
        span = f"{low:,}" if low == high else f"{low:,}{DASH}{high:,}"
        return f"{row['factuals_total']:,} ({span})"

    def accuracy(row: Row) -> str:
        which = ("min", "mean", "max")
        return "/".join(f"{row[f'balanced_accuracy_{each}']:.3f}" for each in which)

    def split(row: Row) -> str:
        return "/".join(str(row[part]) for part in ("train", "update", "validation", "test"))

    return _table(
        "dataset_summary",
        "Datasets and base models",
        "Datasets and base models: rows (n), features (p), rows for training, update, "
        "validation and test, requests in all (and per base model), and least, mean and largest "
        "balanced accuracy of the base models on the test rows.",
        [
            (Heading("Dataset", left=True), lambda row: dataset_name(row["dataset"])),
            (Heading("n", short="Rows"), lambda row: int(row["observations"])),
            (Heading("p", short="Features"), lambda row: int(row["features"])),
            (Heading("Split", left=True), split),
            (Heading("Factuals"), factuals),
            (Heading("Balanced accuracy", left=True), accuracy),
        ],
        table.to_dict("records"),
    )


def change_magnitude(table: pd.DataFrame) -> Table:
    """Return how far each family moves the predictions."""
    return _table(
        "change_magnitude",
        "How big the changes were",
        "How far the changed models are from their base model on the test rows: mean ± "
        "standard deviation over the changed models of a dataset, then the mean over datasets.",
        [
            (Heading("Change family", left=True), lambda row: family_name(row["family"])),
            (Heading("Disagreement (%)"), _measured("hard_disagreement_percent", 2)),
            (Heading("Probability MAE"), _measured("probability_mae", 3)),
        ],
        table.to_dict("records"),
    )


def full_results(table: pd.DataFrame) -> Table:
    """Return all metrics of every method on every dataset."""
    over = _over_base_models(table, "coverage_std")
    return _table(
        "full_results",
        f"Results (rates in %, {over})",
        f"Results over all families of change, rates in percent: {over}. Empirical robustness and "
        "distance are those of counterfactuals that are valid on the base model, and undefined "
        "where there is none; end-to-end (E2E) robustness counts every request.",
        [METHOD, *RESULTS.values()],
        table.to_dict("records"),
        by_dataset=True,
    )


def family_results(table: pd.DataFrame) -> Table:
    """Return empirical robustness with a column per family."""
    measured = _measured("empirical_robustness", 1)
    rows: dict[tuple[str, str], dict[Hashable, Any]] = {}
    for row in table.to_dict("records"):
        key = (row["dataset"], row["method"])
        found = rows.setdefault(key, {"dataset": row["dataset"], "method": row["method"]})
        found[_family_key(row["family"])] = measured(row)
    return _table(
        "family_results",
        "Empirical robustness by family of change (%)",
        "Empirical robustness (%) by family of change: "
        f"{_over_base_models(table, 'empirical_robustness_std')}.",
        [METHOD, *(_family_column(family) for family in in_order(table["family"]))],
        rows.values(),
        by_dataset=True,
        compact=True,
    )


def generation_seconds(table: pd.DataFrame) -> Table:
    """Return the time per request."""

    def milliseconds(name: str, sd: str = "") -> Callable[[Row], Cell]:
        def cell(row: Row) -> Cell:
            spread = 1e3 * row[f"{sd}_seconds"] if sd else math.nan
            found = Measured(1e3 * row[f"{name}_seconds"], spread, 3)
            return "not recorded" if math.isnan(found.mean) else found

        return cell

    return _table(
        "generation_seconds",
        "Time per request, answered in full batches",
        "Milliseconds per request, answered in full batches: mean ± standard deviation over all "
        "requests, median, 90th percentile, and requests whose budget of work was used up.",
        [
            METHOD,
            (Heading("Mean (ms)"), milliseconds("mean", "std")),
            (Heading("Median (ms)"), milliseconds("median")),
            (Heading("90th percentile (ms)", short="90 % (ms)"), milliseconds("p90")),
            (Heading("Budget used up"), lambda row: int(row["timeouts"])),
        ],
        table.to_dict("records"),
    )


def certified(table: pd.DataFrame) -> Table:
    """Return the shares of requests with a certified counterfactual."""
    over = _over_base_models(table, "certified_share_std")
    return _table(
        "certified",
        "Certified by the method itself (%)",
        f"Requests whose counterfactual the method itself certifies (%): {over}. A certificate is "
        "about the parameters that it covers, and says nothing about other changes.",
        [METHOD, (Heading("Certified (%)"), _measured("certified_share", 1))],
        table.to_dict("records"),
        by_dataset=True,
    )


BUILDERS: dict[str, Callable[[pd.DataFrame], Table]] = {
    "dataset_summary": dataset_summary,
    "change_magnitude": change_magnitude,
    "full_results": full_results,
    "family_results": family_results,
    "generation_seconds": generation_seconds,
    "certified": certified,
}
ON_SCREEN = (
    "full_results", "family_results", "change_magnitude", "dataset_summary", "generation_seconds",
)  # fmt: skip


def _table(
    name: str,
    title: str,
    caption: str,
    columns: list[Column],
    rows: Iterable[Row],
    *,
    by_dataset: bool = False,
    compact: bool = False,
) -> Table:
    sections: dict[str, list[list[Cell]]] = {}
    for row in rows:
        section = row["dataset"] if by_dataset else ""
        sections.setdefault(section, []).append([cell(row) for _, cell in columns])
    return Table(
        name,
        title,
        caption,
        tuple(heading for heading, _ in columns),
        [(dataset_name(section), cells) for section, cells in sections.items()],
        "Dataset" if by_dataset else "",
        compact,
    )


def _family_key(family: str) -> str:
    return f"family {family}"


def _family_column(family: str) -> Column:
    """Return a family's column, its heading in the paper's short lines or wrapped."""
    wrapped = tuple(textwrap.wrap(family.replace("-", " "), WIDEST_HEADING))
    lines = FAMILIES[family].heading if family in FAMILIES else wrapped
    heading = Heading(family_name(family), short=short_family(family), lines=lines)
    return heading, lambda row: row.get(_family_key(family), "")


def _over_base_models(table: pd.DataFrame, column: str) -> str:
    spread = bool(table[column].notna().any())
    return "mean ± standard deviation over base models" if spread else "one base model"
