"""What a gate says: words, JUnit XML, Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from changeproof.gating.judging import Answer, Gate, Judged, Outcome, people_words
from changeproof.gating.rules import ANY, VALUE, Rule
from changeproof.report.formats import markdown
from changeproof.runs.results import ALL_FAMILIES

SUITE = "changeproof gate"
MARKS = {Answer.PASS: "✔", Answer.FAIL: "✘", Answer.NOT_DECIDED: "?"}


def words(gate: Gate) -> list[str]:
    """Return a line for each rule, and one for all of them."""
    width = max(len(answer) for answer in Answer)
    lines = [
        f"{each.answer:<{width}}  {each.title}: {decisive_words(each)}" for each in gate.outcomes
    ]
    counts = [f"{number} {answer}" for answer in Answer if (number := gate.count(answer))]
    rules = "1 rule" if len(gate.outcomes) == 1 else f"{len(gate.outcomes)} rules"
    return [*lines, f"{rules}: {', '.join(counts)}."]


def decisive_words(outcome: Outcome) -> str:
    """Say which number decided, with its interval and the limit."""
    one_dataset = len({each.number.dataset for each in outcome.judged}) == 1
    text = _number(outcome.rule, outcome.decisive, name_dataset=not one_dataset)
    numbers, methods = len(outcome.judged), len({each.number.method for each in outcome.judged})
    if outcome.rule.method == ANY and methods > 1:
        worst = ", at its worst" if numbers > methods else ""
        return f"{text} (the best of {methods} methods{worst})"
    return text if numbers == 1 else f"{text} (the worst of {numbers})"


def _number(rule: Rule, judged: Judged, *, name_dataset: bool = True) -> str:
    number = judged.number
    what = f"difference in {rule.metric} by {rule.by}" if rule.by else rule.metric
    text = f"{what} of {number.method}"
    if number.family not in ("", ALL_FAMILIES):
        text += f" under {number.family}"
    if name_dataset:
        text += f" on {number.dataset}"
    text += f" is {_digits(number.value)}"
    if number.groups and not math.isnan(number.value):
        text += f", {number.groups}"
    notes = []
    if not math.isnan(number.low) and rule.decided_by != VALUE:
        notes.append(f"95 % interval {_digits(number.low)} to {_digits(number.high)}")
    if number.people is not None:
        notes.append(people_words(number.people))
    text += f" ({', '.join(notes)})" if notes else ""
    return "; ".join(filter(None, (text, f"required: {rule.required}", judged.reason)))


def _digits(value: float) -> str:
    if math.isinf(value):
        return "beyond the last update"
    return "undefined" if math.isnan(value) else f"{value:.4g}"


def junit(gate: Gate, *, strict: bool = False) -> str:
    """Return the outcome as JUnit XML: a test case for each rule.

    A broken rule is a failure. One that is not decided is skipped or, if strict, a failure.
    """
    tags = {Answer.FAIL: "failure", Answer.NOT_DECIDED: "failure" if strict else "skipped"}
    found = [tags.get(outcome.answer, "") for outcome in gate.outcomes]
    counts = {
        "tests": str(len(found)),
        "failures": str(found.count("failure")),
        "errors": "0",
        "skipped": str(found.count("skipped")),
    }
    suites = ElementTree.Element("testsuites", {"name": SUITE, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, **counts})
    for outcome, tag in zip(gate.outcomes, found, strict=True):
        named = {"name": outcome.title, "classname": f"changeproof.{gate.folder.name}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        if tag:
            details = {"message": f"{outcome.answer}: {decisive_words(outcome)}"}
            details |= {"type": str(outcome.answer)} if tag == "failure" else {}
            ElementTree.SubElement(case, tag, details)
        lines = (f"{each.answer}: {_number(outcome.rule, each)}" for each in outcome.judged)
        ElementTree.SubElement(case, "system-out").text = "\n".join(lines)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def as_markdown(gate: Gate, verdict: Sequence[str] = (), *, strict: bool = False) -> str:
    """Return the outcome as Markdown, such as for the summary of a job; then what a run found."""
    passed = gate.passed(strict=strict)
    rows = [
        f"| {MARKS[each.answer]} {each.answer} | {markdown(each.title)} | "
        f"{markdown(decisive_words(each))} |"
        for each in gate.outcomes
    ]
    lines = [
        f"### The gate is {'open' if passed else 'closed'}",
        "",
        "| answer | rule | what decided |",
        "|---|---|---|",
        *rows,
        "",
        words(gate)[-1],
    ]
    for sentence in verdict:
        lines += ["", markdown(sentence)]
    return "\n".join([*lines, ""])


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
        "words": decisive_words(outcome),
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
