"""Choosing a method's settings on validation rows; no changed model is ever seen."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from changeproof.methods.method import Context, Factuals, Method


def candidates(method: Method) -> list[Method]:
    """Return what tuning chooses from; the method alone where there is nothing to choose.

    Settings that were given by hand are left as they are, the others are tuned.
    """
    given, grid = method.given_settings(), type(method).tuning_candidates()
    if not given:
        return [*grid] or [method]
    different = {
        json.dumps(settings, sort_keys=True): settings
        for settings in ({**candidate.settings(), **given} for candidate in grid)
    }
    return [type(method).named(method.name, each) for each in different.values()] or [method]


def tune(candidates: Sequence[Method], context: Context, factuals: Factuals) -> pd.DataFrame:
    """Score every candidate: highest base validity wins, ties go to the lower distance.

    Returns
    -------
    One row per candidate in the given order: `settings` (JSON), `validation_rows` (requests),
    `valid_rows` (how many of them got an answer that the base model accepts), `base_validity`
    (their share), `distance`, and `chosen`, true for exactly one. What separates a candidate from
    that one: `rows_behind`, by how many valid rows it has fewer, and where it has as many,
    `distance_behind`, by how much it is farther (NaN elsewhere: the rule does not ask).
    """
    scores = []
    for candidate in candidates:
        answers = candidate.fit(context).generate(factuals)
        distance = context.task.distances(answers.factuals, answers.rows)[answers.base_valid]
        scores.append(
            {
                "settings": json.dumps(candidate.settings(), sort_keys=True),
                "validation_rows": len(answers),
                "valid_rows": int(answers.base_valid.sum()),
                "base_validity": answers.base_valid.mean(),
                "distance": distance.mean() if len(distance) else np.inf,
            }
        )
    table = pd.DataFrame(scores)
    best = int(np.lexsort((table["distance"], -table["valid_rows"]))[0])
    rows_behind = table["valid_rows"][best] - table["valid_rows"]
    farther = table["distance"] - table["distance"][best]
    return table.assign(
        rows_behind=rows_behind,
        distance_behind=farther.where(rows_behind == 0),
        chosen=np.arange(len(table)) == best,
    )


def chosen(method: Method, table: pd.DataFrame) -> Method:
    """Return the method with the settings that tuning chose."""
    settings = json.loads(table.loc[table["chosen"], "settings"].iloc[0])
    return type(method).named(method.name, settings)
