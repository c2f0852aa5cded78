"""What became better or worse from one evaluation to another, with the uncertainty of that.

Where the same people were asked, they are drawn together: what both have in common does not blur
the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from changeproof.evaluation.groups import unseen
from changeproof.evaluation.metrics import RATES
from changeproof.evaluation.people import People, drawn, interval
from changeproof.model import Floats


class Verdict(StrEnum):
    """What a difference says."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "no clear difference"
    UNDEFINED = "undefined"


class Change(NamedTuple):
    """A metric before and after, and the difference with its interval over people."""

    before: float
    after: float
    difference: float
    low: float
    high: float
    verdict: Verdict


def changes(
    before: Sequence[People],
    after: Sequence[People],
    address: Sequence[str | int],
    *,
    paired: bool,
) -> dict[str, Change]:
    """Return what became of every metric.

    Parameters
    ----------
    before, after
        The people of each base model. If `paired`, the same base models and people in the same
        order: they are drawn alike in both. Otherwise both are drawn by themselves.
    address
        Names the draws.
    paired
        Whether they are the same.
    """
    if paired:
        first, second = drawn(before, address), drawn(after, address)
        return {metric: _change(metric, first[metric], second[metric]) for metric in first}
    one, other = (
        drawn(people, (*address, side)) for people, side in ((before, "before"), (after, "after"))
    )
    found = {}
    for metric in one:
        both = [one[metric], other[metric]]
        if metric in RATES:
            sides = zip(both, (before, after), ("before", "after"), strict=True)
            both = [
                unseen(values, _most(people), (*address, side, metric))
                for values, people, side in sides
            ]
        found[metric] = _change(metric, *both)
    return found


def _most(people: Sequence[People]) -> int:
    return max(len(each.found) for each in people)


def _change(metric: str, before: Floats, after: Floats) -> Change:
    apart = after - before
    if np.isnan(apart[0]):
        return Change(float(before[0]), float(after[0]), np.nan, np.nan, np.nan, Verdict.UNDEFINED)
    low, high = interval(apart[1:])
    low, high = min(low, float(apart[0])), max(high, float(apart[0]))
    verdict = Verdict.UNCLEAR
    if low > 0.0 or high < 0.0:
        verdict = Verdict.BETTER if (low > 0.0) == (metric in RATES) else Verdict.WORSE
    return Change(float(before[0]), float(after[0]), float(apart[0]), low, high, verdict)
