"""People who followed advice become part of the training data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import PositiveInt
from scipy.spatial import cKDTree

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Rounds, Variant
from changeproof.datasets.altered import with_rows
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Booleans, Floats, Model
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, usual_weights

FUTURES, UPDATES = 8, 3
# Of the rejected people; all of them can follow in one way only.
SHARES = (0.25, 0.50)
STEPS = 10
SEEDS, SEEDS_OF_A_FUTURE = 370_000, 100


class FollowedAdvice(ReplicatedFamily):
    """Retrain with people who followed advice, whose outcome counts as favourable.

    In each round some people of the update pool that the model of the round before rejects follow
    simple advice (see `advised`): all of them in the first future, 25 or 50 % in the others. The
    model is then trained from the beginning, on the training rows and on all who have followed so
    far, where they are now, as favourable. All keep the base model's initialisation.

    Parameters
    ----------
    replicates
        How many futures there are. Each has as many changed models as there are updates.
    updates
        How many rounds there are: levels "round 1", "round 2" and so on.
    """

    name = "followed-advice"
    label = Label("Followed advice", "follow", "Followed advice")
    cost = 1.4
    summary = "retraining with people who followed simple advice as favourable, three times over"
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = FUTURES, updates: PositiveInt = UPDATES
    ) -> None:
        super().__init__(replicates=replicates)
        self.updates = updates

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return list(next(self.rounds(task, base, learner)))

    def rounds(self, task: Task, base: BaseModel, learner: Learner) -> Rounds:
        futures = [_Future.first(task)] * self.replicates
        models: list[Model] = [base.model] * self.replicates
        shares = [1.0] + [share for share, _ in self.shared_out(SHARES, besides=1)]
        for update in range(1, self.updates + 1):
            variants = []
            for number, (future, model, share) in enumerate(
                zip(futures, models, shares, strict=True)
            ):
                seed = base.seed + SEEDS + SEEDS_OF_A_FUTURE * number + update
                futures[number] = after = future.after(task, model, share, seed)
                if not after.followed.any():
                    raise InputError(
                        f"no person of the update pool of {task.name} can follow advice"
                    )
                variants.append(after.variant(task, base, f"round {update}", number))
            models = yield variants


class _Future(NamedTuple):
    """Where the people of the update pool are, and who of them has followed advice so far."""

    rows: Floats
    followed: Booleans

    @classmethod
    def first(cls, task: Task) -> _Future:
        rows = task.rows("update")
        return cls(rows, np.zeros(len(rows), bool))

    def after(self, task: Task, model: Model, share: float, seed: int) -> _Future:
        """Return where people are after a share of those that the model rejects has followed."""
        moved = np.full_like(self.rows, np.nan)
        rejected = ~model.favourable(self.rows)
        moved[rejected] = advised(task, model, self.rows[rejected])
        able = np.flatnonzero(np.isfinite(moved).all(axis=1))
        if not len(able):
            return self
        following = max(1, round(share * len(able)))
        who = np.random.default_rng(seed).choice(able, following, replace=False)
        rows, followed = self.rows.copy(), self.followed.copy()
        rows[who], followed[who] = moved[who], True
        return _Future(rows, followed)

    def variant(self, task: Task, base: BaseModel, level: str, replicate: int) -> Variant:
        """Describe the model that is trained with those who have followed."""
        extended = with_rows(task, self.rows[self.followed], 1)
        weights = usual_weights(len(extended.split.train), len(extended.split.update))
        weights[-int(self.followed.sum()) :] = 1.0
        recipe = TrainingRecipe(initialisation_seed=base.seed, row_weights=weights)
        return Variant(level, replicate, recipe, task=extended)


def advised(task: Task, model: Model, rows: Floats) -> Floats:
    """Return where simple advice takes people, using a model's predictions alone.

    They go towards the nearest training row that the model accepts, in tenths of the way, and stop
    at the first place that it accepts. Categories change at half of the way, all at once. What may
    not change stays; who is accepted nowhere on the way cannot follow, and is NaN.
    """
    train = task.rows("train")
    goals = train[model.favourable(train)]
    found = np.full_like(rows, np.nan)
    if not len(goals) or not len(rows):
        return found
    nearest = goals[cKDTree(goals).query(rows)[1]]
    for feature in task.features:
        action = task.declared.get(feature.name)
        if action is not None and action.change == "none":
            nearest[:, feature.columns] = rows[:, feature.columns]
    whole = [
        column for feature in task.features if feature.categories for column in feature.columns
    ]
    # From the far end, so that the first place that is accepted is what stays.
    for step in range(STEPS, 0, -1):
        share = step / STEPS
        tried = (1.0 - share) * rows + share * nearest
        tried[:, whole] = (nearest if 2 * step >= STEPS else rows)[:, whole]
        accepted = model.favourable(tried)
        found[accepted] = tried[accepted]
    return found
