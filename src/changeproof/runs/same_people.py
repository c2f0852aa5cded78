"""Who and what two runs have in common: rows, people, base models, families, changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.evaluation.counting import counted
from changeproof.evaluation.people import People
from changeproof.model import Booleans, Integers
from changeproof.plugins import parsed, spelled
from changeproof.runs.kept_run import KeptRun

# Two runs are compared person by person if at least this share of the smaller one is in both.
SHARE_IN_COMMON = 0.5


class Side(NamedTuple):
    """What of a run is compared: a method's answers to some people of some base models.

    `people` are their places among those who were asked, for every base model.
    """

    run: KeptRun
    dataset: str
    method: str
    seeds: tuple[int, ...]
    people: tuple[Integers, ...]

    @property
    def number(self) -> int:
        """How many different people they are."""
        asked = [asked_of(self.run, self.dataset, seed, self.method) for seed in self.seeds]
        pairs = zip(asked, self.people, strict=True)
        return len({person for ids, places in pairs for person in ids[places]})

    def changes(self, family: str) -> pd.Index[Any]:
        """Return the changes of a family that every base model has."""
        found = changes_of(self.run, self.dataset, self.seeds[0], family)
        for seed in self.seeds[1:]:
            here = changes_of(self.run, self.dataset, seed, family)
            found = found.intersection(here, sort=False)
        return found

    def measured(self, changes: Mapping[str, pd.Index[Any]]) -> list[People]:
        """Return what became of the people of each base model under changes, by family."""
        found = []
        task = self.run.tasks[self.dataset]
        families = [family for family, names in changes.items() for _ in names]
        for seed, chosen in zip(self.seeds, self.people, strict=True):
            answers = self.run.answers(self.dataset, seed, self.method)
            held = [self._held(seed, family, names) for family, names in changes.items()]
            assert answers is not None
            everybody = People.of(task, answers, np.hstack(held), families)
            found.append(everybody.of_some(chosen))
        return found

    def _held(self, seed: int, family: str, names: pd.Index[Any]) -> Any:
        survived = self.run.survived(self.dataset, seed, self.method, family)
        assert survived is not None
        places = changes_of(self.run, self.dataset, seed, family).get_indexer(names)
        return survived[:, places]


def same_rows(one: Task, other: Task) -> pd.Index[Any]:
    """Return the ids of the rows that are the same in both: outcome, and features in common."""
    ids: pd.Index[Any] = pd.Index(one.ids).intersection(pd.Index(other.ids), sort=False)
    columns = [name for name in one.feature_names if name in other.feature_names]
    if not len(ids) or not columns:
        return ids[:0]
    values = []
    for task in (one, other):
        places = pd.Index(task.ids).get_indexer(ids)
        raw = task.frame[columns].to_numpy(dtype=np.float64)
        values.append(np.column_stack([raw, task.labels])[places])
    alike: Booleans = np.isclose(values[0], values[1]).all(axis=1)
    same: pd.Index[Any] = ids[alike]
    return same


def changes_of(run: KeptRun, dataset: str, seed: int, family: str) -> pd.Index[Any]:
    """Return names of a family's changed models: level, replicate, and which of equals."""
    found = run.changes(dataset, seed, family)
    if found is None:
        return pd.Index([], dtype=object)
    which = found.groupby(list(found.columns)).cumcount().astype(str)
    return pd.Index(found["level"] + " / " + found["replicate"] + " / " + which, dtype=object)


def asked_of(run: KeptRun, dataset: str, seed: int, method: str) -> pd.Index[Any]:
    """Return the ids of whom a method answered."""
    answers = run.answers(dataset, seed, method)
    rows = [] if answers is None else answers.row_ids.tolist()
    ids: pd.Index[Any] = pd.Index(run.tasks[dataset].ids.loc[rows])
    return ids


def _asking(run: KeptRun, dataset: str, seed: int, method: str) -> Booleans:
    """Return who of them is a request: whom today's model favours already is none."""
    answers = run.answers(dataset, seed, method)
    return np.zeros(0, np.bool_) if answers is None else answers.asking


def finished_seeds(
    run: KeptRun, dataset: str, method: str, families: Sequence[str]
) -> tuple[int, ...]:
    """Return the base models whose answers were put to all of some families."""
    return tuple(
        seed
        for seed in run.plan.base_seeds
        if all(run.survived(dataset, seed, method, family) is not None for family in families)
    )


def sides(
    runs: Sequence[KeptRun],
    dataset: str,
    methods: Sequence[str],
    seeds: Sequence[tuple[int, ...]],
    same: pd.Index[Any],
) -> tuple[list[Side], bool]:
    """Return what to compare of both runs, and whether these are the same people.

    The same people are those in both, for base models in both, in the order of the first run.
    Without enough of them everybody is compared.
    """
    both = tuple(seed for seed in seeds[0] if seed in seeds[1])
    pairs = list(zip(runs, methods, strict=True))
    asked = [[asked_of(run, dataset, seed, method) for seed in both] for run, method in pairs]
    requests = [
        [ids[_asking(run, dataset, seed, method)] for ids, seed in zip(each, both, strict=True)]
        for (run, method), each in zip(pairs, asked, strict=True)
    ]
    known = [one[one.isin(other) & one.isin(same)] for one, other in zip(*requests, strict=True)]
    number, smaller = sum(map(len, known)), min(sum(map(len, ids)) for ids in requests)
    if number == 0 or number < SHARE_IN_COMMON * smaller:
        return [
            _everybody(*pair, dataset, own) for pair, own in zip(pairs, seeds, strict=True)
        ], False
    return [
        Side(run, dataset, method, both, _places(ids, known))
        for (run, method), ids in zip(pairs, asked, strict=True)
    ], True


def _everybody(run: KeptRun, method: str, dataset: str, seeds: tuple[int, ...]) -> Side:
    places = (np.flatnonzero(_asking(run, dataset, seed, method)) for seed in seeds)
    return Side(run, dataset, method, seeds, tuple(places))


def _places(asked: Sequence[pd.Index[Any]], known: Sequence[pd.Index[Any]]) -> tuple[Integers, ...]:
    return tuple(
        np.asarray(ids.get_indexer(people), dtype=np.int64)
        for ids, people in zip(asked, known, strict=True)
    )


def families_of_both(runs: Sequence[KeptRun], notes: list[str]) -> dict[str, tuple[str, str]]:
    """Return the families in common: what to call each, and its name in both runs.

    Other numbers of replicates make no other family: the changes in both are the same.
    """
    found = {name: (name, name) for name in runs[0].families if name in runs[1].families}
    alone = [[name for name in run.families if name not in found] for run in runs]
    for name in alone[0]:
        plain = _without_replicates(name)
        alike = [other for other in alone[1] if _without_replicates(other) == plain]
        if len(alike) == 1 and [_without_replicates(other) for other in alone[0]].count(plain) == 1:
            found[spelled(*plain)] = (name, alike[0])
            notes.append(
                f"{name} and {alike[0]} differ in how many changes are drawn; they are compared "
                "on those in both."
            )
    return found


def _without_replicates(family: str) -> tuple[str, dict[str, Any]]:
    name, settings = parsed(family)
    return name, {key: value for key, value in settings.items() if key != "replicates"}


def counted_in_both(
    runs: Sequence[KeptRun], families: Mapping[str, tuple[str, str]]
) -> tuple[str, ...]:
    """Return the families that numbers over all families are about in both runs.

    Without any, those that would be if the runs had no others.
    """
    both = tuple(
        family
        for family, names in families.items()
        if all(name in run.counted for run, name in zip(runs, names, strict=True))
    )
    kinds = {family: runs[0].families[names[0]] for family, names in families.items()}
    return both or counted(kinds)


def only_in_one(
    run: KeptRun, other: KeptRun, methods: Mapping[str, str], families: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return what only the first of two runs has, by kind."""
    alone = {
        "datasets": [name for name in run.tasks if name not in other.tasks],
        "methods": [name for name in run.methods if name not in methods],
        "families": [name for name in run.families if name not in families],
        "base seeds": [
            str(seed) for seed in run.plan.base_seeds if seed not in other.plan.base_seeds
        ],
    }
    return {kind: tuple(names) for kind, names in alone.items() if names}
