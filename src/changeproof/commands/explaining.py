"""The command for one person: explain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from changeproof.commands.auditing import say_what_was_left_out
from changeproof.commands.console import failures_reported, print_document, quiet_output, say
from changeproof.commands.options import (
    DATA,
    RUN,
    DataFile,
    Given,
    Jobs,
    Pickles,
    Table,
    ask,
    data_of,
    flags_of,
    plan_values,
    takes,
)
from changeproof.commands.parsing import model_of
from changeproof.errors import InputError, unknown
from changeproof.runs.plan import Plan

if TYPE_CHECKING:
    from changeproof.datasets.task import Task
    from changeproof.explanation import Explanation
    from changeproof.report.recommendation import Recommendation
    from changeproof.workflow import Results


@takes("explain", Table, Plan, Pickles, Jobs)
def explain(
    given: Given,
    row: Annotated[str, ask("The id of the person.", "ID", panel=RUN)],
    data: Annotated[Path | None, DataFile] = None,
    audit: Annotated[
        Path | None,
        ask(
            "Read a finished audit or run instead of data and model. Nothing is computed.",
            "DIR",
            flags="--from",
            panel=DATA,
        ),
    ] = None,
    out: Annotated[
        Path | None, ask("The run directory.", "DIR", default="runs/explain-NAME", panel=RUN)
    ] = None,
    as_json: Annotated[bool, ask("Print JSON.", flags="--json", panel=RUN)] = False,
) -> None:
    """Show what one person is told, and whether it will hold.

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
    from changeproof.commands.telling import one_explained, several_explained
    from changeproof.explanation import explain_all, recommendation

    values = plan_values(given)
    asked = values.get("methods")
    if audit is not None:
        results, dataset = _finished(audit, {"data": data, "out": out, **given})
        answers = explain_all(results, row, asked, dataset)
    elif data is None:
        raise InputError("--data is missing; or name a finished audit by --from")
    else:
        with quiet_output(as_json):
            results = _asked_now(data, given, out, row, values)
        dataset = results.shown.datasets[0]
        answers = explain_all(results, row, None, dataset)
    one = asked is not None and len(asked) == 1
    choice = recommendation(answers)
    if as_json:
        print_document(json.dumps(_plain(answers, None if one else choice), indent=2, default=str))
        return
    task = results.task(dataset)
    for line in (
        one_explained(answers[0], task) if one else several_explained(answers, choice, task)
    ):
        say(line)
    say_what_was_left_out(results)


def _asked_now(
    data: Path, given: Given, out: Path | None, row: str, values: dict[str, Any]
) -> Results:
    """Have the methods advise one person, and put that to the changed models."""
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.datasets.custom import own_task
    from changeproof.explanation import row_of
    from changeproof.front_door import audit as run_audit

    if "model" in values:
        values["model"] = model_of(values["model"], given.get("unpickle", False))
    if "time" in given:
        values["over_time"] = True
    source, described = data_of(data, given)
    task = own_task(source, **described) if described else source
    task = task.over_time() if values.get("over_time") else task
    folder = out if out is not None else folder_of(task)
    _refuse_audits(folder)
    with ConsoleObserver() as observer, failures_reported(folder):
        return run_audit(
            task,
            folder,
            observer=observer,
            rows=(row_of(task.ids, row),),
            publish=False,
            same_plan=False,
            jobs=given.get("jobs"),
            **values,
        )


def _finished(folder: Path, given: Given) -> tuple[Results, str]:
    """Return a run that is there, and which dataset of it is meant."""
    from changeproof.workflow import Results

    beside = [
        name
        for name, value in given.items()
        if name not in ("methods", "name", "unpickle") and value is not None
    ]
    if beside:
        raise InputError(f"--from reads {folder} as it is; leave out {flags_of(beside)}")
    results = Results(folder)
    if not results.inventory.complete:
        raise InputError(
            f"the run in {folder} is not finished, or was made by another version of changeproof "
            f"(see: changeproof status {folder})"
        )
    datasets, name = results.shown.datasets, given.get("name")
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
