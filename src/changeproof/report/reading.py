"""The tables as people read them: fewer columns, mean ± sd in one cell."""

from __future__ import annotations

import pandas as pd

SHORT_METRICS = {
    "coverage": "coverage",
    "base_validity": "valid",
    "empirical_robustness": "robust",
    "end_to_end_robustness": "end-to-end",
    "distance": "distance",
}
SHORT_FAMILIES = {
    "new-initialization": "init",
    "bootstrap": "boot",
    "data-deletion": "delete",
    "data-addition": "add",
    "label-update": "labels",
    "training-configuration": "train",
    "architecture": "arch",
    "parameter-perturbation": "param",
}


def plus_minus(table: pd.DataFrame, metric: str, digits: int) -> list[str]:
    """Return "mean ± sd" cells; only the mean where there is no sd."""
    cells = []
    for mean, std in zip(table[f"{metric}_mean"], table[f"{metric}_std"], strict=True):
        cell = "undefined" if pd.isna(mean) else f"{mean:.{digits}f}"
        cells.append(cell if pd.isna(std) else f"{cell} ± {std:.{digits}f}")
    return cells


def results(full_results: pd.DataFrame) -> pd.DataFrame:
    """Return dataset, method and all metrics."""
    columns = {
        short: plus_minus(full_results, metric, 3 if metric == "distance" else 1)
        for metric, short in SHORT_METRICS.items()
    }
    return full_results[["dataset", "method"]].assign(**columns)


def robustness_by_family(family_results: pd.DataFrame) -> pd.DataFrame:
    """Return mean empirical robustness with a column per family."""
    families = list(dict.fromkeys(family_results["family"]))
    wide = family_results.pivot_table(
        index=["dataset", "method"],
        columns="family",
        values="empirical_robustness_mean",
        sort=False,
        dropna=False,
    )[families]
    shown = wide.map(lambda value: "undefined" if pd.isna(value) else f"{value:.1f}")
    return shown.rename_axis(columns=None).reset_index()


def magnitudes(change_magnitude: pd.DataFrame) -> pd.DataFrame:
    """Return how big the changes of each family were."""
    return change_magnitude[["family"]].assign(
        **{
            "hard disagreement (%)": plus_minus(change_magnitude, "hard_disagreement_percent", 2),
            "probability MAE": plus_minus(change_magnitude, "probability_mae", 3),
        }
    )


def datasets(dataset_summary: pd.DataFrame) -> pd.DataFrame:
    """Return sizes, factuals and accuracy of the base models, as in the paper's appendix."""
    table = dataset_summary
    sizes = table[["train", "update", "validation", "test"]].astype(str).agg("/".join, axis=1)
    low, high = table["factuals_min"], table["factuals_max"]
    span = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)]
    total = table["factuals_total"].astype(str)
    names = [f"balanced_accuracy_{which}" for which in ("min", "mean", "max")]
    accuracy = table[names].map("{:.3f}".format).agg("/".join, axis=1)
    return pd.DataFrame(
        {
            "dataset": table["dataset"],
            "rows": table["observations"].astype(str),
            "features": table["features"].astype(str),
            "split": sizes,
            "factuals": [f"{a} ({b})" for a, b in zip(total, span, strict=True)],
            "accuracy": accuracy,
        }
    )


def milliseconds(generation_seconds: pd.DataFrame) -> pd.DataFrame:
    """Return generation times per request in milliseconds; empty where none was recorded."""
    table = generation_seconds
    names = ["mean", "std", "median", "p90"]
    columns = {
        f"{name} (ms)": [
            "" if pd.isna(value) else f"{1e3 * value:.3g}" for value in table[f"{name}_seconds"]
        ]
        for name in names
    }
    return table[["method"]].assign(**columns, timeouts=table["timeouts"].astype(str))


def readable(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the main tables by title, in reading order, narrow enough for a terminal."""
    by_family = robustness_by_family(tables["family_results"]).rename(columns=SHORT_FAMILIES)
    panels = {
        f"Empirical robustness by family (%): {dataset}": panel.drop(columns="dataset")
        for dataset, panel in by_family.groupby("dataset", sort=False)
    }
    return {
        "Results (rates in %, mean ± sd over base models)": results(tables["full_results"]),
        **panels,
        "How big the changes were": magnitudes(tables["change_magnitude"]),
        "Datasets and base models": datasets(tables["dataset_summary"]),
        "Time per request, in a full batch": milliseconds(tables["generation_seconds"]),
    }
