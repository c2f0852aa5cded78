"""From a method's own answer to one that a person may be told.

An answer is projected onto the nearest realisable row. Where that costs it the base model's
acceptance, numbers are rounded to the other side and categories to the next one, one feature at a
time, as long as the model likes it better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.datasets.breaches import Breaches
from changeproof.datasets.rounding import other_sides
from changeproof.model import Booleans, Floats, Model


class Realised(NamedTuple):
    """Realisable rows, what the raw ones broke, and whether the model accepted those."""

    rows: Floats
    raw_breaches: Breaches
    raw_valid: Booleans


def realised(actions: Actions, model: Model, factuals: Floats, rows: Floats) -> Realised:
    """Return rows, one per person, as people may be told them."""
    breaches = actions.breaches(factuals, rows)
    raw_valid = model.favourable(rows)
    told = actions.project(factuals, rows)
    lost = np.flatnonzero(raw_valid & ~model.favourable(told))
    told[lost] = round_to_valid(actions, model, factuals[lost], rows[lost], told[lost])
    return Realised(told, breaches, raw_valid)


def round_to_valid(
    actions: Actions, model: Model, factuals: Floats, raw: Floats, told: Floats
) -> Floats:
    """Round features of adverse rows to the other side until the model accepts, if it does."""
    best, other = told.copy(), other_sides(actions, factuals, raw, told)
    if not len(best):
        return best
    likes = model.probabilities(best)
    waiting = np.arange(len(best))
    for _ in actions.features:
        tried = np.repeat(best[waiting][:, None], len(actions.features), axis=1)
        for place, feature in enumerate(actions.features):
            columns = list(feature.columns)
            tried[:, place, columns] = other[waiting][:, columns]
        flat = tried.reshape(-1, tried.shape[2])
        repeated = np.repeat(factuals[waiting], len(actions.features), axis=0)
        scores = model.probabilities(flat)
        scores[actions.changed(repeated, flat).sum(axis=1) > actions.rules.most] = -np.inf
        scores = scores.reshape(len(waiting), -1)
        choice = scores.argmax(axis=1)
        better = scores[np.arange(len(waiting)), choice] > likes[waiting]
        moved, choice = waiting[better], choice[better]
        best[moved] = tried[better, choice]
        likes[moved] = scores[better, choice]
        waiting = moved[~model.favourable(best[moved])]
        if not len(waiting):
            break
    return best
