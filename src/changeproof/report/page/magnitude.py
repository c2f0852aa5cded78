"""How big the changes were, and what each of them left standing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from changeproof.runs.plan import Plan
from changeproof.runs.results import Answered, StoredResults
from changeproof.tables.display import numbers, percent
from changeproof.tables.names import family_name, method_name

Floats = np.ndarray[Any, np.dtype[np.float64]]
MEASURES = ("hard_disagreement_percent", "probability_mae")


def magnitudes(change_magnitude: pd.DataFrame, variants: pd.DataFrame) -> dict[str, Any]:
    """Return mean and sd per family over datasets, and the mean on each dataset."""
    if change_magnitude.empty:
        return {"nothing": "No base model has all its changed models yet."}
    measures = variants.assign(hard_disagreement_percent=100.0 * variants["hard_disagreement"])
    by_dataset = measures.groupby(["family", "dataset"], sort=False)[list(MEASURES)].mean()
    families = change_magnitude["family"].tolist()
    datasets = list(dict.fromkeys(variants["dataset"]))
    columns = [f"{measure}_{which}" for measure in MEASURES for which in ("mean", "std")]
    values = change_magnitude[columns].to_numpy(dtype=float)
    return {
        "families": families,
        "datasets": datasets,
        "values": numbers(values),
        "by_dataset": [
            numbers(by_dataset.loc[[(family, dataset) for dataset in datasets]].to_numpy())
            for family in families
        ],
        "words": _words(change_magnitude),
    }


def _words(table: pd.DataFrame) -> str:
    """Name the families that change the most and the fewest predictions."""
    families = [family_name(family) for family in table["family"]]
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
    answered = [[Answered(dataset, seed, method) for seed in seeds] for method in plan.methods]
    return {
        "base_seed": joined["base_seed"].tolist(),
        "family": [plan.families.index(family) for family in joined["family"]],
        "level": joined["level"].astype(str).tolist(),
        "replicate": joined["replicate"].tolist(),
        "disagreement": numbers(100.0 * joined["hard_disagreement"]),
        "mae": numbers(joined["probability_mae"]),
        "survived": [numbers(np.concatenate([_shares(results, k) for k in m])) for m in answered],
    }


def _shares(results: StoredResults, key: Answered) -> Floats:
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
    x, y = disagreement[known], values[known]
    text = (
        f"{name}: over {len(y)} changed models, survival lies between {percent(y.min())} and "
        f"{percent(y.max())}."
    )
    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return text + " It does not vary enough for a correlation."
    rank = float(spearmanr(x, y).statistic)
    how = "falls" if rank < 0 else "rises"
    return text + f" It {how} with the share of flipped predictions: rank correlation {rank:.2f}."
