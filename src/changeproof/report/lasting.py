"""How long advice lasts, in words: shares and numbers of updates with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from changeproof.evaluation.life import Lives
from changeproof.evaluation.uncertainty import share_interval
from changeproof.report.numbers import UNDEFINED
from changeproof.runs.life_tables import ENDS

CAPTION = (
    "How long advice lasts under updates that follow each other, of advice that the base model "
    "accepts: the share that held through all updates (%); the median life, in updates; and the "
    "update by which 5 % are broken. In brackets 95 % intervals {over}. More than the last update: "
    "longer than was looked at."
)
Row = Mapping[Any, Any]


# What is counted in updates; all else is a share.
COUNTED = ("median_life", "five_percent_broken_by")


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


def told(row: Row, name: str) -> str:
    """Return a number of the summary with its interval."""
    return updates(row, name) if name in COUNTED else share(row, name)


def share(row: Row, name: str) -> str:
    """Return a share in percent with its interval: "62.9 (50.3 to 74.0)"."""
    return _with_interval(*(_percent(float(row[f"{name}{end}"])) for end in ENDS))


def updates(row: Row, name: str) -> str:
    """Return a number of updates with its interval: "4 (2 to >6)"."""
    last = int(row["updates"])
    values = (float(row[f"{name}{end}"]) for end in ENDS)
    return _with_interval(*(_number(value, last) for value in values))


def _with_interval(value: str, low: str, high: str) -> str:
    if UNDEFINED in (value, low, high) or value == low == high:
        return value
    return f"{value} ({low} to {high})"


def _percent(value: float) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:.1f}"


def _number(value: float, last: int) -> str:
    if math.isnan(value):
        return UNDEFINED
    return f"{value:.0f}" if math.isfinite(value) else f">{last}"
