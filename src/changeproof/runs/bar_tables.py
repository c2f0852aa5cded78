"""The table of how many people get advice that is above the bar, by method and by any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from changeproof.evaluation.bar import Standing, reaches, standing
from changeproof.model import Booleans
from changeproof.runs.results import Answered, StoredResults

NAME = "people_above_bar"
ANY = "any"
COLUMNS = ["dataset", "base_seed", "method", "people", "accepted", "above", "sure", "models"]


def bar_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return how many people get advice that holds often enough, by base model and method.

    Of `people` who ask, so many get advice that today's model accepts (`accepted`), that holds in
    at least 95 % of the changed `models` as well (`above`), and of which the 95 % interval over
    such models says so (`sure`). The last row of a base model is about the best that any method
    told each person.
    """
    rows: list[dict[str, Any]] = []
    for dataset, seed in dict.fromkeys(key[:2] for key in results.answered):
        keys = [key for key in results.answered if key[:2] == (dataset, seed)]
        best: dict[int, Booleans] = {}
        for key in keys:
            asking, judged, models = _judged(results, key)
            rows.append(_row(key, judged[asking], models))
            answers = results.counterfactuals(*key)
            for row_id, mine in zip(answers.row_ids[asking].tolist(), judged[asking], strict=True):
                best[row_id] = best[row_id] | mine if row_id in best else mine
        every = np.array(list(best.values()), dtype=np.bool_).reshape(len(best), 3)
        rows.append(_row(Answered(dataset, seed, ANY), every, models))
    return {NAME: pd.DataFrame(rows, columns=COLUMNS)}


def _judged(results: StoredResults, key: Answered) -> tuple[Booleans, Booleans, int]:
    """Return who asks, and of everybody whether advice is accepted, holds often and surely."""
    answers, variants = results.counterfactuals(*key), results.variants(key.dataset, key.base_seed)
    counted = np.isin(variants["family"].to_numpy(), results.averaged)
    held, models = results.survived(*key)[:, counted].sum(axis=1), int(counted.sum())
    trials = results.trials(key.dataset, key.base_seed)
    above = [reaches(each, models) for each in held.tolist()]
    sure = [standing(each, models, trials) is Standing.ABOVE for each in held.tolist()]
    judged = np.stack([np.ones(len(held), np.bool_), np.array(above), np.array(sure)], axis=1)
    return np.asarray(answers.asking), judged & answers.base_valid[:, None], models


def _row(key: Answered, judged: Booleans, models: int) -> dict[str, Any]:
    accepted, above, sure = judged.sum(axis=0).tolist()
    counts = {"people": len(judged), "accepted": accepted, "above": above, "sure": sure}
    return {**key._asdict(), **counts, "models": models}
