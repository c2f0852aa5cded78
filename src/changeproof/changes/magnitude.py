"""How far a changed model is from its base model, seen in its outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.model import Model, Stack

# Of models times rows: how many predictions are held at once.
PREDICTIONS_AT_ONCE = 4_000_000


def change_magnitudes(task: Task, base: Model, stack: Stack) -> pd.DataFrame:
    """Measure every model of a stack against its base model on the whole test set.

    Returns
    -------
    One row per model: `hard_disagreement` (share of test rows whose class changes),
    `probability_mae` (mean absolute difference of the probabilities), `balanced_accuracy`. All are
    NaN for a model that does not know the test rows, as a table of scores.
    """
    from sklearn.metrics import balanced_accuracy_score  # 0.4 s that reading a run does without

    rows, labels = task.rows("test"), task.labels_of("test")
    judged, likely = base.favourable(rows), base.probabilities(rows)
    at_once = max(1, PREDICTIONS_AT_ONCE // max(1, len(rows)))
    parts = []
    for first in range(0, max(1, len(stack)), at_once):
        some = stack.part(first, min(first + at_once, len(stack)))
        predictions = some.favourable(rows)
        difference = np.abs(some.probabilities(rows) - likely).mean(axis=1)
        known = ~np.isnan(difference)
        accuracy = [balanced_accuracy_score(labels, predicted) for predicted in predictions]
        part = {
            "hard_disagreement": np.where(known, (predictions != judged).mean(axis=1), np.nan),
            "probability_mae": difference,
            "balanced_accuracy": np.where(known, accuracy, np.nan),
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
