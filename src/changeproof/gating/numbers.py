"""The numbers of a finished run that rules are about, as its tables have them.

Neither the model nor anybody's method or family is imported, so a gate can stand on a machine that
has none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from changeproof.errors import InputError
from changeproof.evaluation.advice import QUALITIES
from changeproof.gating.rules import ALL, ANY, EACH, LIFE, Rule
from changeproof.plugins import without_settings
from changeproof.runs.manifest import read_record
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.people import INTERVALS as PEOPLE
from changeproof.tables.registry import read_finished
from changeproof.tables.scores import counted_in, unchanged_in

NOBODY = "it is undefined: nobody stands behind it"
NO_CHANGE = "it says nothing: no changed model differs from today's"
ALL_HOLD = 100.0


class Number(NamedTuple):
    """A number of the run, where it stands, and its interval; NaN where there is none."""

    dataset: str
    method: str
    family: str
    value: float
    low: float = math.nan
    high: float = math.nan
    people: int | None = None
    groups: str = ""
    # Why there is no value or no interval, where there is none.
    why: str = NOBODY


class Source(NamedTuple):
    """Where the numbers of a rule are: a table, and its columns with value and interval.

    `missing` says what a run without the table lacks, and `why` why a number is not there.
    """

    table: str
    columns: tuple[str, ...]
    missing: str
    why: str = NOBODY
    families: bool = True


def source_of(rule: Rule) -> Source:
    """Return where the numbers of a rule are."""
    if rule.by is not None:
        why = "there are no two groups that are large enough to compare"
        missing = "people were not grouped; run it with --by"
        ends = ("difference", "low", "high")
        return Source("group_differences", ends, missing, why, families=False)
    if rule.metric in QUALITIES:
        why = f'no interval is known of {rule.metric}; decided_by = "value" does without'
        missing = "nothing is known of advice; write its tables again"
        return Source("advice", (f"{rule.metric}_mean",), missing, why, families=False)
    if rule.metric in LIFE:
        columns = (rule.metric, f"{rule.metric}_low", f"{rule.metric}_high")
        missing = f"there are no updates one after the other, and so no {rule.metric}"
        return Source("life_summary", columns, missing)
    missing = "there are no intervals over people; write its tables again"
    return Source(PEOPLE, ("value", "low", "high"), missing)


class Numbers:
    """The numbers of a finished run.

    Parameters
    ----------
    folder
        The run directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        plan, self._tables = read_finished(folder)
        self._left_out = plan.left_out
        self._unchanged, self._counted = unchanged_in(self._tables), counted_in(self._tables)
        self.datasets = tuple(read_record(folder).tasks)
        self.methods = (*plan.methods, *plan.counterfactuals)

    def of(self, rule: Rule, where: str) -> list[Number]:
        """Return the numbers that a rule is about; `where` names the rule in errors."""
        named = None if rule.method in (ALL, ANY) else rule.method
        methods = self._chosen(where, "method", named, self.methods)
        datasets = self._chosen(where, "dataset", rule.dataset, self.datasets)
        source = source_of(rule)
        table = self._tables.get(source.table)
        if table is None or (table.empty and rule.by is None):
            raise InputError(f"{where}: in {self.folder}, {source.missing}")
        table = self._about(rule, where, table)
        families = self._families(rule, where, table) if source.families else ("",)
        rows = {_key(row, source): row for row in table.to_dict("records")}
        numbers = []
        for method, dataset, family in product(methods, datasets, families):
            if (dataset, method, family) not in rows and rule.by is not None:
                numbers.append(Number(dataset, method, family, math.nan, why=source.why))
                continue
            if (dataset, method, family) not in rows:
                asked = f"{method} on {dataset}" + (f" under {family}" if family else "")
                raise InputError(
                    f"{where}: {self.folder} has no {rule.metric} of {asked}; did it fail there?"
                )
            number = _number(rows[dataset, method, family], source)
            if self._tests_nothing(rule, number):
                number = Number(dataset, method, family, math.nan, why=NO_CHANGE)
            numbers.append(number._replace(dataset=dataset, method=method))
        return numbers

    def _tests_nothing(self, rule: Rule, number: Number) -> bool:
        """Return whether all holds because no model has changed."""
        if not rule.metric.endswith("robustness") or number.value != ALL_HOLD:
            return False
        nothing = bool(self._counted) and self._counted <= self._unchanged
        return number.family in self._unchanged or (number.family == ALL_FAMILIES and nothing)

    def _families(self, rule: Rule, where: str, table: pd.DataFrame) -> Sequence[str]:
        """Return which families a rule looks at; of the life of advice, which sequences."""
        known = [name for name in table["family"].drop_duplicates() if name != ALL_FAMILIES]
        if rule.family in (None, ALL):
            return known if rule.metric in LIFE else (ALL_FAMILIES,)
        if rule.family == EACH:
            return [name for name in known if name not in self._unchanged] or known
        return self._chosen(where, "family", rule.family, known)

    def _about(self, rule: Rule, where: str, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows about the metric of a rule and, for differences, about its groups."""
        if rule.by is not None:
            columns = [each["by"] for each in self._tables.values() if "by" in each]
            known = list(dict.fromkeys(str(name) for column in columns for name in column))
            if rule.by not in known:
                raise InputError(
                    f"{where}: people were not grouped by {rule.by!r}; expected one of: "
                    f"{', '.join(known)}"
                )
            table = table[table["by"].astype(str) == rule.by]
        return table[table["metric"] == rule.metric] if "metric" in table else table

    def _chosen(
        self, where: str, what: str, given: str | Sequence[str] | None, known: Sequence[str]
    ) -> Sequence[str]:
        """Return what is named, or all there is; refuse what the run does not have."""
        if given is None:
            return known
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            for left, reason in self._left_out.items():
                if name not in known and name in (left, without_settings(left)):
                    raise InputError(f"{where}: {what} {name!r} was left out of the run ({reason})")
            if name not in known:
                raise InputError(
                    f"{where}: {what} {name!r} is not in the run; expected one of: "
                    f"{', '.join(known)}"
                )
        return names


def _key(row: Mapping[Any, Any], source: Source) -> tuple[str, str, str]:
    family = str(row["family"]) if source.families else ""
    return str(row["dataset"]), str(row["method"]), family


def _number(row: Mapping[Any, Any], source: Source) -> Number:
    values = [float(row[column]) for column in source.columns]
    value, low, high = [*values, math.nan, math.nan][:3]
    people = int(row["people"]) if "people" in row else None
    groups = f"{row['highest']} above {row['lowest']}" if "highest" in row else ""
    return Number(*_key(row, source), value, low, high, people, groups, source.why)
