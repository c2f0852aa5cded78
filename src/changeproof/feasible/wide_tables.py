"""Tables with very many columns: what is bounded there, and which features are searched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from changeproof.feasible.actions import Actions
from changeproof.model import Floats, Integers, Model

# A table with more columns than these is wide, categories counted one by one. What takes longer
# with every feature is bounded there. No embedded dataset has as many.
WIDE = 200
# How many features of a wide table are searched, and how many columns these may have together.
SEARCHED, SEARCHED_COLUMNS = 32, 128
# Rows in which every feature is changed in turn, to see which move the model most.
PROBED, PROBED_AT_ONCE = 16, 4_096


def affordable(count: int, n_columns: int) -> int:
    """Return how many of something are affordable: all, but on wide tables in proportion."""
    return count if n_columns <= WIDE else max(1, count * WIDE // n_columns)


def wide_notes(n_columns: int) -> tuple[str, ...]:
    if n_columns <= WIDE:
        return ()
    return (
        f"{n_columns} columns, more than {WIDE}: advice changes the {SEARCHED} features that move "
        "the model most, and methods draw less per person (docs/own-data.md)",
    )


def searched_features(
    actions: Actions, model: Model, score: Callable[[Floats], Floats], rows: Floats
) -> Integers | None:
    """Return which features are searched: those that move a model most; None for all.

    In some adverse training rows, every feature is given the value of a favourable one. Those count
    that move the `score` of the model, how sure it is, most on average.
    """
    if rows.shape[1] <= WIDE:
        return None
    favourable = model.favourable(rows)
    some, others = rows[~favourable][:PROBED], rows[favourable][:PROBED]
    if not len(some) or not len(others):
        some, others = rows[:PROBED], rows[::-1][:PROBED]
    others = others[np.arange(len(some)) % len(others)]
    before, moved = score(some), np.zeros(len(actions.features))
    at_once = max(1, PROBED_AT_ONCE // len(some))
    for first in range(0, len(moved), at_once):
        features = actions.features[first : first + at_once]
        tried = np.repeat(some[None], len(features), axis=0)
        for place, feature in enumerate(features):
            columns = list(feature.columns)
            tried[place][:, columns] = others[:, columns]
        after = score(tried.reshape(-1, rows.shape[1])).reshape(len(features), -1)
        moved[first : first + at_once] = np.abs(after - before).mean(axis=1)
    moved[~np.array(actions.changeable)] = -1.0
    most = np.argsort(-moved, kind="stable")
    most = most[moved[most] >= 0.0][:SEARCHED]
    widths = np.cumsum([len(actions.features[place].columns) for place in most])
    fitting = max(1, int((widths <= SEARCHED_COLUMNS).sum()))
    return np.sort(most[:fitting])
