"""Rules between features as people state them: whether they make sense, and fit the data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from changeproof.errors import InputError, unknown
from changeproof.feasible.action import Action
from changeproof.feasible.actions import Actions
from changeproof.feasible.decimals import written
from changeproof.feasible.feature import Feature
from changeproof.feasible.relations import ROUNDING, Follower, Relations, Situation
from changeproof.model import Booleans, Floats

# A derived feature may be something else in so many rows; there is a note about them.
MOST_ODD = 0.05
FITTED = re.compile(r"\s*fitted\s*\((.*)\)\s*", re.DOTALL)
# A coefficient is rounded to so many digits, which people can read.
DIGITS = 6


def checked_texts(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise InputError(f"rules: expected a list of texts; got {given!r}")
    return tuple(given)


def checked_causes(given: Mapping[str, str] | None) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given.values()):
        raise InputError(f"causes: expected an expression by feature; got {given!r}")
    return dict(given)


def check_relations(relations: Relations | None, declared: Mapping[str, Action]) -> None:
    """Refuse what cannot be said of a feature that follows from others."""
    for each in relations.followers if relations else ():
        name = relations.features[each.place].name if relations else ""
        action = declared.get(name)
        if not each.derived or action is None:
            continue
        said = {
            f"change = {action.change!r}": action.change in ("increase", "decrease"),
            "by": action.by is not None,
            "cost": action.cost is not None,
        }
        if wrong := [what for what, there in said.items() if there]:
            raise InputError(
                f"feature {name!r} follows from others (rule {each.text!r}), so nobody changes it; "
                f"leave out {wrong[0]}"
            )


class Misfit(NamedTuple):
    """A derived feature that the data have otherwise: where, what is there, and what follows."""

    rule: Follower
    feature: str
    odd: Booleans
    there: Floats
    value: Floats

    def __str__(self) -> str:
        first = int(self.odd.argmax())
        value = self.value[first]
        would = f"would be {value:.6g}" if np.isfinite(value) else "would have no value"
        return (
            f"rule {self.rule.text!r} does not fit {int(self.odd.sum())} of {len(self.odd)} rows: "
            f"in the first, row {first}, {self.feature} is {written(self.there[first])} and {would}"
        )


def check_fit(actions: Actions, raw: Floats, known: Booleans) -> None:
    """Refuse derived features that the data have otherwise in too many rows."""
    for each in _misfits(actions, raw, known):
        if each.odd.mean() > MOST_ODD:
            raise InputError(str(each))


def relation_notes(actions: Actions, raw: Floats, known: Booleans) -> list[str]:
    """Return what is worth knowing about rules: where the data break them, what causes what."""
    relations = actions.relations
    if relations is None:
        return []
    notes = [
        f"{each}; people keep what they have, and advice follows the rule"
        for each in _misfits(actions, raw, known)
        if each.odd.any()
    ]
    rows = actions.scaled(raw)
    here = Situation(relations, actions.rules, rows, rows)
    for text in dict.fromkeys(condition.text for condition in relations.conditions):
        own = [each for each in relations.conditions if each.text == text]
        broken = np.any([each.node.of(here).value != 1.0 for each in own], axis=0)
        if broken.any():
            notes.append(
                f"{int(broken.sum())} of {len(raw)} rows break the rule {text!r} today: they may "
                "stay as they are, but advice that changes what it names keeps to it"
            )
    for each in relations.followers:
        if not each.derived:
            notes.append(f"{relations.features[each.place].name} follows its causes: {each.text}")
    return notes


def _misfits(actions: Actions, raw: Floats, known: Booleans) -> Iterator[Misfit]:
    relations = actions.relations
    if relations is None:
        return
    rows = actions.scaled(raw)
    here = Situation(relations, actions.rules, rows, rows)
    for each in relations.followers:
        if each.derived:
            value, there = each.node.of(here).value, here.now(each.place)
            near = np.abs(there - value) <= ROUNDING * actions.rules.step[each.place]
            some = known[:, [each.place, *sorted(each.node.features)]].all(axis=1)
            name = relations.features[each.place].name
            yield Misfit(each, name, np.asarray(some & ~near), there, value)


def fitted_causes(
    causes: Mapping[str, str], features: Sequence[Feature], train: Floats
) -> dict[str, str]:
    """Return causes as expressions: what is to be fitted is fitted by least squares."""
    found = dict(causes)
    for name, text in causes.items():
        if fitted := FITTED.fullmatch(text):
            found[name] = _fitted(name, fitted[1], features, train)
    return found


def _fitted(name: str, listed: str, features: Sequence[Feature], train: Floats) -> str:
    known = {feature.name: feature for feature in features}
    parents = [parent.strip().strip("`") for parent in listed.split(",")]
    for parent in (name, *parents):
        if parent not in known:
            raise unknown("feature", parent, known)
    terms: list[tuple[str, list[float]]] = []
    for parent in parents:
        feature = known[parent]
        columns = train[:, list(feature.columns)]
        if not feature.categories:
            terms.append((f"`{parent}`", columns[:, 0].tolist()))
            continue
        codes = columns[:, 0] >= 0.5 if feature.kind == "binary" else columns.argmax(axis=1)
        for code, category in list(enumerate(feature.categories))[1:]:
            text = f"(if `{parent}` == {str(category)!r} then 1 else 0)"
            terms.append((text, (codes.astype(int) == code).astype(float).tolist()))
    goal = train[:, known[name].columns[0]].tolist()
    found = least_squares([values for _, values in terms], goal)
    parts = [f"{factor!r} * {text}" for (text, _), factor in zip(terms, found, strict=True)]
    if not any(found):
        raise InputError(f"cause of {name!r}: nothing follows from {', '.join(parents)}")
    return " + ".join(part for part, factor in zip(parts, found, strict=True) if factor)


def least_squares(columns: Sequence[Sequence[float]], goal: Sequence[float]) -> list[float]:
    """Return the slopes of the best linear prediction of a goal; nought for what adds nothing.

    In plain Python, so that every processor finds the same digits.
    """
    centred = [_centred(column) for column in (*columns, goal)]
    width = len(columns)
    table = [
        [math.fsum(a * b for a, b in zip(one, other, strict=True)) for other in centred]
        for one in centred[:width]
    ]
    sizes = [row[place] for place, row in enumerate(table)]
    used: list[int] = []
    for pivot in range(width):
        if table[pivot][pivot] <= 1e-10 * sizes[pivot] or sizes[pivot] == 0.0:
            continue
        used.append(pivot)
        for row in range(width):
            if row != pivot:
                factor = table[row][pivot] / table[pivot][pivot]
                pairs = zip(table[row], table[pivot], strict=True)
                table[row] = [a - factor * b for a, b in pairs]
    slopes = [0.0] * width
    for place in used:
        slopes[place] = float(f"{table[place][width] / table[place][place]:.{DIGITS}g}")
    return slopes


def _centred(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def rules_within(
    relations: Relations | None, causes: Mapping[str, Any], names: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the rules and the causes that name only some features."""
    if relations is None:
        return (), {}
    kept = {place for place, feature in enumerate(relations.features) if feature.name in names}
    rules = tuple(text for text, places in relations.named if places <= kept)
    return rules, {
        relations.features[each.place].name: causes[relations.features[each.place].name]
        for each in relations.followers
        if not each.derived and {each.place, *each.node.features} <= kept
    }
