"""The command for one person: explain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands import audit_options as ask
from changeproof.commands import constraints as may
from changeproof.commands.auditing import grid_of, say_what_was_left_out
from changeproof.commands.console import quiet_output, say
from changeproof.commands.options import split as split_names
from changeproof.commands.successors import ThresholdValue, model_of

if TYPE_CHECKING:
    from changeproof.datasets.task import Task
    from changeproof.explanation import Explanation
    from changeproof.report.recommendation import Recommendation

# So many reasons are printed; if there are more, JSON has them.
MOST_REASONS = 5


def explain(
    data: ask.Data,
    row: Annotated[str, ask.option(ask.RUN, "The id of the person.", metavar="ID")],
    target: ask.Target = None,
    favourable: ask.Favourable = None,
    method: Annotated[
        list[str] | None,
        ask.option(
            ask.RUN,
            "The method, or several, with or without settings.",
            "all that fit the model",
            metavar="NAME,…",
        ),
    ] = None,
    model: ask.ModelName = "mlp",
    out: Annotated[
        Path | None,
        ask.option(ask.RUN, "The run directory.", "runs/explain-NAME", metavar="DIR"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=ask.RUN)
    ] = False,
    name: ask.Name = None,
    id_column: ask.IdColumn = None,
    categorical: ask.Categorical = None,
    drop: ask.Drop = None,
    missing: ask.Missing = "refuse",
    encoding: ask.Encoding = None,
    split: ask.SplitColumn = None,
    time: ask.Time = None,
    over_time: ask.OverTime = False,
    immutable: may.Immutable = None,
    only_increase: may.OnlyIncrease = None,
    only_decrease: may.OnlyDecrease = None,
    ranges: may.Range = None,
    most_changes: may.MostChanges = None,
    realisable: may.Realisable = True,
    grid: ask.Grid = None,
    replacements: ask.Replacements = None,
    threshold: ThresholdValue = None,
    families: ask.Families = None,
    jobs: ask.Jobs = None,
    unpickle: ask.Unpickle = False,
) -> None:
    """Show what one person is told to change, and whether that will hold.

    Prints the advice in the units of your data, what must not change, and under how
    many changed models the advice still holds, with a 95 % interval.

    Of one method, you see that for each family of change. Of several, you see the
    advice of each, and one is recommended: the shortest that today's model accepts,
    that the person can follow, and that holds in at least 95 % of the changed models.

    changeproof explain --data loans.csv --target approved --favourable yes
    --model mlp --row 17

    changeproof explain --data loans.csv --target approved --favourable yes
    --model mlp --method robx-balanced --row 17
    """
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.datasets.custom import own_task
    from changeproof.explanation import explain_all, recommendation, row_of
    from changeproof.front_door import audit as run_audit

    options: dict[str, Any] = {
        "target": target,
        "favourable": favourable,
        "name": name,
        "id_column": id_column,
        "categorical": split_names(categorical) or (),
        "drop": split_names(drop) or (),
        "missing": missing,
        "split": split,
        "actions": may.constraints(immutable, only_increase, only_decrease, ranges),
        "most_changes": most_changes,
        "time": time,
        "encoding": encoding,
    }
    source, described = ask.data_of(data, options)
    task = own_task(source, **described) if described else source
    over_time = over_time or time is not None
    task = task.over_time() if over_time else task
    folder = out if out is not None else folder_of(task)
    asked = split_names(method)
    with quiet_output(as_json), ConsoleObserver() as observer, failures_told(folder):
        results = run_audit(
            source,
            folder,
            model=model_of(model, unpickle),
            grid=grid_of(grid),
            replacements=replacements,
            threshold=threshold,
            jobs=jobs,
            observer=observer,
            methods=asked,
            families=split_names(families),
            rows=(row_of(task.ids, row),),
            realisable=realisable,
            over_time=over_time,
            publish=False,
            same_plan=False,
            **described,
        )
    answers = explain_all(results, row)
    one = asked is not None and len(asked) == 1
    choice = recommendation(answers)
    if as_json:
        typer.echo(json.dumps(_plain(answers, None if one else choice), indent=2, default=str))
        return
    for line in told_by_one(answers[0], task) if one else told_by_several(answers, choice, task):
        say(line)
    say_what_was_left_out(results)


def folder_of(task: Task) -> Path:
    """Return where the run is kept; other constraints or times make it another run."""
    other = task.declared or task.most_changes is not None or task.time is not None
    mark = f"-{task.fingerprint[:8]}" if other else ""
    return Path("runs") / f"explain-{task.name}{mark}"


def _plain(answers: Sequence[Explanation], choice: Recommendation | None) -> dict[str, Any]:
    if choice is None:
        return answers[0].as_dict()
    return {
        "explanations": [answer.as_dict() for answer in answers],
        "recommended": choice._asdict(),
    }


def told_by_one(answer: Explanation, task: Task) -> Iterator[str]:
    """Yield what one method told a person, line by line."""
    yield f"{answer.method} on {answer.dataset}, for {answer.person}:"
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


def told_by_several(
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


def _lasting(answer: Explanation) -> Iterator[str]:
    """Yield through how many updates the advice held, for every sequence of them."""
    for each in answer.lasting:
        yield f"{each.family}: {each.sentence}"


def _advice(answer: Explanation) -> Iterator[str]:
    """Yield sentences: what to change, or why there is nothing."""
    from changeproof.datasets.recourse import MOST_CHANGES, NOTHING_ELSE, folded
    from changeproof.methods.outcomes import ONLY_PARTS, in_parts

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
    from changeproof.report.constraints import reasons, respected, rules, why

    told = any(answer.counterfactual is not None for answer in answers)
    breach = "; ".join(
        f"{answer.breach} ({answer.method})" if len(answers) > 1 else answer.breach
        for answer in answers
        if answer.breach
    )
    said = respected(rules(task), told, breach)
    if not said:
        return
    yield said
    given = reasons(task)
    if 0 < len(given) <= MOST_REASONS:
        yield f"Why: {why(given)}"
