"""Several models asked at once, a few of them first: most rows that are refused are known early."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from changeproof.model import Booleans, Floats, Stack

# How many models have been asked about a row before the next are.
FIRST_ASKED = (2, 8, 32)


class Ensemble:
    """Models over the same features, of which a few may refuse; the strictest should be first."""

    def __init__(self, models: Stack) -> None:
        self.models = models
        ends = [0, *(end for end in FIRST_ASKED if end < len(models)), len(models)]
        self._parts = [(slice(*both), models.part(*both)) for both in pairwise(ends)]

    def __len__(self) -> int:
        return len(self.models)

    def accepts(self, rows: Floats, failures: int = 0, least: Floats | None = None) -> Booleans:
        """Return which rows all but so many models accept, at most.

        A model accepts where it reaches its probability of `least` [models], if they are given.
        """
        refusals = np.zeros(len(rows), dtype=np.int64)
        going = np.arange(len(rows))
        for which, models in self._parts:
            if not len(going):
                break
            if least is None:
                refused = ~models.favourable(rows[going])
            else:
                refused = ~(models.probabilities(rows[going]) >= least[which][:, None])
            refusals[going] += refused.sum(axis=0)
            going = going[refusals[going] <= failures]
        return np.asarray(refusals <= failures)
