"""What a gate says: words, JUnit XML and JSON."""

from __future__ import annotations

import json
import math
from typing import Any
from xml.etree import ElementTree

from changeproof.gating.judging import Answer, Gate, Judged, Outcome
from changeproof.gating.rules import ANY, VALUE, Rule
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.names import in_order

SUITE = "changeproof gate"


def words(gate: Gate) -> list[str]:
    """Return a line for each rule, and one for all of them."""
    width = max(len(answer) for answer in Answer)
    lines = [f"{each.answer:<{width}}  {each.title}: {told(each)}" for each in gate.outcomes]
    counts = [f"{number} {answer}" for answer in Answer if (number := gate.count(answer))]
    rules = "1 rule" if len(gate.outcomes) == 1 else f"{len(gate.outcomes)} rules"
    return [*lines, f"{rules}: {', '.join(counts)}."]


def told(outcome: Outcome) -> str:
    """Say which number decided, with its interval and the limit."""
    said = _number(outcome.rule, outcome.decisive, outcome)
    numbers, methods = len(outcome.judged), len({each.number.method for each in outcome.judged})
    if outcome.rule.method == ANY and methods > 1:
        worst = ", at its worst" if numbers > methods else ""
        return f"{said} (the best of {methods} methods{worst})"
    return said if numbers == 1 else f"{said} (the worst of {numbers})"


def _number(rule: Rule, judged: Judged, outcome: Outcome | None = None) -> str:
    number = judged.number
    where = number.method
    if number.family and number.family != ALL_FAMILIES:
        where += f" under {number.family}"
    if outcome is None or len(in_order(each.number.dataset for each in outcome.judged)) > 1:
        where += f" on {number.dataset}"
    what = f"difference in {rule.metric} by {rule.by}" if rule.by else rule.metric
    said = f"{what} of {where} is {_digits(number.value)}"
    if number.groups and not math.isnan(number.value):
        said += f", {number.groups}"
    notes = []
    if not math.isnan(number.low) and rule.decided_by != VALUE:
        notes.append(f"95 % interval {_digits(number.low)} to {_digits(number.high)}")
    if number.people is not None:
        notes.append(f"{number.people} {'person' if number.people == 1 else 'people'}")
    said += f" ({', '.join(notes)})" if notes else ""
    said += f"; wanted: {rule.wanted}"
    return said + (f"; {judged.reason}" if judged.reason else "")


def _digits(value: float) -> str:
    if math.isinf(value):
        return "beyond the last update"
    return "undefined" if math.isnan(value) else f"{value:.4g}"


def junit(gate: Gate, *, strict: bool = False) -> str:
    """Return the outcome as JUnit XML: a test case for each rule.

    A broken rule is a failure. One that is not decided is skipped or, if strict, a failure.
    """
    undecided = gate.count(Answer.NOT_DECIDED)
    counts = {
        "tests": str(len(gate.outcomes)),
        "failures": str(gate.count(Answer.FAIL) + (undecided if strict else 0)),
        "errors": "0",
        "skipped": str(0 if strict else undecided),
    }
    suites = ElementTree.Element("testsuites", {"name": SUITE, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, **counts})
    for outcome in gate.outcomes:
        named = {"name": outcome.title, "classname": f"changeproof.{gate.folder.name}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        message = {"message": f"{outcome.answer}: {told(outcome)}"}
        if outcome.answer is Answer.FAIL or (strict and outcome.answer is Answer.NOT_DECIDED):
            ElementTree.SubElement(case, "failure", {**message, "type": str(outcome.answer)})
        elif outcome.answer is Answer.NOT_DECIDED:
            ElementTree.SubElement(case, "skipped", message)
        lines = (f"{each.answer}: {_number(outcome.rule, each)}" for each in outcome.judged)
        ElementTree.SubElement(case, "system-out").text = "\n".join(lines)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def as_json(gate: Gate, *, strict: bool = False) -> str:
    """Return the outcome as JSON; what is undefined or infinite is null."""
    content = {
        "run": str(gate.folder),
        "passed": gate.passed(strict=strict),
        "strict": strict,
        "rules": [_as_dict(outcome) for outcome in gate.outcomes],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.title,
        "answer": str(outcome.answer),
        "words": told(outcome),
        "rule": outcome.rule.model_dump(mode="json", exclude_none=True),
        "decisive": _judged(outcome.decisive),
        "numbers": [_judged(each) for each in outcome.judged],
    }


def _judged(judged: Judged) -> dict[str, Any]:
    values = {name: value for name, value in judged.number._asdict().items() if name != "why"}
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
    return finite | {"answer": str(judged.answer), "reason": judged.reason}
