"""What the first four sections show: scores, who is ahead, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.report.page.packing import number
from changeproof.report.page.words import after, of_hundred, percent
from changeproof.runs.plan import Plan
from changeproof.runs.tables import ALL_FAMILIES

END_TO_END = METRICS.index("end_to_end_robustness")
EMPIRICAL = METRICS.index("empirical_robustness")
COVERAGE = METRICS.index("coverage")
VALIDITY = METRICS.index("base_validity")
DISTANCE = METRICS.index("distance")
MEAN, SD, LOW, HIGH = range(4)

# Of one method under one family: per metric mean, sd and both ends of the interval.
Score = list[list[float | None]]
# [dataset][family, the first being all of them][method]; None where nothing is finished.
Scores = list[list[list[Score | None]]]


def scores(intervals: pd.DataFrame, plan: Plan) -> Scores:
    """Return every metric with its spread, by position in the plan."""
    found: dict[tuple[str, str, str], Score] = {}
    for row in intervals.to_dict("records"):
        key = (row["dataset"], row["family"], row["method"])
        score = found.setdefault(key, [[None] * 4 for _ in METRICS])
        values = [number(row[which]) for which in ("mean", "std", "low", "high")]
        score[METRICS.index(row["metric"])] = values
    return [
        [
            [found.get((dataset, family, method)) for method in plan.methods]
            for family in (ALL_FAMILIES, *plan.families)
        ]
        for dataset in plan.datasets
    ]


def frontier(points: Sequence[tuple[float | None, float | None] | None]) -> list[int]:
    """Return which (robustness, distance) no other beats, the nearest first.

    A point is beaten by one that is at least as good in both and better in one. What is
    undefined beats nothing and is never on the frontier.
    """
    known = {
        place: (robustness, distance)
        for place, point in enumerate(points)
        if point is not None
        for robustness, distance in [point]
        if robustness is not None and distance is not None
    }

    def beaten(place: int) -> bool:
        robustness, distance = known[place]
        return any(
            other_r >= robustness and other_d <= distance and (other_r, other_d) != known[place]
            for other_r, other_d in known.values()
        )

    kept = [place for place in known if not beaten(place)]
    return sorted(kept, key=lambda place: (known[place][1], known[place][0]))


def answers(table: Scores, plan: Plan) -> list[list[dict[str, Any]]]:
    """Return for every dataset and family the methods in order, the frontier and sentences."""
    changes = [after(None, len(plan.families)), *(after(family) for family in plan.families)]
    return [
        [
            {
                "order": ranked(row),
                "frontier": frontier([_point(score, END_TO_END) for score in row]),
                "sentences": [
                    "" if score is None else sentence(change, method, score)
                    for method, score in zip(plan.methods, row, strict=True)
                ],
            }
            for change, row in zip(changes, families, strict=True)
        ]
        for families in table
    ]


def ranked(row: list[Score | None]) -> list[int]:
    """Return the methods by end-to-end robustness, then by distance."""

    def key(place: int) -> tuple[float, float]:
        score = row[place]
        assert score is not None
        robustness, distance = score[END_TO_END][MEAN], score[DISTANCE][MEAN]
        far = float("inf") if distance is None else distance
        return (-1.0 if robustness is None else robustness) * -1.0, far

    return sorted((place for place, score in enumerate(row) if score is not None), key=key)


def sentence(change: str, method: str, score: Score) -> str:
    """Say in plain words what a score means."""
    robustness, _, low, high = score[EMPIRICAL]
    coverage, validity = score[COVERAGE][MEAN], score[VALIDITY][MEAN]
    distance, end_to_end = score[DISTANCE][MEAN], score[END_TO_END][MEAN]
    if robustness is None or distance is None or end_to_end is None:
        return (
            f"{method} gave nobody a CFE that today's model accepts, so there is nothing that "
            f"could still hold."
        )
    narrow = low is None or high is None or low == high
    interval = "" if narrow else f" (95 % interval {low:.1f} to {high:.1f})"
    text = (
        f"{change}, {of_hundred(robustness)} CFEs by {method} still hold{interval}; people are "
        f"asked to move {distance:.1f} typical deviations per feature."
    )
    served = (coverage or 0.0) * (validity or 0.0) / 100.0
    if served < 99.5:
        text += (
            f" Only {of_hundred(served)} people get a CFE that today's model accepts, so that "
            f"{of_hundred(end_to_end)} requests end with one that holds."
        )
    return text


def price(table: Scores) -> list[list[int]]:
    """Return every dataset's frontier of empirical robustness against distance."""
    return [frontier([_point(score, EMPIRICAL) for score in families[0]]) for families in table]


def heat_map_words(table: Scores, plan: Plan) -> str:
    """Say what the heat map shows."""
    cells = [
        (value, method, dataset, family)
        for dataset, families in zip(plan.datasets, table, strict=True)
        for family, row in zip(plan.families, families[1:], strict=True)
        for method, score in zip(plan.methods, row, strict=True)
        if score is not None and (value := score[EMPIRICAL][MEAN]) is not None
    ]
    if not cells:
        return "No cell is defined: no method gave a CFE that the base model accepts."
    value, method, dataset, family = min(cells)
    high = sum(cell[0] >= 95.0 for cell in cells)
    return (
        f"Of {len(cells)} cells {high} are at 95 % or more. The lowest is {percent(value)}: "
        f"{method} on {dataset} under {family}."
    )


def hidden_words(table: Scores, plan: Plan) -> str:
    """Say where empirical robustness looks better than what people get."""
    gaps = [
        (robust - whole, method, dataset)
        for dataset, families in zip(plan.datasets, table, strict=True)
        for method, score in zip(plan.methods, families[0], strict=True)
        if score is not None
        and (robust := score[EMPIRICAL][MEAN]) is not None
        and (whole := score[END_TO_END][MEAN]) is not None
    ]
    if not gaps:
        return "Robustness is undefined everywhere: nothing was base-valid."
    gap, method, dataset = max(gaps)
    if gap < 0.05:
        return "The markers coincide: every request got a CFE that the base model accepts."
    wide = sum(each[0] >= 1.0 for each in gaps)
    return (
        f"The gap between empirical and end-to-end robustness is 1 point or more in {wide} of "
        f"{len(gaps)} rows; it is widest for {method} on {dataset}: {gap:.1f} points."
    )


def price_words(table: Scores, plan: Plan) -> str:
    """Name the methods on every dataset's frontier."""
    parts = []
    for dataset, kept in zip(plan.datasets, price(table), strict=True):
        names = ", ".join(plan.methods[place] for place in kept)
        parts.append(f"{dataset}: {names or 'nothing defined'}")
    return "On the frontier, from near to far: " + "; ".join(parts) + "."


def _point(score: Score | None, metric: int) -> tuple[float | None, float | None] | None:
    return None if score is None else (score[metric][MEAN], score[DISTANCE][MEAN])
