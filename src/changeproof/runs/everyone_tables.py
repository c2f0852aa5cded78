"""The table of everybody who asked, of runs that ask about more people than a page can list."""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.datasets.decimals import written
from changeproof.runs.results import Answered, StoredResults

NAME = "people"
# The most people of a base model that a page lists.
MOST_LISTED = 500


def everyone_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return one row per person and method; no table where the page lists everybody.

    `held` of the `models` that averages are about accept the answer. What the person is told stands
    in the columns of the features, in the units of the data; nothing where there is no answer.
    """
    asked = [len(results.counterfactuals(*key)) for key in results.answered]
    if max(asked, default=0) <= MOST_LISTED:
        return {}
    parts = [_answers(results, key) for key in results.answered]
    return {NAME: pd.concat(parts, ignore_index=True)}


def _answers(results: StoredResults, key: Answered) -> pd.DataFrame:
    task, answers = results.task(key.dataset), results.counterfactuals(*key)
    family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
    judged = results.survived(*key)[:, np.isin(family_of, results.run.averaged)]
    known = {
        **key._asdict(),
        "id": task.ids.loc[answers.row_ids.tolist()].to_numpy(),
        "outcome": answers.outcomes,
        "base_valid": answers.base_valid,
        "distance": task.distances(answers.factuals, answers.rows),
        "held": judged.sum(axis=1),
        "models": judged.shape[1],
    }
    told = task.told(answers.rows)
    for name in told.select_dtypes("float"):
        # As text, so that no digit is lost in the file: what is told is what was tested.
        told[name] = [None if np.isnan(value) else written(value) for value in told[name]]
    told = told.add_prefix("told:")
    return pd.concat([pd.DataFrame(known), told], axis="columns")
