"""The tables about people: intervals over them, who gets advice that holds, and groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from changeproof.datasets.groups import groups_of
from changeproof.evaluation.bar import Standing, reaches, standing
from changeproof.evaluation.groups import by_group
from changeproof.evaluation.metrics import METRICS, People
from changeproof.evaluation.people import estimates
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables.cases import Case, by_method
from changeproof.tables.display import (
    METHOD,
    METRIC,
    UNDEFINED,
    Column,
    Form,
    Heading,
    Row,
    Tables,
    interval_text,
    metric_heading,
)
from changeproof.tables.names import dataset_name

INTERVALS, ABOVE_BAR = "people_intervals", "people_above_bar"
ANY = "any"
INTERVAL_COLUMNS = [
    "dataset", "method", "family", "metric", "value", "low", "high", "people", "base_models",
]  # fmt: skip
BAR_COLUMNS = ["dataset", "base_seed", "method", "people", "accepted", "above", "sure", "models"]
GROUPS = ["dataset", "method", "by", "group", "metric", "value", "low", "high", "people"]
DIFFERENCES = [
    "dataset", "method", "by", "metric", "difference", "low", "high", "highest", "lowest", "people",
]  # fmt: skip
LEFT_OUT = ["dataset", "by", "smallest_group", "groups", "people"]
# What of the intervals is shown, and with how many digits a terminal of 80 columns has room for;
# the file has all metrics, for every family of change.
SHOWN = {"empirical_robustness": 1, "end_to_end_robustness": 1, "distance": 2}
ALIKE, TOO_FEW = "all alike", "too few people"


def interval_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by dataset, method and family, with its interval over people.

    What another draw of people would have shown. `people` is how many different people a number
    is over: of robustness and distance, those with valid advice.
    """
    rows = []
    for where, keys in by_method(results).items():
        mine = [Case.of(results, key) for key in keys]
        for family in (ALL_FAMILIES, *results.families):
            found = estimates([case.people(family) for case in mine])
            rows += [(*where, family, metric, *each, len(mine)) for metric, each in found.items()]
    return {INTERVALS: pd.DataFrame(rows, columns=INTERVAL_COLUMNS)}


def bar_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return how many people get advice that holds often enough, by base model and method.

    Of `people` who ask, so many get advice that today's model accepts (`accepted`), that holds in
    at least 95 % of the changed `models` as well (`above`), and of which the 95 % interval over
    such models says so (`sure`). The last row of a base model takes the best advice that any
    method has for each person.
    """
    rows = []
    for base in dict.fromkeys(key[:2] for key in results.answered):
        mine = [Case.of(results, key) for key in results.answered if key[:2] == base]
        judged = {case.key.method: _judged(case, results.trials(*base)) for case in mine}
        judged[ANY] = pd.concat(judged.values()).groupby(level=0).any()
        models = int(mine[0].models().sum())
        rows += [(*base, name, len(each), *each.sum(), models) for name, each in judged.items()]
    return {ABOVE_BAR: pd.DataFrame(rows, columns=BAR_COLUMNS)}


def _judged(case: Case, trials: int | None) -> pd.DataFrame:
    """Return who of those who ask has advice that is accepted, above the bar, and surely so."""
    survived = case.survived[:, case.models()]
    models = survived.shape[1]
    held = survived.sum(axis=1).tolist()
    above = [reaches(each, models) for each in held]
    sure = [standing(each, models, trials) is Standing.ABOVE for each in held]
    valid = case.answers.base_valid
    judged = {"accepted": valid, "above": valid & above, "sure": valid & sure}
    return pd.DataFrame(judged, index=case.answers.row_ids)[case.answers.asking]


def group_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by group, the largest differences, and how many are not shown."""
    if not results.plan.by:
        return {}
    smallest, keys = results.plan.smallest_group, by_method(results)
    groups, differences = [], []
    left_out: dict[tuple[object, ...], None] = {}
    for by in results.plan.by:
        known = {dataset: groups_of(results.task(dataset), by) for dataset, _ in keys}
        for (dataset, method), answered in keys.items():
            group_of, where = known[dataset], (dataset, method, by)
            people: dict[str, list[People]] = {group: [] for group in group_of.cat.categories}
            for key in answered:
                everybody = Case.of(results, key).people()
                mine = group_of.loc[everybody.row_ids.tolist()].to_numpy(dtype=object)
                for group, each in people.items():
                    each.append(everybody.some(mine == group))
            found = by_group(people, smallest)
            for group, metrics in found.shown.items():
                groups += [(*where, group, metric, *each) for metric, each in metrics.items()]
            differences += [(*where, metric, *each) for metric, each in found.differences.items()]
            left_out[dataset, by, smallest, found.hidden_groups, found.hidden_people] = None
    return {
        "groups": pd.DataFrame(groups, columns=GROUPS),
        "group_differences": pd.DataFrame(differences, columns=DIFFERENCES),
        "groups_left_out": pd.DataFrame(list(left_out), columns=LEFT_OUT),
    }


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
    people = frame["people"][(frame["family"] == ALL_FAMILIES) & frame["metric"].isin(SHOWN)]
    least, most = int(people.min()), int(people.max())
    return f"{least}" if least == most else f"{least} to {most}"


def _interval_column(metric: str, digits: int) -> Column:
    def cell(row: Row) -> str:
        value, low, high = (row[metric][part] for part in ("value", "low", "high"))
        return interval_text(value, low, high, digits)

    return metric_heading(METRICS[metric]), cell


def _metric_cell(column: str, row: Row) -> str:
    return interval_text(row[column], row["low"], row["high"], METRICS[row["metric"]].digits)


def _group_value(row: Row) -> str:
    text = _metric_cell("value", row)
    return TOO_FEW if text == UNDEFINED else text


def _end_cell(name: str, alike: str) -> Callable[[Row], str]:
    return lambda row: str(row[name]) if row["difference"] else alike


FORMS = {
    INTERVALS: Form(
        "95 % intervals over {over} people (rates in %, one base model)",
        "Results over all families of change with 95 % intervals over people, rates in percent: "
        "what as many other people would show, with the same base model and the same changed "
        "models. The intervals say nothing about other base models.",
        (METHOD, *(_interval_column(metric, digits) for metric, digits in SHOWN.items())),
        rows=_one_base,
        over=_how_many,
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
            (Heading("Highest", left=True), _end_cell("highest", ALIKE)),
            (Heading("Lowest", left=True), _end_cell("lowest", "")),
            (Heading("Difference (95 % interval)"), partial(_metric_cell, "difference")),
        ),
        rows=lambda _, frame: frame.dropna(subset="difference").to_dict("records"),
        section=by_group_of,
        section_heading="Groups",
    ),
}
