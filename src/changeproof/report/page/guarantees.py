"""What certificates promise, beside what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from changeproof.methods import get_method
from changeproof.report.names import dataset_name, family_name, method_name, without_settings
from changeproof.report.numbers import number, percent
from changeproof.report.words import listed
from changeproof.runs.plan import Plan
from changeproof.runs.readings import Readings

PARAMETERS = "parameter-perturbation"


@dataclass(frozen=True)
class Promise:
    """What a method promises of a certified counterfactual.

    `level` is the promised share of changed models in percent; `ground` the family of change
    that the promise speaks of, and `radius` how far parameters may move there: a number, or the
    name of the diagnostic that holds it. `always` means that the method answers with nothing else.
    """

    words: str
    level: float | None = None
    ground: str | None = None
    radius: float | str | None = None
    always: bool = False


def _box(settings: Mapping[str, Any]) -> Promise:
    words = (
        f"holds for every network whose weights and biases differ by at most "
        f"{settings['radius']:g} from today's. This is proven exactly"
    )
    return Promise(words, 100.0, PARAMETERS, float(settings["radius"]))


def _sampled_box(settings: Mapping[str, Any]) -> Promise:
    words = (
        f"holds for at least {100 * settings['robustness']:g} % of the networks in a box around "
        f"today's parameters, with {100 * settings['confidence']:g} % confidence (by sampling). "
        f"The box is as wide as an incremental update moves the parameters"
    )
    return Promise(words, 100.0 * settings["robustness"], PARAMETERS, "radius")


def _ensemble(settings: Mapping[str, Any]) -> Promise:
    words = (
        f"holds for at least {100 * settings['robustness']:g} % of networks like the "
        f"{settings['ensemble_size']} bootstrap networks that the method trained, with "
        f"{100 * settings['confidence']:g} % confidence"
    )
    return Promise(words, 100.0 * settings["robustness"], "bootstrap", always=True)


# In whose words a certificate is put; any other method that certifies is shown without them.
PROMISES: dict[str, Callable[[Mapping[str, Any]], Promise]] = {
    "rnce": _box,
    "apds": _sampled_box,
    "betarce": _ensemble,
}


def promises(certified: pd.DataFrame, plan: Plan) -> dict[str, Promise]:
    """Return the promise of every method of the plan that makes one."""
    certifying = set(certified["method"])
    found = {}
    for method in plan.methods:
        if (name := without_settings(method)) in PROMISES:
            found[method] = PROMISES[name](get_method(method)().settings())
        elif method in certifying:
            found[method] = Promise("certifies its counterfactuals by a test of its own")
    return found


def guarantees(
    tables: Mapping[str, pd.DataFrame], plan: Plan, readings: Readings
) -> dict[str, Any]:
    """Return every promise with the certified share and what happened on its own ground."""
    made = promises(tables["certified"], plan)
    if not made:
        return {"nothing": "No method of this run promises anything."}
    if tables["full_results"].empty:
        return {"nothing": "No method with a certificate is finished yet."}
    shares = {
        (row.dataset, row.method): number(row.certified_share_mean)
        for row in tables["certified"].itertuples(index=False)
    }
    return {
        "methods": [
            {
                "method": plan.methods.index(method),
                "words": promise.words,
                "level": promise.level,
                "always": promise.always,
                "ground": plan.families.index(promise.ground)
                if promise.ground in plan.families
                else None,
                "certified": [shares.get((dataset, method)) for dataset in plan.datasets],
                "kept": [
                    _kept(tables, readings, dataset, method, promise) for dataset in plan.datasets
                ],
            }
            for method, promise in made.items()
        ],
        "words": _words(tables["family_results"], made),
    }


def _kept(
    tables: Mapping[str, pd.DataFrame],
    readings: Readings,
    dataset: str,
    method: str,
    promise: Promise,
) -> float | None:
    """Percent of base-valid counterfactuals that held where the promise was made."""
    if promise.ground is None:
        return None
    shares = []
    for key in readings.answered:
        if (key.dataset, key.method) != (dataset, method):
            continue
        variants = readings.variants(dataset, key.base_seed)
        inside = (variants["family"] == promise.ground).to_numpy()
        if promise.radius is not None:
            levels = pd.to_numeric(variants["level"], errors="coerce").to_numpy(dtype=float)
            inside = inside & (levels <= _radius(tables["diagnostics"], key, promise.radius))
        valid = readings.counterfactuals(key).base_valid
        if inside.any() and valid.any():
            shares.append(100.0 * readings.survival(key)[valid][:, inside].mean())
    return number(np.mean(shares)) if shares else None


def _radius(diagnostics: pd.DataFrame, key: Any, radius: float | str) -> float:
    if isinstance(radius, float):
        return radius
    mine = diagnostics[
        (diagnostics["dataset"] == key.dataset)
        & (diagnostics["method"] == key.method)
        & (diagnostics["base_seed"] == key.base_seed)
        & (diagnostics["name"] == radius)
    ]
    return float(mine["min"].min())


def _words(family_results: pd.DataFrame, made: Mapping[str, Promise]) -> str:
    parts = []
    for method in made:
        mine = family_results[family_results["method"] == method]
        mine = mine.dropna(subset=["empirical_robustness_mean"])
        if not mine.empty:
            low = mine.iloc[int(mine["empirical_robustness_mean"].to_numpy().argmin())]
            where = f"{dataset_name(low['dataset'])}, {family_name(low['family'])}"
            value = percent(low["empirical_robustness_mean"])
            parts.append(f"{method_name(method)} {value} ({where})")
    return f"The lowest values in any family: {listed(parts)}." if parts else ""
