"""People who followed advice become part of the training data."""

from __future__ import annotations

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
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = FUTURES, updates: PositiveInt = UPDATES
    ) -> None:
        super().__init__(replicates=replicates)
        self.updates = updates
        times = {1: "once", 2: "twice", 3: "three times over"}.get(updates, f"{updates} times over")
        self.summary = f"retraining with people who followed simple advice as favourable, {times}"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return list(next(self.rounds(task, base, learner)))

    def rounds(self, task: Task, base: BaseModel, learner: Learner) -> Rounds:
        pool = task.rows("update")
        # In every future, where people are and who has followed; and the latest model.
        people = [(pool, np.zeros(len(pool), bool))] * self.replicates
        models: list[Model] = [base.model] * self.replicates
        shares = [1.0] + [share for share, _ in self.shared_out(SHARES, besides=1)]
        for update in range(1, self.updates + 1):
            variants = []
            for number, share in enumerate(shares):
                seed = base.seed + SEEDS + SEEDS_OF_A_FUTURE * number + update
                rows, followed = _after(task, models[number], *people[number], share, seed)
                if not followed.any():
                    raise InputError(
                        f"no person of the update pool of {task.name} can follow advice"
                    )
                people[number] = rows, followed
                extended = with_rows(task, rows[followed], 1)
                weights = usual_weights(len(extended.split.train), len(extended.split.update))
                weights[-int(followed.sum()) :] = 1.0
                recipe = TrainingRecipe(initialisation_seed=base.seed, row_weights=weights)
                variants.append(Variant(f"round {update}", number, recipe, task=extended))
            models = yield variants


def _after(
    task: Task, model: Model, rows: Floats, followed: Booleans, share: float, seed: int
) -> tuple[Floats, Booleans]:
    """Return where people are, and who has followed, after a share of the rejected has followed."""
    moved = np.full_like(rows, np.nan)
    rejected = ~model.favourable(rows)
    moved[rejected] = advised(task, model, rows[rejected])
    able = np.flatnonzero(np.isfinite(moved).all(axis=1))
    if not len(able):
        return rows, followed
    following = max(1, round(share * len(able)))
    who = np.random.default_rng(seed).choice(able, following, replace=False)
    rows, followed = rows.copy(), followed.copy()
    rows[who], followed[who] = moved[who], True
    return rows, followed


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
