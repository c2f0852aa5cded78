"""How far a changed model is from its base model, seen in its outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.datasets.task import Task
from changeproof.model import Model, Stack


def change_magnitudes(task: Task, base: Model, stack: Stack) -> pd.DataFrame:
    """Measure every model of a stack against its base model on the whole test set.

    Returns
    -------
    One row per model: `hard_disagreement` (share of test rows whose class changes),
    `probability_mae` (mean absolute difference of the probabilities), `balanced_accuracy`. All are
    NaN for a model that does not know the test rows, as a table of scores.
    """
    rows = task.rows("test")
    predictions = stack.favourable(rows)
    disagreement = (predictions != base.favourable(rows)).mean(axis=1)
    difference = np.abs(stack.probabilities(rows) - base.probabilities(rows)).mean(axis=1)
    known = ~np.isnan(difference)
    labels = task.labels_of("test")
    accuracy = [balanced_accuracy_score(labels, predicted) for predicted in predictions]
    return pd.DataFrame(
        {
            "hard_disagreement": np.where(known, disagreement, np.nan),
            "probability_mae": difference,
            "balanced_accuracy": np.where(known, accuracy, np.nan),
        }
    )
