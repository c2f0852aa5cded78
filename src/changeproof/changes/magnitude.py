"""How far a changed model is from its base model, seen in its outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score

from changeproof.datasets.task import Task
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack


def change_magnitudes(task: Task, base: Network, stack: NetworkStack) -> pd.DataFrame:
    """Measure every network of a stack against its base network on the whole test set.

    Returns
    -------
    One row per network: `hard_disagreement` (share of test rows whose class changes),
    `probability_mae` (mean absolute difference of the probabilities), `balanced_accuracy`.
    """
    rows = task.rows("test")
    base_logits, logits = base.logits(rows), stack.logits(rows)
    disagreement = ((logits >= 0) != (base_logits >= 0)).mean(axis=1)
    difference = np.abs(expit(logits) - expit(base_logits)).mean(axis=1)
    labels = task.labels_of("test")
    accuracy = [balanced_accuracy_score(labels, predicted) for predicted in logits >= 0]
    return pd.DataFrame(
        {
            "hard_disagreement": disagreement,
            "probability_mae": difference,
            "balanced_accuracy": accuracy,
        }
    )
