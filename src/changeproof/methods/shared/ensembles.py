"""Several models asked at once, the strictest first: most rows that are refused are known early."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from changeproof.model import Booleans, Floats, Integers, Stack
from changeproof.models.learner import ModelStack

# How many models have been asked about a row before the next are.
FIRST_ASKED = (2, 8, 32)
# Models that are not all networks are asked by strictness instead. So many rows show it, of which
# each question has a few.
ROWS_SHOWING, ROWS_OF_A_QUESTION = 1_024, 32
# As soon as models leave no more than this share of the rows, the next are asked about these only.
LEFT = 0.75


class Ensemble:
    """Models over the same features, of which a few may refuse."""

    def __init__(self, models: Stack) -> None:
        self.models = models
        ends = [0, *(end for end in FIRST_ASKED if end < len(models)), len(models)]
        self._steps = [(np.arange(*both), models.part(*both)) for both in pairwise(ends)]
        # Rows that show how strict models are, until they are in order.
        self._shown: list[Floats] | None = [] if isinstance(models, ModelStack) else None

    def __len__(self) -> int:
        return len(self.models)

    def accepts(self, rows: Floats, failures: int = 0, least: Floats | None = None) -> Booleans:
        """Return which rows all but so many models accept, at most.

        A model accepts where it reaches its probability of `least` [models], if they are given.
        """
        if self._shown is not None:
            self._shown.append(rows[:ROWS_OF_A_QUESTION])
            if sum(map(len, self._shown)) >= ROWS_SHOWING:
                self._ask_strictest_first(np.concatenate(self._shown), failures, least)
        refusals = np.zeros(len(rows), dtype=np.int64)
        going = np.arange(len(rows))
        for which, models in self._steps:
            if not len(going):
                break
            refused = _refused(models, rows[going], None if least is None else least[which])
            refusals[going] += refused.sum(axis=0)
            going = going[refusals[going] <= failures]
        return np.asarray(refusals <= failures)

    def _ask_strictest_first(self, rows: Floats, failures: int, least: Floats | None) -> None:
        """Find an order of models, and steps in which they are asked; answers are the same."""
        assert isinstance(self.models, ModelStack)
        steps = _strictest_first(_refused(self.models, rows, least), failures)
        self._steps = [(which, ModelStack(self.models[n] for n in which)) for which in steps]
        self._shown = None


def _refused(models: Stack, rows: Floats, least: Floats | None) -> Booleans:
    if least is None:
        return ~models.favourable(rows)
    if isinstance(models, ModelStack):
        return ~models.reaches(rows, least)
    return ~(models.probabilities(rows) >= least[:, None])


def _strictest_first(refused: Booleans, failures: int) -> list[Integers]:
    """Return models in steps: next is always the one that refuses most of what is left."""
    waiting, refusals = np.arange(len(refused)), np.zeros(refused.shape[1], np.int64)
    steps: list[list[int]] = [[]]
    before = left = refused.shape[1]
    while len(waiting):
        if before and left <= LEFT * before:
            steps.append([])
            before = left
        of_left = refused[waiting][:, refusals <= failures].sum(axis=1)
        chosen = np.lexsort((-refused[waiting].sum(axis=1), -of_left))[0]
        steps[-1].append(int(waiting[chosen]))
        refusals += refused[waiting[chosen]]
        waiting = np.delete(waiting, chosen)
        left = int((refusals <= failures).sum())
    return [np.array(step) for step in steps]
