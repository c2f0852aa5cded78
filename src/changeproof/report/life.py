"""How long advice lasts: the life of one person's advice, and curves and sums of everybody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from changeproof.evaluation.life import Lives
from changeproof.evaluation.uncertainty import share_interval
from changeproof.report.words import AS_IT_WAS, after
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.display import listed, numbers, percent
from changeproof.tables.life import SHARES, SUMMARISED, with_ends
from changeproof.tables.names import dataset_name, family_name, method_name

# Through how many updates did it hold in nearly all futures? In so many.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Lasting:
    """Through how many updates one person's advice held.

    Attributes
    ----------
    family
        The sequence of updates.
    updates, futures
        How many updates follow each other, in how many futures.
    held_through
        For every update, in how many futures the advice held so far.
    low, high
        95 % interval of the share of futures in which it held to the end.
    sentence
        The same in words.
    """

    family: str
    updates: int
    futures: int
    held_through: tuple[int, ...]
    low: float
    high: float
    sentence: str

    @classmethod
    def of(cls, family: str, lives: Lives) -> Self:
        """Return how long the advice of a single person lasted; futures cut short do not count."""
        updates = lives.holds.shape[2]
        through = lives.held_through[0, lives.lengths == updates]
        held = tuple(int((through >= number).sum()) for number in range(1, updates + 1))
        low, high = share_interval(held[-1], len(through))
        sentence = _sentence(held, len(through), f"{100 * low:.0f} % to {100 * high:.0f} %")
        return cls(family, updates, len(through), held, low, high, sentence)


def _sentence(held: tuple[int, ...], futures: int, interval: str) -> str:
    updates = len(held)
    whole = "its one update" if updates == 1 else f"all {updates} updates"
    if futures == 1:
        number = sum(held)
        through = whole if number == updates else f"{number} of {updates} updates"
        return f"Held through {through}."
    said = (
        f"Held through {whole} in {held[-1]} of {futures} simulated futures "
        f"(95 % interval: {interval})"
    )
    nearly = [number for number in range(1, updates) if held[number - 1] >= NEARLY_ALL * futures]
    if held[-1] >= NEARLY_ALL * futures or updates == 1:
        return f"{said}."
    if nearly:
        most = nearly[-1]
        return f"{said}, and through {most} of {updates} in {held[most - 1]} of {futures}."
    return f"{said}; the first update broke it in {futures - held[0]} of {futures}."


def life(tables: Mapping[str, pd.DataFrame], plan: Plan) -> dict[str, Any] | None:
    """Return curves, sums and words for every sequence; None if the run has no such table.

    `curves` are [sequence][dataset][method][update] with the numbers of the CSV file, and None
    where nothing is finished; `sums` are texts in the same order.
    """
    curves, sums = tables.get("life", pd.DataFrame()), tables.get("life_summary", pd.DataFrame())
    if curves.empty:
        return None
    there = set(curves["family"])
    families = [family for family in plan.families if family in there]
    by = dict(iter(curves.groupby(["family", "dataset", "method"])))
    said = {(row["family"], row["dataset"], row["method"]): row for row in sums.to_dict("records")}
    places = [[(dataset, method) for method in plan.methods] for dataset in plan.datasets]
    return {
        "families": [plan.families.index(family) for family in families],
        "columns": SHARES,
        "curves": [
            [[_curve(by.get((family, *place))) for place in row] for row in places]
            for family in families
        ],
        "sums": [
            [[_sums(said.get((family, *place))) for place in row] for row in places]
            for family in families
        ],
        "words": [_words(sums[sums["family"] == family], plan) for family in families],
    }


def over_all(results: StoredResults) -> str:
    """Return how a sentence about averages begins."""
    if results.unchanged and set(results.averaged) <= set(results.unchanged):
        return AS_IT_WAS
    sequences = all(results.families[name].sequence for name in results.averaged)
    return after(None, len(results.averaged), sequences=sequences)


def about_sequences(results: StoredResults) -> list[str]:
    """Say what averages over all kinds of change are about, where there are sequences."""
    sequences = [family_name(name) for name, family in results.families.items() if family.sequence]
    if not sequences:
        return []
    if len(sequences) == len(results.families):
        return ["All changes here are sequences of updates. Averages are over all updates."]
    return [
        f"Averages over all kinds of change leave out {listed(sequences)}: there, updates follow "
        "each other. See “How long does it last?”."
    ]


def _curve(rows: pd.DataFrame | None) -> list[Any] | None:
    return None if rows is None else numbers(rows[SHARES].to_numpy(dtype=float))


def _sums(row: Mapping[Any, Any] | None) -> list[str] | None:
    return None if row is None else [with_ends(row, name) for name in SUMMARISED]


def _words(sums: pd.DataFrame, plan: Plan) -> str:
    """Say on every dataset whose advice lasts longest, and whose shortest."""
    parts = []
    for dataset in plan.datasets:
        mine = sums[(sums["dataset"] == dataset) & sums["held_to_the_end"].notna()]
        if mine.empty:
            continue
        mine = mine.sort_values("held_to_the_end", ascending=False, kind="stable")
        best, worst = mine.iloc[0], mine.iloc[-1]
        part = (
            f"On {dataset_name(dataset)}, {percent(best['held_to_the_end'])} of the CFEs by "
            f"{method_name(str(best['method']))} held through all {best['updates']:.0f} updates"
        )
        if len(mine) > 1:
            part += f", the most, and {_fate(worst)}, the fewest"
        parts.append(f"{part}.")
    return " ".join(parts) or "No base model accepts a CFE, so none has a life."


def _fate(row: pd.Series[Any]) -> str:
    told = f"{percent(row['held_to_the_end'])} of those by {method_name(str(row['method']))}"
    if np.isfinite(row["median_life"]):
        return f"{told} (half are broken by update {row['median_life'] + 1:.0f})"
    return told
