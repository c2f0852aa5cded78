"""The tables about letters that are out: what successors break, and what renewing them takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.changes import SUCCESSOR
from changeproof.datasets.recourse import Wording
from changeproof.datasets.task import Task
from changeproof.evaluation.letters import SUCCESSOR_COLUMN, LetterScores
from changeproof.feasible.decimals import written
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans, Floats
from changeproof.runs.results import ALL_FAMILIES, Answered, StoredResults

HOLDS, BREAKS, NOT_TODAY, NO_LETTER = "holds", "breaks", "not accepted today", "not tested"
RENEWALS = [
    "dataset", "base_seed", "method", "successor", "id", "renewed_by", "outcome", "accepted",
    "changes", "distance_old", "distance_further", "distance_together", "distance_more",
]  # fmt: skip


def letter_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what became of every letter, how successors compare with simulations, and renewals."""
    if not results.plan.successors:
        return {}
    keys = results.lettered
    letters = [_letters(results, key) for key in keys]
    tables = {
        "letters": pd.concat(letters, ignore_index=True) if letters else pd.DataFrame(),
        "successors": pd.DataFrame([row for key in keys for row in _compared(results, key)]),
    }
    if results.plan.renew is not None:
        parts = [part for key in keys for part in _renewals(results, key)]
        tables["renewals"] = (
            pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=RENEWALS)
        )
    return tables


def in_short(wording: Wording, letters: Counterfactuals) -> list[str]:
    """Say what letters change: "income from 2000 to 2400; debts from 2 to 0"; "" without an answer.

    Of what was filled in about these people, only what it is to become is said.
    """
    found = np.flatnonzero(letters.found)
    said = [""] * len(letters)
    rows = letters.factuals[found], letters.rows[found], letters.row_ids[found]
    for place, changes in zip(found.tolist(), wording.all_changes(*rows), strict=True):
        said[place] = "; ".join(change.short for change in changes)
    return said


def _exact(values: pd.Series[Any]) -> Any:
    """Return values with all their digits, whatever tables do to numbers."""
    if not pd.api.types.is_float_dtype(values):
        return values.to_numpy()
    texts = [written(value) if np.isfinite(value) else "" for value in values.tolist()]
    return np.array(texts, dtype=object)


class _Models(NamedTuple):
    """The changed models of a base model: their families, which count in "all", which are real."""

    family_of: Any
    counted: Booleans
    real: Booleans


def _models(results: StoredResults, key: Answered) -> _Models:
    families = results.variants(key.dataset, key.base_seed)["family"]
    real = (families == SUCCESSOR).to_numpy()
    return _Models(families.to_numpy(), families.isin(results.averaged).to_numpy() & ~real, real)


def _letters(results: StoredResults, key: Answered) -> pd.DataFrame:
    """Return one row per letter and successor."""
    task, answers, scores = _about(results, key)
    survived, models = results.survived(*key), _models(results, key)
    found, who = answers.found, task.ids.loc[answers.row_ids.tolist()].to_numpy()
    wording = Wording(task, results.plan.feasible)
    words = in_short(wording, answers)
    unknown = wording.unknown(answers.row_ids, answers.factuals)
    rows: dict[str, Any] = {}
    for prefix, values in (("factual", answers.factuals), ("counterfactual", answers.rows)):
        frame = task.readable(values)
        rows |= {f"{prefix}:{name}": _exact(frame[name]) for name in frame.columns}
    parts = []
    for place, name in enumerate(results.plan.successors, start=1):
        holds = survived[:, models.real][:, place - 1]
        parts.append(
            pd.DataFrame(
                {
                    **key._asdict(),
                    "successor": name,
                    "id": who,
                    "verdict": _verdicts(answers, holds),
                    "reason": np.where(found, "", answers.outcomes),
                    **_judgements("today", scores, 0),
                    **_judgements("successor", scores, place),
                    "simulated_models": int(models.counted.sum()),
                    "simulated_hold": survived[:, models.counted].sum(axis=1),
                    "distance": task.distances(answers.factuals, answers.rows),
                    "advice": words,
                    "filled_in": ["; ".join(mine) for mine in unknown],
                    **rows,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _about(results: StoredResults, key: Answered) -> tuple[Task, Counterfactuals, LetterScores]:
    return results.task(key.dataset), results.counterfactuals(*key), results.letters(*key)


def _verdicts(answers: Counterfactuals, holds: Booleans) -> Any:
    asked = [~answers.found, ~answers.base_valid, holds]
    return np.select(asked, [NO_LETTER, NOT_TODAY, HOLDS], BREAKS)


def _judgements(whose: str, scores: LetterScores, place: int) -> dict[str, Any]:
    return {
        f"{whose}_score": scores.scores[:, place],
        f"{whose}_threshold": str(scores.thresholds[place]),
        f"{whose}_margin": scores.margins[:, place],
    }


def _compared(results: StoredResults, key: Answered) -> Iterator[dict[str, Any]]:
    """Yield how a successor compares with the simulated models, all and by family.

    All are those that count in numbers over all families everywhere.
    """
    answers, survived = results.counterfactuals(*key), results.survived(*key)
    variants, models = results.variants(key.dataset, key.base_seed), _models(results, key)
    broken = (~survived[answers.base_valid]).sum(axis=0)
    differs = 100.0 * variants["hard_disagreement"].to_numpy(np.float64)
    families = [name for name in results.families if name != SUCCESSOR]
    places = np.flatnonzero(models.real)
    for name, place in zip(results.plan.successors, places.tolist(), strict=True):
        for family in (ALL_FAMILIES, *families):
            among = models.counted if family == ALL_FAMILIES else models.family_of == family
            yield {
                **key._asdict(),
                "successor": name,
                "family": family,
                "letters": int(answers.base_valid.sum()),
                "broken": int(broken[place]),
                "decisions_changed": differs[place],
                "models": int(among.sum()),
                "models_break_as_many": int((broken[among] >= broken[place]).sum()),
                "models_change_as_many": _as_large(differs[among], differs[place]),
                **_spread("broken", broken[among]),
                **_spread("decisions_changed", differs[among]),
            }


def _as_large(values: Floats, value: float) -> float:
    return np.nan if np.isnan(value) else float((values >= value).sum())


def _spread(name: str, values: Any) -> dict[str, float]:
    if not len(values):
        return {f"{name}_{which}": np.nan for which in ("least", "median", "most")}
    found = values.min(), np.median(values), values.max()
    return dict(
        zip((f"{name}_{which}" for which in ("least", "median", "most")), found, strict=True)
    )


def _renewals(results: StoredResults, key: Answered) -> Iterator[pd.DataFrame]:
    """Yield the renewals of a table of letters, successor by successor."""
    task, letters, _ = _about(results, key)
    wording = Wording(task, results.plan.feasible)
    places = {row_id: place for place, row_id in enumerate(letters.row_ids.tolist())}
    for successor, table in results.renewals(*key).groupby(SUCCESSOR_COLUMN, sort=False):
        renewed = Counterfactuals.from_frame(table, task.feature_names)
        people = letters.factuals[[places[row_id] for row_id in renewed.row_ids.tolist()]]
        old = task.distances(people, renewed.factuals)
        together = task.distances(people, renewed.rows)
        yield pd.DataFrame(
            {
                **key._asdict(),
                "successor": successor,
                "id": task.ids.loc[renewed.row_ids.tolist()].to_numpy(),
                "renewed_by": results.plan.renew,
                "outcome": renewed.outcomes,
                "accepted": renewed.base_valid,
                "changes": in_short(wording, renewed),
                "distance_old": old,
                "distance_further": task.distances(renewed.factuals, renewed.rows),
                "distance_together": together,
                "distance_more": together - old,
            }
        )
