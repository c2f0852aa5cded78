"""The tables of advice: what people are told, what that asks of them, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from changeproof.datasets.recourse import FOLLOW, Change, Wording
from changeproof.datasets.task import Task
from changeproof.evaluation.advice import QUALITIES, Plausibility, breach_shares, measure_advice
from changeproof.evaluation.other_units import OtherUnits
from changeproof.feasible.durations import durations
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Floats
from changeproof.runs.results import StoredResults
from changeproof.tables.cases import Case, mean_and_std
from changeproof.tables.display import METHOD, Form, Heading, Measured, Row, measured, spread
from changeproof.tables.spreadsheets import whole_as_int

PEOPLE, TOLD = "people", "told"
# What stands before the name of a feature, for the value that a person is told.
PREFIX = "told:"
# The most people of a base model that a page lists.
MOST_LISTED = 500
WHERE = ["dataset", "method"]
# Of what answers ask of people, what other papers measure.
IN_OTHER_UNITS = ("lof", "l1_min_max", "l2_min_max")
# Where a value is not known, `before` is empty and `filled_in` says so.
CHANGED = [
    "dataset", "base_seed", "method", "id", "feature", "direction", "before", "after", "size",
    "filled_in",
]  # fmt: skip


def advice_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what answers ask of people, and which rules methods' proposals break."""
    asked = dict.fromkeys(key.dataset for key in results.answered)
    plausible = {dataset: Plausibility(results.task(dataset)) for dataset in asked}
    units = {dataset: OtherUnits(results.task(dataset)) for dataset in asked}
    qualities, broken = [], []
    for key in results.answered:
        task, answers = results.task(key.dataset), results.counterfactuals(*key)
        given = plausible[key.dataset], units[key.dataset]
        advice = measure_advice(task, answers, *given)
        qualities.append({**key._asdict(), **advice._asdict()})
        shares = breach_shares(task, answers)
        broken += [{**key._asdict(), "breach": way, "share": s} for way, s in shares.items()]
    return {"advice": _advice(qualities), "breaches": _breaches(broken)}


def _advice(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean and standard deviation over base models; what other papers measure comes last."""
    parts = QUALITIES[: -len(IN_OTHER_UNITS)], IN_OTHER_UNITS
    order = [f"{name}_{which}" for part in parts for which in ("mean", "std") for name in part]
    frame = pd.DataFrame(rows, columns=[*WHERE, *QUALITIES])
    return mean_and_std(frame, WHERE, QUALITIES)[order].reset_index()


def _breaches(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean share over base models, of the rules that were broken at all."""
    frame = pd.DataFrame(rows, columns=[*WHERE, "breach", "share"])
    table = frame.groupby([*WHERE, "breach"], sort=False)["share"].mean().reset_index()
    return table[table["share"] > 0].reset_index(drop=True)


def everyone_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return a row per person and method, and a row per change that a person is told.

    Only for runs with feasible answers, which are advice, or with more people than a page lists.

    `advice` is what the person reads, `held` of the `models` that averages are about accept it, and
    the values that the person is told stand in the columns of the features, in the units of the
    data; nothing where there is no answer. `filled_in` names the features that are not known
    about the person: advice was tested with what was filled in.
    """
    asked = [len(results.counterfactuals(*key)) for key in results.answered]
    if not asked or not (results.plan.feasible or max(asked) > MOST_LISTED):
        return {}
    wordings = {
        dataset: Wording(results.task(dataset), results.plan.feasible)
        for dataset in results.shown.datasets
    }
    people, changed = [], []
    every = [Case.of(results, each) for key in results.answered for each in results.choices(key)]
    for case in every:
        wording = wordings[case.key.dataset]
        changes = changes_of(wording, case.answers)
        people.append(_people(case, wording, changes))
        changed += [
            (*case.key, person, each.feature, each.direction,
             "" if each.filled else _value(each, each.before), _value(each, each.after),
             each.size, each.filled)
            for person, mine in zip(case.ids, changes, strict=True)
            for each in mine
        ]  # fmt: skip
    return {
        PEOPLE: pd.concat(people, ignore_index=True),
        TOLD: pd.DataFrame(changed, columns=CHANGED),
    }


def _people(case: Case, wording: Wording, changes: list[list[Change]]) -> pd.DataFrame:
    task, answers, found = case.task, case.answers, case.answers.found
    survived = case.survived[:, case.models()]
    feasible = np.zeros(len(answers), dtype=np.bool_)
    actions = task.actions_for(answers.row_ids[found])
    feasible[found] = actions.feasible(answers.factuals[found], answers.rows[found])
    known = {
        **case.key._asdict(),
        "id": case.ids,
        "outcome": answers.outcomes,
        "why_not": answers.why_not,
        "base_valid": answers.base_valid,
        "feasible": feasible,
        "distance": task.distances(answers.factuals, answers.rows),
        **_durations(task, answers),
        "features_changed": [sum(c.direction != FOLLOW for c in mine) for mine in changes],
        "advice": [" ".join(f"{change}." for change in mine) for mine in changes],
        "held": survived.sum(axis=1),
        "models": survived.shape[1],
        "filled_in": filled_in(wording, answers),
    }
    return pd.concat([pd.DataFrame(known), exact_rows(task, answers.rows, PREFIX)], axis="columns")


def _durations(task: Task, answers: Counterfactuals) -> dict[str, Floats]:
    """Return how many months advice takes, where that is said of any feature."""
    if all(action.takes is None for action in task.actions.of):
        return {}
    months = np.full(len(answers), np.nan)
    found = answers.found
    months[found] = durations(task.actions, answers.factuals[found], answers.rows[found])
    return {"months": months}


def _value(change: Change, text: str) -> str | int | float:
    return whole_as_int(float(text)) if change.number else text


def changes_of(wording: Wording, answers: Counterfactuals) -> list[list[Change]]:
    """Return what every person is told to change, the largest first; nothing without an answer."""
    found = np.flatnonzero(answers.found)
    rows = answers.factuals[found], answers.rows[found], answers.row_ids[found]
    changes = dict(zip(found.tolist(), wording.all_changes(*rows), strict=True))
    return [changes.get(place, []) for place in range(len(answers))]


def filled_in(wording: Wording, answers: Counterfactuals) -> list[str]:
    """Return the features of every person that are not known and were filled in."""
    return ["; ".join(mine) for mine in wording.unknown(answers.row_ids, answers.factuals)]


def exact_rows(task: Task, rows: Floats, prefix: str) -> pd.DataFrame:
    """Return rows in the units of the data: what is told is what was tested, to the last digit.

    So numbers are no columns of floats, of which files have six digits.
    """
    told = task.readable(rows)
    for name in told.select_dtypes("float"):
        values = [None if np.isnan(value) else whole_as_int(value) for value in told[name].tolist()]
        told[name] = pd.Series(values, dtype=object)
    return told.add_prefix(prefix)


# What answers ask of people; the last two are of feasible rows against the proposals.
QUALITY_COLUMNS = (
    (Heading("Features changed", "↓", short="Changed"), measured("features_changed", 1)),
    (Heading("Inside the data (%)", "↑", short="Inside"), measured("inside_data", 1)),
    (Heading("Plausibility", "↓", short="Plausib."), measured("plausibility", 2)),
    (Heading("No answer (%)", "↓", short="None"), measured("without_answer", 1)),
    (Heading("Cannot be told (%)", "↓", short="Broken"), measured("raw_broken", 1)),
    (Heading("Change in validity", "↑", short="Δvalid"), measured("validity_change", 1)),
    (Heading("Change in distance", "↓", short="Δdist."), measured("distance_change", 3)),
)
LOF_COLUMN = (Heading("Local outlier factor", "↓", short="LOF"), measured("lof", 2))


def quality_columns(
    advice: pd.DataFrame, feasible: bool = True
) -> tuple[tuple[Heading, Callable[[Row], Measured]], ...]:
    """Return the columns of what answers ask of people; tables made earlier have fewer."""
    *published, validity, distance = QUALITY_COLUMNS
    found = [*published, *([LOF_COLUMN] if "lof_mean" in advice else [])]
    return (*found, *((validity, distance) if feasible else ()))


FORMS = {
    "advice": Form(
        "What people are told (means)",
        "What people are told: {over}. Features that an answer changes; answers inside the range "
        "of the training rows (%); distance to the nearest favourable training rows, where 1 is "
        "usual among them (plausibility); the local outlier factor among these, where 1 is as "
        "dense a place as their neighbours have; requests without an answer that a person can be "
        "told (%); the method's own answers that could not be told as they were (%); and the "
        "change from these to what is told, in accepted answers (points) and in distance.",
        lambda advice: (METHOD, *quality_columns(advice)),
        over=spread,
        compact=True,
    ),
}
