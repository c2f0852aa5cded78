"""Renewal: the further change, from where a letter would have brought a person."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.actions import Actions
from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import tuning_factuals
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.method import Context, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.models.private import PrivateLearner

if TYPE_CHECKING:
    from changeproof.changes.successors import Successor

SUCCESSOR_COLUMN = "successor"


class Asking(NamedTuple):
    """What renewals are made with: the task, the base seed, and what people may be told."""

    task: Task
    base_seed: int
    actions: Actions | None


def renewals(
    letters: Counterfactuals, successors: Mapping[str, Successor], method: Method, asking: Asking
) -> pd.DataFrame:
    """Have a method advise everybody whose letter a successor breaks.

    A letter is broken if today's model accepts it and the successor does not. The method sees the
    successor as the model to satisfy, and people as their letters would have made them. What may
    change, may change from there on.

    Returns
    -------
    The method's answers, one row per successor and broken letter, with a column `successor`.
    """
    parts = []
    for name, successor in successors.items():
        if successor.reason_against(method, asking.task):
            continue
        model = successor.model(asking.task)
        broken = letters.base_valid.copy()
        broken[broken] = ~model.favourable(letters.rows[broken])
        learner = PrivateLearner(successor.learner(asking.task))
        context = Context(asking.task, model, asking.base_seed, learner, asking.actions)
        people = Factuals(letters.row_ids[broken], letters.rows[broken])
        answers = _answers(method, context, people)
        table = answers.to_frame(asking.task.feature_names)
        table.insert(0, SUCCESSOR_COLUMN, np.full(len(table), name, dtype=object))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def _answers(method: Method, context: Context, people: Factuals) -> Counterfactuals:
    """Have a method answer, tuned on the validation rows that the successor rejects."""
    found = candidates(method)
    asked = copy(found[0])
    if len(found) > 1 and len(people):
        rejected = tuning_factuals(context.task, context.model, context.base_seed)
        asked = chosen(asked, tune(found, context, rejected))
    return asked.fit(context).generate(people)
