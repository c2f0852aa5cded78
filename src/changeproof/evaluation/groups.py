"""Who is let down: every metric by group of people, and the largest difference between groups.

Intervals are over people; see `evaluation.people`. Groups of few people are not shown, and
neither is a number that few people stand behind: such numbers say more about the few than about
the group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.datasets.grouping import SMALLEST_GROUP
from changeproof.evaluation.metrics import METRICS, RATES
from changeproof.evaluation.people import PERCENT, Estimate, People, Sampled, estimate
from changeproof.evaluation.uncertainty import LEVEL, rate_interval

NOT_SHOWN = Estimate(np.nan, np.nan, np.nan, 0)


class Asked(NamedTuple):
    """The people of one base model: their groups, and what became of them."""

    groups: npt.NDArray[np.object_]
    people: People


class Difference(NamedTuple):
    """The largest difference between two groups in a metric, and which groups these are.

    `people` is how many stand behind the number of the smaller of the two.
    """

    value: float
    low: float
    high: float
    highest: str
    lowest: str
    people: int = 0


class Groups(NamedTuple):
    """What became of the people of every group.

    Attributes
    ----------
    shown
        By group, every metric; NaN where fewer people than the smallest group stand behind it.
    differences
        By metric; undefined (NaN) where fewer than two groups have it.
    hidden_groups, hidden_people
        How many groups are not shown, and how many people are in them.
    """

    shown: dict[str, dict[str, Estimate]]
    differences: dict[str, Difference]
    hidden_groups: int
    hidden_people: int


def by_group(
    asked: Sequence[Asked],
    order: Sequence[str],
    smallest: int = SMALLEST_GROUP,
) -> Groups:
    """Return every metric by group with its interval, and the largest differences.

    A person whom several base models reject counts once where people are counted.

    The largest of several differences is picked after all were seen, so it tends to be larger than
    it would be in other people, even where groups do not differ at all. Its interval is that of
    the difference between the two groups that are farthest apart here, and wide enough to be right
    for all pairs of groups at once (Bonferroni): with k groups, at the level 1 - 0.05 / pairs. So
    an interval that excludes 0 is wrong in at most about 5 % of cases, however the pair was picked.
    It is not an interval of the largest difference that there is: other groups may in truth be
    farther apart.

    Parameters
    ----------
    asked
        The people of each base model.
    order
        The groups, in the order to show them.
    smallest
        The fewest people of a group, and behind a number, that are shown.
    """
    everybody = {group: _of_group(asked, group) for group in order}
    sizes = {group: Sampled.of(each, "coverage").people for group, each in everybody.items()}
    there = [group for group in order if sizes[group] >= smallest]
    small = [group for group in order if 0 < sizes[group] < smallest]
    found = {
        metric: {group: Sampled.of(everybody[group], metric) for group in there}
        for metric in METRICS
    }
    shown = {
        group: {metric: _estimate(metric, found[metric][group], smallest) for metric in METRICS}
        for group in there
    }
    differences = {
        metric: _largest(
            metric, {group: each for group, each in of.items() if each.people >= smallest}
        )
        for metric, of in found.items()
    }
    return Groups(shown, differences, len(small), sum(sizes[group] for group in small))


def _of_group(asked: Sequence[Asked], group: str) -> list[People]:
    return [each.people.of_some(np.asarray(each.groups == group)) for each in asked]


def _estimate(metric: str, sampled: Sampled, smallest: int) -> Estimate:
    if sampled.people < smallest:
        return NOT_SHOWN._replace(people=sampled.people)
    return estimate(metric, sampled)


def _largest(metric: str, groups: Mapping[str, Sampled]) -> Difference:
    """Return the difference between the two groups that are farthest apart."""
    defined = {group: each for group, each in groups.items() if each.people}
    if len(defined) < 2:
        return Difference(np.nan, np.nan, np.nan, "", "")
    highest = max(defined, key=lambda group: defined[group].value)
    # Of equals, another than the highest.
    others = [group for group in defined if group != highest]
    lowest = min(others, key=lambda group: defined[group].value)
    pairs = len(defined) * (len(defined) - 1) // 2
    above, below = defined[highest], defined[lowest]
    level = 1.0 - (1.0 - LEVEL) / pairs
    reach = above.apart_reach(below, same_people=False, same_bases=True, level=level)
    ends = difference_interval(metric, below, above, reach, same_people=False, level=level)
    unit = PERCENT if metric in RATES else 1.0
    people = min(above.people, below.people)
    return Difference(unit * (above.value - below.value), *ends, highest, lowest, people)


def difference_interval(
    metric: str,
    before: Sampled,
    after: Sampled,
    reach: float,
    *,
    same_people: bool,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Return the interval of after minus before, which may be off by a reach; rates in percent.

    Of rates among other people it goes at least as far as the intervals of both allow for people
    whom nobody met (Newcombe's way of putting two intervals together).
    """
    apart = after.value - before.value
    low, high = apart - reach, apart + reach
    if metric not in RATES:
        return (low, high) if math.isfinite(reach) else (np.nan, np.nan)
    if not same_people:
        one, two = before.value, after.value
        one_low, one_high = rate_interval(one, 0.0, before.people, level)
        two_low, two_high = rate_interval(two, 0.0, after.people, level)
        low = min(low, apart - math.hypot(two - two_low, one_high - one))
        high = max(high, apart + math.hypot(two_high - two, one - one_low))
    return PERCENT * max(low, -1.0), PERCENT * min(high, 1.0)
