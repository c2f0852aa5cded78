"""Updates that follow each other: on the real rows of later times, or on rows that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, PositiveInt

from changeproof.changes.family import REPLICATES, BaseModel, Family, Label, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Integers, Singles
from changeproof.models.chains import (
    ARRIVING,
    EVERY,
    LEAVING,
    MOST_UPDATES,
    Chain,
    checked_steps,
)
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, usual_weights

Window = Literal["growing", "rolling"]
# Seeds are above those of the paper's families; those of a chain, a thousand for every future.
LATER_SEEDS, CHAIN_SEEDS = 290_000, 300_000


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
        reason = self.reason_against_task(task)
        if reason is not None or task.times is None:
            raise InputError(str(reason))
        times = task.times.to_numpy()
        later = times[task.split.update]
        updates = []
        for number, end in enumerate(cuts(later, self.updates), start=1):
            level = f"update {number}, to {_written(later[end - 1])}"
            updates.append((level, self._weights(task, times, int(end))))
        seeds = [base.seed, *(base.seed + LATER_SEEDS + r for r in range(1, self.replicates))]
        return [
            Variant(level, r, TrainingRecipe(initialisation_seed=seed, row_weights=weights))
            for r, seed in enumerate(seeds if learner.traits.has_seeds else seeds[:1])
            for level, weights in updates
        ]

    def _weights(self, task: Task, times: npt.NDArray[Any], end: int) -> Singles:
        """Return row weights: the training rows, and the part of the update pool that is known."""
        n_train = len(task.split.train)
        weights = usual_weights(n_train + end, len(task.split.update) - end)
        if self.window == "rolling":
            # The pool is in the order of time already, and later than all training rows.
            order = np.argsort(times[task.split.train], kind="stable")
            weights[[*order, *range(n_train, n_train + end)][:end]] = 0.0
        return weights


def cuts(times: npt.NDArray[Any], updates: int) -> Integers:
    """Return how many rows are known at each update; rows of the same time stay together."""
    ends = np.append(np.flatnonzero(times[1:] != times[:-1]) + 1, len(times))
    if len(ends) <= updates:
        return ends
    targets = np.arange(1, updates + 1) * len(times) / updates
    return np.unique(ends[np.searchsorted(ends, targets)])


def _written(time: Any) -> str:
    if isinstance(time, np.datetime64):
        return str(np.datetime_as_string(time, unit="D"))
    return f"{time:g}" if isinstance(time, float | np.floating) else str(time)


class Updates(Family):
    """A future of updates, one after the other, and many such futures.

    Every update starts from the last: old rows go, new ones arrive, the model is initialised
    anew, and now and then it is trained with another configuration or gets another architecture,
    which it keeps. Chance has an address: the first updates of a longer chain are those of a
    shorter one, and more futures leave the first ones as they are.

    Parameters
    ----------
    length
        How many updates follow each other.
    replicates
        How many futures.
    arriving
        How many rows of the update pool arrive with each update, as a share of the training part.
        Each arrives once; when all have, they are drawn again at random, with replacement.
    leaving
        The share of the present rows that go with each update, at random.
    every
        A new configuration or architecture comes so many updates after the last, on average.
    months
        How many months there are between two updates. With it, advice that takes time is read at
        the update by which it is done.
    steps
        What an update is made of, by the names of the families that do it once: "data-addition",
        "data-deletion", "new-initialization", "training-configuration", "architecture", which are
        the default; and "bootstrap", which draws the present rows again. One name, or several.
    """

    name = "updates"
    label = Label("Chain of updates", "chain", "Chain of updates")
    cost = 1.1
    summary = "retraining update after update, each from the last, with rows that come and go"
    source = "changeproof, docs/how-long.md"
    sequence = True

    def __init__(
        self,
        *,
        length: Annotated[int, Field(ge=1, le=MOST_UPDATES)] = 12,
        replicates: PositiveInt = REPLICATES,
        arriving: Annotated[float, Field(ge=0, lt=1)] = ARRIVING,
        leaving: Annotated[float, Field(ge=0, lt=1)] = LEAVING,
        every: PositiveInt = EVERY,
        months: PositiveFloat | None = None,
        steps: str | Sequence[str] = (),
    ) -> None:
        self.length, self.replicates, self.every = length, replicates, every
        self.months = months
        self.arriving, self.leaving, self.steps = arriving, leaving, steps
        self._steps = checked_steps([steps] if isinstance(steps, str) else steps)

    @property
    def expected_models(self) -> int:
        return self.replicates * self.length

    def reason_against(self, learner: Learner) -> str | None:
        if self._chain(learner).changes:
            return None
        return f"none of {', '.join(self._steps)} can happen to {learner.name}"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        chain = self._chain(learner)
        found = []
        for future in range(self.replicates):
            first = base.seed + CHAIN_SEEDS + MOST_UPDATES * future
            states = chain.states(task, base.seed, first.__add__, "updates", base.seed, future)
            for number, state in enumerate(islice(states, self.length), start=1):
                found.append(Variant(f"update {number}", future, *state))
        return found

    def _chain(self, learner: Learner) -> Chain[Learner]:
        return Chain(
            learner,
            [other.learner for other in learner.configurations()],
            [other.learner for other in learner.replacements()],
            self.arriving,
            self.leaving,
            self.every,
            self._steps,
        )
