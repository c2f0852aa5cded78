"""Changes that an answer does not need are undone, and others made as small as it allows.

One feature after the other, so that a test that is dear (an ensemble, a thousand draws around a
row) is asked little. Where a score is cheap, `repair.py` looks at all alternatives at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import WIDE
from changeproof.model import Booleans, Floats, Integers

HALVINGS = 6
# Where more features than `WIDE` change: how many times some of them are put back, and of how many
# it is seen how little they need to change.
TRIES, HALVED = 40, 8

# Judges rows [n, columns] of people, who are given by their places.
Accept = Callable[[Floats, Integers], Booleans]


def undone(actions: Actions, factuals: Floats, rows: Floats, accept: Accept) -> Floats:
    """Return rows with as many features as possible put back to what people have.

    Features are tried once each, the largest change first; one stays put back where the row is
    still accepted. Of very many, several are tried at a time. A row that is realisable stays so.

    Parameters
    ----------
    actions
        What the features are, and how long a change is.
    factuals, rows
        People [people, columns] and an accepted row of each; NaN where there is none.
    accept
        Judges rows [n, columns] of people, who are given by their places in `rows`.
    """
    result = rows.copy()
    lengths = changes(actions, factuals, rows)
    # The k-th place of a person is the k-th largest change.
    ranks = np.argsort(np.argsort(-lengths, axis=1, kind="stable"), axis=1, kind="stable")
    counts = (lengths > 0.0).sum(axis=1)
    at_once = np.where(counts > WIDE, -(-counts // TRIES), 1)
    of_column = _features_of_columns(actions)
    for k in range(int(np.ceil(counts / at_once).max(initial=0.0))):
        who = np.flatnonzero(k * at_once < counts)
        turns = ranks[who] // at_once[who][:, None] == k
        tried = np.where(turns[:, of_column], factuals[who], result[who])
        # Nobody is put back as a whole.
        left = (tried != factuals[who]).any(axis=1)
        who, tried = who[left], tried[left]
        if len(who):
            kept = accept(tried, who)
            result[who[kept]] = tried[kept]
    return result


def shortened(actions: Actions, factuals: Floats, rows: Floats, accept: Accept) -> Floats:
    """Return rows whose unneeded changes are undone, and whose other numbers change less.

    Feature by feature, the largest change first, halving looks for the smallest change of a
    number with which the row is still accepted; of very many, the largest only. Rows must be
    realisable, and stay so.
    """
    result = undone(actions, factuals, rows, accept)
    lengths = changes(actions, factuals, result)
    numbers = np.array([not feature.categories for feature in actions.features])
    lengths[:, ~numbers] = 0.0
    order = np.argsort(-lengths, axis=1, kind="stable")
    first = np.array([feature.columns[0] for feature in actions.features])
    counts = (lengths > 0.0).sum(axis=1)
    counts = np.where(counts > WIDE, HALVED, counts)
    for k in range(int(counts.max(initial=0))):
        who = np.flatnonzero(k < counts)
        column = first[order[who, k]]
        own, far = factuals[who, column], result[who, column]
        too_little, enough = np.zeros(len(who)), np.ones(len(who))
        for _ in range(HALVINGS):
            share = 0.5 * (too_little + enough)
            tried = result[who]
            tried[np.arange(len(who)), column] = own + share * (far - own)
            tried = actions.project(factuals[who], tried)
            kept = np.zeros(len(who), dtype=np.bool_)
            # What is rounded to the row at hand, or to nothing, need not be asked.
            fresh = (tried != result[who]).any(axis=1) & (tried != factuals[who]).any(axis=1)
            if fresh.any():
                kept[fresh] = accept(tried[fresh], who[fresh])
            kept |= (tried == result[who]).all(axis=1)
            result[who[kept]] = tried[kept]
            enough[kept], too_little[~kept] = share[kept], share[~kept]
    return result


def shortest(actions: Actions, factuals: Floats, several: Floats, accept: Accept) -> Floats:
    """Shorten several rows of everybody [people, rows, columns] and return the shortest.

    Rows are NaN where a person has fewer; ties go to the first. Of very many features, changes
    are put back in all of them, and made smaller in the one that is the shortest then.
    """
    result = np.full(factuals.shape, np.nan)
    who, which = np.nonzero(np.isfinite(several).all(axis=2))
    wide = several.shape[2] > WIDE
    shorten = undone if wide else shortened
    short = shorten(
        actions, factuals[who], several[who, which], lambda rows, place: accept(rows, who[place])
    )
    lengths = np.full(several.shape[:2], np.inf)
    lengths[who, which] = changes(actions, factuals[who], short).sum(axis=1)
    nearest = which == lengths.argmin(axis=1)[who]
    result[who[nearest]] = short[nearest]
    return shortened(actions, factuals, result, accept) if wide else result


def _features_of_columns(actions: Actions) -> Integers:
    """Return by column which feature it belongs to."""
    places = np.zeros(len(actions.scales.scale), dtype=np.int64)
    for place, feature in enumerate(actions.features):
        places[list(feature.columns)] = place
    return places


def changes(actions: Actions, factuals: Floats, rows: Floats) -> Floats:
    """Return how long the change of every feature is [people, features]; 0 where a row is NaN."""
    lengths = np.zeros((len(rows), len(actions.features)))
    there = np.isfinite(rows).all(axis=1)
    each = np.abs(rows[there] - factuals[there]) / actions.scales.distance
    for place, feature in enumerate(actions.features):
        for column in feature.columns:
            lengths[there, place] += each[:, column]
    return lengths
