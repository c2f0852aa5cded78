"""Random tables of every kind of column, with random constraints, and an obvious judge of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.custom import own_task
from changeproof.datasets.task import Task

KINDS = ("whole", "decimal", "long", "flag", "two", "several", "constant")


def random_task(seed: int, rows: int = 60) -> Task:
    """Return a task of random columns, about which random things are said."""
    generator = np.random.default_rng(seed)
    kinds = [str(kind) for kind in generator.choice(KINDS, generator.integers(2, 7))]
    frame = pd.DataFrame(
        {f"{kind} {place}": _column(generator, kind, rows) for place, kind in enumerate(kinds)}
    )
    frame["outcome"] = np.where(np.arange(rows) % 2 == 0, "no", "yes")
    actions = {name: said for name in frame.columns[:-1] if (said := _said(generator, frame, name))}
    if all(
        name.startswith("constant") or actions.get(name, {}).get("change") == "none"
        for name in frame.columns[:-1]
    ):
        actions = {}
    _restrict(np.random.default_rng([seed, 1]), frame, actions)
    most = int(generator.integers(1, 4)) if generator.random() < 0.4 else None
    return own_task(frame, target="outcome", favourable="yes", actions=actions, most_changes=most)


def _column(generator: np.random.Generator, kind: str, rows: int) -> Any:
    if kind == "whole":
        return generator.integers(-3, 40, rows) * int(generator.choice([1, 10]))
    if kind == "decimal":
        return generator.normal(50, 20, rows).round(int(generator.integers(1, 4)))
    if kind == "long":
        return generator.normal(0, 10.0 ** generator.integers(-3, 4), rows)
    if kind == "flag":
        return generator.integers(0, 2, rows)
    if kind == "two":
        return generator.permutation(np.where(np.arange(rows) % 3 == 0, "left", "right"))
    if kind == "several":
        return generator.permutation(np.array([f"c{i % 4}" for i in range(rows)]))
    return np.full(rows, 7)


def _said(generator: np.random.Generator, frame: pd.DataFrame, name: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    values = frame[name]
    change = str(generator.choice(["any", "none", "increase", "decrease"]))
    if generator.random() < 0.7:
        said["change"] = change
    if values.dtype == object or pd.api.types.is_string_dtype(values.dtype):
        if change in ("increase", "decrease") or generator.random() < 0.3:
            said["order"] = [str(each) for each in generator.permutation(sorted(set(values)))]
            if generator.random() < 0.3:
                said["by"] = float(generator.integers(1, 3))
        return said
    if generator.random() < 0.4:
        said["low"] = float(np.quantile(values, 0.05).round(2))
    if generator.random() < 0.4:
        said["high"] = float(np.quantile(values, 0.95).round(2)) + 1.0
    if generator.random() < 0.3:
        said["step"] = float(generator.choice([0.25, 0.5, 2, 5]))
    if generator.random() < 0.2:
        said["by"] = float(values.std() * 0.7 or 1.0)
    if generator.random() < 0.2:
        said["cost"] = float(generator.uniform(0.1, 3))
    return said


def _restrict(
    generator: np.random.Generator, frame: pd.DataFrame, actions: dict[str, dict[str, Any]]
) -> None:
    """Say of some columns of text which values advice may name."""
    for name in frame.columns[:-1]:
        if pd.api.types.is_string_dtype(frame[name].dtype) and generator.random() < 0.3:
            values = [str(each) for each in generator.permutation(sorted(set(frame[name])))]
            some = values[: generator.integers(1, len(values) + 1)]
            actions[name] = actions.get(name, {}) | {"among": some}


def may_be_told(task: Task, person: dict[str, Any], told: dict[str, Any]) -> bool:
    """Judge one row, in the values of the data, by the words of the rules alone."""
    changed = 0
    for feature in task.features:
        before, after = person[feature.name], told[feature.name]
        if before == after:
            continue
        changed += 1
        action = task.declared.get(feature.name)
        change = action.change if action is not None else "any"
        if change == "none":
            return False
        if feature.categories:
            if after not in feature.categories:
                return False
            if action is not None and action.among is not None and after not in action.among:
                return False
            if change != "any":
                order = list(map(str, action.order)) if action.order else None
                place = order.index if order else sorted(map(str, feature.categories)).index
                up = place(str(after)) > place(str(before))
                if up != (change == "increase"):
                    return False
            if action is not None and action.by is not None:
                order = list(map(str, action.order))
                if abs(order.index(str(after)) - order.index(str(before))) > action.by:
                    return False
            continue
        if action is not None and action.by is not None and abs(after - before) > 1e-9 + action.by:
            return False
        if (change == "increase" and after < before) or (change == "decrease" and after > before):
            return False
        column = task.frame[feature.name]
        low = column.min() if action is None or action.low is None else action.low
        high = column.max() if action is None or action.high is None else action.high
        # A row of the data is told by the shortest number that stands for it: the last digit may
        # be another.
        if not low - 1e-12 * abs(low) <= after <= high + 1e-12 * abs(high):
            return False
        step = action.step if action is not None and action.step is not None else None
        if step is None and feature.kind == "integer":
            step = 1.0
        if step is not None:
            base = action.low if action is not None and action.low is not None else 0.0
            base = base if action is not None and action.step is not None else 0.0
            steps = (after - base) / step
            if abs(steps - round(steps)) > 1e-8:
                return False
    return task.most_changes is None or changed <= task.most_changes
