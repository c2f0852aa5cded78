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
from changeproof.methods.search.few_features import FewFeatures
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
    if not len(told):
        return told.copy()
    # Of many features, those are rounded that are looked at; the others stay as told.
    few = FewFeatures(actions, model, told)
    best, other = few.people.copy(), few.rows(other_sides(actions, factuals, raw, told))
    likes = few.model.probabilities(best)
    waiting, features = np.arange(len(best)), few.actions.features
    for _ in features:
        tried = np.repeat(best[waiting][:, None], len(features), axis=1)
        for place, feature in enumerate(features):
            columns = list(feature.columns)
            tried[:, place, columns] = other[waiting][:, columns]
        flat = tried.reshape(-1, tried.shape[2])
        scores = few.model.probabilities(flat)
        if actions.rules.most < len(actions.features):
            repeated = np.repeat(factuals[waiting], len(features), axis=0)
            changes = actions.changed(repeated, few.back(flat)).sum(axis=1)
            scores[changes > actions.rules.most] = -np.inf
        scores = scores.reshape(len(waiting), -1)
        choice = scores.argmax(axis=1)
        better = scores[np.arange(len(waiting)), choice] > likes[waiting]
        moved, choice = waiting[better], choice[better]
        best[moved] = tried[better, choice]
        likes[moved] = scores[better, choice]
        waiting = moved[~few.model.favourable(best[moved])]
        if not len(waiting):
            break
    return few.back(best)
