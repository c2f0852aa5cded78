"""The limit of advice that lasts: how far it is at least, and what methods cost beyond it."""

from __future__ import annotations

from typing import Any

from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, Shown
from changeproof.report.page.parts import Part, chart, table
from changeproof.report.scores import Scores, frontier, rows_of
from changeproof.tables.display import Row, Tables, fixed, number
from changeproof.tables.life import with_ends

# A level is drawn if the limit was found for so many people; otherwise it is of other people.
NEARLY_ALL = 0.9
HELD = ("held_to_the_end", "held_to_the_end_low", "held_to_the_end_high")


def limit_parts(scores: Scores, shown: Shown, tables: Tables, family: str) -> list[Part]:
    """Return the chart of a sequence and the table of its limit; nothing where there is none."""
    levels = _levels(tables, family)
    if not levels:
        return []
    cells = [
        [
            shown.name(row["dataset"]),
            _futures(row),
            f"{row['found']} of {row['people']}",
            fixed(float(row["distance_mean"]), 3),
        ]
        for row in levels
    ]
    columns = ["dataset", "holds through all updates in", "found for people", "distance"]
    return [
        chart(cost_of_lasting(scores, shown, tables, family)),
        table("The limit of advice that lasts", columns, cells, texts=3),
    ]


def cost_of_lasting(scores: Scores, shown: Shown, tables: Tables, family: str) -> Chart:
    """Return what held to the end against distance, with the limit: a panel per dataset."""
    sums = _by_method(tables, "life_summary", family)
    prices = _by_method(tables, "life_price", family)
    panels, rows = [], []
    for dataset in dict.fromkeys(dataset for dataset, _ in sums):
        points, places = [], []
        for method, (mark, name) in zip(shown.methods, shown.legend, strict=True):
            row, far = sums.get((dataset, method)), scores.of("distance", dataset, method).mean
            held = None if row is None else number(row["held_to_the_end"])
            if row is None or held is None or far is None:
                continue
            price = prices.get((dataset, method), {})
            limit, over = (number(price.get(f"{n}_mean", "nan")) for n in ("limit", "price"))
            times = "" if over is None else f"\n{over:.2f} times the limit"
            text = f"{name}\nheld {with_ends(row, HELD[0])} %\ndistance {far:.2f}{times}"
            points.append(Layer("points", [far], [held], mark, 12, name=name, hover=[text]))
            places.append((far, held))
            rows.append([dataset, method, *(number(row[each]) for each in HELD), far, limit, over])
        best = [places[place] for place in frontier((held, far) for far, held in places)]
        drawn = [Layer("line", *_across(best), Mark("bar", ""), width=6), *points]
        curve = _curve(tables, family, dataset)
        if curve:
            drawn.append(
                Layer(
                    "line",
                    *_across([(far, share) for far, share, _ in curve]),
                    Mark("text", "circle"),
                    7,
                    2,
                    hover=[f"Limit\n{where} at distance {far:.2f}" for far, _, where in curve],
                )
            )
        reached = [*(far for far, _ in places), *(far for far, *_ in curve)]
        lowest = min((held for _, held in places), default=0.0)
        panels.append(
            Panel(
                drawn,
                Axis(
                    "distance (typical deviations per feature)",
                    low=0,
                    high=1.08 * max(reached, default=1.0),
                ),
                Axis("held to the end", " %", max(-4, lowest - 8), 105),
                shown.name(dataset),
            )
        )
    dots = (
        "are the limit: the shortest changes found, by a search that knows the futures, with which "
        "everybody's advice holds through all updates in that share of futures."
    )
    return Chart(
        "life-price",
        "Held to the end against distance",
        "Of the CFEs that the base model accepts, the share that held through all updates. The "
        "pale line joins the methods that no other beats. Up and to the left is better. The small "
        f"dots {dots}",
        life_limit_words(tables, family, shown),
        panels,
        ["dataset", "method", *HELD, "distance", "limit", "price"],
        rows,
        texts=2,
        legend=shown.legend,
        notes=f"{shown.name(family)}: of the counterfactuals that are valid on the base model, the "
        f"share that held through all updates. Small black dots {dots}",
    )


def life_limit_words(tables: Tables, family: str, shown: Shown) -> str:
    """Say how far advice that lasts is at least; nothing where the limit is not known."""
    parts: dict[str, list[str]] = {}
    for row in _levels(tables, family):
        far = f"{row['distance_mean']:.2f}" if row["found"] else "none found"
        some = 0 < row["found"] < row["people"]
        who = f" (found for {row['found']} of {row['people']} people)" if some else ""
        parts.setdefault(row["dataset"], []).append(f"{far} in {_futures(row)}{who}")
    if not parts:
        return ""
    words = [f"on {shown.name(dataset)} {', '.join(own)}" for dataset, own in parts.items()]
    return f"The limit for advice that holds through all updates: {'; '.join(words)}."


def _futures(row: Row) -> str:
    """Return in how many futures advice at a limit holds: "24 of 25 futures"."""
    every, failures = int(row["futures"]), int(row["may_break"])
    if every == 1:
        return "the one future"
    return f"all {every} futures" if not failures else f"{every - failures} of {every} futures"


def _levels(tables: Tables, family: str) -> list[dict[Any, Any]]:
    return rows_of(tables, "life_limit", family=family)


def _curve(tables: Tables, family: str, dataset: str) -> list[tuple[float, float, str]]:
    """Return the limit on a dataset: how far, in what share of futures, and the same in words."""
    return [
        (
            float(f"{row['distance_mean']:.6g}"),
            100.0 * (row["futures"] - row["may_break"]) / row["futures"],
            _futures(row),
        )
        for row in reversed(_levels(tables, family))
        if row["dataset"] == dataset and row["found"] >= NEARLY_ALL * max(1, row["people"])
    ]


def _by_method(tables: Tables, name: str, family: str) -> dict[tuple[str, str], Row]:
    rows = rows_of(tables, name, family=family)
    return {(row["dataset"], row["method"]): row for row in rows}


def _across(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
