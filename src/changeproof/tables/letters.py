"""The tables about letters that are out: what successors break, and what renewing them takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from changeproof.changes import SUCCESSOR
from changeproof.datasets.recourse import Wording
from changeproof.evaluation.letters import SUCCESSOR_COLUMN, LetterScores
from changeproof.methods.answers import Counterfactuals
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables.advice import changes_of, exact_rows, filled_in
from changeproof.tables.cases import Case, stacked

HOLDS, BREAKS, NOT_TODAY, NO_LETTER = "holds", "breaks", "not accepted today", "not tested"
RENEWALS = [
    "dataset", "base_seed", "method", "successor", "id", "renewed_by", "outcome", "accepted",
    "changes", "distance_old", "distance_further", "distance_together", "distance_more",
]  # fmt: skip


def letter_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what became of every letter, how successors compare with simulations, and renewals."""
    if not results.plan.successors:
        return {}
    mine = [Case.of(results, key) for key in results.with_letters]
    letters = [_letters(results, case) for case in mine]
    tables = {
        "letters": pd.concat(letters, ignore_index=True) if letters else pd.DataFrame(),
        "successors": pd.DataFrame([row for case in mine for row in _compared(results, case)]),
    }
    if results.plan.renew is not None:
        renewals = (part for case in mine for part in _renewals(results, case))
        tables["renewals"] = stacked(renewals, RENEWALS)
    return tables


def _letters(results: StoredResults, case: Case) -> pd.DataFrame:
    """Return one row per letter and successor."""
    task, answers, scores = case.task, case.answers, results.letters(*case.key)
    simulated = case.survived[:, case.models() & (case.family_of != SUCCESSOR)]
    real = case.survived[:, case.models(SUCCESSOR)]
    wording = Wording(task, results.plan.feasible)
    known = {
        "simulated_models": simulated.shape[1],
        "simulated_hold": simulated.sum(axis=1),
        "distance": task.distances(answers.factuals, answers.rows),
        "advice": short_advice(wording, answers),
        "filled_in": filled_in(wording, answers),
    }
    factuals = exact_rows(task, answers.factuals, "factual:")
    rows = pd.concat([factuals, exact_rows(task, answers.rows, "counterfactual:")], axis="columns")
    parts = []
    for place, name in enumerate(results.plan.successors):
        verdicts = [~answers.found, ~answers.base_valid, real[:, place]]
        judged = {
            **case.key._asdict(),
            "successor": name,
            "id": case.ids,
            "verdict": np.select(verdicts, [NO_LETTER, NOT_TODAY, HOLDS], BREAKS),
            "reason": _reasons(answers, scores),
            **_scored("today", scores, 0),
            **_scored("successor", scores, place + 1),
        }
        parts.append(pd.concat([pd.DataFrame(judged | known), rows], axis="columns"))
    return pd.concat(parts, ignore_index=True)


def _reasons(letters: Counterfactuals, scores: LetterScores) -> list[str]:
    """Return why letters were not tested, or are not accepted today; "" where they are."""
    limit = scores.thresholds[0]
    reasons = []
    for place, score in enumerate(scores.scores[:, 0].tolist()):
        reason = f"it scores {score:.4g} (favourable: {limit.words})"
        if not letters.found[place]:
            reason = str(letters.outcomes[place])
        reasons.append("" if letters.base_valid[place] else reason)
    return reasons


def short_advice(wording: Wording, letters: Counterfactuals) -> list[str]:
    """Say what letters change: "income from 2000 to 2400; debts from 2 to 0"; "" without an answer.

    Of a value that was filled in, only the new one is named.
    """
    changes = changes_of(wording, letters)
    return ["; ".join(change.short for change in mine) for mine in changes]


def _scored(model: str, scores: LetterScores, place: int) -> dict[str, Any]:
    return {
        f"{model}_score": scores.scores[:, place],
        f"{model}_threshold": str(scores.thresholds[place]),
        f"{model}_margin": scores.margins[:, place],
    }


def _compared(results: StoredResults, case: Case) -> Iterator[dict[str, Any]]:
    """Yield how a successor compares with the simulated models, all and by family.

    All are those that count in numbers over all families everywhere.
    """
    valid = case.answers.base_valid
    variants = results.variants(case.key.dataset, case.key.base_seed)
    broken = (~case.survived[valid]).sum(axis=0)
    differs = 100.0 * variants["hard_disagreement"].to_numpy(np.float64)
    families = [name for name in results.families if name != SUCCESSOR]
    places = np.flatnonzero(case.models(SUCCESSOR))
    for name, place in zip(results.plan.successors, places.tolist(), strict=True):
        for family in (ALL_FAMILIES, *families):
            among = case.models(family) & (case.family_of != SUCCESSOR)
            as_many = float((differs[among] >= differs[place]).sum())
            yield {
                **case.key._asdict(),
                "successor": name,
                "family": family,
                "letters": int(valid.sum()),
                "broken": int(broken[place]),
                "decisions_changed": differs[place],
                "models": int(among.sum()),
                "models_break_as_many": int((broken[among] >= broken[place]).sum()),
                "models_change_as_many": np.nan if np.isnan(differs[place]) else as_many,
                **_spread("broken", broken[among]),
                **_spread("decisions_changed", differs[among]),
            }


def _spread(name: str, values: Any) -> dict[str, float]:
    found = (values.min(), np.median(values), values.max()) if len(values) else [np.nan] * 3
    which = (f"{name}_{each}" for each in ("least", "median", "most"))
    return dict(zip(which, found, strict=True))


def _renewals(results: StoredResults, case: Case) -> Iterator[pd.DataFrame]:
    """Yield the renewals of a table of letters, successor by successor."""
    task, letters = case.task, case.answers
    wording = Wording(task, results.plan.feasible)
    places = {row_id: place for place, row_id in enumerate(letters.row_ids.tolist())}
    for successor, table in results.renewals(*case.key).groupby(SUCCESSOR_COLUMN, sort=False):
        renewed = Counterfactuals.from_frame(table, task.feature_names)
        people = letters.factuals[[places[row_id] for row_id in renewed.row_ids.tolist()]]
        old = task.distances(people, renewed.factuals)
        together = task.distances(people, renewed.rows)
        yield pd.DataFrame(
            {
                **case.key._asdict(),
                "successor": successor,
                "id": task.ids.loc[renewed.row_ids.tolist()].to_numpy(),
                "renewed_by": results.plan.renew,
                "outcome": renewed.outcomes,
                "accepted": renewed.base_valid,
                "changes": short_advice(wording, renewed),
                "distance_old": old,
                "distance_further": task.distances(renewed.factuals, renewed.rows),
                "distance_together": together,
                "distance_more": together - old,
            }
        )
