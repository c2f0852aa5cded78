"""What may happen to one feature, as people write it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, PositiveFloat, model_validator

from changeproof.errors import InputError, unknown
from changeproof.feasible.feature import Feature
from changeproof.feasible.takes import Takes
from changeproof.files import validated

Change = Literal["any", "none", "increase", "decrease"]


class Action(BaseModel):
    """What may change about a feature, and how.

    Parameters
    ----------
    change
        "any", "none", "increase" or "decrease".
    low, high
        The range that advice stays in, in the units of the data; by default the data's own.
    by
        The most by which it may change: in the units of the data, or in places of the order.
    step
        Advice is a whole number of steps from `low`, or from 0 where no `low` is given. 1 for
        whole numbers by default.
    order
        All categories from least to most, where they have an order. "increase" then means later
        in this list.
    among
        The categories that advice may name; by default all. What a person has now may stay.
    cost
        What one unit of a number, or another category, adds to the distance. By default the
        paper's scale, on which one typical deviation adds 1; another category adds 1, too.
    takes
        How long a change takes: "6 months", "6 months per level" (of an order), "1 month per 500".
    reason
        Why; people are shown it.

    Examples
    --------
    >>> Action(change="increase", by=2, reason="Nobody gets younger, and few wait for years.")
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    change: Change = "any"
    low: float | None = None
    high: float | None = None
    by: PositiveFloat | None = None
    step: PositiveFloat | None = None
    order: tuple[str | bool | int | float, ...] | None = None
    among: tuple[str | bool | int | float, ...] | None = None
    cost: PositiveFloat | None = None
    takes: str | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InputError(f"the range is empty: low {self.low:g} is above high {self.high:g}")
        if self.takes is not None:
            Takes.parsed(self.takes)
        return self

    @classmethod
    def checked(cls, given: Any, name: str) -> Self:
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InputError(
                f"feature {name!r}: expected what may change, such as "
                f'{{"change": "none"}}; got {given!r}'
            )
        plain = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
        return validated(cls, plain, f"feature {name!r}")


def checked_actions(
    features: Sequence[Feature], given: Mapping[str, Any] | None
) -> dict[str, Action]:
    """Return the actions of a task by feature, in its order; refuse what does not fit it."""
    given, names = given or {}, [feature.name for feature in features]
    for name in given:
        if name not in names:
            raise unknown("feature", name, names)
    found = {}
    for feature in features:
        if feature.name in given:
            found[feature.name] = Action.checked(given[feature.name], feature.name)
            _check_kind(feature, found[feature.name])
    return found


def checked_most(given: int | None) -> int | None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InputError(f"most_changes is {given!r}; expected a whole number of 1 or more")
    return given


def ranks(feature: Feature, action: Action | None) -> list[int] | None:
    """Return the rank of every category, where they have an order: a stated or a natural one."""
    if action is not None and action.order is not None:
        codes = [feature.code_of(category) for category in action.order]
        return [codes.index(code) for code in range(len(feature.categories))]
    if all(isinstance(category, bool | int | float) for category in feature.categories):
        return list(np.argsort(np.argsort(feature.categories)))
    return None


def _check_kind(feature: Feature, action: Action) -> None:
    what = f"feature {feature.name!r}"
    if not feature.categories:
        if action.order is not None:
            raise InputError(f"{what} holds numbers; an order is for categories")
        if action.among is not None:
            raise InputError(f"{what} holds numbers; among is for categories")
        return
    for name in ("low", "high", "step"):
        if getattr(action, name) is not None:
            raise InputError(f"{what} holds categories; {name} is for numbers")
    for category in action.among or ():
        if feature.code_of(category) < 0:
            raise unknown(f"category of {what}", str(category), map(str, feature.categories))
    if action.order is not None:
        codes = [feature.code_of(category) for category in action.order]
        if sorted(codes) != list(range(len(feature.categories))):
            raise InputError(
                f"{what}: the order is {list(action.order)}; expected each of its categories "
                f"once: {', '.join(map(str, feature.categories))}"
            )
    needs_order = f"by = {action.by:g}" if action.by is not None else ""
    if action.change in ("increase", "decrease"):
        needs_order = f'change = "{action.change}"'
    if needs_order and ranks(feature, action) is None:
        raise InputError(
            f"{what} has categories without an order, so {needs_order} means nothing; give "
            "the order, from least to most: "
            f"order = [{', '.join(repr(str(c)) for c in feature.categories)}] in a dataset file, "
            "or in Python"
        )
