"""Answers that are no worse than the published ones, once those are made realisable."""

from __future__ import annotations

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.search.undoing import shortened
from changeproof.model import Booleans, Floats, Integers, Model


def no_worse(task: Task, model: Model, factuals: Floats, rows: Floats, mended: Floats) -> Floats:
    """Return rows, or the mended ones where these are nearer or more likely favourable.

    A mended row is made as short as it can be without becoming less likely. So nobody for whom it
    works gets a row that is longer or less likely than it.

    Parameters
    ----------
    task, model
        What distance is, and who judges.
    factuals, rows
        People, and a realisable row of each; NaN where there is none.
    mended
        The published answers, made realisable.
    """
    works = model.favourable(mended) & (mended != factuals).any(axis=1)
    likely, there = model.probabilities(mended), np.isfinite(rows).all(axis=1)
    as_likely: Booleans = np.zeros(len(rows), dtype=np.bool_)
    as_likely[there] = model.probabilities(rows[there]) >= likely[there]
    farther = task.distances(factuals, rows) > task.distances(factuals, mended)
    who = np.flatnonzero(works & (~as_likely | farther))

    def accept(tried: Floats, places: Integers) -> Booleans:
        sure = model.probabilities(tried) >= likely[who[places]]
        return np.asarray(sure & model.favourable(tried))

    result = rows.copy()
    result[who] = shortened(task.actions, factuals[who], mended[who], accept)
    return result
