"""Letters that are out: how close today's model and its successors are to their thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from changeproof.methods.answers import Counterfactuals
from changeproof.model import Floats, Integers, Stack
from changeproof.model import Model as AnyModel
from changeproof.models.thresholds import Threshold, own_scores


@dataclass(frozen=True, eq=False)
class LetterScores:
    """What models say of letters; the first is today's, the others are its successors.

    Attributes
    ----------
    row_ids
        Whose letters.
    scores
        [letters, models], NaN where there is no letter.
    thresholds
        From where on each model's scores are favourable.
    """

    row_ids: Integers
    scores: Floats
    thresholds: tuple[Threshold, ...]

    @property
    def margins(self) -> Floats:
        """How far scores are on the favourable side, [letters, models]."""
        each = [at.margins(self.scores[:, i]) for i, at in enumerate(self.thresholds)]
        return np.stack(each, axis=1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return them as arrays, to be kept."""
        return {
            "row_id": self.row_ids,
            "scores": self.scores,
            "thresholds": np.array([at.value for at in self.thresholds]),
            "lower": np.array([at.lower for at in self.thresholds], dtype=np.bool_),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Undo `to_arrays`."""
        pairs = zip(arrays["thresholds"].tolist(), arrays["lower"].tolist(), strict=True)
        thresholds = tuple(Threshold(value, lower) for value, lower in pairs)
        return cls(arrays["row_id"], arrays["scores"], thresholds)


def letter_scores(
    answers: Counterfactuals, today: AnyModel, threshold: Threshold | None, successors: Stack
) -> LetterScores:
    """Ask today's model and its successors about letters.

    Parameters
    ----------
    threshold
        Today's threshold, where it is not a half.
    """
    found = answers.found
    scores = np.full((len(answers), 1 + len(successors)), np.nan)
    asked = [own_scores(today, answers.rows[found], threshold)]
    asked += [own_scores(successors[i], answers.rows[found]) for i in range(len(successors))]
    for place, (values, _) in enumerate(asked):
        scores[found, place] = values
    return LetterScores(answers.row_ids, scores, tuple(at for _, at in asked))
