"""Retraining at later times, on the rows that were known by then."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import PositiveInt

from changeproof.changes.family import REPLICATES, BaseModel, Family, Label, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Integers, Singles
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, usual_weights

Window = Literal["growing", "rolling"]
# Above the seeds of the paper's families.
SEEDS = 290_000


class LaterData(Family):
    """Retrain at later times, on the real rows known by then.

    Needs a task that is split over time. There is one real future; several differ by the
    initialisation seed alone. The first keeps the base model's.

    Parameters
    ----------
    updates
        How often the model is trained again, up to the end of the data. There are as many rows
        between two updates, as far as rows of the same time can be told apart: where times are
        years, there is one update per year at most.
    window
        "growing": all rows known by then. "rolling": the latest, as many as the base model had.
    replicates
        How many futures, where the model has seeds; otherwise there is one.
    """

    name = "later-data"
    label = Label("Later data", "later", "Later data")
    cost = 2.0
    summary = "retraining at later times, on the real rows known by then"
    source = "changeproof, docs/how-long.md"
    sequence = True

    def __init__(
        self,
        *,
        updates: PositiveInt = 6,
        window: Window = "growing",
        replicates: PositiveInt = REPLICATES,
    ) -> None:
        self.updates, self.window, self.replicates = updates, window, replicates

    @property
    def expected_models(self) -> int:
        return self.replicates * self.updates

    def reason_against_task(self, task: Task) -> str | None:
        if task.times is None:
            return f"{task.name} has no times; name the column that says when"
        times = task.times.to_numpy()
        later = times[task.split.update]
        in_order = bool((later[1:] >= later[:-1]).all())
        if in_order and times[task.split.train].max() <= later[0]:
            return None
        return f"{task.name} is not split over time; ask for it with --over-time or over_time=True"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        reason, times = self.reason_against_task(task), task.times
        if reason is not None or times is None:
            raise InputError(str(reason))
        later = times.to_numpy()[task.split.update]
        ends = cuts(later, self.updates)
        found = []
        for future in range(self.replicates if learner.traits.has_seeds else 1):
            seed = base.seed + (SEEDS + future if future else 0)
            for number, end in enumerate(ends, start=1):
                weights = self._weights(task, int(end))
                recipe = TrainingRecipe(initialisation_seed=seed, row_weights=weights)
                level = f"update {number}, to {_shown(later[end - 1])}"
                found.append(Variant(level, future, recipe))
        return found

    def _weights(self, task: Task, end: int) -> Singles:
        """Return row weights: the training rows, and the part of the update pool that is known."""
        n_train = len(task.split.train)
        weights = usual_weights(n_train + end, len(task.split.update) - end)
        if self.window == "rolling":
            assert task.times is not None
            times = task.times.to_numpy()[task.split.train]
            # The pool is in the order of time already, and later than all training rows.
            order = [*np.argsort(times, kind="stable"), *range(n_train, n_train + end)]
            weights[order[:end]] = 0.0
        return weights


def cuts(times: npt.NDArray[Any], updates: int) -> Integers:
    """Return how many rows are known at each update; rows of the same time stay together."""
    ends = np.append(np.flatnonzero(times[1:] != times[:-1]) + 1, len(times))
    if len(ends) <= updates:
        return ends
    wanted = np.arange(1, updates + 1) * len(times) / updates
    return np.unique(ends[np.searchsorted(ends, wanted)])


def _shown(time: Any) -> str:
    if isinstance(time, np.datetime64):
        return str(np.datetime_as_string(time, unit="D"))
    return f"{time:g}" if isinstance(time, float | np.floating) else str(time)
