"""Recourse in words: what a person is told to change, in the units of the data."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from changeproof.datasets.task import SMALLEST_SCALE, Floats, Task

RAISE, LOWER, CHANGE = "raise", "lower", "change"
# The only place where the words are: the page fills the same templates.
TEMPLATES = {
    RAISE: "Raise {feature} from {before} to {after}",
    LOWER: "Lower {feature} from {before} to {after}",
    CHANGE: "Change {feature} from {before} to {after}",
}
SIGNIFICANT_DIGITS = 3
MOST_DECIMALS = 12


class Change(NamedTuple):
    """One feature that a counterfactual changes.

    Attributes
    ----------
    feature
        Its name.
    direction
        "raise" or "lower"; "change" where the values are categories.
    before, after
        Its values in original units, with as many digits as the feature has in the data, and
        more where the method said something finer. An integer feature that is to become 70.6
        is shown as 70.6.
    size
        The change in typical deviations of the feature, as in the distance; of a category the
        sum over its columns.
    """

    feature: str
    direction: str
    before: str
    after: str
    size: float

    def __str__(self) -> str:
        return TEMPLATES[self.direction].format(
            feature=self.feature, before=self.before, after=self.after
        )


class Wording:
    """Puts recourse on a task into words.

    Parameters
    ----------
    task
        The task that rows belong to.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.names = [feature.name for feature in task.features]
        raw = task.frame.to_numpy(dtype=np.float64)
        self.decimals = [
            0 if f.categories else _decimals(raw[:, f.columns[0]], float(task.scale[f.columns[0]]))
            for f in task.features
        ]

    def values(self, row: Floats) -> list[str]:
        """Return a standardised row as text, in original units."""
        each = zip(self._original(row), self.task.features, self.decimals, strict=True)
        return [str(value) if f.categories else _text(value, digits) for value, f, digits in each]

    def changes(self, factual: Floats, counterfactual: Floats) -> list[Change]:
        """Return what changes between two standardised rows, the largest change first."""
        task = self.task
        moves = np.abs(counterfactual - factual)
        move, sizes = moves.tolist(), (moves / task.distance_scale).tolist()
        before, after = self._original(factual), self._original(counterfactual)
        changes = []
        for place, feature in enumerate(task.features):
            first, old, new = feature.columns[0], before[place], after[place]
            if feature.categories and old != new:
                size = math.fsum(sizes[column] for column in feature.columns)
                changes.append(Change(feature.name, CHANGE, str(old), str(new), size))
            elif not feature.categories and move[first] > SMALLEST_SCALE:
                changes.append(self._change(place, old, new, sizes[first]))
        return sorted(changes, key=lambda change: -change.size)

    def _original(self, row: Floats) -> list[Any]:
        """Return a standardised row as values of the original features."""
        raw = row * self.task.scale + self.task.mean
        values = raw.tolist()
        return [
            feature.decode(raw[None, list(feature.columns)])[0]
            if feature.categories
            else values[feature.columns[0]]
            for feature in self.task.features
        ]

    def _change(self, feature: int, before: float, after: float, size: float) -> Change:
        own = self.decimals[feature]
        decimals = 1 if own == 0 and not _is_whole(after) else own
        while _text(before, decimals) == _text(after, decimals) and decimals < MOST_DECIMALS:
            decimals += 1
        direction = RAISE if after > before else LOWER
        # What a person has is written as in the data, unless that would hide the difference.
        texts = [_text(before, places) for places in range(own, decimals + 1)]
        start = next(text for text in texts if float(text) == float(texts[-1]))
        return Change(self.names[feature], direction, start, _text(after, decimals), size)


def _decimals(values: Floats, scale: float) -> int:
    """Return the decimals that a feature is written with: its own, if they say something."""
    useful = max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(scale)))
    tolerance = 1e-9 * max(1.0, float(np.abs(values).max()))
    for decimals in range(useful):
        if np.abs(values - np.round(values, decimals)).max() <= tolerance:
            return decimals
    return useful


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= 1e-9 * max(1.0, abs(value))


def _text(value: float, decimals: int) -> str:
    return f"{value:z.{decimals}f}"
