"""Two runs side by side: what became better or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.errors import InputError, unknown
from changeproof.evaluation.differences import Verdict, changes
from changeproof.evaluation.uncertainty import FEWEST_PEOPLE, LEVEL
from changeproof.runs.kept_run import KeptRun
from changeproof.runs.results import ALL_FAMILIES
from changeproof.runs.same_people import (
    counted_in_both,
    families_of_both,
    finished_seeds,
    only_in_one,
    same_rows,
    sides,
)

# Under one family, the other metrics are what they are over all.
BY_FAMILY = ("empirical_robustness", "end_to_end_robustness")


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
        """Count the verdicts."""
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
    runs = (KeptRun(before), KeptRun(after))
    pairs = _methods(runs, match or {})
    notes: list[str] = []
    same = _same_data(runs, notes)
    families = families_of_both(runs, notes)
    for what, common in (("method", pairs), ("family", families)):
        if not common:
            raise _nothing(runs, what)
    lines = [
        line
        for dataset, rows in same.items()
        for method in pairs
        for line in _lines(runs, dataset, (method, pairs[method]), families, rows, notes)
    ]
    if not lines:
        raise InputError(
            f"{runs[0].folder} and {runs[1].folder} have no finished answers in common; see: "
            "changeproof status"
        )
    found = tuple(lines)
    if min(min(line.people_before, line.people_after) for line in found) < FEWEST_PEOPLE:
        notes.append(
            f"Fewer than {FEWEST_PEOPLE} people stand behind some numbers: nothing is clear there."
        )
    first, second = zip(*families.values(), strict=True)
    back = {after: name for name, after in pairs.items()}
    kinds = (only_in_one(*runs, pairs, first), only_in_one(*runs[::-1], back, second))
    said = tuple(dict.fromkeys(notes))
    return RunComparison(runs[0].folder, runs[1].folder, tuple(families), found, *kinds, said)


def _methods(runs: Sequence[KeptRun], match: Mapping[str, str]) -> dict[str, str]:
    """Return the methods of the first run by those of the second that they are compared with."""
    for names, run in zip((match, match.values()), runs, strict=True):
        for name in names:
            if name not in run.methods:
                raise unknown(f"method of {run.folder}", name, run.methods)
    taken = set(match.values())
    equal = {name: name for name in runs[0].methods if name in runs[1].methods}
    return {
        name: match.get(name, name)
        for name in runs[0].methods
        if name in match or (name in equal and name not in taken)
    }


def _same_data(runs: Sequence[KeptRun], notes: list[str]) -> dict[str, pd.Index[Any]]:
    """Return the rows that are the same in both runs, by dataset."""
    found, other = {}, []
    common = [name for name in runs[0].tasks if name in runs[1].tasks]
    if not common:
        raise _nothing(runs, "dataset")
    for name in common:
        tasks = [run.tasks[name] for run in runs]
        rows = same_rows(*tasks)
        shared = pd.Index(tasks[0].ids).isin(tasks[1].ids).sum()
        if len(rows) < max(1, shared / 2):
            other.append(name)
            continue
        found[name] = rows
        if tasks[0].feature_names != tasks[1].feature_names:
            notes.append(
                f"{name} has other features in one of the runs, so distances are not compared."
            )
        if len(rows) < shared:
            notes.append(f"{name}: {shared - len(rows)} rows are not the same in both; left out.")
    for name in other:
        notes.append(f"{name} is other data in the two runs, and is not compared.")
    if not found:
        raise InputError(
            f"{runs[0].folder} and {runs[1].folder} are runs on other data: {', '.join(other)} has "
            "no rows, or few, with the same id and the same values in both"
        )
    return found


def _nothing(runs: Sequence[KeptRun], what: str) -> InputError:
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


def _lines(
    runs: Sequence[KeptRun],
    dataset: str,
    methods: tuple[str, str],
    families: Mapping[str, tuple[str, str]],
    same: pd.Index[Any],
    notes: list[str],
) -> Iterator[Line]:
    """Yield what became of a method on a dataset, over all families and under each."""
    pairs = list(zip(runs, methods, strict=True))
    there = {
        family: both
        for family, both in families.items()
        if all(
            finished_seeds(run, dataset, method, [name])
            for (run, method), name in zip(pairs, both, strict=True)
        )
    }
    seeds = [
        finished_seeds(run, dataset, method, [both[place] for both in there.values()])
        for place, (run, method) in enumerate(pairs)
    ]
    if not there or not all(seeds):
        notes.append(f"{methods[0]} on {dataset} is not finished in both runs, and left out.")
        return
    (one, other), paired = sides(runs, dataset, methods, seeds, same)
    common = {}
    for family, both in there.items():
        each = [side.changes(name) for side, name in zip((one, other), both, strict=True)]
        known = each[0].intersection(each[1], sort=False)
        if len(known):
            common[family] = known
        alone = [len(changed) - len(known) for changed in each]
        if any(alone):
            notes.append(
                f"{family} on {dataset}: {len(known)} changes are in both runs; {alone[0]} of the "
                f"first and {alone[1]} of the second are left out."
            )
    # One family alone is all of them.
    under = common if len(common) > 1 else {}
    over_all = counted_in_both(runs, {family: families[family] for family in common})
    names = [run.tasks[dataset].feature_names for run in runs]
    for family in (ALL_FAMILIES, *under) if common else ():
        chosen = over_all if family == ALL_FAMILIES else (family,)
        before, after = (
            side.measured({families[name][place]: common[name] for name in chosen})
            for place, side in enumerate((one, other))
        )
        found = changes(before, after, paired=paired)
        for metric, change in found.items():
            if metric == "distance" and names[0] != names[1]:
                continue
            if family == ALL_FAMILIES or metric in BY_FAMILY:
                where = (dataset, *methods, family, metric)
                numbers = (one.number, other.number)
                yield Line(*where, *change[:5], change.verdict, paired, *numbers)
