"""Whether a run keeps rules: pass, fail, or not decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from changeproof.evaluation.uncertainty import FEWEST_PEOPLE
from changeproof.gating.numbers import Number, Numbers
from changeproof.gating.rules import ALL, ANY, EACH, VALUE, Rule, read_rules


class Answer(StrEnum):
    """Whether a rule is kept."""

    PASS = "pass"
    FAIL = "fail"
    NOT_DECIDED = "not decided"


class Judged(NamedTuple):
    """A number of the run, whether it keeps a rule, and why not or why that is not decided."""

    number: Number
    answer: Answer
    reason: str


class Outcome(NamedTuple):
    """A rule, what became of it, and the number that decided.

    Attributes
    ----------
    rule
        The rule.
    title
        Its name, or what it says.
    answer
        Pass, fail or not decided.
    decisive
        The number that decided: the worst of those that all have to keep the rule, the best of
        those of which one has to.
    judged
        Every number that the rule is about.
    """

    rule: Rule
    title: str
    answer: Answer
    decisive: Judged
    judged: tuple[Judged, ...]


class Gate(NamedTuple):
    """What became of every rule.

    Attributes
    ----------
    folder
        The run directory.
    outcomes
        One for each rule, in their order.
    """

    folder: Path
    outcomes: tuple[Outcome, ...]

    def count(self, answer: Answer) -> int:
        """Return how many rules have an answer."""
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
        one = "person" if number.people == 1 else "people"
        few = f"{number.people} {one}, at least {FEWEST_PEOPLE} are needed"
        return Judged(number, Answer.NOT_DECIDED, few)
    if math.isnan(number.low) or math.isnan(number.high):
        return Judged(number, Answer.NOT_DECIDED, number.why)
    ends = [rule.keeps(end) for end in (number.low, number.high)]
    if all(ends):
        return Judged(number, Answer.PASS, "")
    if any(ends):
        return Judged(number, Answer.NOT_DECIDED, "the interval covers the limit")
    return Judged(number, Answer.FAIL, "")


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
    return f"{what} {rule.wanted} ({'; '.join(listed)})"
