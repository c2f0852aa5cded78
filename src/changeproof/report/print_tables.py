"""The tables of the paper's appendix, from those of a run."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from changeproof.report.print_formats import Cell, Heading, Measured, PrintTable
from changeproof.report.print_names import (
    DATASETS,
    FAMILIES,
    FAMILY_HEADINGS,
    METHODS,
    in_order,
)

Row = Mapping[Any, Any]
DASH = "\N{EN DASH}"
RESULTS = {
    "coverage": (Heading("Coverage", "↑"), 1),
    "base_validity": (Heading("Base valid", "↑"), 1),
    "empirical_robustness": (Heading("Emp. robust.", "↑"), 1),
    "end_to_end_robustness": (Heading("E2E robust.", "↑"), 1),
    "distance": (Heading("Distance", "↓"), 3),
}
METHOD = Heading("Method", left=True)
WIDEST_HEADING = 12


def print_tables(tables: Mapping[str, pd.DataFrame]) -> list[PrintTable]:
    """Return what can be printed of the tables that there are."""
    return [build(tables[name]) for name, build in BUILDERS.items() if len(tables.get(name, ()))]


def dataset_summary(table: pd.DataFrame) -> PrintTable:
    """Return sizes, factuals and accuracy of the base models."""
    return PrintTable(
        "dataset_summary",
        "Datasets and base models: rows (n), features (p), rows for training, update, "
        "validation and test, requests in all (and per base model), and least, mean and largest "
        "balanced accuracy of the base models on the test rows.",
        (
            Heading("Dataset", left=True),
            Heading("n"),
            Heading("p"),
            Heading("Split", left=True),
            Heading("Factuals"),
            Heading("Balanced accuracy", left=True),
        ),
        [("", [_dataset_row(row) for row in table.to_dict("records")])],
        wide=True,
    )


def _dataset_row(row: Row) -> list[Cell]:
    low, high = row["factuals_min"], row["factuals_max"]
    span = f"{low:,}" if low == high else f"{low:,}{DASH}{high:,}"
    accuracy = (row[f"balanced_accuracy_{which}"] for which in ("min", "mean", "max"))
    return [
        _shown(DATASETS, row["dataset"]),
        int(row["observations"]),
        int(row["features"]),
        "/".join(str(row[part]) for part in ("train", "update", "validation", "test")),
        f"{row['factuals_total']:,} ({span})",
        "/".join(f"{value:.3f}" for value in accuracy),
    ]


def change_magnitude(table: pd.DataFrame) -> PrintTable:
    """Return how far each family moves the predictions."""

    def cells(row: Row) -> list[Cell]:
        return [
            _shown(FAMILIES, row["family"]),
            _measured(row, "hard_disagreement_percent", 2),
            _measured(row, "probability_mae", 3),
        ]

    return PrintTable(
        "change_magnitude",
        "How far the changed models are from their base model on the test rows: mean ± "
        "standard deviation over the changed models of a dataset, then the mean over datasets.",
        (
            Heading("Change family", left=True),
            Heading("Disagreement (%)"),
            Heading("Probability MAE"),
        ),
        [("", [cells(row) for row in table.to_dict("records")])],
    )


def full_results(table: pd.DataFrame) -> PrintTable:
    """Return all metrics of every method on every dataset."""

    def cells(row: Row) -> list[Cell]:
        metrics = [_measured(row, metric, digits) for metric, (_, digits) in RESULTS.items()]
        return [_shown(METHODS, row["method"]), *metrics]

    return PrintTable(
        "full_results",
        "Results over all families of change, rates in percent: "
        f"{_over_base_networks(table, 'coverage_std')}. Empirical robustness and distance are "
        "those of counterfactuals that are valid on the base model, and undefined where there "
        "is none; end-to-end (E2E) robustness counts every request.",
        (METHOD, *(heading for heading, _ in RESULTS.values())),
        _by_dataset(table, cells),
        section_heading="Dataset",
        wide=True,
    )


def family_results(table: pd.DataFrame) -> PrintTable:
    """Return empirical robustness with a column per family."""
    families = in_order(table["family"])
    sections = []
    for dataset in in_order(table["dataset"]):
        rows: list[list[Cell]] = []
        for method, mine in table[table["dataset"] == dataset].groupby("method", sort=False):
            found = {row["family"]: row for row in mine.to_dict("records")}
            cells = [
                _measured(found[family], "empirical_robustness", 1) if family in found else ""
                for family in families
            ]
            rows.append([_shown(METHODS, method), *cells])
        sections.append((_shown(DATASETS, dataset), rows))
    return PrintTable(
        "family_results",
        "Empirical robustness (%) by family of change: "
        f"{_over_base_networks(table, 'empirical_robustness_std')}.",
        (METHOD, *map(_family_heading, families)),
        sections,
        section_heading="Dataset",
        size="scriptsize",
        wide=True,
    )


def generation_seconds(table: pd.DataFrame) -> PrintTable:
    """Return the time per request."""

    def cells(row: Row) -> list[Cell]:
        mean, sd, median, p90 = (
            1e3 * row[f"{name}_seconds"] for name in ("mean", "std", "median", "p90")
        )
        times = (Measured(mean, sd, 3), Measured(median, math.nan, 3), Measured(p90, math.nan, 3))
        return [
            _shown(METHODS, row["method"]),
            *("not recorded" if math.isnan(time.mean) else time for time in times),
            int(row["timeouts"]),
        ]

    return PrintTable(
        "generation_seconds",
        "Milliseconds per request, answered in full batches: mean ± standard deviation over all "
        "requests, median, 90th percentile, and requests whose budget of work was used up.",
        (
            METHOD,
            Heading("Mean (ms)"),
            Heading("Median (ms)"),
            Heading("90th percentile (ms)"),
            Heading("Budget used up"),
        ),
        [("", [cells(row) for row in table.to_dict("records")])],
        wide=True,
    )


def certified(table: pd.DataFrame) -> PrintTable:
    """Return the shares of requests with a certified counterfactual."""

    def cells(row: Row) -> list[Cell]:
        share = _measured(row, "certified_share", 1)
        return [_shown(METHODS, row["method"]), share]

    return PrintTable(
        "certified",
        "Requests whose counterfactual the method itself certifies (%): "
        f"{_over_base_networks(table, 'certified_share_std')}. A certificate is about the "
        "parameters that it covers, and says nothing about other changes.",
        (METHOD, Heading("Certified (%)")),
        _by_dataset(table, cells),
        section_heading="Dataset",
    )


BUILDERS: dict[str, Callable[[pd.DataFrame], PrintTable]] = {
    "dataset_summary": dataset_summary,
    "change_magnitude": change_magnitude,
    "full_results": full_results,
    "family_results": family_results,
    "generation_seconds": generation_seconds,
    "certified": certified,
}


def _measured(row: Row, metric: str, digits: int) -> Measured:
    return Measured(float(row[f"{metric}_mean"]), float(row[f"{metric}_std"]), digits)


def _by_dataset(
    table: pd.DataFrame, cells: Callable[[Row], list[Cell]]
) -> list[tuple[str, list[list[Cell]]]]:
    return [
        (
            _shown(DATASETS, dataset),
            [cells(row) for row in table[table["dataset"] == dataset].to_dict("records")],
        )
        for dataset in in_order(table["dataset"])
    ]


def _shown(names: Mapping[str, str], name: object) -> str:
    return names.get(str(name), str(name))


def _family_heading(family: str) -> Heading:
    """Return a family's heading, in the paper's short lines or wrapped."""
    wrapped = tuple(textwrap.wrap(family.replace("-", " "), WIDEST_HEADING))
    return Heading(_shown(FAMILIES, family), lines=FAMILY_HEADINGS.get(family, wrapped))


def _over_base_networks(table: pd.DataFrame, column: str) -> str:
    spread = bool(table[column].notna().any())
    return "mean ± standard deviation over base models" if spread else "one base model"
