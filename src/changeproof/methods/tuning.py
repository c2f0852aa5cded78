"""Choosing a method's settings on validation rows; no changed model is ever seen."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from changeproof.methods.method import Context, Factuals, Method


def tune(candidates: Sequence[Method], context: Context, factuals: Factuals) -> pd.DataFrame:
    """Score every candidate: highest base validity wins, ties go to the lower distance.

    Returns
    -------
    One row per candidate in the given order: `settings` (JSON), `base_validity` (share of the
    requests), `distance`, and `chosen`, true for exactly one.
    """
    scores = []
    for candidate in candidates:
        answers = candidate.fit(context).generate(factuals)
        distance = context.task.distances(answers.factuals, answers.rows)[answers.base_valid]
        scores.append(
            {
                "settings": json.dumps(candidate.settings(), sort_keys=True),
                "base_validity": answers.base_valid.mean(),
                "distance": distance.mean() if len(distance) else np.inf,
            }
        )
    table = pd.DataFrame(scores)
    order = np.lexsort((table["distance"], -table["base_validity"]))
    return table.assign(chosen=np.arange(len(table)) == order[0])


def chosen_settings(table: pd.DataFrame) -> dict[str, object]:
    """Return the settings that tuning chose."""
    settings: dict[str, object] = json.loads(table.loc[table["chosen"], "settings"].iloc[0])
    return settings
