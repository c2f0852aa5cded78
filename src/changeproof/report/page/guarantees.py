"""What certificates promise, beside what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from changeproof.methods import make_method
from changeproof.report.names import dataset_name, family_name, method_name, without_settings
from changeproof.report.numbers import number, percent
from changeproof.report.words import listed
from changeproof.runs.plan import Plan
from changeproof.runs.results import Answered, StoredResults

Tables = Mapping[str, pd.DataFrame]
PARAMETERS = "parameter-perturbation"
# The methods whose promise is put into words here.
WORDED = ("rnce", "apds", "betarce")


@dataclass(frozen=True)
class Promise:
    """What a method promises of a certified counterfactual.

    `level` is the promised share of changed models in percent; `ground` the family of change
    that the promise is about, and `radius` how far parameters may move there: a number, or the
    name of the diagnostic that holds it. `always` means that the method answers with nothing else.
    """

    words: str
    level: float | None = None
    ground: str | None = None
    radius: float | str | None = None
    always: bool = False


def _promise(method: str) -> Promise:
    """Return what a method promises with its settings; in few words where they are not known."""
    name = without_settings(method)
    if name not in WORDED:
        return Promise("certifies its counterfactuals by a test of its own")
    settings = make_method(method).settings()
    level = 100.0 * settings.get("robustness", 1.0)
    sure = f"with {100 * settings.get('confidence', 1.0):g} % confidence"
    if name == "rnce":
        words = (
            "holds for every network whose weights and biases differ by at most "
            f"{settings['radius']:g} from today's. This is proven exactly"
        )
        return Promise(words, level, PARAMETERS, float(settings["radius"]))
    if name == "apds":
        words = (
            f"holds for at least {level:g} % of the networks in a box around today's parameters, "
            f"{sure} (by sampling). The box is as wide as an incremental update moves the "
            "parameters"
        )
        return Promise(words, level, PARAMETERS, "radius")
    words = (
        f"holds for at least {level:g} % of networks like the {settings['ensemble_size']} "
        f"bootstrap networks that the method trained, {sure}"
    )
    return Promise(words, level, "bootstrap", always=True)


def guarantees(tables: Tables, plan: Plan, results: StoredResults) -> dict[str, Any]:
    """Return every promise with the certified share and what happened on its own ground."""
    certifying = set(tables["certified"]["method"])
    made = {
        method: _promise(method)
        for method in plan.methods
        if without_settings(method) in WORDED or method in certifying
    }
    if not made:
        return {"nothing": "No method of this run promises anything."}
    if tables["full_results"].empty:
        return {"nothing": "No method with a certificate is finished yet."}
    known = tables["certified"][["dataset", "method", "certified_share_mean"]]
    shares = {(row[0], row[1]): row[2] for row in known.itertuples(index=False)}
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
                "certified": [number(shares.get((d, method), np.nan)) for d in plan.datasets],
                "kept": [_kept(tables, results, d, method, promise) for d in plan.datasets],
            }
            for method, promise in made.items()
        ],
        "words": _words(tables["family_results"], list(made)),
    }


def _kept(
    tables: Tables, results: StoredResults, dataset: str, method: str, promise: Promise
) -> float | None:
    """Percent of base-valid counterfactuals that held where the promise was made."""
    shares = []
    for key in results.answered:
        if (key.dataset, key.method) != (dataset, method):
            continue
        variants = results.variants(dataset, key.base_seed)
        inside = (variants["family"] == promise.ground).to_numpy()
        if promise.radius is not None:
            levels = pd.to_numeric(variants["level"], errors="coerce").to_numpy(dtype=float)
            inside = inside & (levels <= _radius(tables["diagnostics"], key, promise.radius))
        valid = results.counterfactuals(*key).base_valid
        if inside.any() and valid.any():
            shares.append(100.0 * results.survived(*key)[valid][:, inside].mean())
    return number(np.mean(shares)) if shares else None


def _radius(diagnostics: pd.DataFrame, key: Answered, radius: float | str) -> float:
    if isinstance(radius, float):
        return radius
    wanted = {**key._asdict(), "name": radius}
    mine = diagnostics[(diagnostics[list(wanted)] == list(wanted.values())).all(axis=1)]
    return float(mine["min"].min())


def _words(family_results: pd.DataFrame, methods: list[str]) -> str:
    parts = []
    known = family_results.dropna(subset=["empirical_robustness_mean"])
    for method in methods:
        mine = known[known["method"] == method]
        for low in mine.nsmallest(1, "empirical_robustness_mean").to_dict("records"):
            where = f"{dataset_name(low['dataset'])}, {family_name(low['family'])}"
            value = percent(low["empirical_robustness_mean"])
            parts.append(f"{method_name(method)} {value} ({where})")
    return f"The lowest values in any family: {listed(parts)}." if parts else ""
