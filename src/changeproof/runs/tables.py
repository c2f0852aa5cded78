"""The result tables: tidy, and with the columns of the published ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from changeproof.datasets.task import PARTS
from changeproof.errors import InputError
from changeproof.evaluation.metrics import METRICS, measure
from changeproof.evaluation.uncertainty import Summary, summarise
from changeproof.files import write_whole
from changeproof.methods.method import BUDGET
from changeproof.runs.directory import read_plan
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults

FOLDER = "tables"
ALL_FAMILIES = "all"
SUMMARY = [
    "dataset", "observations", "features", *PARTS,
    "factuals_total", "factuals_min", "factuals_max",
    "balanced_accuracy_min", "balanced_accuracy_mean", "balanced_accuracy_max",
]  # fmt: skip


def build_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every table of a run by name.

    Parameters
    ----------
    results
        The run. Of an unfinished one the tables hold what is finished: the answers that were put
        to all changed models, and the base models that have all of theirs.
    """
    requests = _requests(results)
    seeds = _seed_results(results)
    overall = seeds[seeds["family"] == ALL_FAMILIES]
    variants = _variants(results)
    return {
        "dataset_summary": _dataset_summary(results),
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


def write_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Write every table as CSV into the run directory, and return them."""
    tables = build_tables(results)
    for name, table in tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_whole(results.folder / FOLDER / f"{name}.csv", text.encode())
    return tables


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables that a run has written."""
    return {path.stem: pd.read_csv(path) for path in sorted((folder / FOLDER).glob("*.csv"))}


def read_finished(folder: Path) -> tuple[Plan, dict[str, pd.DataFrame]]:
    """Return plan and tables of a finished run; refuse one that is not."""
    plan, tables = read_plan(folder), read_tables(folder)
    if not tables:
        raise InputError(
            f"the run in {folder} is not finished; go on with: changeproof run --out {folder}"
        )
    return plan, tables


def _requests(results: StoredResults) -> pd.DataFrame:
    """Return one row per request: dataset, base seed, method, outcome, seconds."""
    nobody = pd.DataFrame(columns=["dataset", "base_seed", "method", "outcome", "seconds"])
    parts = [nobody.astype({"seconds": float})]
    for key in results.answered:
        answers = results.counterfactuals(*key)
        columns = {"outcome": answers.outcomes, "seconds": answers.seconds}
        parts.append(pd.DataFrame({**key._asdict(), **columns}))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _seed_results(results: StoredResults) -> pd.DataFrame:
    rows = []
    families = (ALL_FAMILIES, *results.plan.families)
    for key in results.answered:
        task, answers = results.task(key.dataset), results.counterfactuals(*key)
        survived = results.survived(*key)
        family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
        for family in families:
            chosen = (family_of == family) | (family == ALL_FAMILIES)
            metrics = measure(task, answers, survived[:, chosen])
            who = {"dataset": key.dataset, "method": key.method, "base_seed": key.base_seed}
            rows.append({**who, "family": family, **metrics.as_dict()})
    return pd.DataFrame(rows, columns=["dataset", "method", "base_seed", "family", *METRICS])


def _mean_and_std(seeds: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    rows = []
    for key, group in seeds.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True))
        for metric in METRICS:
            summary = summarise(group[metric])
            row |= {f"{metric}_mean": summary.mean, f"{metric}_std": summary.std}
        rows.append(row)
    columns = [*keys, *(f"{metric}_{which}" for metric in METRICS for which in ("mean", "std"))]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(keys[:2], key=_in_given_order, kind="stable")


def _intervals(seeds: pd.DataFrame) -> pd.DataFrame:
    rows = []
    keys = ["dataset", "method", "family"]
    for key, group in seeds.groupby(keys, sort=False):
        for metric in METRICS:
            who = dict(zip(keys, key, strict=True))
            rows.append({**who, "metric": metric, **summarise(group[metric])._asdict()})
    return pd.DataFrame(rows, columns=[*keys, "metric", *Summary._fields])


def _in_given_order(column: pd.Series[str]) -> pd.Series[int]:
    """Sort methods by name and leave datasets as they are."""
    if column.name == "method":
        return column.rank(method="dense").astype(int)
    return pd.Series(pd.factorize(column)[0], index=column.index)


def _variants(results: StoredResults) -> pd.DataFrame:
    columns = ["dataset", "base_seed", "family", "level", "replicate"]
    measures = ["hard_disagreement", "probability_mae", "balanced_accuracy"]
    parts = [pd.DataFrame(columns=columns + measures)]
    for dataset, seed in results.banks:
        table = results.variants(dataset, seed)
        parts.append(table.assign(dataset=dataset, base_seed=seed)[columns + measures])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _change_magnitude(variants: pd.DataFrame) -> pd.DataFrame:
    """Mean and sd over the variants of a dataset, then the mean of both over datasets."""
    measures = variants.assign(hard_disagreement_percent=100.0 * variants["hard_disagreement"])
    names = ["hard_disagreement_percent", "probability_mae"]
    by_dataset = measures.groupby(["dataset", "family"])[names].agg(["mean", "std"])
    table = by_dataset.groupby("family").mean()
    table.columns = ["_".join(column) for column in table.columns]
    return table.sort_values("hard_disagreement_percent_mean", ascending=False).reset_index()


def _dataset_summary(results: StoredResults) -> pd.DataFrame:
    rows = []
    asked = {key[:2]: len(results.counterfactuals(*key)) for key in results.answered}
    for dataset in dict.fromkeys(dataset for dataset, _ in asked):
        task = results.task(dataset)
        seeds = [seed for name, seed in asked if name == dataset]
        counts = pd.Series([asked[dataset, seed] for seed in seeds])
        accuracy = [results.balanced_accuracy(dataset, seed) for seed in seeds]
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
    return pd.DataFrame(rows, columns=SUMMARY)


def _generation_seconds(requests: pd.DataFrame) -> pd.DataFrame:
    """Pool all requests of a method; a timeout is a request whose work budget was used up.

    Requests whose time was not recorded do not count; without any there is none.
    """
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


def _diagnostics(results: StoredResults) -> pd.DataFrame:
    """Mean, least and largest value of every numeric diagnostic, per base model."""
    columns = ["dataset", "method", "base_seed", "name", "mean", "min", "max"]
    rows = []
    for key in results.answered:
        for name, values in results.counterfactuals(*key).diagnostics.items():
            numbers = pd.to_numeric(pd.Series(values), errors="coerce").dropna().astype(float)
            if len(numbers):
                who = (key.dataset, key.method, key.base_seed, name)
                rows.append((*who, numbers.mean(), numbers.min(), numbers.max()))
    return pd.DataFrame(rows, columns=columns)


def _certified(results: StoredResults) -> pd.DataFrame:
    """Share of requests with a counterfactual that the method itself certified, in percent.

    A promise about the parameters that the certificate covers; never mixed with robustness.
    """
    rows = []
    for key in results.answered:
        answers = results.counterfactuals(*key)
        if "certified" in answers.diagnostics:
            certified = np.asarray(answers.diagnostics["certified"] == True)  # noqa: E712
            rows.append((*key, 100.0 * (certified & answers.found).mean()))
    shares = pd.DataFrame(rows, columns=["dataset", "base_seed", "method", "certified_share"])
    grouped = shares.groupby(["dataset", "method"], sort=False)["certified_share"]
    return grouped.agg(certified_share_mean="mean", certified_share_std="std").reset_index()


def _tuning(results: StoredResults) -> pd.DataFrame:
    columns = [
        "dataset", "method", "settings", "validation_rows", "valid_rows", "base_validity",
        "distance", "rows_behind", "distance_behind", "chosen",
    ]  # fmt: skip
    parts = [pd.DataFrame(columns=columns)]
    for dataset, method in results.tunings:
        table = results.tuning(dataset, method)
        parts.append(table.assign(dataset=dataset, method=method)[columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)
