"""What one person is told, line by line, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from changeproof.datasets.recourse import MOST_CHANGES, NOTHING_ELSE, folded
from changeproof.datasets.task import Task
from changeproof.explanation import Explanation
from changeproof.methods.outcomes import ONLY_PARTS, in_parts
from changeproof.report.constraints import reasons, respected, rules, why
from changeproof.report.recommendation import Recommendation

# So many reasons are printed; if there are more, JSON has them.
MOST_REASONS = 5


def one_explained(answer: Explanation, task: Task) -> Iterator[str]:
    """Yield what one method told a person, line by line."""
    yield f"{answer.method} on {answer.dataset}, for {answer.person}:"
    yield from (f"  {line}" for line in _unknown(answer))
    for line in _advice(answer):
        yield f"  {line}"
    for line in _rules(task, [answer]):
        yield f"  {line}"
    if answer.counterfactual is None:
        return
    accepts = "accepts" if answer.base_valid else "does not accept"
    yield (
        f"  Today's model {accepts} this. "
        f"Distance: {answer.distance:.2f} typical deviations per feature."
    )
    yield "Still holds after the model changes (95 % interval over changed models):"
    for holding in (*answer.families, answer.overall):
        interval = f"{holding.low:.0%} to {holding.high:.0%}"
        counts = f"{holding.held} of {holding.models}"
        yield f"  {holding.family:<24}{counts:>11}  {holding.share:>4.0%}  ({interval})"
    yield from _lasting(answer)


def several_explained(
    answers: Sequence[Explanation], choice: Recommendation, task: Task
) -> Iterator[str]:
    """Yield what several methods told a person, and which advice to follow."""
    who = f"For {answers[0].person} on {answers[0].dataset}"
    nothing = {answer.why_not for answer in answers}
    if len(nothing) == 1 and "" not in nothing:
        yield f"{who}:"
        yield f"  No advice: {nothing.pop()}."
        yield from _rules(task, answers)
        return
    yield f"{who} (distances in typical deviations per feature):"
    yield from (f"  {line}" for line in _unknown(answers[0]))

    def place(answer: Explanation) -> tuple[bool, bool, int]:
        return answer.method != choice.method, not answer.base_valid, -answer.overall.held

    for answer in sorted(answers, key=place):
        yield f"  {answer.method}" + (" (recommended)" if answer.method == choice.method else "")
        yield f"    {' '.join(_advice(answer))}"
        if answer.counterfactual is None:
            continue
        overall = answer.overall
        accepts = "" if answer.base_valid else "Today's model does not accept this. "
        yield (
            f"    {accepts}Holds in {overall.held} of {overall.models} changed models "
            f"(95 % interval over such models: {100 * overall.low:.0f} % to "
            f"{100 * overall.high:.0f} %). Distance: {answer.distance:.2f}."
        )
        yield from (f"    {line}" for line in _lasting(answer))
    yield f"Recommended: {choice.reason}" if choice.method is not None else choice.reason
    yield from _rules(task, answers)


def _unknown(answer: Explanation) -> Iterator[str]:
    """Yield what nobody knows of the person, and what advice was tested with instead."""
    if answer.filled_in:
        each = ", ".join(
            f"{feature} ({value} was filled in)" for feature, value in answer.filled_in.items()
        )
        yield f"Unknown of this person: {each}. What advice leaves alone was tested as filled in."


def _lasting(answer: Explanation) -> Iterator[str]:
    """Yield through how many updates the advice held, for every sequence of them."""
    for each in answer.lasting:
        yield f"{each.family}: {each.sentence}"


def _advice(answer: Explanation) -> Iterator[str]:
    """Yield sentences: what to change, or why there is nothing."""
    if answer.counterfactual is None:
        yield f"No advice: {answer.why_not}."
    elif not answer.changes:
        yield ONLY_PARTS
    else:
        yield from (f"{sentence}." for sentence in answer.advice[:MOST_CHANGES])
        if len(answer.changes) > MOST_CHANGES:
            yield folded(answer.changes)
        yield in_parts(answer.partly) if answer.partly else NOTHING_ELSE


def _rules(task: Task, answers: Sequence[Explanation]) -> Iterator[str]:
    """Yield what must not change, whether it was respected, and why."""
    told = any(answer.counterfactual is not None for answer in answers)
    breach = "; ".join(
        f"{answer.breach} ({answer.method})" if len(answers) > 1 else answer.breach
        for answer in answers
        if answer.breach
    )
    line = respected(rules(task), told, breach)
    if not line:
        return
    yield line
    given = reasons(task)
    if 0 < len(given) <= MOST_REASONS:
        yield f"Why: {why(given)}"
