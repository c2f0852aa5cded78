"""What certificates promise, beside what happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.methods import REGISTRY, make_method
from changeproof.methods.profile import EVERY_FAMILY, PARAMETERS, Promise
from changeproof.plugins import without_settings
from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, for_page
from changeproof.report.page.parts import Part, Source, chart, muted, nothing, table
from changeproof.report.robustness import ROBUSTNESS
from changeproof.report.scores import Spread
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.display import listed, number, percent
from changeproof.tables.names import dataset_name, family_name, method_name

Tables = Mapping[str, pd.DataFrame]
# What is said of a method that certifies and has not put its promise into words.
OTHERS = Promise("certifies its counterfactuals by a test of its own")


def guarantee_section(source: Source) -> list[Part]:
    """Return every promise as a card, what happened as a table, and by family as a chart."""
    found = guarantees(source.tables, source.plan, source.results)
    if "nothing" in found:
        return nothing(found["nothing"])
    shown, scores = source.shown, source.scores
    cards = [
        {
            "mark": for_page(shown.legend[each["method"]][0]),
            "title": shown.legend[each["method"]][1],
            "words": f"Promise: {each['words']}.",
            "small": ""
            if each["level"] is None
            else f"Promised share of changed models: {each['level']:g} %",
        }
        for each in found["methods"]
    ]
    rows = [
        _happened(each, dataset, source)
        for each in found["methods"]
        for dataset in source.present
        if scores.get(dataset, shown.methods[each["method"]]) is not None
    ]
    columns = (
        "method", "dataset", "promised (%)", "certified, of requests (%)",
        "certified held where promised (%)", "not certified, held there (%)",
        "lowest in any family (%)",
    )  # fmt: skip
    return [
        {"cards": cards},
        table("Promises and what happened", columns, rows, texts=2),
        muted(
            "“Where promised”: under the family that the promise is about. If it is about moved "
            "parameters, only models within its radius count. A promise is about certified CFEs; "
            "those that are not certified have a column of their own. Certified shares and "
            "robustness are never mixed."
        ),
        chart(_by_family(found, source)),
    ]


def _happened(promise: dict[str, Any], dataset: str, source: Source) -> list[str]:
    """Return a row that puts a promise beside what happened on a dataset."""
    shown, place = source.shown, source.plan.datasets.index(dataset)
    method = shown.methods[promise["method"]]
    under = [
        (mean, family)
        for family in shown.families
        if (mean := source.scores.of(ROBUSTNESS, dataset, method, family).mean) is not None
    ]
    lowest = min(under, default=None, key=lambda each: each[0])
    certified = "every answer" if promise["always"] else "not recorded"
    return [
        shown.name(method),
        shown.name(dataset),
        _one(promise["level"], "not stated"),
        _one(promise["certified"][place], certified),
        _one(promise["kept"][place], "unknown"),
        _one(promise["others"][place], "none"),
        "undefined" if lowest is None else f"{lowest[0]:.1f} ({shown.name(lowest[1])})",
    ]


def _one(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:.1f}"


def _by_family(found: dict[str, Any], source: Source) -> Chart:
    shown, scores = source.shown, source.scores
    places = list(range(len(shown.families)))
    panels, rows = [], []
    for dataset in source.present:
        layers = []
        for each in found["methods"]:
            method, (mark, name) = shown.methods[each["method"]], shown.legend[each["method"]]
            spreads = [scores.of(ROBUSTNESS, dataset, method, family) for family in shown.families]
            if each["level"] is not None:
                promised = [each["level"]] * len(places)
                flat = Mark(mark.colour, "")
                layers.append(Layer("line", places, promised, flat, width=1.5, dashed=True))
            layers.append(
                Layer(
                    "line",
                    places,
                    [spread.mean for spread in spreads],
                    mark,
                    9,
                    name=name,
                    hover=[
                        f"{name}, {shown.name(family)}\n"
                        + spread.text(1, shown.over[dataset], " %")
                        for family, spread in zip(shown.families, spreads, strict=True)
                    ],
                    ringed=each["ground"],
                )
            )
            rows += [
                [dataset, method, family, each["level"], *spread]
                for family, spread in zip(shown.families, spreads, strict=True)
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
