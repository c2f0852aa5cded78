"""The result tables: tidy, and with the columns of the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from changeproof.datasets.task import PARTS
from changeproof.errors import InputError
from changeproof.evaluation.counting import Apart, apart
from changeproof.evaluation.metrics import METRICS, measure
from changeproof.evaluation.uncertainty import Summary, summarise
from changeproof.methods.method import BUDGET
from changeproof.runs.advice_tables import advice_tables
from changeproof.runs.bar_tables import bar_tables
from changeproof.runs.directory import TABLES
from changeproof.runs.everyone_tables import everyone_tables
from changeproof.runs.group_tables import group_tables
from changeproof.runs.letter_tables import letter_tables
from changeproof.runs.life_tables import life_tables
from changeproof.runs.limit_tables import limit_tables
from changeproof.runs.manifest import read_plan
from changeproof.runs.people_tables import people_tables
from changeproof.runs.plan import Plan
from changeproof.runs.published import check_plan, origin_of, publish, published
from changeproof.runs.reading import read_table
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.spreadsheets import csv_bytes

FOLDER = TABLES
# The datasets whose base models, of several seeds, are all the same.
SAME_BASES = "same_base_models"
# Which families count in numbers over all, as every reader of tables is told.
FAMILIES = "families"
WHERE = ["dataset", "method", "family"]
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
    seeds, variants = _seed_results(results), _variants(results)
    intervals = _intervals(seeds)
    overall = intervals["family"] == ALL_FAMILIES
    return {
        "dataset_summary": _dataset_summary(results),
        "change_magnitude": _change_magnitude(variants),
        "full_results": _mean_and_std(intervals[overall], WHERE[:2]),
        "family_results": _mean_and_std(intervals[~overall], WHERE),
        "intervals": intervals,
        "seed_results": seeds,
        FAMILIES: _families(results),
        "variants": variants,
        "generation_seconds": _generation_seconds(results),
        "certified": _certified(results),
        **advice_tables(results),
        **limit_tables(results),
        **life_tables(results),
        **people_tables(results),
        **bar_tables(results),
        **everyone_tables(results),
        **_same_bases(results),
        **letter_tables(results),
        **group_tables(results),
        "diagnostics": _diagnostics(results),
        "tuning": _tuning(results),
        "timings": results.timings,
    }


def write_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Write every table as CSV into the run directory, and return them."""
    tables = build_tables(results)
    publish(results.folder / FOLDER, _as_files(tables), origin_of(results.folder))
    return tables


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables that a run has written; none if they are damaged, outdated or foreign.

    Foreign are tables that were not made from the plan and the pieces of the directory.
    """
    origin = origin_of(folder)
    files = {} if origin is None else published(folder / FOLDER, origin)
    try:
        return _from_files(files)
    except ValueError:
        return {}


def read_finished(folder: Path) -> tuple[Plan, dict[str, pd.DataFrame]]:
    """Return plan and tables of a finished run; refuse one that is not.

    Tables that are damaged, outdated or foreign are made again from the pieces. Nothing is written.
    """
    plan, tables = read_plan(folder), read_tables(folder)
    if tables:
        return plan, tables
    results = StoredResults(folder)
    inventory = results.inventory
    if not inventory.complete:
        left, every = len(inventory.missing) + len(inventory.damaged), len(results.manifest.pieces)
        raise InputError(
            f"the run in {folder} is not finished: {left} of {every} pieces are "
            f"missing or damaged; go on with: changeproof run --out {folder}"
        )
    check_plan(results.folder, results.manifest)
    return plan, _from_files(_as_files(build_tables(results)))


def _as_files(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    return {f"{name}.csv": csv_bytes(table) for name, table in tables.items()}


def _from_files(contents: Mapping[str, bytes]) -> dict[str, pd.DataFrame]:
    return {
        name.removesuffix(".csv"): read_table(content) for name, content in sorted(contents.items())
    }


def _stacked(parts: Iterable[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Return some tables one under the other: no rows where there are none."""
    there = [part[columns] for part in parts]
    return pd.concat(there, ignore_index=True) if there else pd.DataFrame(columns=columns)


def _seed_results(results: StoredResults) -> pd.DataFrame:
    rows = []
    families = (ALL_FAMILIES, *results.shown.families)
    for key in results.answered:
        task, answers = results.task(key.dataset), results.counterfactuals(*key)
        survived = results.survived(*key)
        family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
        for family in families:
            averaged = results.averaged if family == ALL_FAMILIES else (family,)
            chosen = np.isin(family_of, averaged)
            metrics = measure(task, answers, survived[:, chosen], family_of[chosen].tolist())
            rows.append({**key._asdict(), "family": family, **metrics.as_dict()})
    return pd.DataFrame(rows, columns=["dataset", "method", "base_seed", "family", *METRICS])


def _intervals(seeds: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for key, group in seeds.groupby(WHERE, sort=False):
        for metric in METRICS:
            rows.append((*key, metric, *summarise(group[metric])))
    return pd.DataFrame(rows, columns=[*WHERE, "metric", *Summary._fields])


def _mean_and_std(intervals: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    order = [(which, metric) for metric in METRICS for which in ("mean", "std")]
    rows = intervals[keys].drop_duplicates()
    # Methods by name; datasets and families in the order in which they first occur.
    rows = rows.assign(place=pd.factorize(rows["dataset"])[0])
    rows = rows.sort_values(["place", "method"], kind="stable")[keys]
    # What is undefined everywhere is not in the pivot table.
    wide = intervals.pivot_table(["mean", "std"], keys, "metric").reindex(
        index=pd.MultiIndex.from_frame(rows), columns=pd.MultiIndex.from_tuples(order)
    )
    wide.columns = pd.Index([f"{metric}_{which}" for which, metric in order])
    return wide.reset_index()


def _variants(results: StoredResults) -> pd.DataFrame:
    columns = [
        "dataset", "base_seed", "family", "level", "replicate",
        "hard_disagreement", "probability_mae", "balanced_accuracy",
    ]  # fmt: skip
    banks = (
        results.variants(dataset, seed).assign(dataset=dataset, base_seed=seed)
        for dataset, seed in results.banks
    )
    return _stacked(banks, columns)


def _families(results: StoredResults) -> pd.DataFrame:
    """Return which families count in numbers over all families, and what sets others apart."""
    why = apart(results.families, results.unchanged)
    counts = ("yes" if name in results.averaged else "no" for name in why)
    return pd.DataFrame({"family": list(why), "counted": list(counts), "apart": list(why.values())})


def unchanged_in(tables: Mapping[str, pd.DataFrame]) -> frozenset[str]:
    """Return the families that change nothing, as the tables of a run say."""
    table = tables.get(FAMILIES)
    if table is None:
        return frozenset()
    return frozenset(table.loc[table["apart"] == Apart.NOTHING.value, "family"])


def counted_in(tables: Mapping[str, pd.DataFrame]) -> frozenset[str]:
    """Return the families that count in numbers over all families, as the tables of a run say."""
    table = tables.get(FAMILIES)
    return (
        frozenset() if table is None else frozenset(table.loc[table["counted"] == "yes", "family"])
    )


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
        counts = [asked[dataset, seed] for seed in seeds]
        accuracy = [results.balanced_accuracy(dataset, seed) for seed in seeds]
        sizes = [len(task.frame), len(task.features), *(len(task.row_ids(part)) for part in PARTS)]
        people = [sum(counts), min(counts), max(counts)]
        rows.append((dataset, *sizes, *people, min(accuracy), np.mean(accuracy), max(accuracy)))
    return pd.DataFrame(rows, columns=SUMMARY)


def _generation_seconds(results: StoredResults) -> pd.DataFrame:
    """Pool all requests of a method; a timeout is a request whose work budget was used up.

    Requests whose time was not recorded do not count; without any there is none.
    """
    each = ((key.method, results.counterfactuals(*key)) for key in results.answered)
    parts = (
        pd.DataFrame({"method": method, "outcome": found.outcomes, "seconds": found.seconds})
        for method, found in each
    )
    requests = _stacked(parts, ["method", "outcome", "seconds"]).astype({"seconds": float})
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


def _same_bases(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return where the seed changes nothing about base models; no table where it does everywhere.

    What is said over base models is over draws of people and of changed models there.
    """
    datasets = [dataset for dataset in results.shown.datasets if results.one_base(dataset)]
    rows = [(name, sum(key[0] == name for key in results.banks)) for name in datasets]
    return {SAME_BASES: pd.DataFrame(rows, columns=["dataset", "base_models"])} if rows else {}


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
        certified = results.counterfactuals(*key).certified
        if certified is not None:
            rows.append((*key, 100.0 * certified.mean()))
    shares = pd.DataFrame(rows, columns=["dataset", "base_seed", "method", "certified_share"])
    grouped = shares.groupby(["dataset", "method"], sort=False)["certified_share"]
    return grouped.agg(certified_share_mean="mean", certified_share_std="std").reset_index()


def _tuning(results: StoredResults) -> pd.DataFrame:
    columns = [
        "dataset", "method", "settings", "validation_rows", "valid_rows", "base_validity",
        "distance", "rows_behind", "distance_behind", "chosen",
    ]  # fmt: skip
    tunings = (
        results.tuning(dataset, method).assign(dataset=dataset, method=method)
        for dataset, method in results.tunings
    )
    return _stacked(tunings, columns)
