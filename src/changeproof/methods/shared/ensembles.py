"""Several models asked at once, the strictest first: most rows that are refused are known early."""

from __future__ import annotations

from collections.abc import Sequence
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


class Groups:
    """Models that count together: a group refuses as soon as one of its models does.

    `labels` has the group of each model, in whatever numbers.
    """

    def __init__(self, labels: Sequence[int] | Integers) -> None:
        names, self.labels = np.unique(np.asarray(labels), return_inverse=True)
        self._order = np.argsort(self.labels, kind="stable")
        self._begins = np.searchsorted(self.labels[self._order], np.arange(len(names)))

    def __len__(self) -> int:
        return len(self._begins)

    def of(self, models: Integers) -> Groups:
        """Return the groups of some models, in their order."""
        return Groups(self.labels[models])

    def lowest(self, scores: Floats) -> Floats:
        """Return the lowest score of every group [groups, rows], given those of its models."""
        return np.asarray(np.minimum.reduceat(scores[self._order], self._begins, axis=0))

    def lowest_models(self, scores: Floats, failures: int, wanted: int) -> Integers:
        """Return the models of the lowest scores [at most `wanted`, rows], lowest first.

        Without those of the `failures` lowest groups. Where larger groups than others fail, fewer
        models are left, and the lowest stands there again.
        """
        lowest = np.argsort(self.lowest(scores), axis=0, kind="stable")[:failures]
        left = scores.copy()
        for groups in lowest:
            left[self.labels[:, None] == groups] = np.inf
        order = np.argsort(left, axis=0, kind="stable")
        there = np.isfinite(np.take_along_axis(left, order, axis=0))
        most = len(scores) - np.sort(np.bincount(self.labels))[:failures].sum()
        return np.where(there, order, order[0])[: min(wanted, most)]

    def refusals(self, refused: Booleans) -> Integers:
        """Return how many groups refuse each row, given which models do [models, rows]."""
        groups = np.logical_or.reduceat(refused[self._order], self._begins, axis=0)
        return np.asarray(groups.sum(axis=0))


class Ensemble:
    """Models over the same features, of which a few may refuse; or a few of their groups."""

    def __init__(self, models: Stack, groups: Groups | None = None) -> None:
        self.models, self.groups = models, groups
        ends = [0, *(end for end in FIRST_ASKED if end < len(models)), len(models)]
        self._steps = [(np.arange(*both), models.part(*both)) for both in pairwise(ends)]
        # Rows that show how strict models are, until they are in order.
        self._shown: list[Floats] | None = [] if isinstance(models, ModelStack) else None

    def __len__(self) -> int:
        return len(self.models)

    def accepts(self, rows: Floats, failures: int = 0, least: Floats | None = None) -> Booleans:
        """Return which rows all but so many models, or groups, accept, at most.

        A model accepts where it reaches its probability of `least` [models], if they are given.
        """
        if self._shown is not None:
            self._shown.append(rows[:ROWS_OF_A_QUESTION])
            if sum(map(len, self._shown)) >= ROWS_SHOWING:
                self._ask_strictest_first(np.concatenate(self._shown), failures, least)
        refusals = np.zeros(len(rows), dtype=np.int64)
        going = np.arange(len(rows))
        lost = np.zeros((0 if self.groups is None else len(self.groups), len(rows)), np.bool_)
        for which, models in self._steps:
            if not len(going):
                break
            refused = _refused(models, rows[going], None if least is None else least[which])
            if self.groups is None:
                refusals[going] += refused.sum(axis=0)
            else:
                for group, each in zip(self.groups.labels[which], refused, strict=True):
                    lost[group, going] |= each
                refusals[going] = lost[:, going].sum(axis=0)
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
