"""A small mixed task with constraints, and who asks for advice on it."""

from __future__ import annotations

import numpy as np

from changeproof import Context, Factuals, Task, own_task
from changeproof.models.network import NetworkLearner
from changeproof.networks.training import TrainingRecipe
from loans import loans

BASE_SEED = 2026


def loans_task(most_changes: int | None = None) -> Task:
    """Loans: income up in steps of 50, debts down, membership as it is."""
    return own_task(
        loans(600).drop(columns="applicant"),
        target="approved",
        favourable="yes",
        actions={
            "income": {"change": "increase", "step": 50.0, "low": 0.0, "high": 6000.0},
            "debts": {"change": "decrease"},
            "owner": {"change": "increase", "order": ["no", "yes"]},
            "member": {"change": "none"},
        },
        most_changes=most_changes,
    )


def asked(task: Task, people: int) -> tuple[Context, Factuals]:
    """Return the base network on a task, with actions, and adverse people of the test part."""
    model = NetworkLearner().train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]
    rows, ids = task.rows("test"), task.row_ids("test")
    adverse = np.flatnonzero(~model.favourable(rows))[:people]
    context = Context(task, model, BASE_SEED, actions=task.actions)
    return context, Factuals(ids[adverse], rows[adverse])
