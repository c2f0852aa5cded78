"""What certificates promise, beside what happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from changeproof.methods import REGISTRY, make_method
from changeproof.methods.method import EVERY_FAMILY, PARAMETERS, Promise
from changeproof.plugins import without_settings
from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, for_page
from changeproof.report.page.parts import Part, Source, chart, muted, nothing, table
from changeproof.report.page.robustness import ROBUSTNESS
from changeproof.report.scores import Spread
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables, listed, number, percent
from changeproof.tables.names import dataset_name, family_name, method_name

# What is said of a method that certifies and has not put its promise into words.
OTHERS = Promise("certifies its counterfactuals by a test of its own")
COLUMNS = (
    "method", "dataset", "promised (%)", "requests certified (%)",
    "certified: held where promised (%)", "not certified: held there (%)",
    "lowest in any family (%)",
)  # fmt: skip


def guarantee_section(source: Source) -> list[Part]:
    """Return every promise as a card, what happened as a table, and by family as a chart."""
    found = guarantees(source.tables, source.plan, source.results)
    if "nothing" in found:
        return nothing(found["nothing"])
    shown, scores = source.shown, source.scores
    cards, rows = [], []
    for each in found["methods"]:
        method, level = shown.methods[each["method"]], each["level"]
        mark, name = shown.legend[each["method"]]
        small = "" if level is None else f"Promised share of changed models: {level:g} %"
        words = f"Promise: {each['words']}."
        cards.append({"mark": for_page(mark), "title": name, "words": words, "small": small})
        there = [dataset for dataset in source.present if scores.get(dataset, method) is not None]
        rows += [_happened(each, method, dataset, source) for dataset in there]
    return [
        {"cards": cards},
        table("Promises and what happened", COLUMNS, rows, texts=2),
        muted(
            "“Where promised”: under the family that the promise is about. If it is about moved "
            "parameters, only models within its radius count. A promise is about certified CFEs; "
            "those that are not certified have a column of their own. Certified "
            "shares are never counted as robustness."
        ),
        chart(_by_family(found, source)),
    ]


def _happened(promise: dict[str, Any], method: str, dataset: str, source: Source) -> list[str]:
    """Return a row that puts a promise beside what happened on a dataset."""
    shown, place = source.shown, source.plan.datasets.index(dataset)
    under = [
        (mean, shown.name(family))
        for family in shown.families
        if (mean := source.scores.of(ROBUSTNESS, dataset, method, family).mean) is not None
    ]
    lowest = min(under, default=None, key=lambda each: each[0])
    values = (
        (promise["level"], "not stated"),
        (promise["certified"][place], "every answer" if promise["always"] else "not recorded"),
        (promise["kept"][place], "unknown"),
        (promise["others"][place], "none"),
    )
    return [
        shown.name(method),
        shown.name(dataset),
        *(otherwise if value is None else f"{value:.1f}" for value, otherwise in values),
        "undefined" if lowest is None else f"{lowest[0]:.1f} ({lowest[1]})",
    ]


def _by_family(found: dict[str, Any], source: Source) -> Chart:
    shown = source.shown
    places = list(range(len(shown.families)))
    panels, rows = [], []
    for dataset in source.present:
        layers = []
        for each in found["methods"]:
            method, (mark, name) = shown.methods[each["method"]], shown.legend[each["method"]]
            under = {
                family: source.scores.of(ROBUSTNESS, dataset, method, family)
                for family in shown.families
            }
            if each["level"] is not None:
                promised = [each["level"]] * len(places)
                flat = Mark(mark.colour, "")
                layers.append(Layer("line", places, promised, flat, width=1.5, dashed=True))
            layers.append(
                Layer(
                    "line",
                    places,
                    [spread.mean for spread in under.values()],
                    mark,
                    9,
                    name=name,
                    hover=[
                        f"{name}, {shown.name(family)}\n{spread.text(1, shown.over[dataset], ' %')}"
                        for family, spread in under.items()
                    ],
                    ringed=each["ground"],
                )
            )
            rows += [
                [dataset, method, family, each["level"], *spread]
                for family, spread in under.items()
            ]
        across = Axis(names=shown.called(shown.families))
        up = Axis(unit=" %", low=-3, high=104)
        panels.append(Panel(layers, across, up, shown.name(dataset), 360, legend=True))
    return Chart(
        "guarantees",
        "What happened in each family (%)",
        "Markers: empirical robustness of the methods that promise something, of all their CFEs, "
        "certified or not. Dashed line: the promised share. Ringed: the family that the promise is "
        "about.",
        found["words"],
        panels,
        ["dataset", "method", "family", "promised", *Spread._fields],
        rows,
        texts=3,
    )


def guarantees(tables: Tables, plan: Plan, results: StoredResults) -> dict[str, Any]:
    """Return every promise with the certified share and what happened on its own ground."""
    shares = tables["certified"].set_index(["dataset", "method"])["certified_share_mean"].to_dict()
    known = {method: REGISTRY.known(without_settings(method)) for method in plan.methods}
    promises = {method: cls.promise for method, cls in known.items() if cls and cls.promise}
    certifying = dict.fromkeys(tables["certified"]["method"], OTHERS)
    made = {m: p for m in plan.methods if (p := promises.get(m, certifying.get(m)))}
    if not made:
        return {"nothing": "No method of this run promises anything."}
    if tables["full_results"].empty:
        return {"nothing": "No method with a certificate is finished yet."}
    entries = []
    for method, promise in made.items():
        settings = {} if promise is OTHERS else make_method(method).settings()
        level = 100.0 * settings.get("target", settings.get("robustness", 1.0))
        confidence = settings.get("confidence", 1.0)
        sure, unsure = 100.0 * confidence, round(100.0 * (1.0 - confidence), 9)
        held = [_held(results, d, method, promise, settings.get("radius")) for d in plan.datasets]
        named = promise.ground in plan.families
        entries.append(
            {
                "method": plan.methods.index(method),
                "words": promise.words.format(**settings, level=level, sure=sure, unsure=unsure),
                "level": None if promise is OTHERS else level,
                "always": promise.always,
                "ground": plan.families.index(promise.ground) if named else None,
                "certified": [number(shares.get((d, method), np.nan)) for d in plan.datasets],
                "kept": [certified for certified, _ in held],
                "others": [others for _, others in held],
            }
        )
    return {"methods": entries, "words": _words(tables["family_results"], list(made))}


def _held(
    results: StoredResults, dataset: str, method: str, promise: Promise, radius: float | None
) -> list[float | None]:
    """Return the percent that held where the promise was made: of certified CFEs, and of others.

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
            recorded = pd.Series(answers.diagnostics.get("radius"), dtype=float).min()
            levels = pd.to_numeric(variants["level"], errors="coerce").to_numpy()
            inside = inside & (levels <= (recorded if radius is None else radius))
        certified = answers.base_valid if answers.certified is None else answers.certified
        for promised, found in zip((certified, ~certified), shares, strict=True):
            counted = answers.base_valid & promised
            if inside.any() and counted.any():
                found.append(100.0 * results.survived(*key)[counted][:, inside].mean())
    return [number(np.mean(each)) if each else None for each in shares]


def _words(family_results: pd.DataFrame, methods: list[str]) -> str:
    known = family_results.dropna(subset=["empirical_robustness_mean"])
    known = known.sort_values("empirical_robustness_mean", kind="stable")
    lowest = known.drop_duplicates("method").set_index("method").to_dict("index")
    parts = [
        f"{method_name(method)} {percent(low['empirical_robustness_mean'])} "
        f"({dataset_name(low['dataset'])}, {family_name(low['family'])})"
        for method in methods
        if (low := lowest.get(method))
    ]
    if not parts:
        return ""
    return f"The lowest robustness in any family, over all CFEs, certified or not: {listed(parts)}."
