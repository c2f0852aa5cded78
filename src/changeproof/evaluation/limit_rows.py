"""The limit where only predictions can be had, or where not every row can be told to people.

A search among realisable rows, one feature at a time: from training rows that enough models accept,
put back to what may change, every change is made smaller as long as enough models still accept.
Then each is given up in turn for whatever else is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from changeproof.datasets.action import Action
from changeproof.datasets.actions import Actions
from changeproof.datasets.feature import Feature
from changeproof.datasets.task import Task
from changeproof.methods.search.alternatives import undone
from changeproof.methods.search.realisable_rows import nearest_accepted
from changeproof.methods.search.repair import WORTHWHILE, Goal, lifted, shortened
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.stack import NetworkStack

# Of the models that reject the most training rows, how many are asked first, and then.
FIRST_ASKED = (8, 32)
ROWS_AT_ONCE = 32
EXCHANGES = 1
# More training rows to start from find next to nothing here.
MOST_NEAREST = 2
# Numbers that may be anything move in steps of about this, in deviations.
FINE = 0.01


def free_actions(task: Task) -> Actions:
    """Return what may change if anything may: every encoded column, as a number.

    Inside the range of the training rows, and in fine steps. Answers as published are rows of this
    kind, whatever a dataset says that people can do.
    """
    columns = [Feature(name, "numeric", (place,)) for place, name in enumerate(task.feature_names)]
    steps = {
        feature.name: Action(step=float(f"{FINE * scale:.1g}"))
        for feature, scale in zip(columns, task.scale, strict=True)
    }
    known = task.actions
    return Actions(columns, known.raw(task.rows("train")), known.scales, steps)


class RowSearch:
    """The shortest realisable rows that a base model and enough changed ones accept.

    Parameters
    ----------
    task, actions
        The task, and what may change.
    base, bank
        The base model, which always has to accept, and all changed models.
    factuals
        People [people, columns].
    """

    def __init__(
        self, task: Task, actions: Actions, base: Model, bank: Stack, factuals: Floats
    ) -> None:
        self.actions, self.factuals = actions, factuals
        self.base, self.bank = base, [bank[place] for place in range(len(bank))]
        train = task.rows("train")
        self._rows = train[base.favourable(train)]
        self._rejected = np.sum(~bank.favourable(self._rows), axis=1)

    def __call__(
        self, start: int, stop: int, failures: int, starts: Sequence[Floats], nearest: int
    ) -> Floats:
        """Return the shortest rows found; see `Search`."""
        strictest = start + np.argsort(-self._rejected[start:stop], kind="stable")
        panel = Panel(self.base, [self.bank[place] for place in strictest], failures)
        rows = [*starts]
        if nearest:
            near = self._nearest(panel, min(nearest, MOST_NEAREST))
            rows += [*near.transpose(1, 0, 2), self.factuals]
        several = np.concatenate(rows)
        owners = np.tile(np.arange(len(self.factuals)), len(rows))
        there = np.isfinite(several).all(axis=1)
        return self._shortest(panel, several[there], owners[there])

    def _nearest(self, panel: Panel, wanted: int) -> Floats:
        return nearest_accepted(
            self.actions,
            self.factuals,
            self._rows,
            lambda rows, _: panel.accepts(rows),
            wanted=wanted,
            at_once=ROWS_AT_ONCE,
        ).rows

    def _shortest(self, panel: Panel, starts: Floats, owners: Integers) -> Floats:
        best = np.full_like(self.factuals, np.nan)
        lengths = np.full(len(best), np.inf)
        self._keep(best, lengths, panel, starts, owners)
        waiting = np.flatnonzero(np.isfinite(lengths))
        for _ in range(EXCHANGES):
            without, differed = undone(self.actions, self.factuals[waiting], best[waiting])
            owners, given_up = waiting[np.nonzero(differed)[0]], np.nonzero(differed)[1]
            fixed = np.arange(len(self.actions.features)) == given_up[:, None]
            before = lengths.copy()
            self._keep(best, lengths, panel, without[differed], owners, fixed)
            waiting = np.flatnonzero(lengths < before)
        return best

    def _keep(
        self,
        best: Floats,
        lengths: Floats,
        panel: Panel,
        starts: Floats,
        owners: Integers,
        fixed: Booleans | None = None,
    ) -> None:
        """Repair and shorten starts, and keep what is shorter, in place."""
        people, weights = self.factuals[owners], 1.0 / self.actions.scales.distance
        goal = Goal(lambda rows, _: panel.margins(rows), panel.enough, weights)
        found, reached = lifted(self.actions, people, starts, goal, fixed)
        quick = Goal(lambda rows, _: panel.accepts(rows).astype(np.float64), 1.0, weights)
        found = shortened(self.actions, people, found, quick, reached)
        ends = np.where(reached, goal.lengths(people, found), np.inf)
        for row, owner, length in zip(found, owners, ends, strict=True):
            if length < lengths[owner] - WORTHWHILE or length < np.inf == lengths[owner]:
                best[owner], lengths[owner] = row, length


class Panel:
    """A base model and changed models, the strictest first, of which a few may reject.

    Parameters
    ----------
    base, models
        The base model, which always has to accept, and the changed ones.
    failures
        How many of these may reject.
    """

    def __init__(self, base: Model, models: Sequence[Model], failures: int) -> None:
        self.failures = failures
        self._all = stacked([base, *models])
        ends = [0, *(end for end in FIRST_ASKED if end < len(self._all)), len(self._all)]
        self._parts = [self._all.part(*each) for each in pairwise(ends)]

    @property
    def enough(self) -> float:
        """The margin of an accepted row."""
        return 0.0 if isinstance(self._all, NetworkStack) else 0.5

    def margins(self, rows: Floats) -> Floats:
        """Return the lowest logit or probability of rows, without those that may reject."""
        stack = self._all
        values = (
            stack.logits(rows) if isinstance(stack, NetworkStack) else stack.probabilities(rows)
        )
        changed = np.partition(values[1:], self.failures, axis=0)[self.failures]
        return np.asarray(np.minimum(values[0], changed))

    def accepts(self, rows: Floats) -> Booleans:
        """Return which rows are accepted; the others are asked about no longer than it takes."""
        going, rejections = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
        for place, stack in enumerate(self._parts):
            rejects = ~stack.favourable(rows[going])
            if place == 0:
                # One rejection by the base model is one too many.
                rejections += np.where(rejects[0], self.failures + 1, 0)
                rejects = rejects[1:]
            rejections[going] += rejects.sum(axis=0)
            going = np.flatnonzero(rejections <= self.failures)
            if not len(going):
                break
        return np.asarray(rejections <= self.failures)
