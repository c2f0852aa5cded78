"""Who is let down: every metric by group of people, and the largest difference between groups.

Intervals are over people; see `evaluation.people`. Groups of few people are not shown, and neither
is a number with few people behind it: such numbers say more about the few than about the group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from changeproof.datasets.grouping import SMALLEST_GROUP
from changeproof.evaluation.metrics import METRICS, People
from changeproof.evaluation.people import Estimate, Sampled, difference
from changeproof.evaluation.uncertainty import LEVEL


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

    `shown` has every metric by group, NaN where fewer people than the smallest group stand behind
    it. `differences`, by metric, are NaN where fewer than two groups have it. Some groups are
    hidden, with so many people in them.
    """

    shown: dict[str, dict[str, Estimate]]
    differences: dict[str, Difference]
    hidden_groups: int
    hidden_people: int


def by_group(groups: Mapping[str, Sequence[People]], smallest: int = SMALLEST_GROUP) -> Groups:
    """Return every metric by group with its interval, and the largest differences.

    `groups` has the people of each base model by group. A person whom several base models reject
    counts once where people are counted. Groups of fewer than `smallest` people are not shown.

    The largest of several differences is picked after all were seen, so it tends to be larger than
    it would be in other people, even where groups do not differ at all. Its interval is that of
    the difference between the two groups that are farthest apart here, and wide enough to be right
    for all pairs of groups at once (Bonferroni): with k groups, at the level 1 - 0.05 / pairs. So
    an interval that excludes 0 is wrong in at most about 5 % of cases, however the pair was picked.
    It is not an interval of the largest true difference: other groups may in truth be farther
    apart.
    """
    sizes = {group: Sampled.of(each, "coverage").people for group, each in groups.items()}
    large = [group for group, size in sizes.items() if size >= smallest]
    small = [size for size in sizes.values() if 0 < size < smallest]
    found = {
        metric: {group: Sampled.of(groups[group], metric) for group in large} for metric in METRICS
    }
    shown = {
        group: {metric: _estimate(found[metric][group], smallest) for metric in METRICS}
        for group in large
    }
    differences = {metric: _largest(each, smallest) for metric, each in found.items()}
    return Groups(shown, differences, len(small), sum(small))


def _estimate(sampled: Sampled, smallest: int) -> Estimate:
    if sampled.people < smallest:
        return Estimate(math.nan, math.nan, math.nan, sampled.people)
    return sampled.estimate


def _largest(groups: Mapping[str, Sampled], smallest: int) -> Difference:
    defined = {g: each for g, each in groups.items() if each.people >= max(smallest, 1)}
    if len(defined) < 2:
        return Difference(math.nan, math.nan, math.nan, "", "")
    highest = max(defined, key=lambda group: defined[group].value)
    # Of equals, another than the highest.
    others = [group for group in defined if group != highest]
    lowest = min(others, key=lambda group: defined[group].value)
    above, below = defined[highest], defined[lowest]
    level = 1.0 - (1.0 - LEVEL) / math.comb(len(defined), 2)
    found = difference(below, above, same_people=False, same_bases=True, level=level)
    return Difference(*found, highest, lowest, min(above.people, below.people))
