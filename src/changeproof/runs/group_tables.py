"""The tables about groups of people: who is let down, and how far groups are apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from changeproof.datasets.groups import groups_of
from changeproof.evaluation.groups import Asked, Groups, by_group
from changeproof.evaluation.people import People
from changeproof.runs.results import Answered, StoredResults

WHOSE = ["dataset", "method", "by"]
GROUPS = [*WHOSE, "group", "metric", "value", "low", "high", "people"]
DIFFERENCES = [*WHOSE, "metric", "difference", "low", "high", "highest", "lowest", "people"]
LEFT_OUT = ["dataset", "by", "smallest_group", "groups", "people"]


def group_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every metric by group, the largest differences, and how many are not shown."""
    if not results.plan.by:
        return {}
    groups, differences = [], []
    left_out: dict[tuple[object, ...], None] = {}
    for dataset, method, by, found in _measured(results):
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


def _measured(results: StoredResults) -> Iterator[tuple[str, str, str, Groups]]:
    keys: dict[tuple[str, str], list[Answered]] = {}
    for key in results.answered:
        keys.setdefault((key.dataset, key.method), []).append(key)
    for by in results.plan.by:
        known = {dataset: groups_of(results.task(dataset), by) for dataset, _ in keys}
        for (dataset, method), behind in keys.items():
            group_of = known[dataset]
            asked = [_asked(results, key, group_of) for key in behind]
            order = group_of.cat.categories.tolist()
            yield dataset, method, by, by_group(asked, order, results.plan.smallest_group)


def _asked(results: StoredResults, key: Answered, group_of: pd.Series[str]) -> Asked:
    answers = results.counterfactuals(*key)
    family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy()
    judged = np.isin(family_of, results.averaged)
    survived = results.survived(*key)[:, judged]
    people = People.of(results.task(key.dataset), answers, survived, family_of[judged].tolist())
    groups = group_of.loc[answers.row_ids.tolist()].to_numpy(dtype=object)
    asking = answers.asking
    return Asked(groups[asking], people.of_some(asking))
