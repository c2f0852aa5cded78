"""Methods that propose nothing of their own: the base class's search finds what passes their test.

Where everything may change, that is the same search, among rows whose every column is a number.
"""

from __future__ import annotations

import numpy as np

from changeproof.datasets.task import Task
from changeproof.feasible.action import Action
from changeproof.feasible.actions import Actions
from changeproof.feasible.feature import Feature
from changeproof.feasible.wide_tables import searched_features
from changeproof.methods.answers import BUDGET, NOTHING_FEASIBLE
from changeproof.methods.method import Candidates, Factuals, Method, sureness

# Numbers that may be anything move in steps of about this, in deviations.
FINE = 0.01


def free_actions(task: Task, fine: float = FINE) -> Actions:
    """Return what may change if anything may: every encoded column, as a number in fine steps.

    Inside the range of the training rows. Answers as published are such rows, whatever rules a
    dataset has.
    """
    columns = [Feature(name, "numeric", (place,)) for place, name in enumerate(task.feature_names)]
    steps = {
        feature.name: Action(step=float(f"{fine * scale:.1g}"))
        for feature, scale in zip(columns, task.scale, strict=True)
    }
    known = task.actions
    return Actions(columns, known.raw(task.rows("train")), known.scales, steps)


class SearchedMethod(Method):
    """A method that is a test, and no proposal: the nearest row found that passes is told.

    Subclasses implement `_accepts`. The search starts from the person's own row and from the
    nearest training rows that pass.
    """

    # In which steps numbers move where everything may change, in deviations.
    fine = FINE

    def _search(self, factuals: Factuals) -> Candidates:
        nothing, n = np.full_like(factuals.rows, np.nan), len(factuals)
        if self.context.actions is not None:
            return Candidates(nothing, reasons=[NOTHING_FEASIBLE] * n)
        free = self._free_actions()
        proposals = self._propose(free, factuals, nothing, {})
        rows = self._nearest_accepted(free, proposals)
        return Candidates(rows, reasons=[BUDGET] * n)

    def _free_actions(self) -> Actions:
        task, model = self.context.task, self.context.model
        free = free_actions(task, self.fine)
        some = searched_features(free, model, sureness(model), task.rows("train"))
        if some is None:
            return free
        return free.keeping(np.setdiff1d(np.arange(len(free.features)), some))
