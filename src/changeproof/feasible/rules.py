"""What rules allow, stated once: check, projection, neighbours and limits all ask `rules_on`.

Every feature has a position: of numbers the value, of two values 0 or 1, of categories the rank. A
rule about one feature allows positions from a least to a most, which may depend on the person's
own. A new kind of such rule is a field of `Action` and a line of `rules_on`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from changeproof.feasible.action import Action, ranks
from changeproof.feasible.decimals import decimals_of
from changeproof.feasible.feature import Feature
from changeproof.model import Booleans, Floats, Integers

NUMBER, BINARY, CATEGORIES = 0, 1, 2
ANY, NONE, INCREASE, DECREASE = 0, 1, 2, 3
KINDS = {"numeric": NUMBER, "integer": NUMBER, "binary": BINARY, "categorical": CATEGORIES}
CHANGES = {"any": ANY, "none": NONE, "increase": INCREASE, "decrease": DECREASE}
# The ways to break a rule, from the gravest to the mildest.
FIXED, DIRECTION, RANGE, RELATION, MOST, CATEGORY, STEP = (
    "changes what may not change",
    "changes in the wrong direction",
    "outside the range",
    "breaks a rule between features",
    "too many changes",
    "category in part",
    "no whole step",
)
WAYS = (FIXED, DIRECTION, RANGE, RELATION, MOST, CATEGORY, STEP)


class Scales(NamedTuple):
    """Per encoded column: training mean and deviation, and what is one unit of distance."""

    mean: Floats
    scale: Floats
    distance: Floats


class Rules(NamedTuple):
    """What may change, as arrays that kernels can read.

    `features` has one row per feature: its first column, how many columns, its kind and how it may
    change. Per feature: the range, by how much it may change (infinite if not stated), where steps
    begin, their size and 10 to the power of their decimals; whether the range is stated, and
    whether steps are a rule or just how numbers are rounded. Per column: `mean`, `scale`, `weight`
    (distance per unit), the place of its feature, and of categories the rank and whether advice may
    name them. `most` features may change at once.
    """

    features: Integers
    low: Floats
    high: Floats
    by: Floats
    base: Floats
    step: Floats
    power: Floats
    stated: Booleans
    whole_steps: Booleans
    mean: Floats
    scale: Floats
    weight: Floats
    feature_of: Integers
    ranks: Integers
    named: Booleans
    most: int


class Personal(NamedTuple):
    """What each person may have besides: the least and the most [people, features].

    Infinite where nothing was said. `fixed` is what may not change.
    """

    low: Floats
    high: Floats
    fixed: Booleans

    def of(self, people: Integers) -> Personal:
        return Personal(self.low[people], self.high[people], self.fixed[people])

    def among(self, places: Sequence[int]) -> Personal:
        """Return the same for some of the features."""
        some = list(places)
        return Personal(self.low[:, some], self.high[:, some], self.fixed[:, some])

    def scaled(self, mean: Floats, scale: Floats) -> Personal:
        return Personal((self.low - mean) / scale, (self.high - mean) / scale, self.fixed)


def no_limits(rows: int, features: int) -> Personal:
    shape = rows, features
    nothing = np.zeros(shape, dtype=np.bool_)
    return Personal(np.full(shape, -np.inf), np.full(shape, np.inf), nothing)


class Limits(NamedTuple):
    """What people have, and the least and the most that they may have [people, columns].

    In the units of the data. Of a category, `high` is 1 if they may have it, else 0; `low` is 1 if
    they may have no other.
    """

    own: Floats
    low: Floats
    high: Floats

    def of(self, people: Integers) -> Limits:
        return Limits(*(each[people] for each in self))


def as_rules(
    features: Sequence[Feature],
    actions: Sequence[Action],
    scales: Scales,
    data_range: tuple[Floats, Floats],
    decimals: Sequence[int],
    most_changes: int | None,
) -> Rules:
    table, numbers, whole_steps = [], [], []
    feature_of, order = np.zeros((2, len(scales.mean)), dtype=np.int64)
    named = np.ones(len(scales.mean), dtype=np.bool_)
    for place, (feature, action) in enumerate(zip(features, actions, strict=True)):
        first, columns = feature.columns[0], list(feature.columns)
        change, by = CHANGES[action.change], np.inf if action.by is None else action.by
        low = data_range[0][first] if action.low is None else action.low
        high = data_range[1][first] if action.high is None else action.high
        base = 0.0 if action.low is None or action.step is None else action.low
        step, digits = action.step, decimals[place]
        if step is None:
            step = 10.0**-digits
        else:
            digits = max(decimals_of(step), decimals_of(base))
        if feature.categories:
            known = ranks(feature, action) or list(range(len(feature.categories)))
            codes = list(range(len(feature.categories)))
            if action.among is not None:
                codes = [feature.code_of(category) for category in action.among]
            low, high = 0.0, len(feature.categories) - 1.0
            if feature.kind == "categorical":
                order[columns] = known
                named[columns] = np.isin(np.arange(len(columns)), codes)
            else:
                # One place apart: nothing is too far. Codes may fall where ranks rise.
                by = np.inf
                low, high = float(min(codes, default=1)), float(max(codes, default=0))
                if known == [1, 0] and change in (INCREASE, DECREASE):
                    change = INCREASE + DECREASE - change
        feature_of[list(feature.all_columns)] = place
        table.append((first, len(columns), KINDS[feature.kind], change))
        numbers.append((low, high, by, base, step, 10.0**digits))
        whole_steps.append(feature.kind == "integer" or action.step is not None)
    return Rules._make(
        (
            np.array(table, dtype=np.int64),
            *np.array(numbers).T.copy(),
            np.array([action.low is not None or action.high is not None for action in actions]),
            np.array(whole_steps),
            scales.mean,
            scales.scale,
            1.0 / (scales.scale * scales.distance),
            feature_of,
            order,
            named,
            len(features) if most_changes is None else most_changes,
        )
    )


class Allowed(NamedTuple):
    """A rule: the way to break it, words for that, and the positions [people, features] allowed.

    It is about what people do, or else about what they have in the end (`told`). The two are the
    same unless something follows from what they do.
    """

    way: str
    words: str
    low: Floats
    high: Floats
    told: bool = False


def rules_on(
    rules: Rules,
    own: Floats,
    low: Floats,
    high: Floats,
    by: Floats,
    personal: Personal | None = None,
) -> Iterator[Allowed]:
    """Yield every rule about single features, for people who are at `own` [people, features].

    Range and reach are given in the units of `own`.
    """
    change = rules.features[:, 3]
    none, infinite = change == NONE, np.full(own.shape, np.inf)
    yield Allowed(
        FIXED,
        "{name} may not change",
        np.where(none, own, -infinite),
        np.where(none, own, infinite),
    )
    yield Allowed(
        DIRECTION,
        "{name} may only {change}",
        np.where(change == INCREASE, own, -infinite),
        np.where(change == DECREASE, own, infinite),
    )
    yield Allowed(RANGE, "{name} may change by at most {by}", own - by, own + by)
    # A range that nobody stated is that of the data, and includes what a person has.
    yield Allowed(
        RANGE,
        "{name} leaves its range, {low} to {high}",
        np.where(rules.stated, low, np.minimum(low, own)),
        np.where(rules.stated, high, np.maximum(high, own)),
        told=True,
    )
    if personal is not None:
        yield Allowed(
            FIXED,
            "{name} may not change for this person",
            np.where(personal.fixed, own, -infinite),
            np.where(personal.fixed, own, infinite),
            told=True,
        )
        words = "{name} leaves this person's own limits"
        yield Allowed(RANGE, words, personal.low, personal.high, told=True)


def room(
    rules: Rules,
    own: Floats,
    low: Floats,
    high: Floats,
    by: Floats,
    personal: Personal | None = None,
) -> tuple[Floats, Floats]:
    """Return the least and the most positions that all rules allow; what is now may stay."""
    given = list(rules_on(rules, own, low, high, by, personal))
    lows, highs = [each.low for each in given], [each.high for each in given]
    return np.minimum(reduce(np.maximum, lows), own), np.maximum(reduce(np.minimum, highs), own)
