"""Two runs side by side: who and what they have in common, and what became better or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown
from changeproof.evaluation.counting import counting_families
from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Verdict, metric_changes
from changeproof.evaluation.uncertainty import FEWEST_PEOPLE, LEVEL
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans
from changeproof.plugins import parsed, spelled
from changeproof.runs.manifest import Judged
from changeproof.runs.pieces import Kind
from changeproof.runs.results import ALL_FAMILIES, StoredResults

# Under one family, the other metrics are what they are over all.
BY_FAMILY = ("empirical_robustness", "end_to_end_robustness")
# Two runs are compared person by person if at least this share of the smaller one is in both.
SHARE_IN_COMMON = 0.5
Runs = tuple[StoredResults, StoredResults]  # before and after
Asking = dict[int, "pd.Index[Any]"]  # ids of people, by base seed
Families = Mapping[str, tuple[str, str]]  # what to call a family, and its name in both runs


class Line(NamedTuple):
    """A metric of a method before and after, over all families in common or under one."""

    dataset: str
    method: str
    method_after: str
    family: str
    metric: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    verdict: Verdict
    paired: bool
    people_before: int
    people_after: int


@dataclass(frozen=True)
class RunComparison:
    """What became better or worse from one run to another.

    Attributes
    ----------
    before, after
        The run directories.
    families
        The families in common, which "all" is over.
    lines
        One per dataset, method, family and metric that both have.
    only_before, only_after
        What one of them has alone: names by kind (datasets, methods, families, base seeds).
    notes
        What to keep in mind, a sentence each.
    """

    before: Path
    after: Path
    families: tuple[str, ...]
    lines: tuple[Line, ...]
    only_before: dict[str, tuple[str, ...]]
    only_after: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    @property
    def table(self) -> pd.DataFrame:
        """All differences as a table: after minus before, with 95 % intervals over people."""
        return pd.DataFrame(self.lines, columns=list(Line._fields))

    @property
    def judged(self) -> list[Line]:
        """The differences that are defined."""
        return [line for line in self.lines if line.verdict != Verdict.UNDEFINED]

    @property
    def clear(self) -> list[Line]:
        """The differences whose interval excludes 0."""
        return [line for line in self.judged if line.verdict != Verdict.UNCLEAR]

    @property
    def by_chance(self) -> float:
        """How many intervals would exclude 0 by chance if nothing had changed."""
        return (1.0 - LEVEL) * len(self.judged)

    def counts(self) -> Counter[str]:
        return Counter(line.verdict.value for line in self.lines)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it; None is what is undefined."""
        return {
            "before": str(self.before),
            "after": str(self.after),
            "families": list(self.families),
            "looked_at": len(self.judged),
            "clear": len(self.clear),
            "expected_by_chance": self.by_chance,
            "only_before": {kind: list(names) for kind, names in self.only_before.items()},
            "only_after": {kind: list(names) for kind, names in self.only_after.items()},
            "notes": list(self.notes),
            "differences": [
                {
                    name: None if isinstance(value, float) and np.isnan(value) else value
                    for name, value in line._asdict().items()
                }
                for line in self.lines
            ],
        }


def compare_runs(
    before: str | Path, after: str | Path, match: Mapping[str, str] | None = None
) -> RunComparison:
    """Say what became better or worse from one run to another.

    Only what both have is compared: datasets, methods and families of the same name, base models
    of the same seed, changes of the same level and replicate. Where the same people were asked
    (rows of the same id, outcome and features), differences are paired: the same people are drawn
    in both. The means are then of these people.

    Parameters
    ----------
    before, after
        The run directories. Nothing of what made them is imported.
    match
        Methods of `before` that have another name or other settings in `after`, by name:
        ``{"rbr": "rbr(extra_distance=0.5)"}``.

    Returns
    -------
    RunComparison
        With `table`, `counts`, and what cannot be compared.

    Examples
    --------
    >>> comparison = cp.compare_runs("audits/spring", "audits/autumn")
    >>> comparison.table.query("verdict == 'worse'")
    """
    runs = (_read(before), _read(after))
    pairs = _methods(runs, match or {})
    notes = list(_other_models(runs))
    same = _same_data(runs, notes)
    families = _families_of_both(runs, notes)
    for what, common in (("method", pairs), ("family", families)):
        if not common:
            raise _nothing(runs, what)
    lines = tuple(
        line
        for dataset, rows in same.items()
        for method in pairs.items()
        for line in _lines(runs, dataset, method, families, rows, notes)
    )
    if not lines:
        raise InputError(
            f"{runs[0].folder} and {runs[1].folder} have no finished answers in common; see: "
            "changeproof status"
        )
    if min(min(line.people_before, line.people_after) for line in lines) < FEWEST_PEOPLE:
        notes.append(
            f"Some numbers are about fewer than {FEWEST_PEOPLE} people: too few for a clear "
            "difference."
        )
    alone = []
    for place, (run, other) in enumerate((runs, runs[::-1])):
        in_common = {
            "datasets": other.tasks,
            "methods": [both[place] for both in pairs.items()],
            "families": [both[place] for both in families.values()],
            "base seeds": other.plan.base_seeds,
        }
        has = (run.tasks, run.methods, run.families, run.plan.base_seeds)
        names = {
            kind: tuple(str(name) for name in own if name not in common)
            for (kind, common), own in zip(in_common.items(), has, strict=True)
        }
        alone.append({kind: only for kind, only in names.items() if only})
    folders = (runs[0].folder, runs[1].folder)
    each_once = tuple(dict.fromkeys(notes))
    return RunComparison(*folders, tuple(families), lines, alone[0], alone[1], each_once)


def _read(folder: str | Path) -> StoredResults:
    results = StoredResults(folder)
    for path in results.inventory.damaged.values():
        raise InputError(f"damaged file {path}; compute it again: changeproof run --out {folder}")
    return results


def _methods(runs: Runs, match: Mapping[str, str]) -> dict[str, str]:
    """Return the methods of the first run by those of the second that they are compared with."""
    for names, run in zip((match, match.values()), runs, strict=True):
        for name in names:
            if name not in run.methods:
                raise unknown(f"method of {run.folder}", name, run.methods)
    free = [name for name in runs[1].methods if name not in match.values()]
    return {
        name: match.get(name, name) for name in runs[0].methods if name in match or name in free
    }


def _other_models(runs: Runs) -> Iterator[str]:
    """Yield that the runs judged different models, or the same at different thresholds."""
    before, after = (run.manifest.judged for run in runs)
    if before is None or after is None:
        return
    if before.shipped or after.shipped:
        same = before.digest == after.digest
    else:  # of what is trained here, the digest also has the versions of libraries
        same = (before.reference, before.name) == (after.reference, after.name)
    if not same:
        yield (
            f"The runs judged different models: before {_named(before)}, after {_named(after)}. "
            "Differences may be due to that."
        )
    elif before.threshold != after.threshold:
        yield (
            "The runs judged the same model at different thresholds: before "
            f"{before.threshold}, after {after.threshold}."
        )


def _named(judged: Judged) -> str:
    if judged.shipped:
        return f"the {judged.kind} of {judged.reference} ({judged.digest})"
    return f"{judged.name}, trained there"


def _same_data(runs: Runs, notes: list[str]) -> dict[str, pd.Index[Any]]:
    found, other = {}, []
    common = [name for name in runs[0].tasks if name in runs[1].tasks]
    if not common:
        raise _nothing(runs, "dataset")
    for name in common:
        tasks = [run.tasks[name] for run in runs]
        rows = _same_rows(*tasks)
        shared = pd.Index(tasks[0].ids).isin(tasks[1].ids).sum()
        if len(rows) < max(1, shared / 2):
            other.append(name)
            continue
        found[name] = rows
        if tasks[0].feature_names != tasks[1].feature_names:
            notes.append(
                f"{name} has different features in the two runs, so distances are not compared."
            )
        if len(rows) < shared:
            notes.append(f"{name}: {shared - len(rows)} rows differ and are left out.")
    notes += [f"{name} is different data in the two runs, and is not compared." for name in other]
    if not found:
        raise InputError(
            f"{runs[0].folder} and {runs[1].folder} are runs on different data: few or no rows of "
            f"{', '.join(other)} have the same id and the same values in both"
        )
    return found


def _same_rows(one: Task, other: Task) -> pd.Index[Any]:
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


def _nothing(runs: Runs, what: str) -> InputError:
    plural = {"dataset": "tasks", "method": "methods", "family": "families"}
    has = [", ".join(getattr(run, plural[what])) for run in runs]
    hint = {
        "dataset": "; the same data under another name can be audited with --name",
        "method": "; other settings can be compared with --match OLD=NEW",
    }.get(what, "")
    return InputError(
        f"the runs have no {what} in common: {runs[0].folder} has {has[0]}; {runs[1].folder} has "
        f"{has[1]}{hint}"
    )


def _families_of_both(runs: Runs, notes: list[str]) -> Families:
    """Return the families in common: what to call each, and its name in both runs.

    Other numbers of replicates make no other family: the changes in both are the same.
    """
    found = {name: (name, name) for name in runs[0].families if name in runs[1].families}
    alone: list[dict[str, list[str]]] = [{}, {}]  # by name without replicates
    for run, names in zip(runs, alone, strict=True):
        for family in run.families:
            name, settings = parsed(family)
            settings = {key: value for key, value in settings.items() if key != "replicates"}
            if family not in found:
                names.setdefault(spelled(name, settings), []).append(family)
    for plain, (one, *more) in alone[0].items():
        if not more and len(others := alone[1].get(plain, [])) == 1:
            found[plain] = (one, others[0])
            notes.append(
                f"{one} and {others[0]} differ in how many changes are drawn; they are compared "
                "on those in both."
            )
    return found


def _lines(
    runs: Runs,
    dataset: str,
    methods: tuple[str, str],
    families: Families,
    same: pd.Index[Any],
    notes: list[str],
) -> Iterator[Line]:
    sides = [_Side(run, dataset, method) for run, method in zip(runs, methods, strict=True)]
    there = {
        family: both
        for family, both in families.items()
        if all(side.seeds([name]) for side, name in zip(sides, both, strict=True))
    }
    seeds = [
        side.seeds([both[place] for both in there.values()]) for place, side in enumerate(sides)
    ]
    if not there or not all(seeds):
        notes.append(f"{methods[0]} on {dataset} is not finished in both runs, and is left out.")
        return
    asking, paired = _who_asks(sides, seeds, same)
    numbers = [len(set().union(*people.values())) for people in asking]
    common = {}
    for family, both in there.items():
        each = [
            reduce(_in_both, (side.changes(seed, name) for seed in people))
            for side, name, people in zip(sides, both, asking, strict=True)
        ]
        known = _in_both(*each)
        if len(known):
            common[family] = known
        alone = [len(changed) - len(known) for changed in each]
        if any(alone):
            notes.append(
                f"{family} on {dataset}: {len(known)} changes are in both runs; {alone[0]} of the "
                f"first and {alone[1]} of the second are left out."
            )
    names = [run.tasks[dataset].feature_names for run in runs]
    chosen = {ALL_FAMILIES: _counted_in_both(runs, {name: families[name] for name in common})}
    if len(common) > 1:  # one family alone is all of them
        chosen |= {family: (family,) for family in common}
    for family, under in chosen.items() if common else ():
        before, after = (
            side.measured(asking[place], {families[name][place]: common[name] for name in under})
            for place, side in enumerate(sides)
        )
        for metric, change in metric_changes(before, after, paired=paired).items():
            if metric == "distance" and names[0] != names[1]:
                continue
            if family == ALL_FAMILIES or metric in BY_FAMILY:
                where = (dataset, *methods, family, metric)
                yield Line(*where, *change[:5], change.verdict, paired, *numbers)


def _in_both(one: pd.Index[Any], other: pd.Index[Any]) -> pd.Index[Any]:
    return one.intersection(other, sort=False)


def _counted_in_both(runs: Runs, families: Families) -> tuple[str, ...]:
    """Return the families that numbers over all families are about in both runs.

    Without any, those that would be if the runs had no others.
    """
    both = tuple(
        family
        for family, names in families.items()
        if all(name in run.counting_families for run, name in zip(runs, names, strict=True))
    )
    return both or counting_families(
        {name: runs[0].families[names[0]] for name, names in families.items()}
    )


class _Side(NamedTuple):
    """What of a run is compared: a method's answers on a dataset."""

    run: StoredResults
    dataset: str
    method: str

    def seeds(self, families: Sequence[str]) -> list[int]:
        """Return the base models whose answers were put to all of some families."""
        where, finished = (Kind.SURVIVAL, self.dataset), self.run.finished
        return [
            seed
            for seed in self.run.plan.base_seeds
            if all(finished(*where, seed, self.method, family) for family in families)
        ]

    def answers(self, seed: int) -> Counterfactuals:
        return self.run.counterfactuals(self.dataset, seed, self.method)

    def ids(self, seed: int) -> pd.Index[Any]:
        """Return who was asked about."""
        rows = self.answers(seed).row_ids.tolist()
        ids: pd.Index[Any] = pd.Index(self.run.tasks[self.dataset].ids.loc[rows])
        return ids

    def changes(self, seed: int, family: str) -> pd.Index[Any]:
        """Return names of changed models: level, replicate, and which of equals."""
        found = self.run.changed(self.dataset, seed, family)[["level", "replicate"]].astype(str)
        which = found.groupby(list(found.columns)).cumcount().astype(str)
        return pd.Index(found["level"] + " / " + found["replicate"] + " / " + which, dtype=object)

    def measured(self, asking: Asking, changes: Mapping[str, pd.Index[Any]]) -> list[People]:
        """Return what became of the people of each base model under changes, by family."""
        task = self.run.tasks[self.dataset]
        families = [family for family, names in changes.items() for _ in names]
        found = []
        for seed, people in asking.items():
            held = [
                self.run.held(self.dataset, seed, self.method, family)[
                    :, self.changes(seed, family).get_indexer(names)
                ]
                for family, names in changes.items()
            ]
            everybody = People.of(task, self.answers(seed), np.hstack(held), families)
            found.append(everybody.some(self.ids(seed).get_indexer(people)))
        return found


def _who_asks(
    sides: Sequence[_Side], seeds: Sequence[list[int]], same: pd.Index[Any]
) -> tuple[list[Asking], bool]:
    """Return whom to compare in both runs, and whether these are the same people.

    The same people are those in both, for base models in both, in the order of the first run.
    Without enough of them everybody is compared.
    """
    one, other = everybody = [
        {seed: side.ids(seed)[side.answers(seed).asking] for seed in own}
        for side, own in zip(sides, seeds, strict=True)
    ]
    both = [seed for seed in one if seed in other]
    known = {seed: one[seed][one[seed].isin(other[seed]) & one[seed].isin(same)] for seed in both}
    requests = min(sum(len(asking[seed]) for seed in both) for asking in everybody)
    number = sum(map(len, known.values()))
    if number == 0 or number < SHARE_IN_COMMON * requests:
        return everybody, False
    return [known, known], True
