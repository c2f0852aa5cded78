"""The result tables: tidy, and with the columns of the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from changeproof.datasets.builtin import load_task
from changeproof.datasets.task import PARTS
from changeproof.evaluation.metrics import METRICS, measure
from changeproof.evaluation.uncertainty import summarise
from changeproof.methods.method import BUDGET
from changeproof.protocol.files import write_whole
from changeproof.protocol.results import Results

FOLDER = "tables"
ALL_FAMILIES = "all"


def build_tables(results: Results) -> dict[str, pd.DataFrame]:
    """Return every table of a finished run by name."""
    requests = _requests(results)
    seeds = _seed_results(results)
    overall = seeds[seeds["family"] == ALL_FAMILIES]
    variants = _variants(results)
    return {
        "dataset_summary": _dataset_summary(results, requests),
        "change_magnitude": _change_magnitude(variants),
        "full_results": _mean_and_std(overall, ["dataset", "method"]),
        "family_results": _mean_and_std(
            seeds[seeds["family"] != ALL_FAMILIES], ["dataset", "method", "family"]
        ),
        "intervals": _intervals(seeds),
        "seed_results": seeds,
        "variants": variants,
        "generation_seconds": _generation_seconds(requests),
        "certified": _certified(results),
        "diagnostics": _diagnostics(results),
        "tuning": _tuning(results),
        "timings": results.timings,
    }


def write_tables(results: Results) -> dict[str, pd.DataFrame]:
    """Write every table as CSV into the run directory, and return them."""
    tables = build_tables(results)
    for name, table in tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_whole(results.folder / FOLDER / f"{name}.csv", text.encode())
    return tables


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables that a run has written."""
    return {path.stem: pd.read_csv(path) for path in sorted((folder / FOLDER).glob("*.csv"))}


def _requests(results: Results) -> pd.DataFrame:
    """Return one row per request: dataset, base seed, method, outcome, seconds."""
    parts = []
    for dataset, seed, method in _everything(results):
        answers = results.counterfactuals(dataset, seed, method)
        columns = {"outcome": answers.outcomes, "seconds": answers.seconds}
        who = {"dataset": dataset, "base_seed": seed, "method": method}
        parts.append(pd.DataFrame({**who, **columns}))
    return pd.concat(parts, ignore_index=True)


def _seed_results(results: Results) -> pd.DataFrame:
    rows = []
    for dataset in results.plan.datasets:
        task = load_task(dataset)
        for seed in results.plan.base_seeds:
            family_of = results.variants(dataset, seed)["family"].to_numpy()
            for method in results.plan.methods:
                answers = results.counterfactuals(dataset, seed, method)
                survived = results.survival(dataset, seed, method)
                for family in (ALL_FAMILIES, *results.plan.families):
                    chosen = (family_of == family) | (family == ALL_FAMILIES)
                    metrics = measure(task, answers, survived[:, chosen])
                    who = {"dataset": dataset, "method": method, "base_seed": seed}
                    rows.append({**who, "family": family, **metrics.as_dict()})
    return pd.DataFrame(rows)


def _mean_and_std(seeds: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    rows = []
    for key, group in seeds.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True))
        for metric in METRICS:
            summary = summarise(group[metric])
            row |= {f"{metric}_mean": summary.mean, f"{metric}_std": summary.std}
        rows.append(row)
    return pd.DataFrame(rows).sort_values(keys[:2], key=_in_given_order, kind="stable")


def _intervals(seeds: pd.DataFrame) -> pd.DataFrame:
    rows = []
    keys = ["dataset", "method", "family"]
    for key, group in seeds.groupby(keys, sort=False):
        for metric in METRICS:
            who = dict(zip(keys, key, strict=True))
            rows.append({**who, "metric": metric, **summarise(group[metric])._asdict()})
    return pd.DataFrame(rows)


def _in_given_order(column: pd.Series[str]) -> pd.Series[int]:
    """Sort methods by name and leave datasets as they are."""
    if column.name == "method":
        return column.rank(method="dense").astype(int)
    return pd.Series(pd.factorize(column)[0], index=column.index)


def _variants(results: Results) -> pd.DataFrame:
    parts = []
    for dataset in results.plan.datasets:
        for seed in results.plan.base_seeds:
            table = results.variants(dataset, seed)
            table.insert(0, "dataset", dataset)
            table.insert(1, "base_seed", seed)
            parts.append(table)
    columns = ["dataset", "base_seed", "family", "level", "replicate"]
    measures = ["hard_disagreement", "probability_mae", "balanced_accuracy"]
    return pd.concat(parts, ignore_index=True)[columns + measures]


def _change_magnitude(variants: pd.DataFrame) -> pd.DataFrame:
    """Mean and sd over the variants of a dataset, then the mean of both over datasets."""
    measures = variants.assign(hard_disagreement_percent=100.0 * variants["hard_disagreement"])
    names = ["hard_disagreement_percent", "probability_mae"]
    by_dataset = measures.groupby(["dataset", "family"])[names].agg(["mean", "std"])
    table = by_dataset.groupby("family").mean()
    table.columns = ["_".join(column) for column in table.columns]
    return table.sort_values("hard_disagreement_percent_mean", ascending=False).reset_index()


def _dataset_summary(results: Results, requests: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for dataset in results.plan.datasets:
        task = load_task(dataset)
        mine = requests[requests["dataset"] == dataset]
        asked = mine[mine["method"] == results.plan.methods[0]].groupby("base_seed").size()
        counts = asked.reindex(results.plan.base_seeds, fill_value=0)
        accuracy = [results.balanced_accuracy(dataset, seed) for seed in results.plan.base_seeds]
        sizes: dict[str, int] = {part: len(task.row_ids(part)) for part in PARTS}
        rows.append(
            {
                "dataset": dataset,
                "observations": len(task.frame),
                "features": task.n_features,
                **sizes,
                "factuals_total": counts.sum(),
                "factuals_min": counts.min(),
                "factuals_max": counts.max(),
                "balanced_accuracy_min": np.min(accuracy),
                "balanced_accuracy_mean": np.mean(accuracy),
                "balanced_accuracy_max": np.max(accuracy),
            }
        )
    return pd.DataFrame(rows)


def _generation_seconds(requests: pd.DataFrame) -> pd.DataFrame:
    """Pool all requests of a method; a timeout is a request whose work budget was used up."""
    seconds = requests.groupby("method")["seconds"]
    exhausted = requests["outcome"] == BUDGET
    return pd.DataFrame(
        {
            "mean_seconds": seconds.mean(),
            "std_seconds": seconds.std(),
            "median_seconds": seconds.median(),
            "p90_seconds": seconds.quantile(0.9),
            "timeouts": exhausted.groupby(requests["method"]).sum(),
        }
    ).reset_index()


def _diagnostics(results: Results) -> pd.DataFrame:
    """Mean, least and largest value of every numeric diagnostic, per base network."""
    columns = ["dataset", "method", "base_seed", "name", "mean", "min", "max"]
    rows = []
    for dataset, seed, method in _everything(results):
        answers = results.counterfactuals(dataset, seed, method)
        for name, values in answers.diagnostics.items():
            numbers = pd.to_numeric(pd.Series(values), errors="coerce").dropna().astype(float)
            if len(numbers):
                who = (dataset, method, seed, name)
                rows.append((*who, numbers.mean(), numbers.min(), numbers.max()))
    return pd.DataFrame(rows, columns=columns)


def _certified(results: Results) -> pd.DataFrame:
    """Share of requests with a counterfactual that the method itself certified, in percent.

    A promise about the parameters that the certificate covers; never mixed with robustness.
    """
    rows = []
    for dataset, seed, method in _everything(results):
        answers = results.counterfactuals(dataset, seed, method)
        if "certified" in answers.diagnostics:
            certified = np.asarray(answers.diagnostics["certified"] == True)  # noqa: E712
            rows.append((dataset, method, seed, 100.0 * (certified & answers.found).mean()))
    shares = pd.DataFrame(rows, columns=["dataset", "method", "base_seed", "certified_share"])
    grouped = shares.groupby(["dataset", "method"], sort=False)["certified_share"]
    return grouped.agg(certified_share_mean="mean", certified_share_std="std").reset_index()


def _everything(results: Results) -> Iterator[tuple[str, int, str]]:
    plan = results.plan
    return product(plan.datasets, plan.base_seeds, plan.methods)


def _tuning(results: Results) -> pd.DataFrame:
    columns = ["dataset", "method", "settings", "base_validity", "distance", "chosen"]
    parts = [pd.DataFrame(columns=columns)]
    for dataset in results.plan.datasets:
        for method in results.tuned_methods:
            table = results.tuning(dataset, method).drop(columns="seconds")
            parts.append(table.assign(dataset=dataset, method=method)[columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)
