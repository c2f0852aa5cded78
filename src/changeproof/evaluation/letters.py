"""Letters already sent: how far models score them from their thresholds, and their renewal."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.evaluation.factuals import tuning_factuals
from changeproof.feasible.actions import Actions
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.method import Context, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.model import Floats, Integers, Stack
from changeproof.model import Model as AnyModel
from changeproof.models.private import PrivateLearner
from changeproof.models.thresholds import own_scores

if TYPE_CHECKING:
    from changeproof.changes.successors import Successor

SUCCESSOR_COLUMN = "successor"


@dataclass(frozen=True, eq=False)
class LetterScores:
    """The scores of letters [letters, models], NaN where there is no letter.

    The first model is today's, the others are its successors.
    """

    row_ids: Integers
    scores: Floats
    thresholds: tuple[Threshold, ...]

    @property
    def margins(self) -> Floats:
        """How far scores are on the favourable side [letters, models]."""
        each = [at.margins(self.scores[:, i]) for i, at in enumerate(self.thresholds)]
        return np.stack(each, axis=1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {
            "row_id": self.row_ids,
            "scores": self.scores,
            "thresholds": np.array([at.value for at in self.thresholds]),
            "lower": np.array([at.lower for at in self.thresholds], dtype=np.bool_),
        }
        ends = np.array([np.nan if at.end is None else at.end for at in self.thresholds])
        return arrays if np.isnan(ends).all() else {**arrays, "ends": ends}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        values, lower = arrays["thresholds"].tolist(), arrays["lower"].tolist()
        ends = arrays["ends"].tolist() if "ends" in arrays else [np.nan] * len(values)
        thresholds = tuple(
            Threshold(value, side, None if np.isnan(end) else end)
            for value, side, end in zip(values, lower, ends, strict=True)
        )
        return cls(arrays["row_id"], arrays["scores"], thresholds)


def letter_scores(
    answers: Counterfactuals, today: AnyModel, threshold: Threshold | None, successors: Stack
) -> LetterScores:
    """Have today's model, with its threshold where that is not a half, and successors score."""
    found = answers.found
    rows = answers.rows[found]
    later = (own_scores(successors[place], rows) for place in range(len(successors)))
    values, thresholds = zip(own_scores(today, rows, threshold), *later, strict=True)
    scores = np.full((len(answers), len(values)), np.nan)
    scores[found] = np.stack(values, axis=1)
    return LetterScores(answers.row_ids, scores, thresholds)


def renewals(
    letters: Counterfactuals,
    successors: Mapping[str, Successor],
    method: Method,
    task: Task,
    base_seed: int,
    actions: Actions | None,
) -> pd.DataFrame:
    """Have a method advise everybody whose letter a successor breaks.

    A letter is broken if today's model accepts it and the successor does not. The method sees the
    successor as the model to satisfy, and people as they are once they followed their letters:
    `actions` apply from there on. A column `successor` says whose answers a row is about.
    """
    parts = []
    for name, successor in successors.items():
        if successor.reason_against(method, task):
            continue
        model = successor.model(task)
        broken = letters.base_valid.copy()
        broken[broken] = ~model.favourable(letters.rows[broken])
        learner = PrivateLearner(successor.learner(task))
        context = Context(task, model, base_seed, learner, actions)
        people = Factuals(letters.row_ids[broken], letters.rows[broken])
        answers = _answers(method, context, people)
        table = answers.to_frame(task.feature_names)
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
