"""What must not change, in words, and whether advice keeps to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from changeproof.datasets import dataset_names
from changeproof.datasets.oddities import hard_to_change
from changeproof.datasets.recourse import Wording
from changeproof.datasets.task import Task
from changeproof.feasible.actions import Actions
from changeproof.feasible.rules import CATEGORY, WAYS
from changeproof.model import Floats, Integers
from changeproof.tables.display import listed

MAY = {
    "none": "may not change",
    "increase": "may only increase",
    "decrease": "may only decrease",
}


class Constraint(NamedTuple):
    """What a dataset, or whoever asked, said of a feature; None where nothing was said."""

    feature: str
    change: str
    low: float | int | None
    high: float | int | None
    by: float | int | None
    step: float | int | None
    reason: str


def constraints(task: Task) -> list[Constraint]:
    found = []
    for name, action in task.declared.items():
        low, high, by, step = map(_short, (action.low, action.high, action.by, action.step))
        found.append(Constraint(name, action.change, low, high, by, step, action.reason))
    return [each for each in found if each.change != "any" or _numbers(each)]


def rules(task: Task) -> str:
    """Return the constraints as one part of a sentence; nothing where there are none."""
    given = constraints(task)
    parts = []
    for change, words in MAY.items():
        features = [task.words.label(each.feature) for each in given if each.change == change]
        if features:
            parts.append(f"{listed(features)} {words}")
    parts += [
        f"{task.words.label(each.feature)} {_numbers(each)}"
        for each in given
        if each.change != "none" and _numbers(each)
    ]
    if task.keep_filled:
        parts.append("what was filled in may not change")
    most = task.most_changes
    if most is not None:
        parts.append(f"at most {most} {'feature changes' if most == 1 else 'features change'}")
    parts += task.rules
    parts += [f"{name} follows from its causes" for name in task.causes]
    if task.person_limits is not None:
        parts.append("each person's own limits")
    return "; ".join(parts)


def no_constraints(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a sentence where nobody said what may change on a table of one's own."""
    free = [task for task in tasks if task.name not in dataset_names() and not task.constrained]
    if not free:
        return
    where = f" on {listed([task.name for task in free])}" if len(tasks) > 1 else ""
    names = dict.fromkeys(feature.name for task in free for feature in task.features)
    fixed = hard_to_change(names)
    such = f", also of {listed([repr(name) for name in fixed])}" if fixed else ""
    yield (
        f"Nothing was said about what may change{where}, so advice may ask people for any "
        f"change{such}. Say what they cannot change with --immutable, --only-increase, --range and "
        "--most-changes (in Python with actions and most_changes)."
    )


def reasons(task: Task) -> list[tuple[str, str]]:
    """Return why, each reason once: the features that it is about, and the reason."""
    found: dict[str, list[str]] = {}
    for each in constraints(task):
        if each.reason:
            found.setdefault(each.reason, []).append(task.words.label(each.feature))
    return [(listed(features), reason) for reason, features in found.items()]


def broken(task: Task, factuals: Floats, rows: Floats, row_ids: Integers) -> list[str]:
    """Return for every person which stated constraint the row breaks; "" where it breaks none.

    Of a constrained category, to change in part is not allowed either.
    """
    if not task.constrained:
        return [""] * len(rows)
    # What nobody stated cannot be broken: the data's range, and that integers are whole.
    wide = np.vstack([task.frame.to_numpy(np.float64), task.actions.raw(rows)])
    features = [
        replace(feature, kind="numeric")
        if feature.kind == "integer" and action.step is None
        else feature
        for feature, action in zip(task.features, task.actions.of, strict=True)
    ]
    scales = task.actions.scales
    stated = Actions(features, wide, scales, task.declared, task.most_changes, task.relations)
    breaches = stated.for_people(task.personal_of(row_ids)).breaches(factuals, rows)
    counted = [way for way in range(len(WAYS)) if WAYS[way] != CATEGORY]
    wording, firm = Wording(task), {each.feature for each in constraints(task)}
    found = []
    for words, ways, row in zip(breaches.words, breaches.ways, rows, strict=True):
        parts = [name for name in wording.parts(row) if name in firm]
        whole = words if ways[counted].any() else ""
        found.append(whole or (f"{listed(parts)} may not change in part" if parts else ""))
    return found


def respected(text: str, advised: bool = True, breach: str = "") -> str:
    """Say what must not change (`text`, see `rules`), and whether advice keeps to it.

    `advised`: whether there is advice at all. `breach`: what it breaks.
    """
    if not text:
        return ""
    if not advised:
        return f"Constraints: {text}."
    return f"Not respected: {breach}. Constraints: {text}." if breach else f"Respected: {text}."


def why(given: Sequence[tuple[str, str]]) -> str:
    """Return reasons as one line."""
    ended = ((f, r if r.endswith((".", "!", "?")) else f"{r}.") for f, r in given)
    return " ".join(f"{features}: {reason}" for features, reason in ended)


def _numbers(each: Constraint) -> str:
    """Return range, reach and step in words; nothing where none is stated."""
    low, high, by, step = each.low, each.high, each.by, each.step
    words = []
    if low is not None and high is not None:
        words.append(f"stays between {low} and {high}")
    elif low is not None or high is not None:
        words.append(f"stays at {low} or more" if high is None else f"stays at {high} or less")
    if by is not None:
        words.append(f"changes by at most {by}")
    if step is not None:
        words.append(f"{'' if words else 'moves '}in whole steps of {step}")
    return ", ".join(words)


def _short(value: float | None) -> float | int | None:
    """Return whole numbers as whole numbers."""
    return int(value) if value is not None and value == int(value) else value
