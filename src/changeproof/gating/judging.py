"""Whether a finished run keeps rules: pass, fail, or not decided.

Numbers are those of the run's tables. Neither the model nor anybody's method or family is imported,
so a gate can stand on a machine that has none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from changeproof.errors import InputError
from changeproof.evaluation.advice import QUALITIES
from changeproof.evaluation.uncertainty import FEWEST_PEOPLE
from changeproof.gating.rules import ALL, ANY, EACH, VALUE, Rule, read_rules
from changeproof.plugins import without_settings
from changeproof.runs.manifest import read_record
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.life import LIFE
from changeproof.tables.people import INTERVALS
from changeproof.tables.registry import read_finished
from changeproof.tables.scores import ALL_HOLD, counted_in, unchanged_in

NOBODY = "it is undefined: there is nobody to average over"
NO_CHANGE = "nothing was tested: no changed model differs from today's"


class Number(NamedTuple):
    """A number of the run with its interval; NaN, and `why`, where there is none."""

    dataset: str
    method: str
    family: str
    value: float
    low: float = math.nan
    high: float = math.nan
    people: int | None = None
    groups: str = ""
    why: str = NOBODY


class Answer(StrEnum):
    """Whether a rule is kept."""

    PASS = "pass"
    FAIL = "fail"
    NOT_DECIDED = "not decided"


class Judged(NamedTuple):
    """A number of the run, whether it keeps a rule, and why that is not decided."""

    number: Number
    answer: Answer
    reason: str


class Outcome(NamedTuple):
    """A rule, its name or what it says, and the answer.

    `judged` is every number that the rule is about, and `decisive` the one that decided: the worst
    of those that all have to keep the rule, the best of those of which one has to.
    """

    rule: Rule
    title: str
    answer: Answer
    decisive: Judged
    judged: tuple[Judged, ...]


class Gate(NamedTuple):
    """The run directory, and the outcome of every rule, in their order."""

    folder: Path
    outcomes: tuple[Outcome, ...]

    def count(self, answer: Answer) -> int:
        return sum(outcome.answer is answer for outcome in self.outcomes)

    def passed(self, *, strict: bool = False) -> bool:
        """Return whether no rule is broken; if strict, whether all are known to be kept."""
        undecided = strict and self.count(Answer.NOT_DECIDED) > 0
        return not self.count(Answer.FAIL) and not undecided


def gate(run: str | Path, rules: str | Path | Mapping[str, Any] | Sequence[Any]) -> Gate:
    """Return whether a finished run keeps rules.

    Only the plan and the tables of the run are read: no model and nobody's code is loaded.

    Parameters
    ----------
    run
        The run directory.
    rules
        A TOML file with ``[[rule]]`` tables, the same as a mapping, or a list of mappings; see
        `docs/gate.md`.

    Examples
    --------
    >>> rule = {"method": "rnce", "metric": "end_to_end_robustness", "at_least": 95}
    >>> cp.gate("audit", [rule]).passed()
    """
    known, numbers = read_rules(rules), Numbers(Path(run))
    return Gate(Path(run), tuple(_outcome(rule, numbers.of(rule, where)) for where, rule in known))


def judge(rule: Rule, number: Number) -> Judged:
    """Return whether a number keeps a rule.

    The whole interval has to be on one side of the limit, and enough people behind it, unless the
    value alone decides. A number at the limit keeps it.
    """
    if math.isnan(number.value):
        return Judged(number, Answer.NOT_DECIDED, number.why)
    if rule.decided_by == VALUE:
        kept = rule.keeps(number.value)
        return Judged(number, Answer.PASS if kept else Answer.FAIL, "by the value alone")
    if number.people is not None and number.people < FEWEST_PEOPLE:
        few = f"{people_words(number.people)}, at least {FEWEST_PEOPLE} are needed"
        return Judged(number, Answer.NOT_DECIDED, few)
    if math.isnan(number.low) or math.isnan(number.high):
        return Judged(number, Answer.NOT_DECIDED, number.why)
    low, high = rule.keeps(number.low), rule.keeps(number.high)
    if low != high:
        return Judged(number, Answer.NOT_DECIDED, "the interval covers the limit")
    return Judged(number, Answer.PASS if low else Answer.FAIL, "")


def people_words(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def _outcome(rule: Rule, numbers: Sequence[Number]) -> Outcome:
    judged = tuple(judge(rule, number) for number in numbers)
    by_method: dict[str, list[Judged]] = {}
    for each in judged:
        by_method.setdefault(each.number.method, []).append(each)
    # Of one method all have to keep the rule; of "any" method the one that does best counts.
    worst = [min(mine, key=lambda each: _rank(rule, each)) for mine in by_method.values()]
    best_or_worst = max if rule.method == ANY else min
    decisive = best_or_worst(worst, key=lambda each: _rank(rule, each))
    return Outcome(rule, rule.name or _title(rule), decisive.answer, decisive, judged)


def _rank(rule: Rule, judged: Judged) -> tuple[int, float]:
    """Order by how well a rule is kept: by the answer, then by the distance to the limit."""
    order = [Answer.FAIL, Answer.NOT_DECIDED, Answer.PASS].index(judged.answer)
    value = judged.number.value
    margin = value - rule.limit if rule.at_least is not None else rule.limit - value
    return order, -math.inf if math.isnan(margin) else margin


def _title(rule: Rule) -> str:
    """Say what a rule without a name asks for."""
    what = f"largest difference by {rule.by} in {rule.metric}" if rule.by else rule.metric
    method = {ANY: "any method", ALL: "every method"}.get(str(rule.method), rule.method)
    family = "each family" if rule.family == EACH else rule.family
    parts = [method, None if family == ALL else family, rule.dataset]
    listed = [each if isinstance(each, str) else ", ".join(each) for each in parts if each]
    return f"{what} {rule.required} ({'; '.join(listed)})"


class Numbers:
    """The numbers of a finished run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        plan, self._tables = read_finished(folder)
        self._left_out = plan.left_out
        self._unchanged, self._counted = unchanged_in(self._tables), counted_in(self._tables)
        self._datasets = tuple(read_record(folder).tasks)
        self._methods = (*plan.methods, *plan.counterfactuals)

    def of(self, rule: Rule, where: str) -> list[Number]:
        """Return the numbers that a rule is about; `where` names the rule in errors."""
        named = None if rule.method in (ALL, ANY) else rule.method
        methods = self._chosen(where, "method", named, self._methods)
        datasets = self._chosen(where, "dataset", rule.dataset, self._datasets)
        table, why = self._table(rule, where)
        families = self._families(rule, where, table)
        fields = [name for name in Number._fields if name in table]
        types: dict[str, type] = dict.fromkeys(fields[:3], str)
        types |= {name: float for name in ("value", "low", "high") if name in table}
        known = {
            row[:3]: Number(**dict(zip(fields, row, strict=True)), why=why)
            for row in table[fields].astype(types).itertuples(index=False, name=None)
        }
        numbers = []
        for method, dataset, family in product(methods, datasets, families):
            place = (dataset, method, family)
            number = known.get(place, Number(*place, math.nan, why=why))
            if self._tests_nothing(rule, number):
                number = Number(*place, math.nan, why=NO_CHANGE)
            if place not in known and rule.by is None:
                asked = f"{method} on {dataset}" + (f" under {family}" if family else "")
                raise InputError(
                    f"{where}: {self.folder} has no {rule.metric} of {asked}; did it fail there?"
                )
            numbers.append(number)
        return numbers

    def _table(self, rule: Rule, where: str) -> tuple[pd.DataFrame, str]:
        """Return the table of a rule's metric, and why a number or its interval may be missing.

        Its columns are fields of `Number`; `family` is empty where it is about no family.
        """
        metric = rule.metric
        if rule.by is not None:
            missing = "people were not grouped; run it with --by"
            table = self._written("group_differences", where, missing, empty=True)
            grouped = [str(by) for each in self._tables.values() for by in each.get("by", ())]
            if rule.by not in grouped:
                raise InputError(
                    f"{where}: people were not grouped by {rule.by!r}; expected one of: "
                    f"{', '.join(dict.fromkeys(grouped))}"
                )
            table = table[(table["by"].astype(str) == rule.by) & (table["metric"] == metric)]
            groups = table["highest"].astype(str) + " above " + table["lowest"].astype(str)
            table = table.rename(columns={"difference": "value"}).assign(groups=groups, family="")
            return table, "no two groups are large enough to compare"
        if metric in QUALITIES:
            missing = "there is no table of advice; write the tables again"
            table = self._written("advice", where, missing)
            why = f'{metric} has no interval; decided_by = "value" does without'
            return table.rename(columns={f"{metric}_mean": "value"}).assign(family=""), why
        if metric in LIFE:
            missing = f"there are no sequences of updates, and so no {metric}"
            table = self._written("life_summary", where, missing)
            if metric not in table:
                raise InputError(
                    f"{where}: in {self.folder}, tables of an earlier version have no {metric}; "
                    f"write them again with: changeproof report {self.folder}"
                )
            names = {metric: "value", f"{metric}_low": "low", f"{metric}_high": "high"}
            return table.rename(columns=names), NOBODY
        missing = "there are no intervals over people; write the tables again"
        table = self._written(INTERVALS, where, missing)
        return table[table["metric"] == metric], NOBODY

    def _written(self, name: str, where: str, missing: str, *, empty: bool = False) -> pd.DataFrame:
        """Return a table of the run; say what is missing where there is none."""
        table = self._tables.get(name)
        if table is None or (table.empty and not empty):
            raise InputError(f"{where}: in {self.folder}, {missing}")
        return table

    def _families(self, rule: Rule, where: str, table: pd.DataFrame) -> Sequence[str]:
        """Return which families a rule is about; for the life of advice, which sequences."""
        if rule.by is not None or rule.metric in QUALITIES:
            return ("",)
        known = [name for name in table["family"].drop_duplicates() if name != ALL_FAMILIES]
        if rule.family in (None, ALL):
            return known if rule.metric in LIFE else (ALL_FAMILIES,)
        if rule.family == EACH:
            return [name for name in known if name not in self._unchanged] or known
        return self._chosen(where, "family", rule.family, known)

    def _tests_nothing(self, rule: Rule, number: Number) -> bool:
        """Return whether all advice holds because no model has changed."""
        if not rule.metric.endswith("robustness") or number.value != ALL_HOLD:
            return False
        if number.family == ALL_FAMILIES:
            return bool(self._counted) and self._counted <= self._unchanged
        return number.family in self._unchanged

    def _chosen(
        self, where: str, what: str, given: str | Sequence[str] | None, known: Sequence[str]
    ) -> Sequence[str]:
        """Return what is named, or all there is; refuse what the run does not have."""
        if given is None:
            return known
        names = [given] if isinstance(given, str) else list(given)
        for name in (each for each in names if each not in known):
            for left, reason in self._left_out.items():
                if name in (left, without_settings(left)):
                    raise InputError(f"{where}: {what} {name!r} was left out of the run ({reason})")
            raise InputError(
                f"{where}: {what} {name!r} is not in the run; expected one of: {', '.join(known)}"
            )
        return names
