"""How long it takes to do what people are told."""

from __future__ import annotations

import numpy as np

from changeproof.feasible.actions import Actions
from changeproof.feasible.takes import Takes
from changeproof.model import Floats


def durations(actions: Actions, factuals: Floats, rows: Floats) -> Floats:
    """Return how many months it takes people to do what rows ask of them, all at the same time.

    NaN where nothing is said of any feature that changes. A feature of which nothing is said takes
    no time beside others.
    """
    months = np.full(len(rows), np.nan)
    sizes = actions.sizes(factuals, rows)
    for place, action in enumerate(actions.of):
        if action.takes is not None:
            takes = Takes.parsed(action.takes).lasting(sizes[:, place])
            months = np.where(sizes[:, place] > 0.0, np.fmax(months, takes), months)
    return months
