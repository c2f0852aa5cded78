"""What became better or worse from one evaluation to another, with the uncertainty of that.

Where the same people were asked, they are compared one by one: what both have in common does not
blur the difference. Fewer than `FEWEST_PEOPLE` people decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from changeproof.evaluation.groups import difference_interval
from changeproof.evaluation.metrics import METRICS, RATES
from changeproof.evaluation.people import PERCENT, People, Sampled
from changeproof.evaluation.uncertainty import FEWEST_PEOPLE


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
    before: Sequence[People], after: Sequence[People], *, paired: bool
) -> dict[str, Change]:
    """Return what became of every metric.

    Parameters
    ----------
    before, after
        The people of each base model. If `paired`, the same base models and people in the same
        order.
    paired
        Whether they are the same.
    """
    if paired:
        # Two runs may number their rows differently.
        pairs = zip(before, after, strict=True)
        after = [then._replace(row_ids=now.row_ids) for now, then in pairs]
    return {
        metric: _change(metric, Sampled.of(before, metric), Sampled.of(after, metric), paired)
        for metric in METRICS
    }


def _change(metric: str, before: Sampled, after: Sampled, paired: bool) -> Change:
    unit = PERCENT if metric in RATES else 1.0
    values = (unit * before.value, unit * after.value)
    apart = unit * (after.value - before.value)
    if np.isnan(apart):
        return Change(*values, np.nan, np.nan, np.nan, Verdict.UNDEFINED)
    reach = before.apart_reach(after, same_people=paired, same_bases=paired)
    low, high = difference_interval(metric, before, after, reach, same_people=paired)
    verdict = Verdict.UNCLEAR
    enough = min(before.people, after.people) >= FEWEST_PEOPLE
    if enough and (low > 0.0 or high < 0.0):
        verdict = Verdict.BETTER if (low > 0.0) == (metric in RATES) else Verdict.WORSE
    return Change(*values, apart, low, high, verdict)
