"""Who is let down: every metric by group of people, and the largest difference between groups.

Intervals are over people, drawn again within their group. Groups of few people are not shown, and
neither is a number that few people stand behind: such numbers say more about the few than about
the group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.datasets.grouping import SMALLEST_GROUP
from changeproof.evaluation.metrics import METRICS, RATES
from changeproof.evaluation.people import Estimate, People, drawn, interval
from changeproof.evaluation.uncertainty import LEVEL
from changeproof.model import Floats, Integers
from changeproof.randomness import stream

NOT_SHOWN = Estimate(np.nan, np.nan, np.nan, 0)


class Asked(NamedTuple):
    """The people of one base model: who they are, their groups, and what became of them."""

    row_ids: Integers
    groups: npt.NDArray[np.object_]
    people: People


class Difference(NamedTuple):
    """The largest difference between two groups in a metric, and which groups these are."""

    value: float
    low: float
    high: float
    highest: str
    lowest: str


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
    address: Sequence[str | int],
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
    address
        Names the draws; equal addresses draw the same people, so that methods can be compared.
    smallest
        The fewest people of a group, and behind a number, that are shown.
    """
    sizes = {group: _number(asked, group) for group in order}
    there = [group for group in order if sizes[group] >= smallest]
    small = [group for group in order if 0 < sizes[group] < smallest]
    draws = {group: _draws(asked, group, address, smallest) for group in there}
    shown = {
        group: {
            metric: _estimate(values, _number(asked, group, metric))
            for metric, values in draws[group].items()
        }
        for group in there
    }
    differences = {metric: _largest({g: draws[g][metric] for g in there}) for metric in METRICS}
    return Groups(shown, differences, len(small), sum(sizes[group] for group in small))


def _number(asked: Sequence[Asked], group: str, metric: str = "coverage") -> int:
    """Return how many different people of a group stand behind a metric."""
    return len({row for each in asked for row in each.row_ids[_behind(each, group, metric)]})


def _behind(asked: Asked, group: str, metric: str) -> npt.NDArray[np.bool_]:
    inside = np.asarray(asked.groups == group)
    if metric == "base_validity":
        return inside & (asked.people.found > 0)
    if metric in ("empirical_robustness", "distance"):
        return inside & (asked.people.valid > 0)
    return inside


def _draws(
    asked: Sequence[Asked], group: str, address: Sequence[str | int], smallest: int
) -> Mapping[str, Floats]:
    """Return every metric of a group as it is and in each draw; NaN where few stand behind it."""
    people = [each.people.of_some(np.asarray(each.groups == group)) for each in asked]
    everything = dict(drawn(people, address, (group,)))
    for metric, values in everything.items():
        behind = _number(asked, group, metric)
        if behind < smallest:
            everything[metric] = np.full_like(values, np.nan)
        elif metric in RATES:
            everything[metric] = unseen(values, behind, (*address, group, metric))
    return everything


def unseen(values: Floats, people: int, address: Sequence[str | int]) -> Floats:
    """Return draws of a rate as they are; where all are 0 or 100, those of what may be.

    Who is drawn again from people with one answer has that answer. That a dozen people all have
    it does not say that everybody has. The share is drawn from what so many people leave possible:
    its distribution given that all have the answer, if any share was as likely before.
    """
    if not (values == values[0]).all() or values[0] not in (0.0, 100.0):
        return values
    share = stream("never seen", *address).random(len(values) - 1) ** (1.0 / (people + 1))
    again = 100.0 * share if values[0] else 100.0 * (1.0 - share)
    return np.concatenate([values[:1], again])


def _estimate(values: Floats, behind: int) -> Estimate:
    if np.isnan(values[0]):
        return NOT_SHOWN._replace(people=behind)
    return Estimate(float(values[0]), *around(values), behind)


def around(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of what was drawn, stretched to the value itself where need be."""
    low, high = interval(values[1:], level)
    return min(low, float(values[0])), max(high, float(values[0]))


def _largest(draws: Mapping[str, Floats]) -> Difference:
    """Return the difference between the two groups that are farthest apart."""
    defined = {group: values for group, values in draws.items() if np.isfinite(values[0])}
    if len(defined) < 2:
        return Difference(np.nan, np.nan, np.nan, "", "")
    highest = max(defined, key=lambda group: float(defined[group][0]))
    # Of equals, another than the highest.
    others = [group for group in defined if group != highest]
    lowest = min(others, key=lambda group: float(defined[group][0]))
    apart = defined[highest] - defined[lowest]
    pairs = len(defined) * (len(defined) - 1) // 2
    low, high = around(apart, 1.0 - (1.0 - LEVEL) / pairs)
    return Difference(float(apart[0]), low, high, highest, lowest)
