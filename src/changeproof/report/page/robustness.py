"""The paper's three figures: robustness by family, what the score hides, and the price of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd

from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, Shown, cells
from changeproof.report.page.parts import (
    NOT_YET,
    Part,
    Source,
    chart,
    named_panel,
    nothing,
    spans,
)
from changeproof.report.recommendation import LEAST_PERCENT
from changeproof.report.scores import Scores, Spread, frontier_of, rows_of
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import Tables, number, percent

SPREAD = Spread._fields
ROBUSTNESS, END_TO_END = "empirical_robustness", "end_to_end_robustness"
UNDEFINED = "\N{EN DASH}  undefined: no counterfactual is valid on the base model"
BLANK = "blank: not evaluated"
# What a score hides: metric, how it is called, its mark and size.
KINDS = (
    ("coverage", "coverage", Mark("muted", "circle", open=True), 15),
    (ROBUSTNESS, "empirical robustness", Mark("series-1", "square"), 11),
    (END_TO_END, "end-to-end robustness", Mark("series-0", "diamond"), 7),
)
LIMIT = "No method can be left of this line, as far as a search that knows the changes could find."


def family_section(source: Source) -> list[Part]:
    if not source.present:
        return nothing(NOT_YET)
    unchanged, meaning = source.results.unchanged, source.meaning(source.present)
    return [chart(heat_map(source.scores, source.shown, unchanged, meaning))]


def hidden_section(source: Source) -> list[Part]:
    if not source.present:
        return nothing(NOT_YET)
    return [chart(decomposition(source.scores, source.shown))]


def price_section(source: Source) -> list[Part]:
    whole = price(source.scores, source.shown, source.tables)
    defined = [p for p in whole.panels if any(layer.kind == "points" for layer in p.layers)]
    if not defined:
        return nothing("The base model accepts no CFE yet, so there is no price.")
    return [chart(replace(whole, panels=defined))]


def score_rows(
    scores: Scores, shown: Shown, metrics: Sequence[str], families: Sequence[str] = (ALL_FAMILIES,)
) -> list[list[Any]]:
    """Return the spreads of some metrics as the rows of a table."""
    return [
        [dataset, method]
        + ([] if family == ALL_FAMILIES else [family])
        + [value for metric in metrics for value in score[metric]]
        for dataset in shown.datasets
        for family in families
        for method in shown.methods
        if (score := scores.get(dataset, method, family)) is not None
    ]


def spread_columns(metrics: Sequence[str]) -> list[str]:
    return [f"{metric}_{part}" for metric in metrics for part in SPREAD]


def heat_map(
    scores: Scores, shown: Shown, unchanged: Sequence[str] = (), meaning: str = ""
) -> Chart:
    """Return mean empirical robustness: a panel per dataset, methods down, families across."""
    methods, families = (Axis(names=shown.called(each)) for each in (shown.methods, shown.families))
    panels, blank, undefined = [], False, False
    for dataset in scores.present(shown.datasets):
        found = [[scores.get(dataset, m, f) for f in shown.families] for m in shown.methods]
        spreads = [[Spread() if s is None else s[ROBUSTNESS] for s in row] for row in found]
        there = [[score is not None for score in row] for row in found]
        blank |= not all(map(all, there))
        known = zip(chain(*there), chain(*spreads), strict=True)
        undefined |= any(is_there and spread.mean is None for is_there, spread in known)
        over = shown.over.get(dataset, "")
        panels.append(
            cells(
                methods,
                families,
                [[spread.mean for spread in row] for row in spreads],
                lambda value: f"{value:.0f}",
                [[spread.text(1, over, " %") for spread in row] for row in spreads],
                shown.name(dataset),
                there,
            )
        )
    notes = ["Empirical robustness (%), mean over base models"]
    notes += [UNDEFINED] * undefined + [BLANK] * blank
    return Chart(
        "families",
        "Empirical robustness by dataset, method and family (%)",
        "Each cell is a mean over base models and the changed models of the family. Point at a "
        "cell for its spread. “?”: undefined, because the base model accepts no CFE of this "
        f"method. {meaning}",
        heat_map_words(scores, shown, unchanged),
        panels,
        ["dataset", "method", "family", *SPREAD],
        score_rows(scores, shown, [ROBUSTNESS], shown.families),
        texts=3,
        scale=(0, 100, False),
        notes="\n".join(notes),
    )


def decomposition(scores: Scores, shown: Shown) -> Chart:
    """Return coverage, empirical and end-to-end robustness: a panel per dataset, methods down."""
    names, percents = shown.called(shown.methods), Axis(unit=" %", low=-4, high=104)
    panels = []
    for dataset in scores.present(shown.datasets):
        over = shown.over.get(dataset, "")
        each = [
            [scores.of(metric, dataset, method) for method in shown.methods] for metric, *_ in KINDS
        ]
        known = [[s.mean for s in own if s.mean is not None] for own in zip(*each, strict=True)]
        joined = [(min(own, default=None), max(own, default=None)) for own in known]
        points = [
            Layer(
                "points",
                [spread.mean for spread in own],
                mark=mark,
                size=size,
                name=name,
                hover=[f"{name}: {spread.text(1, over, ' %')}" for spread in own],
                spread=[spread.sd for spread in own],
            )
            for own, (_, name, mark, size) in zip(each, KINDS, strict=True)
        ]
        layers = [spans(joined, Mark("line", ""), 4), *points]
        panels.append(named_panel(names, percents, layers, shown.name(dataset)))
    metrics = [metric for metric, *_ in KINDS]
    return Chart(
        "hidden",
        "Coverage, empirical and end-to-end robustness (%)",
        "Means over base models and all families. The grey line joins the three.",
        hidden_words(scores, shown),
        panels,
        ["dataset", "method", *spread_columns(metrics)],
        score_rows(scores, shown, metrics),
        texts=2,
        legend=[(mark, name) for _, name, mark, _ in KINDS],
        notes=undefined_note(scores, shown),
    )


def price(scores: Scores, shown: Shown, tables: Tables) -> Chart:
    """Return empirical robustness against distance, with the frontier and, if known, the limit."""
    limits, prices = limit_curves(tables), limit_prices(tables)
    panels, kept = [], set()
    for dataset in scores.present(shown.datasets):
        over, curve = shown.over.get(dataset, ""), limits.get(dataset, [])
        robust, far = (
            [scores.of(metric, dataset, method) for method in shown.methods]
            for metric in (ROBUSTNESS, "distance")
        )
        best = frontier_of(scores.row(dataset, shown.methods), ROBUSTNESS)
        kept |= {(dataset, shown.methods[place]) for place in best}
        joined = [far[place].mean for place in best], [robust[place].mean for place in best]
        points = [
            Layer(
                "points",
                [far[place].mean],
                [robust[place].mean],
                mark,
                12,
                name=name,
                hover=[
                    f"{name}\nrobustness {robust[place].text(1, over, ' %')}"
                    f"\ndistance {far[place].text(2, over)}"
                    + _times(prices.get((dataset, shown.methods[place])))
                ],
                spread=[far[place].sd],
                spread_y=[robust[place].sd],
            )
            for place, (mark, name) in enumerate(shown.legend)
            if far[place].mean is not None and robust[place].mean is not None
        ]
        limit = Layer(
            "line",
            [distance for distance, _ in curve],
            [share for _, share in curve],
            Mark("text", "circle"),
            5,
            2,
            hover=[f"Limit\n{share} % at distance {distance:.2f}" for distance, share in curve],
        )
        lowest = min((r.mean for r in robust if r.mean is not None), default=0.0)
        reached = [d.mean for d in far if d.mean is not None] + [distance for distance, _ in curve]
        farthest = 1.08 * max(reached, default=1.0)
        panels.append(
            Panel(
                [Layer("line", *joined, Mark("bar", ""), width=6), *points, *[limit][: len(curve)]],
                Axis("distance (typical deviations per feature)", low=0, high=farthest),
                Axis("empirical robustness", " %", max(-4, lowest - 8), 105),
                shown.name(dataset),
            )
        )
    caption = (
        "Means over base models, among CFEs that the base model accepts. The pale line joins the "
        "methods that no other beats. Up and to the left is better."
    )
    notes = undefined_note(scores, shown)
    if limits:
        caption += (
            f" The short line with dots is the limit, at 95, 99 and 100 %. {LIMIT} There, every "
            "person's CFE holds in that share of the changed models."
        )
        notes = f"{notes}\nShort black line: the limit at 95, 99 and 100 %. {LIMIT}".lstrip()
    metrics = [ROBUSTNESS, "distance"]
    return Chart(
        "price",
        "Empirical robustness against distance",
        caption,
        price_words(scores, shown, tables),
        panels,
        ["dataset", "method", *spread_columns(metrics), "frontier"]
        + (["limit", "price"] if limits else []),
        [
            [*row, "yes" if (row[0], row[1]) in kept else "no"]
            + (prices.get((row[0], row[1]), [None, None]) if limits else [])
            for row in score_rows(scores, shown, metrics)
        ],
        texts=2,
        legend=shown.legend,
        notes=notes,
    )


def _times(prices: Sequence[float | None] | None) -> str:
    over = None if prices is None else prices[1]
    return "" if over is None else f"\n{over:.2f} times the limit"


def undefined_note(scores: Scores, shown: Shown) -> str:
    """Name the methods without robustness, dataset by dataset."""
    parts = []
    for dataset in shown.datasets:
        row = zip(shown.methods, scores.row(dataset, shown.methods), strict=True)
        methods = [m for m, each in row if each is not None and each[ROBUSTNESS].mean is None]
        if methods:
            parts.append(f"{', '.join(shown.called(methods))} on {shown.name(dataset)}")
    return undefined_words(parts)


def undefined_words(parts: Sequence[str]) -> str:
    """Say for whom there is nothing; nothing where there is something for all."""
    text = "Undefined, as no counterfactual is valid on the base model"
    return f"{text}: {'; '.join(parts)}." if parts else ""


def limit_curves(tables: Tables) -> dict[str, list[tuple[float, int]]]:
    """Return the limit that no method can pass, by dataset, as points (distance, share)."""
    table = tables.get("limit", pd.DataFrame())
    if table.empty:
        return {}
    overall = table[table["family"] == ALL_FAMILIES].dropna(subset=["distance_mean"])
    found: dict[str, list[tuple[float, int]]] = {}
    for row in overall.sort_values("share", kind="stable").to_dict("records"):
        point = (number(row["distance_mean"]) or 0.0, int(row["share"]))
        found.setdefault(row["dataset"], []).append(point)
    return found


def limit_prices(tables: Tables) -> dict[tuple[str, str], list[float | None]]:
    """Return [limit, price over it] by dataset and method."""
    return {
        (row["dataset"], row["method"]): [number(row["limit_mean"]), number(row["price_mean"])]
        for row in rows_of(tables, "price")
    }


def heat_map_words(scores: Scores, shown: Shown, unchanged: Sequence[str] = ()) -> str:
    """Say what the heat map shows of the families that change anything."""
    found = [
        (mean, method, dataset, family)
        for dataset in shown.datasets
        for family in shown.families
        for method in shown.methods
        if family not in unchanged
        and (mean := scores.of(ROBUSTNESS, dataset, method, family).mean) is not None
    ]
    if unchanged and not found:
        return "Nothing was tested: no changed model differs from today's."
    if not found:
        return "No cell is defined: no method gave a CFE that the base model accepts."
    value, *where = min(found)
    method, dataset, family = shown.called(where)
    high = sum(cell[0] >= 95.0 for cell in found)
    return (
        f"{high} of {len(found)} cells are at 95 % or more. The lowest is {percent(value)}: "
        f"{method} on {dataset} under {family}."
    )


def hidden_words(scores: Scores, shown: Shown) -> str:
    """Say where empirical robustness looks better than what people get."""
    gaps = [
        (robust - whole, method, dataset)
        for dataset in shown.datasets
        for method in shown.methods
        if (robust := scores.of(ROBUSTNESS, dataset, method).mean) is not None
        and (whole := scores.of(END_TO_END, dataset, method).mean) is not None
    ]
    if not gaps:
        return "Robustness is undefined everywhere: the base model accepts no CFE."
    gap, *where = max(gaps)
    if gap < 0.05:
        return (
            "Empirical and end-to-end robustness are the same: every request got a CFE that the "
            "base model accepts."
        )
    method, dataset = shown.called(where)
    wide = sum(each[0] >= 1.0 for each in gaps)
    return (
        f"The gap between empirical and end-to-end robustness is 1 point or more in {wide} of "
        f"{len(gaps)} rows. It is widest for {method} on {dataset}: {gap:.1f} points."
    )


def price_words(scores: Scores, shown: Shown, tables: Tables) -> str:
    """Name the methods on every dataset's frontier, where the limit lies, and who is near it."""
    parts = []
    for dataset in shown.datasets:
        best = frontier_of(scores.row(dataset, shown.methods), ROBUSTNESS)
        names = ", ".join(shown.name(shown.methods[place]) for place in best)
        parts.append(f"{shown.name(dataset)}: {names or 'nothing defined'}")
    return f"On the frontier, from near to far: {'; '.join(parts)}.{limit_words(tables, shown)}"


def limit_words(tables: Tables, shown: Shown) -> str:
    """Say where the limit lies, and who is closest to it of those whose answers mostly hold."""
    curves = limit_curves(tables)
    if not curves:
        return ""
    share = max(each for curve in curves.values() for _, each in curve)
    where = [
        f"{far:.2f} on {shown.name(dataset)}"
        for dataset, curve in curves.items()
        for far, each in curve
        if each == share
    ]
    words = f" The limit for advice that holds in every changed model: {', '.join(where)}."
    firm = [
        row
        for row in rows_of(tables, "price")
        if pd.notna(row["price_mean"]) and row["empirical_robustness_mean"] >= LEAST_PERCENT
    ]
    if not firm:
        return words
    best = min(firm, key=lambda row: row["price_mean"])
    return (
        f"{words} Of the methods with at least {LEAST_PERCENT} % robustness, "
        f"{shown.name(best['method'])} on {shown.name(best['dataset'])} comes closest to the limit "
        f"for its robustness: {best['price_mean']:.2f} times as far."
    )
