"""The limit where only predictions can be had, or where not every row can be told to people.

A search among realisable rows, one feature at a time: from training rows that enough models accept,
put back to what may change, every change is made smaller as long as enough models still accept.
Then each is given up in turn for whatever else is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changeproof.datasets.task import Task
from changeproof.feasible.action import Action
from changeproof.feasible.actions import Actions
from changeproof.feasible.feature import Feature
from changeproof.feasible.search import Goal, nearest_of
from changeproof.feasible.search import nearest as nearest_row
from changeproof.methods.method import sureness
from changeproof.methods.shared.ensembles import Ensemble
from changeproof.model import Booleans, Floats, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.stack import NetworkStack

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
        goal = Goal(
            lambda rows, _: panel.accepts(rows),
            lambda rows, _: panel.margins(rows),
            1.0 / self.actions.scales.distance,
        )
        rows = [start[:, None] for start in starts]
        if nearest:
            wanted = min(nearest, MOST_NEAREST)
            near = nearest_of(self.actions, self.factuals, self._rows, goal, wanted=wanted)
            rows += [near, self.factuals[:, None]]
        several = np.concatenate(rows, axis=1)
        return nearest_row(self.actions, self.factuals, several, goal, exchanges=EXCHANGES)


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
        self.base, self.failures = base, failures
        self.ensemble = Ensemble(stacked(models))

    def accepts(self, rows: Floats) -> Booleans:
        """Return which rows the base model and enough of the others accept."""
        accepted = self.base.favourable(rows)
        accepted[accepted] = self.ensemble.accepts(rows[accepted], self.failures)
        return accepted

    def margins(self, rows: Floats) -> Floats:
        """Return the lowest logit or probability of rows, without those that may reject."""
        stack = self.ensemble.models
        values = (
            stack.logits(rows) if isinstance(stack, NetworkStack) else stack.probabilities(rows)
        )
        changed = np.partition(values, self.failures, axis=0)[self.failures]
        own = sureness(self.base)(rows)
        return np.asarray(np.minimum(own, changed))
