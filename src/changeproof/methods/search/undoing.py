"""Changes that an answer does not need are undone, one feature after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.model import Booleans, Floats, Integers

Accept = Callable[[Floats], Booleans]


def undone(actions: Actions, factuals: Floats, rows: Floats, accept: Accept) -> Floats:
    """Return rows with as many features as possible put back to what people have.

    Features are tried once each, the largest change first; one stays put back where the row is
    still accepted. A row that is realisable stays so.

    Parameters
    ----------
    actions
        What the features are, and how long a change is.
    factuals, rows
        People [people, columns] and an accepted row of each; NaN where there is none.
    accept
        Judges rows [n, columns], each on its own.
    """
    return undone_of_each(actions, factuals, rows, lambda tried, _: accept(tried))


def undone_of_each(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    accept: Callable[[Floats, Integers], Booleans],
) -> Floats:
    """Do the same where `accept` is also told whose rows it judges, as places in `rows`."""
    result = rows.copy()
    lengths = changes(actions, factuals, rows)
    # The k-th place of a person is the k-th largest change.
    order = np.argsort(-lengths, axis=1, kind="stable")
    counts = (lengths > 0.0).sum(axis=1)
    for k in range(int(counts.max(initial=0))):
        who = np.flatnonzero(k < counts)
        tried = result[who]
        for place, feature in enumerate(actions.features):
            here = order[who, k] == place
            columns = list(feature.columns)
            tried[np.ix_(here, columns)] = factuals[np.ix_(who[here], columns)]
        # Nobody is put back as a whole.
        left = (tried != factuals[who]).any(axis=1)
        who, tried = who[left], tried[left]
        if len(who):
            kept = accept(tried, who)
            result[who[kept]] = tried[kept]
    return result


def changes(actions: Actions, factuals: Floats, rows: Floats) -> Floats:
    """Return how long the change of every feature is [people, features]; 0 where a row is NaN."""
    lengths = np.zeros((len(rows), len(actions.features)))
    there = np.isfinite(rows).all(axis=1)
    each = np.abs(rows[there] - factuals[there]) / actions.scales.distance
    for place, feature in enumerate(actions.features):
        for column in feature.columns:
            lengths[there, place] += each[:, column]
    return lengths
