"""The command for one person: explain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands import audit_options as ask
from changeproof.commands import constraints as may
from changeproof.commands.auditing import grid_of, say_what_was_left_out
from changeproof.commands.console import print_document, quiet_output, say
from changeproof.commands.options import split as split_names
from changeproof.commands.successors import ThresholdValue, model_of
from changeproof.errors import InputError, unknown

if TYPE_CHECKING:
    from changeproof.datasets.task import Task
    from changeproof.explanation import Explanation
    from changeproof.report.recommendation import Recommendation
    from changeproof.workflow import Results


def explain(
    row: Annotated[str, ask.option(ask.RUN, "The id of the person.", metavar="ID")],
    data: Annotated[Path | None, ask.DATA_FILE] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Read a finished audit or run instead of data and model. Nothing is computed.",
            metavar="DIR",
            show_default=False,
            rich_help_panel=ask.DATA,
        ),
    ] = None,
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
    allow_leak: ask.AllowLeak = None,
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
    that the person can follow, and that is known to hold in at least 95 % of the changed
    models. If the interval does not tell, the choice is undecided.

    changeproof explain --data loans.csv --target approved --favourable yes
    --model mlp --row 17

    With --from, what a finished audit told the person is read from it, at once. Without,
    models are trained; another method or person on the same data takes seconds then.

    changeproof explain --data loans.csv --target approved --favourable yes
    --model mlp --method robx-balanced --row 17

    changeproof explain --from audit --row 17
    """
    from changeproof.commands.telling import told_by_one, told_by_several
    from changeproof.explanation import explain_all, recommendation

    asked = split_names(method)
    options: dict[str, Any] = {
        "target": target,
        "favourable": favourable,
        "name": name,
        "id_column": id_column,
        "categorical": split_names(categorical) or (),
        "drop": split_names(drop) or (),
        "allow_leak": split_names(allow_leak) or (),
        "missing": missing,
        "split": split,
        "actions": may.constraints(immutable, only_increase, only_decrease, ranges),
        "most_changes": most_changes,
        "time": time,
        "encoding": encoding,
    }
    run = {
        "model": None if model == "mlp" else model,
        "grid": grid_of(grid),
        "replacements": replacements,
        "threshold": threshold,
        "jobs": jobs,
        "families": split_names(families),
        "over_time": over_time or time is not None or None,
        "realisable": None if realisable else False,
    }
    if audit is not None:
        given = {"data": data, "out": out, **options, "name": None, **run}
        results, dataset = _finished(audit, given, name)
    elif data is None:
        raise InputError("--data is missing; or name a finished audit by --from")
    else:
        dataset = None
        run["model"] = model_of(model, unpickle)
        with quiet_output(as_json):
            results = _asked_now(data, options, out, row, {"methods": asked, **run})
    task = results.task(dataset or results.shown.datasets[0])
    answers = explain_all(results, row, asked if audit is not None else None, dataset)
    one = asked is not None and len(asked) == 1
    choice = recommendation(answers)
    if as_json:
        print_document(json.dumps(_plain(answers, None if one else choice), indent=2, default=str))
        return
    for line in told_by_one(answers[0], task) if one else told_by_several(answers, choice, task):
        say(line)
    say_what_was_left_out(results)


def _asked_now(
    data: Path, options: dict[str, Any], out: Path | None, row: str, run: dict[str, Any]
) -> Results:
    """Have the methods advise one person, and put that to the changed models."""
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.datasets.custom import own_task
    from changeproof.explanation import row_of
    from changeproof.front_door import audit as run_audit

    source, described = ask.data_of(data, options)
    task = own_task(source, **described) if described else source
    task = task.over_time() if run["over_time"] else task
    folder = out if out is not None else folder_of(task)
    _refuse_audits(folder)
    with ConsoleObserver() as observer, failures_told(folder):
        return run_audit(
            task,
            folder,
            observer=observer,
            rows=(row_of(task.ids, row),),
            publish=False,
            same_plan=False,
            **run,
        )


def _finished(folder: Path, given: dict[str, Any], name: str | None) -> tuple[Results, str]:
    """Return a run that is there, and which dataset of it is meant."""
    from changeproof.workflow import Results

    names = [key for key, value in given.items() if value not in (None, (), {}, "refuse")]
    if names:
        flags = ", ".join(ask.FLAGS.get(key, f"--{key.replace('_', '-')}") for key in names)
        raise InputError(f"--from reads {folder} as it is; leave out {flags}")
    results = Results(folder)
    if not results.inventory.complete:
        raise InputError(
            f"the run in {folder} is not finished, or was made by another version of changeproof "
            f"(see: changeproof status {folder})"
        )
    datasets = results.shown.datasets
    if name is not None and name not in datasets:
        raise unknown("dataset", name, datasets)
    return results, name if name is not None else datasets[0]


def _refuse_audits(folder: Path) -> None:
    """Refuse a directory with more than the questions of single people."""
    from changeproof.runs.manifest import PLAN, read_plan

    if not (folder / PLAN).exists():
        return
    plan = read_plan(folder)
    if plan.rows is None or len(plan.rows) != 1 or plan.counterfactuals or plan.successors:
        raise InputError(
            f"{folder} holds an audit or a run, which this would replace; read it by "
            f"--from {folder}, or name another directory by --out"
        )


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
