"""The other way to round a row that is not realisable."""

from __future__ import annotations

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.datasets.breaches import PART
from changeproof.datasets.realising import project_rows
from changeproof.model import Floats


def other_sides(actions: Actions, factuals: Floats, raw: Floats, told: Floats) -> Floats:
    """Return, column by column, what rounding a row the other way would have given.

    A number becomes the whole step on the other side of the raw row, a category the next
    best that is allowed; where there is none, or nothing was rounded, it stays as told.
    """
    low, high = actions.bounds(factuals)
    other = told.copy()
    rules, raws, tolds = actions.rules, actions.raw(raw), actions.raw(told)
    for feature in actions.features:
        columns = list(feature.columns)
        if feature.kind == "categorical":
            own, here = raws[:, columns], tolds[:, columns]
            extra = rules.weight[columns] * (np.abs(1.0 - own) - np.abs(own))
            extra[(here >= 0.5) | ~actions.categories(factuals, feature)] = np.inf
            differs = (np.abs(own - here) > PART).any(axis=1)
            there = differs & np.isfinite(extra).any(axis=1)
            block = np.eye(len(columns))[extra.argmin(axis=1)]
            scaled = (block - actions.scales.mean[columns]) / actions.scales.scale[columns]
            other[np.ix_(there, columns)] = scaled[there]
            continue
        column = columns[0]
        gap = raws[:, column] - tolds[:, column]
        side = np.where(np.abs(gap) > actions.slack(raws, column), np.sign(gap), 0.0)
        moved = told[:, column] + side * rules.step[column] / actions.scales.scale[column]
        other[:, column] = np.clip(moved, low[:, column], high[:, column])
    # Features are independent of each other, but for how many may change.
    free = actions.rules._replace(most=len(actions.features))
    several = np.ascontiguousarray(other[:, None])
    project_rows(several, np.ascontiguousarray(factuals), free)
    return np.asarray(several[:, 0])
