"""The table of intervals over people: what another draw of people would have shown.

The verdict of a report and the gate read it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.evaluation.metrics import family_weights
from changeproof.evaluation.people import People, estimates
from changeproof.runs.results import ALL_FAMILIES, StoredResults

NAME = "people_intervals"
COLUMNS = ["dataset", "method", "family", "metric", "value", "low", "high", "people", "base_models"]


def people_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by dataset, method and family, with its interval over people.

    `people` is how many different people stand behind a number: of robustness and distance, those
    with valid advice.
    """
    rows = []
    families = tuple(results.families)
    for dataset, method in dict.fromkeys((key.dataset, key.method) for key in results.answered):
        seeds = [key.base_seed for key in results.answered if key[::2] == (dataset, method)]
        every = [_people(results, dataset, seed, method) for seed in seeds]
        for place, family in enumerate((ALL_FAMILIES, *families)):
            groups = [people[place] for people in every]
            for metric, found in estimates(groups).items():
                rows.append((dataset, method, family, metric, *found, len(groups)))
    return {NAME: pd.DataFrame(rows, columns=COLUMNS)}


def _people(results: StoredResults, dataset: str, seed: int, method: str) -> list[People]:
    """Return what became of people under all families together, and under each."""
    answers, survived = (
        results.counterfactuals(dataset, seed, method),
        results.survived(dataset, seed, method),
    )
    family_of = results.variants(dataset, seed)["family"].to_numpy()
    families = tuple(results.families)
    # Tables average over single changes, where a run has any; updates in sequence are told apart.
    together = (results.averaged, *([name] for name in families))
    chosen = [np.isin(family_of, names) for names in together]
    overall = People.of(
        results.task(dataset), answers, survived[:, chosen[0]], family_of[chosen[0]].tolist()
    )
    held = (survived[:, mine] @ family_weights(family_of[mine].tolist()) for mine in chosen)
    under = (overall._replace(held=np.where(answers.base_valid, each, 0.0)) for each in held)
    return [people.of_some(answers.asking) for people in under]
