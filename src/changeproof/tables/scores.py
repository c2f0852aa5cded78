"""The tables of scores: every metric of every method, the changed models, time and tuning.

Their columns are those of the published tables.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.split import PARTS
from changeproof.evaluation.counting import Apart, apart
from changeproof.evaluation.metrics import METRICS, Requests
from changeproof.evaluation.uncertainty import Summary, summarise
from changeproof.methods.answers import BUDGET
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables import names
from changeproof.tables.cases import cases, mean_and_std, stacked
from changeproof.tables.display import (
    METHOD,
    SAME_BASES,
    Cell,
    Column,
    Form,
    Heading,
    Measured,
    Row,
    Tables,
    measured,
    metric_heading,
    spread,
)
from changeproof.tables.which_answers import feasible_words

# The table that says which families count in numbers over all families.
FAMILIES = "families"
WHERE = ["dataset", "method", "family"]
SUMMARY = [
    "dataset", "observations", "features", *PARTS,
    "factuals_total", "factuals_min", "factuals_max",
    "balanced_accuracy_min", "balanced_accuracy_mean", "balanced_accuracy_max",
]  # fmt: skip
VARIANTS = [
    "dataset", "base_seed", "family", "level", "replicate",
    "hard_disagreement", "probability_mae", "balanced_accuracy",
]  # fmt: skip
TUNING = [
    "dataset", "method", "settings", "validation_rows", "valid_rows", "base_validity",
    "distance", "rows_behind", "distance_behind", "chosen",
]  # fmt: skip
DASH = "\N{EN DASH}"
WIDEST_HEADING = 12
NO_CHANGE, ALL_HOLD = "no change", 100.0


def score_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the tables of scores; of an unfinished run, of what is finished."""
    seeds, variants = _seed_results(results), _variants(results)
    intervals = _intervals(seeds)
    overall = intervals["family"] == ALL_FAMILIES
    return {
        "dataset_summary": _dataset_summary(results),
        "change_magnitude": _change_magnitude(variants),
        "full_results": _wide(intervals[overall], WHERE[:2]),
        "family_results": _wide(intervals[~overall], WHERE),
        "intervals": intervals,
        "seed_results": seeds,
        FAMILIES: _families(results),
        "variants": variants,
        "generation_seconds": _generation_seconds(results),
        "certified": _certified(results),
    }


def record_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what else was recorded: diagnostics of methods, tuning and time."""
    return {
        "diagnostics": _diagnostics(results),
        "tuning": _tuning(results),
        "timings": results.timings,
    }


def same_base_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the datasets whose base models, of several seeds, are all the same, if any.

    There, spreads over base models are spreads over draws of people and of changed models.
    """
    datasets = [dataset for dataset in results.shown.datasets if results.one_base(dataset)]
    rows = [(name, sum(key[0] == name for key in results.banks)) for name in datasets]
    return {SAME_BASES: pd.DataFrame(rows, columns=["dataset", "base_models"])} if rows else {}


def _seed_results(results: StoredResults) -> pd.DataFrame:
    rows = []
    for case in cases(results):
        requests = Requests(case.task, case.answers)
        for family in (ALL_FAMILIES, *results.shown.families):
            chosen = case.models(family)
            metrics = requests.under(case.survived[:, chosen], case.family_of[chosen].tolist())
            rows.append({**case.key._asdict(), "family": family, **metrics.as_dict()})
    return pd.DataFrame(rows, columns=["dataset", "method", "base_seed", "family", *METRICS])


def _intervals(seeds: pd.DataFrame) -> pd.DataFrame:
    # Under every family, coverage, validity and distance are the same.
    summary = cache(summarise)
    rows = [
        (*key, metric, *summary(tuple(group[metric])))
        for key, group in seeds.groupby(WHERE, sort=False)
        for metric in METRICS
    ]
    return pd.DataFrame(rows, columns=[*WHERE, "metric", *Summary._fields])


def _wide(intervals: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return a row per key with the mean and standard deviation of every metric."""
    order = [(which, metric) for metric in METRICS for which in ("mean", "std")]
    rows = intervals[keys].drop_duplicates()
    # Methods by name; datasets and families in the order in which they first occur.
    rows = rows.assign(place=pd.factorize(rows["dataset"])[0])
    rows = rows.sort_values(["place", "method"], kind="stable")[keys]
    # A metric that is undefined everywhere is not in the pivot table.
    wide = intervals.pivot_table(["mean", "std"], keys, "metric").reindex(
        index=pd.MultiIndex.from_frame(rows), columns=pd.MultiIndex.from_tuples(order)
    )
    wide.columns = pd.Index([f"{metric}_{which}" for which, metric in order])
    return wide.reset_index()


def _variants(results: StoredResults) -> pd.DataFrame:
    banks = (
        results.variants(dataset, seed).assign(dataset=dataset, base_seed=seed)
        for dataset, seed in results.banks
    )
    return stacked(banks, VARIANTS)


def _families(results: StoredResults) -> pd.DataFrame:
    """Return which families count in numbers over all families, and what sets others apart."""
    why = apart(results.families, results.unchanged)
    counts = ["yes" if name in results.counting_families else "no" for name in why]
    return pd.DataFrame({"family": list(why), "counted": counts, "apart": list(why.values())})


def unchanged_in(tables: Tables) -> frozenset[str]:
    """Return the families that change nothing, as the tables of a run say."""
    return _families_with(tables, "apart", Apart.NOTHING.value)


def counted_in(tables: Tables) -> frozenset[str]:
    """Return the families that count in numbers over all families, as the tables of a run say."""
    return _families_with(tables, "counted", "yes")


def _families_with(tables: Tables, column: str, value: str) -> frozenset[str]:
    table = tables.get(FAMILIES)
    return frozenset() if table is None else frozenset(table["family"][table[column] == value])


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
        counts = {seed: number for (name, seed), number in asked.items() if name == dataset}
        accuracy = [results.balanced_accuracy(dataset, seed) for seed in counts]
        sizes = [len(task.frame), len(task.features), *(len(task.row_ids(part)) for part in PARTS)]
        people = [sum(counts.values()), min(counts.values()), max(counts.values())]
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
    requests = stacked(parts, ["method", "outcome", "seconds"]).astype({"seconds": float})
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
    rows = []
    for key in results.answered:
        for name, values in results.counterfactuals(*key).diagnostics.items():
            numbers = pd.to_numeric(pd.Series(values), errors="coerce").dropna().astype(float)
            if len(numbers):
                found = {"mean": numbers.mean(), "min": numbers.min(), "max": numbers.max()}
                rows.append({**key._asdict(), "name": name, **found})
    columns = ["dataset", "method", "base_seed", "name", "mean", "min", "max"]
    return pd.DataFrame(rows, columns=columns)


def _certified(results: StoredResults) -> pd.DataFrame:
    """Share of requests with a counterfactual that the method itself certified, in percent.

    A promise about the parameters that the certificate covers; never mixed with robustness.
    """
    each = ((key, results.counterfactuals(*key).certified) for key in results.answered)
    rows = [(*key, 100.0 * certified.mean()) for key, certified in each if certified is not None]
    shares = pd.DataFrame(rows, columns=["dataset", "base_seed", "method", "certified_share"])
    return mean_and_std(shares, WHERE[:2], ["certified_share"]).reset_index()


def _tuning(results: StoredResults) -> pd.DataFrame:
    tunings = (
        results.tuning(dataset, method).assign(dataset=dataset, method=method)
        for dataset, method in results.tunings
    )
    return stacked(tunings, TUNING)


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


def _by_family(tables: Tables, frame: pd.DataFrame) -> list[Row]:
    """Return a row per dataset and method, with empirical robustness by family.

    Advice that holds in models that have not changed says nothing.
    """
    unchanged = unchanged_in(tables)
    wide: dict[tuple[str, str], dict[Hashable, Any]] = {}
    for row in frame.to_dict("records"):
        found = wide.setdefault((row["dataset"], row["method"]), row)
        nothing = row["family"] in unchanged and row["empirical_robustness_mean"] == ALL_HOLD
        cell = NO_CHANGE if nothing else measured("empirical_robustness", 1)(row)
        found["family", row["family"]] = cell
    return list(wide.values())


def _family_columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    return (METHOD, *map(_family_column, names.in_order(frame["family"])))


def _family_column(family: str) -> Column:
    """Return a family's column, its heading in the paper's short lines or wrapped."""
    lines = names.family_label(family).heading.split()
    lines = lines or textwrap.wrap(family.replace("-", " "), WIDEST_HEADING)
    full, short = names.family_name(family), names.short_family(family)
    heading = Heading(full, short=short, lines=tuple(lines))
    return heading, lambda row: row.get(("family", family), "")


FORMS = {
    "dataset_summary": Form(
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
        section=None,
    ),
    "change_magnitude": Form(
        "How big the changes were",
        "How far the changed models are from their base model on the test rows: mean ± "
        "standard deviation over the changed models of a dataset, then the mean over datasets.",
        (
            (Heading("Change family", left=True), lambda row: names.family_name(row["family"])),
            (Heading("Disagreement (%)"), measured("hard_disagreement_percent", 2)),
            (Heading("Probability MAE"), measured("probability_mae", 3)),
        ),
        section=None,
    ),
    "full_results": Form(
        "Results (rates in %, {over})",
        "Results over all families of change, rates in percent: {over}. Empirical robustness and "
        "distance are those of counterfactuals that are valid on the base model, and undefined "
        "where there is none; end-to-end (E2E) robustness counts every request.",
        (
            METHOD,
            *(
                (metric_heading(each), measured(each.name, each.digits))
                for each in METRICS.values()
            ),
        ),
        over=spread,
        ending=feasible_words,
    ),
    "family_results": Form(
        "Empirical robustness by family of change (%)",
        "Empirical robustness (%) by family of change: {over}.",
        _family_columns,
        rows=_by_family,
        over=spread,
        ending=feasible_words,
        compact=True,
    ),
    "generation_seconds": Form(
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
        section=None,
    ),
    "certified": Form(
        "Certified by the method itself (%)",
        "Requests whose counterfactual the method itself certifies (%): {over}. A certificate is "
        "about the parameters that it covers, and says nothing about other changes.",
        (METHOD, (Heading("Certified (%)"), measured("certified_share", 1))),
        over=spread,
    ),
}
