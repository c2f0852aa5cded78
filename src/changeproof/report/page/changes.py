"""How big the changes were, and what each of them left standing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from changeproof.model import Floats
from changeproof.report.charts import Axis, Chart, Layer, Mark, Shown
from changeproof.report.page.parts import (
    Part,
    Source,
    chart,
    named_panel,
    nothing,
    scripted,
    table,
)
from changeproof.report.scores import Spread
from changeproof.runs.plan import Plan
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.display import UNDEFINED, Tables, fixed, number, numbers, percent
from changeproof.tables.names import in_order, method_name, short_family

# What is measured: what it is called, on its axis, digits and unit.
MEASURES = {
    "hard_disagreement_percent": ("Predictions that flip", "disagreement (%)", 2, " %"),
    "probability_mae": ("Difference of probabilities", "probability MAE", 3, ""),
}


def change_section(source: Source) -> list[Part]:
    if source.tables["change_magnitude"].empty:
        first = nothing("No base model has all its changed models yet.")
    else:
        first = [chart(magnitude(source.tables, source.shown))]
    return [*first, *([scripted("survival")] if source.present else [])]


def kinds_section(source: Source) -> list[Part]:
    """Return a row per kind of change: what happens, how much it changes, and what then holds."""
    (dataset,) = source.plan.datasets
    variants, method = source.tables["variants"], source.best(dataset)
    if variants.empty:
        return nothing("No base model has all its changed models yet.")
    sizes = variants.groupby("family").size()
    flips = 100.0 * variants.groupby("family")["hard_disagreement"].mean()
    holds = [] if method is None else [f"advice of {source.shown.name(method)} holds (%)"]
    columns = ["kind of change", "changed models", "decisions that flip (%)", *holds]
    rows = []
    for family in (each for each in source.plan.families if each in sizes):
        name, short = source.shown.name(family), short_family(family)
        row = [name if short in name or "(" in short else f"{name} ({short})"]
        row += [str(sizes[family]), fixed(flips[family], 2)]
        if method is not None:
            mean = source.scores.of("empirical_robustness", dataset, method, family).mean
            row.append(UNDEFINED if mean is None else f"{mean:.1f}")
        rows.append([*row, source.results.families[family].summary])
    columns.append("what happens to the model")
    return [table("How the model was changed", columns, rows, long=len(columns) - 1)]


def magnitude(tables: Tables, shown: Shown) -> Chart:
    """Return how far each family moves predictions: mean and spread, and the mean on each dataset.

    Markers of datasets are left out where the single changed models are not known.
    """
    table, variants = tables["change_magnitude"], tables.get("variants", pd.DataFrame())
    families = table["family"].tolist()
    datasets = [] if variants.empty else in_order(variants["dataset"])
    legend = [(Mark.at(place), shown.name(dataset)) for place, dataset in enumerate(datasets)]
    by: dict[str, dict[str, list[float | None]]] = {measure: {} for measure in MEASURES}
    if datasets:
        shares = 100.0 * variants["hard_disagreement"]
        measured = variants.assign(hard_disagreement_percent=shares)
        for measure in MEASURES:
            wide = measured.pivot_table(measure, "dataset", "family").reindex(columns=families)
            by[measure] = {dataset: numbers(wide.loc[dataset]) for dataset in datasets}
    panels = []
    for measure, (title, axis, digits, unit) in MEASURES.items():
        means, sds = (numbers(table[f"{measure}_{part}"]) for part in ("mean", "std"))
        both = [Spread(*each).text(digits, unit=unit) for each in zip(means, sds, strict=True)]
        texts = [f"mean of datasets {text}" for text in both]
        layers = [Layer("bars", means, mark=Mark("bar", ""), hover=texts, spread=sds)]
        for own, (mark, name) in zip(by[measure].values(), legend, strict=True):
            texts = [f"{name}: {Spread(value).text(digits, unit=unit)}" for value in own]
            layers.append(Layer("points", own, mark=mark, hover=texts, print=False))
        panels.append(
            named_panel(shown.called(families), Axis(axis, low=0), layers, title, each=34)
        )
    parts = [f"{measure}_{part}" for measure in MEASURES for part in ("mean", "std")]
    return Chart(
        "magnitude",
        "Size of the changes by family",
        "Bars: mean over datasets, with the mean standard deviation over a dataset's changed "
        "models. Markers: the mean on each dataset.",
        _words(table, shown),
        panels,
        ["family", *parts, *(f"{d}: {measure}" for d in datasets for measure in MEASURES)],
        [
            [row["family"], *(number(row[part]) for part in parts)]
            + [by[measure][dataset][place] for dataset in datasets for measure in MEASURES]
            for place, row in enumerate(table.to_dict("records"))
        ],
        legend=legend,
    )


def _words(table: pd.DataFrame, shown: Shown) -> str:
    """Name the families that change the most and the fewest predictions."""
    families = shown.called(table["family"].tolist())
    shares = [f"{share:.2f} %" for share in table["hard_disagreement_percent_mean"]]
    text = f"{families[0]} changes the most predictions: {shares[0]} of the test rows on average."
    return text + (f" {families[-1]} changes the fewest: {shares[-1]}." if len(table) > 1 else "")


def variant_survival(results: StoredResults, dataset: str) -> dict[str, Any] | None:
    """Return every changed model of a dataset: its size, and the share that survived it.

    `survived` has a list per method of the plan: the percent of its base-valid counterfactuals
    that hold under that network, None where there are none or the piece is not finished.
    """
    plan = results.shown
    seeds = [seed for name, seed in results.banks if name == dataset]
    if not seeds:
        return None
    banks = [results.variants(dataset, seed).assign(base_seed=seed) for seed in seeds]
    joined = pd.concat(banks, ignore_index=True)
    answered = [[AnswerKey(dataset, seed, method) for seed in seeds] for method in plan.methods]
    return {
        "base_seed": joined["base_seed"].tolist(),
        "family": [plan.families.index(family) for family in joined["family"]],
        "level": joined["level"].astype(str).tolist(),
        "replicate": joined["replicate"].tolist(),
        "disagreement": numbers(100.0 * joined["hard_disagreement"]),
        "mae": numbers(joined["probability_mae"]),
        "survived": [numbers(np.concatenate([_shares(results, k) for k in m])) for m in answered],
    }


def _shares(results: StoredResults, key: AnswerKey) -> Floats:
    """Percent of base-valid counterfactuals that survive each changed model."""
    if key in results.answered:
        survived, valid = results.survived(*key), results.counterfactuals(*key).base_valid
        if valid.any():
            return np.asarray(100.0 * survived[valid].mean(axis=0))
    return np.full(len(results.variants(key.dataset, key.base_seed)), np.nan)


def scatter_words(points: dict[str, Any], plan: Plan) -> list[str]:
    """Say for the mean of all methods, then for each, how disagreement and survival go together."""
    disagreement = np.array(points["disagreement"], dtype=float)
    survived = np.array(points["survived"], dtype=float)
    there = np.isfinite(survived).any(axis=1)
    if not there.any():
        return ["No method's survival is known here."] * (1 + len(plan.methods))
    series = [("Mean of all methods", survived[there].mean(axis=0))]
    series += list(zip(map(method_name, plan.methods), survived, strict=True))
    return [_correlation_words(name, disagreement, values) for name, values in series]


def _correlation_words(name: str, disagreement: Floats, values: Floats) -> str:
    known = np.isfinite(values)
    if not known.any():
        return f"{name}: nothing is known here."
    x, y = pd.Series(disagreement[known]), pd.Series(values[known])
    text = (
        f"{name}: over {len(y)} changed models, survival lies between {percent(y.min())} and "
        f"{percent(y.max())}."
    )
    if x.nunique() < 2 or y.nunique() < 2:
        return text + " It does not vary enough for a correlation."
    rank = float(x.rank().corr(y.rank()))
    how = "falls" if rank < 0 else "rises"
    return text + f" It {how} with the share of flipped predictions: rank correlation {rank:.2f}."
