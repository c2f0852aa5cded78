"""A person: who asked, what each method told them, and what became of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.report.recourse import CHANGE, LOWER, RAISE, Change, Wording
from changeproof.runs.results import Answered, StoredResults

DIRECTIONS = (RAISE, LOWER, CHANGE)


def people(results: StoredResults, dataset: str) -> dict[str, Any] | None:
    """Return everybody who asked on a dataset; None where nothing is finished."""
    seeds = dict.fromkeys(key.base_seed for key in results.answered if key.dataset == dataset)
    if not seeds:
        return None
    wording = Wording(results.task(dataset))
    return {
        "features": wording.names,
        "networks": [_network(results, wording, dataset, seed) for seed in seeds],
    }


def _network(results: StoredResults, wording: Wording, dataset: str, seed: int) -> dict[str, Any]:
    plan = results.shown
    finished = set(results.answered)
    keys = [Answered(dataset, seed, method) for method in plan.methods]
    first = results.counterfactuals(*next(key for key in keys if key in finished))
    shown = [wording.values(row) for row in first.factuals]
    family_of = results.variants(dataset, seed)["family"]
    return {
        "seed": seed,
        "ids": wording.task.ids.loc[first.row_ids.tolist()].tolist(),
        "factuals": shown,
        "models": [int((family_of == family).sum()) for family in plan.families],
        "methods": [
            _answers(results, wording, key, shown) if key in finished else None for key in keys
        ],
    }


def _answers(
    results: StoredResults, wording: Wording, key: Answered, shown: list[list[str]]
) -> list[Any]:
    """Return per person: the reason why there is nothing, or what to change and what became of it.

    An answer is [base-valid, distance, survivals per family, changes]; a change is
    [feature, direction, after, size] and, where it needs more digits than the factual is shown
    with, before.
    """
    answers, survived = results.counterfactuals(*key), results.survived(*key)
    family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
    families = results.shown.families
    counts = np.stack([survived[:, family_of == f].sum(axis=1) for f in families], axis=1)
    distances = wording.task.distances(answers.factuals, answers.rows)
    place = {name: number for number, name in enumerate(wording.names)}
    found = answers.found
    return [
        [
            int(answers.base_valid[i]),
            round(float(distances[i]), 3),
            counts[i].tolist(),
            [
                _entry(change, place[change.feature], shown[i])
                for change in wording.changes(answers.factuals[i], answers.rows[i])
            ],
        ]
        if found[i]
        else str(answers.outcomes[i])
        for i in range(len(answers))
    ]


def _entry(change: Change, feature: int, shown: list[str]) -> list[Any]:
    entry = [feature, DIRECTIONS.index(change.direction), change.after, round(change.size, 2)]
    return entry if change.before == shown[feature] else [*entry, change.before]
