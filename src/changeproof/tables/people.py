"""The tables about people: intervals over them, who gets advice that holds, and groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.groups import groups_of
from changeproof.evaluation.bar import Standing, reaches, standing
from changeproof.evaluation.groups import Asked, Groups, by_group
from changeproof.evaluation.metrics import METRICS, family_weights
from changeproof.evaluation.people import People, estimates
from changeproof.model import Booleans
from changeproof.runs.results import ALL_FAMILIES, Answered, StoredResults
from changeproof.tables.display import (
    METHOD,
    METRIC,
    UNDEFINED,
    Cell,
    Column,
    Form,
    Heading,
    Row,
    Tables,
    dataset_of,
    fixed,
    metric_heading,
    metric_interval,
    with_interval,
)
from changeproof.tables.names import dataset_name

INTERVALS, ABOVE_BAR = "people_intervals", "people_above_bar"
ANY = "any"
INTERVAL_COLUMNS = [
    "dataset", "method", "family", "metric", "value", "low", "high", "people", "base_models",
]  # fmt: skip
BAR_COLUMNS = ["dataset", "base_seed", "method", "people", "accepted", "above", "sure", "models"]
WHOSE = ["dataset", "method", "by"]
GROUPS = [*WHOSE, "group", "metric", "value", "low", "high", "people"]
DIFFERENCES = [*WHOSE, "metric", "difference", "low", "high", "highest", "lowest", "people"]
LEFT_OUT = ["dataset", "by", "smallest_group", "groups", "people"]
# What of the intervals is shown, and with how many digits a terminal of 80 columns has room for;
# the file has all metrics, for every family of change.
SHOWN = {"empirical_robustness": 1, "end_to_end_robustness": 1, "distance": 2}
ALIKE, TOO_FEW = "all alike", "too few people"


def counted_models(results: StoredResults, key: Answered) -> tuple[Booleans, list[str]]:
    """Return which changed models count in numbers over all families, and the family of each."""
    family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
    counted = np.isin(family_of, results.averaged)
    return counted, family_of[counted].tolist()


def interval_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by dataset, method and family, with its interval over people.

    What another draw of people would have shown. `people` is how many different people stand
    behind a number: of robustness and distance, those with valid advice.
    """
    rows = []
    families = tuple(results.families)
    for (dataset, method), keys in _by_method(results).items():
        every = [_people_by_family(results, key) for key in keys]
        for place, family in enumerate((ALL_FAMILIES, *families)):
            groups = [people[place] for people in every]
            for metric, found in estimates(groups).items():
                rows.append((dataset, method, family, metric, *found, len(groups)))
    return {INTERVALS: pd.DataFrame(rows, columns=INTERVAL_COLUMNS)}


def _by_method(results: StoredResults) -> dict[tuple[str, str], list[Answered]]:
    """Return whose answers are there, by dataset and method."""
    keys: dict[tuple[str, str], list[Answered]] = {}
    for key in results.answered:
        keys.setdefault((key.dataset, key.method), []).append(key)
    return keys


def _people(results: StoredResults, key: Answered) -> People:
    """Return what became of everybody under the changed models that count."""
    counted, families = counted_models(results, key)
    survived = results.survived(*key)[:, counted]
    return People.of(results.task(key.dataset), results.counterfactuals(*key), survived, families)


def _people_by_family(results: StoredResults, key: Answered) -> list[People]:
    """Return what became of those who ask under all families together, and under each."""
    answers, survived = results.counterfactuals(*key), results.survived(*key)
    family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
    overall = _people(results, key)
    found = [overall]
    for family in results.families:
        mine = family_of == family
        held = survived[:, mine] @ family_weights(family_of[mine].tolist())
        found.append(overall._replace(held=np.where(answers.base_valid, held, 0.0)))
    return [people.of_some(answers.asking) for people in found]


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
            rows.append(_bar_row(key, judged[asking], models))
            answers = results.counterfactuals(*key)
            for row_id, mine in zip(answers.row_ids[asking].tolist(), judged[asking], strict=True):
                best[row_id] = best[row_id] | mine if row_id in best else mine
        every = np.array(list(best.values()), dtype=np.bool_).reshape(len(best), 3)
        rows.append(_bar_row(Answered(dataset, seed, ANY), every, models))
    return {ABOVE_BAR: pd.DataFrame(rows, columns=BAR_COLUMNS)}


def _judged(results: StoredResults, key: Answered) -> tuple[Booleans, Booleans, int]:
    """Return who asks, and of everybody whether advice is accepted, holds often and surely."""
    answers, (counted, families) = results.counterfactuals(*key), counted_models(results, key)
    held, models = results.survived(*key)[:, counted].sum(axis=1), len(families)
    trials = results.trials(key.dataset, key.base_seed)
    above = [reaches(each, models) for each in held.tolist()]
    sure = [standing(each, models, trials) is Standing.ABOVE for each in held.tolist()]
    judged = np.stack([np.ones(len(held), np.bool_), np.array(above), np.array(sure)], axis=1)
    return np.asarray(answers.asking), judged & answers.base_valid[:, None], models


def _bar_row(key: Answered, judged: Booleans, models: int) -> dict[str, Any]:
    accepted, above, sure = judged.sum(axis=0).tolist()
    counts = {"people": len(judged), "accepted": accepted, "above": above, "sure": sure}
    return {**key._asdict(), **counts, "models": models}


def group_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by group, the largest differences, and how many are not shown."""
    if not results.plan.by:
        return {}
    groups, differences = [], []
    left_out: dict[tuple[object, ...], None] = {}
    for dataset, method, by, found in _grouped(results):
        whose = (dataset, method, by)
        for group, metrics in found.shown.items():
            groups += [(*whose, group, metric, *each) for metric, each in metrics.items()]
        differences += [(*whose, metric, *each) for metric, each in found.differences.items()]
        hidden = (results.plan.smallest_group, found.hidden_groups, found.hidden_people)
        left_out[dataset, by, *hidden] = None
    return {
        "groups": pd.DataFrame(groups, columns=GROUPS),
        "group_differences": pd.DataFrame(differences, columns=DIFFERENCES),
        "groups_left_out": pd.DataFrame(list(left_out), columns=LEFT_OUT),
    }


def _grouped(results: StoredResults) -> Iterator[tuple[str, str, str, Groups]]:
    keys = _by_method(results)
    for by in results.plan.by:
        known = {dataset: groups_of(results.task(dataset), by) for dataset, _ in keys}
        for (dataset, method), behind in keys.items():
            group_of = known[dataset]
            asked = [_asked(results, key, group_of) for key in behind]
            order = group_of.cat.categories.tolist()
            yield dataset, method, by, by_group(asked, order, results.plan.smallest_group)


def _asked(results: StoredResults, key: Answered, group_of: pd.Series[str]) -> Asked:
    answers = results.counterfactuals(*key)
    groups = group_of.loc[answers.row_ids.tolist()].to_numpy(dtype=object)
    return Asked(groups[answers.asking], _people(results, key).of_some(answers.asking))


def by_group_of(row: Row) -> str:
    """Return where groups are, for tables with a section for each: "German Credit by sex"."""
    return f"{dataset_name(row['dataset'])} by {row['by']}"


def _one_base(tables: Tables, frame: pd.DataFrame) -> Sequence[Row]:
    """Return a row per dataset and method; none where spreads are over several base models."""
    if (frame["base_models"] > 1).any():
        return []
    frame = frame[(frame["family"] == ALL_FAMILIES) & frame["metric"].isin(SHOWN)]
    return [
        {"dataset": dataset, "method": method}
        | {row["metric"]: row for row in rows.to_dict("records")}
        for (dataset, method), rows in frame.groupby(["dataset", "method"], sort=False)
    ]


def _how_many(tables: Tables, frame: pd.DataFrame) -> str:
    frame = frame[(frame["family"] == ALL_FAMILIES) & frame["metric"].isin(SHOWN)]
    least, most = int(frame["people"].min()), int(frame["people"].max())
    return f"{least}" if least == most else f"{least} to {most}"


def _interval_column(metric: str, digits: int) -> Column:
    def cell(row: Row) -> Cell:
        texts = (fixed(float(row[metric][part]), digits) for part in ("value", "low", "high"))
        return with_interval(*texts)

    return metric_heading(METRICS[metric]), cell


def _group_value(row: Row) -> Cell:
    text = metric_interval(row["metric"], row["value"], row["low"], row["high"])
    return TOO_FEW if text == UNDEFINED else text


FORMS = {
    INTERVALS: Form(
        "95 % intervals over {over} people (rates in %, one base model)",
        "Results over all families of change with 95 % intervals over people, rates in percent: "
        "what as many other people would show, with the same base model and the same changed "
        "models. The intervals say nothing about other base models.",
        (METHOD, *(_interval_column(metric, digits) for metric, digits in SHOWN.items())),
        rows=_one_base,
        section=dataset_of,
        over=_how_many,
        screen=1,
    ),
    "groups": Form(
        "Who is let down?",
        "Every metric by group of people, rates in percent, with 95 % intervals over people. "
        "Behind empirical robustness and distance are the people whose advice the base model "
        "accepts.",
        (
            METHOD,
            (Heading("Group", left=True), lambda row: str(row["group"])),
            METRIC,
            (Heading("Value (95 % interval)"), _group_value),
            (Heading("People"), lambda row: int(row["people"])),
        ),
        section=by_group_of,
        section_heading="Groups",
    ),
    "group_differences": Form(
        "The largest difference between groups",
        "The largest difference between two groups of people, in points and for distance in "
        "typical deviations, with its 95 % interval over people. The two groups were picked after "
        "all were seen, and the interval is wide enough to allow for that.",
        (
            METHOD,
            METRIC,
            (
                Heading("Highest", left=True),
                lambda row: str(row["highest"]) if row["difference"] else ALIKE,
            ),
            (
                Heading("Lowest", left=True),
                lambda row: str(row["lowest"]) if row["difference"] else "",
            ),
            (
                Heading("Difference (95 % interval)"),
                lambda row: metric_interval(
                    row["metric"], row["difference"], row["low"], row["high"]
                ),
            ),
        ),
        rows=lambda _, frame: [
            row for row in frame.to_dict("records") if not math.isnan(row["difference"])
        ],
        section=by_group_of,
        section_heading="Groups",
    ),
}
