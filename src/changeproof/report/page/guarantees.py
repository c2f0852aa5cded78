"""What certificates promise, beside what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.evaluation.life import Lives
from changeproof.methods import REGISTRY, make_method
from changeproof.methods.method import EVERY_FAMILY, PARAMETERS, Promise
from changeproof.plugins import without_settings
from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, for_page, method_marks
from changeproof.report.page.parts import Part, Source, chart, muted, nothing, table
from changeproof.report.page.robustness import ROBUSTNESS
from changeproof.report.scores import Spread
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.cases import by_method
from changeproof.tables.display import Tables, listed, number, percent
from changeproof.tables.names import dataset_name, family_name, method_name

# What is said of a method that certifies and has not put its promise into words.
OTHERS = Promise("passed a test of the method's own")
COLUMNS = (
    "method", "dataset", "promised (%)", "certified (%)",
    "certified: held (%)", "not certified: held (%)",
    "lowest in any family (%)",
)  # fmt: skip


class Guarantee(NamedTuple):
    """A method's promise in words, and what happened; shares are in percent."""

    method: str
    words: str
    # The promised share of changed models; None where it is not stated.
    level: float | None
    # Whether every answer is certified.
    always: bool
    # The family that the promise is about, if it is one of the run's.
    family: str | None
    # By dataset: what is certified; what held where it was promised, of that and of the rest.
    shares: dict[str, list[float | None]]


def guarantee_section(source: Source) -> list[Part]:
    """Return every promise as a card, what happened as a table, and by family as a chart."""
    found = guarantees(source.tables, source.plan, source.results)
    if not found:
        return nothing("No method of this run promises anything.")
    if source.tables["full_results"].empty:
        return nothing("No method with a certificate is finished yet.")
    marks, cards, rows = method_marks(source.shown.methods), [], []
    for each in found:
        mark, name = for_page(marks[each.method]), source.shown.name(each.method)
        level = "" if each.level is None else f"Promised share of changed models: {each.level:g} %"
        words = f"{'Every' if each.always else 'A certified'} CFE {each.words}."
        cards.append({"mark": mark, "title": name, "words": words, "small": level})
        there = [d for d in source.present if source.scores.get(d, each.method) is not None]
        rows += [_happened(each, dataset, source) for dataset in there]
    return [
        {"cards": cards},
        table("Promises and what happened", COLUMNS, rows, texts=2),
        muted(
            "Certified: of all requests. Held: under the family that the promise is about; if it "
            "is about moved parameters, only models within its radius count. A promise is about "
            "certified CFEs; those that are not certified have a column of their own. Certified "
            "shares are never counted as robustness."
        ),
        chart(_by_family(found, source)),
    ]


def _happened(promise: Guarantee, dataset: str, source: Source) -> list[str]:
    """Return a row that puts a promise beside what happened on a dataset."""
    shown = source.shown
    under = [
        (mean, shown.name(family))
        for family in shown.families
        if (mean := source.scores.of(ROBUSTNESS, dataset, promise.method, family).mean) is not None
    ]
    lowest = min(under, default=None, key=lambda each: each[0])
    certified = "every answer" if promise.always else "not recorded"
    otherwise = ("not stated", certified, "unknown", "none")
    values = zip((promise.level, *promise.shares[dataset]), otherwise, strict=True)
    return [
        shown.name(promise.method),
        shown.name(dataset),
        *(words if value is None else f"{value:.1f}" for value, words in values),
        "undefined" if lowest is None else f"{lowest[0]:.1f} ({lowest[1]})",
    ]


def _by_family(found: Sequence[Guarantee], source: Source) -> Chart:
    shown = source.shown
    marks = method_marks(shown.methods)
    places = list(range(len(shown.families)))
    panels, rows = [], []
    for dataset in source.present:
        layers = []
        for each in found:
            mark, name = marks[each.method], shown.name(each.method)
            under = {
                family: source.scores.of(ROBUSTNESS, dataset, each.method, family)
                for family in shown.families
            }
            if each.level is not None:
                promised = [each.level] * len(places)
                flat = Mark(mark.colour, "")
                layers.append(Layer("line", places, promised, flat, width=1.5, dashed=True))
            means = [spread.mean for spread in under.values()]
            hover = [
                f"{name}, {shown.name(family)}\n{spread.text(1, shown.over[dataset], ' %')}"
                for family, spread in under.items()
            ]
            ringed = None if each.family is None else shown.families.index(each.family)
            layers.append(
                Layer("line", places, means, mark, 9, name=name, hover=hover, ringed=ringed)
            )
            rows += [
                [dataset, each.method, family, each.level, *spread]
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
        _words(source.tables["family_results"], [each.method for each in found]),
        panels,
        ["dataset", "method", "family", "promised", *Spread._fields],
        rows,
        texts=3,
    )


def guarantees(tables: Tables, plan: Plan, results: StoredResults) -> list[Guarantee]:
    """Return every promise with the certified share and what happened where it was promised."""
    shares = tables["certified"].set_index(["dataset", "method"])["certified_share_mean"].to_dict()
    certifying = set(tables["certified"]["method"])
    found = []
    for method in plan.methods:
        known = REGISTRY.known(without_settings(method))
        made = make_method(method) if known and known.promise else None
        promise = made.promised if made else OTHERS if method in certifying else None
        if promise is None:
            continue
        settings = made.settings() if made else {}
        radius = settings.get("radius")
        radius = None if isinstance(radius, str) else radius
        updates = settings[promise.updates] if promise.updates else None
        held = {d: _held(results, d, method, promise, radius, updates) for d in plan.datasets}
        found.append(
            Guarantee(
                method,
                in_words(promise, settings),
                None if promise is OTHERS else _level(settings),
                promise.always,
                promise.ground if promise.ground in plan.families else None,
                {d: [number(shares.get((d, method), np.nan)), *held[d]] for d in plan.datasets},
            )
        )
    return found


def in_words(promise: Promise, settings: Mapping[str, Any]) -> str:
    """Return what is promised of a certified CFE by a method with these settings."""
    confidence = settings.get("confidence", 1.0)
    sure, unsure = 100.0 * confidence, round(100.0 * (1.0 - confidence), 9)
    return promise.words.format(**settings, level=_level(settings), sure=sure, unsure=unsure)


def _level(settings: Mapping[str, Any]) -> float:
    return float(100.0 * settings.get("target", settings.get("robustness", 1.0)))


def _held(
    results: StoredResults,
    dataset: str,
    method: str,
    promise: Promise,
    radius: float | None,
    updates: int | None,
) -> list[float | None]:
    """Return the percent that held where the promise was made: of certified CFEs, and of others.

    A method that certifies nothing promises the same of all its counterfactuals. What is promised
    for so many updates has to hold through all of them.
    """
    shares: tuple[list[float], list[float]] = [], []
    for key in by_method(results).get((dataset, method), []):
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
                survived = results.survived(*key)[counted][:, inside]
                if updates is not None:
                    lives = Lives.of(survived, variants["replicate"][inside].tolist())
                    survived = lives.held_through >= np.minimum(lives.lengths, updates)
                found.append(100.0 * survived.mean())
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
