"""What certificates promise, beside what happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.methods import REGISTRY, make_method
from changeproof.methods.profile import EVERY_FAMILY, PARAMETERS, Promise
from changeproof.plugins import without_settings
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.display import listed, number, percent
from changeproof.tables.names import dataset_name, family_name, method_name

Tables = Mapping[str, pd.DataFrame]
# What is said of a method that certifies and has not put its promise into words.
OTHERS = Promise("certifies its counterfactuals by a test of its own")


def guarantees(tables: Tables, plan: Plan, results: StoredResults) -> dict[str, Any]:
    """Return every promise with the certified share and what happened on its own ground."""
    shares = tables["certified"].set_index(["dataset", "method"])["certified_share_mean"].to_dict()
    certifying = set(tables["certified"]["method"])
    promises = {method: _promise(method) for method in plan.methods}
    made = [method for method in plan.methods if method in certifying or promises[method]]
    if not made:
        return {"nothing": "No method of this run promises anything."}
    if tables["full_results"].empty:
        return {"nothing": "No method with a certificate is finished yet."}
    entries = []
    for method in made:
        promise = promises[method] or OTHERS
        settings = {} if promise is OTHERS else make_method(method).settings()
        share = settings.get("target", settings.get("robustness", 1.0))
        level, confidence = 100.0 * share, settings.get("confidence", 1.0)
        sure, unsure = 100.0 * confidence, round(100.0 * (1.0 - confidence), 9)
        ground, radius = promise.ground, settings.get("radius")
        held = [_held(results, d, method, promise, radius) for d in plan.datasets]
        entries.append(
            {
                "method": plan.methods.index(method),
                "words": promise.words.format(**settings, level=level, sure=sure, unsure=unsure),
                "level": None if promise is OTHERS else level,
                "always": promise.always,
                "ground": plan.families.index(ground) if ground in plan.families else None,
                "certified": [number(shares.get((d, method), np.nan)) for d in plan.datasets],
                "kept": [each.promised for each in held],
                "others": [each.others for each in held],
            }
        )
    return {"methods": entries, "words": _words(tables["family_results"], made)}


def _promise(reference: str) -> Promise | None:
    method = REGISTRY.known(without_settings(reference))
    return None if method is None else method.promise


class Held(NamedTuple):
    """Percent of base-valid counterfactuals that held: certified ones, and all others."""

    promised: float | None
    others: float | None


def _held(
    results: StoredResults, dataset: str, method: str, promise: Promise, radius: float | None
) -> Held:
    """Return how many held where the promise was made.

    A method that certifies nothing promises the same of all its counterfactuals.
    """
    shares: tuple[list[float], list[float]] = [], []
    for key in results.answered:
        if (key.dataset, key.method) != (dataset, method):
            continue
        variants, answers = results.variants(dataset, key.base_seed), results.counterfactuals(*key)
        inside = (variants["family"] == promise.ground).to_numpy()
        inside = inside | (promise.ground == EVERY_FAMILY)
        if promise.ground == PARAMETERS:
            told = pd.Series(answers.diagnostics.get("radius"), dtype=float).min()
            levels = pd.to_numeric(variants["level"], errors="coerce").to_numpy()
            inside = inside & (levels <= (told if radius is None else radius))
        certified = answers.base_valid if answers.certified is None else answers.certified
        for promised, found in zip((certified, ~certified), shares, strict=True):
            counted = answers.base_valid & promised
            if inside.any() and counted.any():
                found.append(100.0 * results.survived(*key)[counted][:, inside].mean())
    return Held(*(number(np.mean(each)) if each else None for each in shares))


def _words(family_results: pd.DataFrame, methods: list[str]) -> str:
    known = family_results.dropna(subset=["empirical_robustness_mean"]).set_index("method")
    known = known.sort_values("empirical_robustness_mean", kind="stable")
    parts = []
    for method in (each for each in methods if each in known.index):
        low = known.loc[[method]].iloc[0]
        where = f"{dataset_name(low['dataset'])}, {family_name(low['family'])}"
        parts.append(f"{method_name(method)} {percent(low['empirical_robustness_mean'])} ({where})")
    return (
        f"The lowest values in any family, of all CFEs, certified or not: {listed(parts)}."
        if parts
        else ""
    )
