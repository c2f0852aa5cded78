"""The tables of advice: what people are told, what that asks of them, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.recourse import Change, Wording
from changeproof.evaluation.advice import (
    QUALITIES,
    Plausibility,
    breach_shares,
    measure_advice,
)
from changeproof.methods.answers import FOUND, Counterfactuals, why_not
from changeproof.runs.results import Answered, StoredResults
from changeproof.tables.display import METHOD, Form, Heading, dataset_of, measured, spread_of
from changeproof.tables.people import counted_models
from changeproof.tables.reading import shortest

PEOPLE, TOLD = "people", "told"
# What stands before the name of a feature, for the value that a person is told.
PREFIX = "told:"
# The most people of a base model that a page lists.
MOST_LISTED = 500
WHERE = ["dataset", "method"]
# Where nobody knows what a person has, `before` is empty and `filled_in` says so.
CHANGED = [
    "dataset", "base_seed", "method", "id", "feature", "direction", "before", "after", "size",
    "filled_in",
]  # fmt: skip


def advice_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what answers ask of people, and which rules methods' proposals break."""
    plausible: dict[str, Plausibility] = {}
    measured, broken = [], []
    for key in results.answered:
        task, answers = results.task(key.dataset), results.counterfactuals(*key)
        if key.dataset not in plausible:
            plausible[key.dataset] = Plausibility(task)
        advice = measure_advice(task, answers, plausible[key.dataset])
        measured.append({**key._asdict(), **advice.as_dict()})
        shares = breach_shares(task, answers)
        broken += [{**key._asdict(), "breach": way, "share": s} for way, s in shares.items()]
    return {"advice": _advice(measured), "breaches": _breaches(broken)}


def _advice(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean and standard deviation over base models."""
    order = [f"{quality}_{which}" for which in ("mean", "std") for quality in QUALITIES]
    frame = pd.DataFrame(rows, columns=[*WHERE, "base_seed", *QUALITIES])
    table = frame.groupby(WHERE, sort=False)[list(QUALITIES)].agg(["mean", "std"])
    table.columns = ["_".join(column) for column in table.columns]
    return table[order].reset_index()


def _breaches(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean share over base models, of the rules that were broken at all."""
    frame = pd.DataFrame(rows, columns=[*WHERE, "base_seed", "breach", "share"])
    table = frame.groupby([*WHERE, "breach"], sort=False)["share"].mean().reset_index()
    return table[table["share"] > 0].reset_index(drop=True)


def everyone_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return a row per person and method, and a row per change that a person is told.

    Of runs whose answers are advice: feasible ones. Answers as published are no advice to people,
    and there only what a page cannot list is in these tables.

    `advice` is what the person reads, `held` of the `models` that averages are about accept it, and
    the values that the person is told stand in the columns of the features, in the units of the
    data; nothing where there is no answer. `filled_in` names the features of which nobody knows
    what the person has: advice was tested with what was filled in.
    """
    asked = [len(results.counterfactuals(*key)) for key in results.answered]
    if not asked or not (results.plan.feasible or max(asked) > MOST_LISTED):
        return {}
    wordings = {
        dataset: Wording(results.task(dataset), results.plan.feasible)
        for dataset in results.shown.datasets
    }
    people, told = [], []
    for key in results.answered:
        changes = _changes(wordings[key.dataset], results.counterfactuals(*key))
        people.append(_people(results, key, changes, wordings[key.dataset]))
        told += _told(results, key, changes)
    return {
        PEOPLE: pd.concat(people, ignore_index=True),
        TOLD: pd.DataFrame(told, columns=CHANGED),
    }


def _changes(wording: Wording, answers: Counterfactuals) -> list[list[Change]]:
    """Return what every person is told to change, the largest change first."""
    found = np.flatnonzero(answers.found)
    changes: list[list[Change]] = [[] for _ in range(len(answers))]
    each = wording.all_changes(answers.factuals[found], answers.rows[found], answers.row_ids[found])
    for place, mine in zip(found.tolist(), each, strict=True):
        changes[place] = mine
    return changes


def _people(
    results: StoredResults, key: Answered, changes: Sequence[Sequence[Change]], wording: Wording
) -> pd.DataFrame:
    task, answers = results.task(key.dataset), results.counterfactuals(*key)
    judged = results.survived(*key)[:, counted_models(results, key)[0]]
    found = answers.found
    feasible = np.zeros(len(answers), dtype=np.bool_)
    feasible[found] = task.actions.feasible(answers.factuals[found], answers.rows[found])
    unknown = wording.unknown(answers.row_ids, answers.factuals)
    known = {
        **key._asdict(),
        "id": _ids(results, key),
        "outcome": answers.outcomes,
        "why_not": _reasons(answers),
        "base_valid": answers.base_valid,
        "feasible": feasible,
        "distance": task.distances(answers.factuals, answers.rows),
        "features_changed": [len(mine) for mine in changes],
        "advice": [" ".join(f"{change}." for change in mine) for mine in changes],
        "held": judged.sum(axis=1),
        "models": judged.shape[1],
        "filled_in": ["; ".join(mine) for mine in unknown],
    }
    told = task.readable(answers.rows)
    for name in told.select_dtypes("float"):
        # Not as a column of floats, of which files have six digits: what is told is what was
        # tested.
        exact = [None if np.isnan(value) else shortest(value) for value in told[name].tolist()]
        told[name] = pd.Series(exact, dtype=object)
    return pd.concat([pd.DataFrame(known), told.add_prefix(PREFIX)], axis="columns")


def _told(
    results: StoredResults, key: Answered, changes: Sequence[Sequence[Change]]
) -> list[tuple[Any, ...]]:
    features = results.task(key.dataset).features
    numeric = {feature.name for feature in features if not feature.categories}

    def value(feature: str, text: str) -> str | int | float:
        return shortest(float(text)) if feature in numeric else text

    return [
        (
            *key[:2], key.method, person, each.feature, each.direction,
            "" if each.filled else value(each.feature, each.before),
            value(each.feature, each.after), each.size, each.filled,
        )
        for person, mine in zip(_ids(results, key), changes, strict=True)
        for each in mine
    ]  # fmt: skip


def _ids(results: StoredResults, key: Answered) -> list[Any]:
    """Return what people call those who asked."""
    rows = results.counterfactuals(*key).row_ids.tolist()
    return list(results.task(key.dataset).ids.loc[rows].tolist())


def _reasons(answers: Counterfactuals) -> list[str]:
    """Return why people have no advice, in plain words; nothing for those who have some."""
    how = answers.realisation
    breaches = [""] * len(answers) if how is None else how.raw_breach.tolist()
    return [
        "" if outcome == FOUND else why_not(str(outcome), str(breach))
        for outcome, breach in zip(answers.outcomes.tolist(), breaches, strict=True)
    ]


FORMS = {
    "advice": Form(
        "What people are told (means)",
        "What people are told: {over}. Features that an answer changes; answers inside the range "
        "of the training rows (%); distance to the nearest favourable training rows, where 1 is "
        "usual among them (plausibility); requests without an answer that a person can be told "
        "(%); the method's own answers that could not be told as they were (%); and the change "
        "from these to what is told, in accepted answers (points) and in distance.",
        (
            METHOD,
            (Heading("Features changed", "↓", short="Changed"), measured("features_changed", 1)),
            (Heading("Inside the data (%)", "↑", short="Inside"), measured("inside_data", 1)),
            (Heading("Plausibility", "↓", short="Plausib."), measured("plausibility", 2)),
            (Heading("No answer (%)", "↓", short="None"), measured("without_answer", 1)),
            (Heading("Not tellable (%)", "↓", short="Broken"), measured("raw_broken", 1)),
            (Heading("Change in validity", "↑", short="Δ valid"), measured("validity_change", 1)),
            (Heading("Change in distance", "↓", short="Δ dist."), measured("distance_change", 3)),
        ),
        section=dataset_of,
        over=spread_of("features_changed_std"),
        compact=True,
        screen=5,
    ),
}
