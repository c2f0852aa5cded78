"""The commands for one's own data and model: audit, and explain for one person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from changeproof.commands.console import failures_reported, print_document, quiet_output, say
from changeproof.commands.options import (
    DATA,
    JOBS,
    OTHER_TOOLS,
    RUN,
    SUCCESSORS,
    TABLE,
    UNPICKLE,
    WORKERS,
    AsJson,
    DataFile,
    Given,
    RunDirectory,
    ask,
    data_of,
    flags_of,
    may_unpickle,
    plan_options,
    plan_values,
    takes,
    workers_of,
)
from changeproof.commands.parsing import successors_of, tables_of
from changeproof.commands.running import say_where
from changeproof.errors import InputError, unknown
from changeproof.files import check_can_write, write_whole
from changeproof.runs.plan import DEFAULT_MODEL

if TYPE_CHECKING:
    from changeproof.datasets.task import Task
    from changeproof.workflow import Results


@takes(TABLE, plan_options("audit"), UNPICKLE, OTHER_TOOLS, SUCCESSORS, WORKERS)
def audit(
    given: Given,
    data: Annotated[Path, DataFile],
    out: Annotated[Path, ask("The run directory.", "DIR", panel=RUN)],
    as_json: AsJson = False,
) -> None:
    """Test counterfactual explanations on your own data and model.

    A fitted model is judged as it is; what is not fitted is trained here first. Each
    method tells the people whom the model rejects what they could change. Then the
    model is changed in many ways, and every explanation is tested on every changed
    model. Methods and families of change that do not fit your model are left out, with
    the reason.

    --counterfactuals also tests explanations from another tool, on the people in its
    table. --successor tests letters that were sent on the model that came next: which
    of them break, and was the real change among the simulated ones? --renew finds
    what else those people would have to change.

    People are only told what they can do: one category of each feature, whole steps,
    inside the range of the data, and no change that you forbid with --immutable,
    --only-increase, --only-decrease, --range and --most-changes.

    The run directory gets tables, a report and a copy of the data. Run the same
    command again to continue after an interruption. Other options or other data
    need another directory.

    changeproof audit --data loans.csv --target approved --favourable yes
    --model sklearn:HistGradientBoostingClassifier --out audit

    changeproof audit --data loans.csv --target approved --favourable yes
    --immutable sex,purpose --only-increase age --range income=0:90000
    --most-changes 3 --out audit-feasible

    changeproof audit --data loans.csv --target approved --favourable yes
    --counterfactuals letters.csv --model pickle:today.pkl --successor pickle:next.pkl
    --renew kdtree --unpickle-and-run-its-code --out audit-successor

    changeproof audit --data loans.toml --by sex,age:10 --out audit-groups
    """
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.front_door import audit as run_audit
    from changeproof.report.page.letters import letter_lines
    from changeproof.report.verdict import verdict

    source, described = data_of(data, given)
    values = plan_values(given)
    with (
        quiet_output(as_json),
        workers_of(given) as workers,
        ConsoleObserver(beginning=f"reading {data.name}") as observer,
        failures_reported(out),
    ):
        results = run_audit(
            source,
            out,
            successors=successors_of(given.get("successor", []), may_unpickle(given)) or None,
            counterfactuals=tables_of(given.get("counterfactuals", [])) or None,
            observer=observer,
            **values,
            **workers,
            **described,
        )
    if as_json:
        print_document(results.to_json())
        return
    tables = results.tables()
    found = verdict(results, tables)
    if found.judged:
        say(found.judged)
    say_what_was_left_out(results)
    for line in found.after:
        say(line)
    for line in letter_lines(tables) if results.plan.successors else ():
        say(line)
    say_where(results.folder)


@takes(TABLE, plan_options("explain"), UNPICKLE, JOBS)
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
    language: Annotated[
        str | None,
        ask(
            "The language of the advice: en, de, or a catalogue file (.toml).",
            "LANGUAGE",
            default="that of the data",
            panel=RUN,
        ),
    ] = None,
    as_json: Annotated[bool, ask("Print JSON.", flags="--json", panel=RUN)] = False,
) -> None:
    """Show what one person is told, and whether it will hold.

    Prints the advice in the units of your data, what must not change, and in how
    many changed models the advice still holds, with a 95 % interval: of one method
    family by family, of several methods side by side. Recommended is the shortest
    advice that today's model accepts, that the person can follow, and that is known
    to hold in at least 95 % of the changed models. If the interval leaves that open,
    the choice is undecided.

    --from reads what a finished audit told the person, at once. Without it, models
    are trained first; the next person or method on the same data takes seconds.

    changeproof explain --from audit --row 17

    changeproof explain --data loans.csv --target approved --favourable yes
    --method robx-balanced --row 17
    """
    from changeproof.explanation import (
        comparison_lines,
        explain_all,
        explanation_lines,
        recommendation,
    )
    from changeproof.report.judged import judged_words
    from changeproof.tables.model import model_tables

    methods = given.get("methods")
    if audit is not None:
        results, dataset = _finished(audit, {"data": data, "out": out, **given})
    elif data is None:
        raise InputError("--data is missing; or name a finished audit by --from")
    else:
        with quiet_output(as_json):
            results = _explain_now(data, given, out, row)
        dataset = results.shown.datasets[0]
    # What does not fit the model has been left out.
    asked = methods if audit is not None else None
    answers = explain_all(results, row, asked, dataset, language)
    one = methods is not None and len(methods) == 1
    choice, judged = recommendation(answers), judged_words(model_tables(results))
    if as_json:
        document = (
            answers[0].as_dict()
            if one
            else {
                "explanations": [answer.as_dict() for answer in answers],
                "recommended": choice._asdict(),
            }
        )
        document = {"judged": judged, **document}
        print_document(json.dumps(document, indent=2, default=str))
        return
    if judged:
        say(judged)
    task = results.task(dataset)
    lines = explanation_lines(answers[0], task) if one else comparison_lines(answers, choice, task)
    for line in lines:
        say(line)
    say_what_was_left_out(results)


def letters(
    directory: RunDirectory,
    out: Annotated[Path, ask("The folder for the letters.", "DIR")],
    template: Annotated[
        Path | None,
        ask("A Markdown template of jinja2, such as letter.md.j2.", "FILE", "a letter in words"),
    ] = None,
    method: Annotated[
        list[str] | None,
        ask(
            "Whose advice. Repeat for up to three ways.",
            "NAME",
            "what is recommended to each person",
        ),
    ] = None,
    row: Annotated[
        list[str] | None, ask("The id of a person. Repeat for several.", "ID", "everybody")
    ] = None,
    language: Annotated[
        str | None,
        ask("en, de, or a catalogue file (.toml).", "LANGUAGE", "that of the data"),
    ] = None,
    name: Annotated[str | None, ask("Which data, of several.", "NAME", "the first")] = None,
    date: Annotated[str, ask("The date of the letters, as they say it.", "TEXT")] = "",
    until: Annotated[str, ask("Until when the advice is meant.", "TEXT")] = "",
    pdf: Annotated[
        bool, ask("Print PDFs, with a browser that is installed.", flags="--pdf/--no-pdf")
    ] = True,
) -> None:
    """Write a letter to each person of a finished audit.

    A letter says what was decided and why, up to three ways to another decision, what
    was tested and how sure that is. Everybody is told the advice that explain recommends
    to them or, where it recommends none, what holds most often; --method names one for
    all. Letters are Markdown, HTML, PDF (where Chromium is installed) and JSON for
    programs. letters.csv lists every document with whose advice it tells and its
    checksum. Nothing is computed again: numbers are those of the audit.

    A later audit takes the letters as they went out: --counterfactuals letters.

    A template is Markdown. It sees plain values only: person, decision, reasons, ways,
    unknown, date, until, sender, and say("sentence") for the sentences of a language.
    See docs/letters.md.

    changeproof letters audit --out letters

    changeproof letters audit --language de --method robx-robust --out briefe
    """
    from changeproof.commands.progress import counting
    from changeproof.letters.folder import write_letters

    results, dataset = _finished(directory, {"name": name} if name is not None else {})
    with counting("writing letters") as progress:
        written = write_letters(
            results,
            out,
            template=template,
            methods=method,
            people=row,
            dataset=dataset,
            language=language,
            date=date,
            until=until,
            pdf=pdf,
            progress=progress,
        )
    if written.why_no_pdf:
        say(f"No PDF: {written.why_no_pdf}.")
    count = "1 letter" if written.letters == 1 else f"{written.letters} letters"
    same = " (the same letters were there already)"
    say(
        f"{count}, {written.with_advice} of them with advice{_by(written.methods)}, in {out}"
        f"{'' if written.new else same}"
    )
    for note in written.notes:
        say(note)


def _by(methods: Mapping[str, int]) -> str:
    """Say how many letters have advice by each method."""
    if len(methods) > 1:
        return f" (by {', '.join(f'{name}: {count}' for name, count in methods.items())})"
    return "".join(f" (by {name})" for name in methods)


def say_what_was_left_out(results: Results) -> None:
    """Print what does not fit the model, with the reason."""
    for name, reason in results.plan.left_out.items():
        say(f"Left out: {name} ({reason})")


def _explain_now(data: Path, given: Given, out: Path | None, row: str) -> Results:
    """Get advice for one person from the methods, and test it on the changed models."""
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.datasets.grouping import columns_of
    from changeproof.explanation import row_of
    from changeproof.front_door import audit as run_audit
    from changeproof.front_door import task_for
    from changeproof.models.find import load_model

    values = plan_values(given)
    source, described = data_of(data, given)
    model = load_model(values.get("model", DEFAULT_MODEL))
    task = task_for(model, source, described, columns_of(values.get("by", ())))
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
    """Return a finished run, and which of its datasets is meant."""
    from changeproof.workflow import Results

    allowed = ("methods", "name", "unpickle_and_run_its_code")
    if beside := [n for n, value in given.items() if n not in allowed and value is not None]:
        raise InputError(f"--from reads {folder} as it is; leave out {flags_of(beside)}")
    results = Results(folder)
    if not results.inventory.complete:
        raise InputError(
            f"the run in {folder} is not finished, or was made by another version of changeproof "
            f"(see: changeproof status {folder})"
        )
    datasets = results.shown.datasets
    name = given.get("name", datasets[0])
    if name not in datasets:
        raise unknown("dataset", name, datasets)
    return results, name


def _refuse_audits(folder: Path) -> None:
    """Refuse a directory with an audit or a run: explaining one person would replace it."""
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
    other = task.constrained or task.time is not None
    suffix = f"-{task.fingerprint[:8]}" if other else ""
    return Path("runs") / f"explain-{task.name}{suffix}"


def suggest_rules(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    out: Annotated[
        Path | None,
        ask("The dataset file to write; it must not exist.", "FILE", "beside the table, .toml"),
    ] = None,
    target: Annotated[str | None, ask("The column that is decided about.", "COLUMN")] = None,
    favourable: Annotated[str | None, ask("Its favourable value.", "VALUE")] = None,
    id_column: Annotated[str | None, ask("The column with people's ids.", "COLUMN")] = None,
    time: Annotated[
        str | None, ask("The column that says when a row became known.", "COLUMN")
    ] = None,
    drop: Annotated[str, ask("Columns to leave out.", "COLUMN,…")] = "",
    categorical: Annotated[str, ask("Numbers that are codes.", "COLUMN,…")] = "",
    encoding: Annotated[str | None, ask("The encoding of a CSV file.", default="UTF-8")] = None,
) -> None:
    """Propose rules between features that a table's rows keep, in a dataset file to edit.

    It looks for columns that follow from others (charge = 0.17 * minutes), columns
    that are never above others (seniority <= age - 16), numbers that always go with a
    category, and columns that never fall from one row of a person to the next.

    Every rule is a comment, with the evidence beside it: nothing is in force until
    you take away its #.

    changeproof suggest-rules loans.csv --target approved --favourable yes
    """
    from changeproof.commands.progress import announce_if_slow
    from changeproof.datasets.suggesting import suggested_rules

    path = data.with_suffix(".toml") if out is None else out
    if path.exists():
        raise InputError(f"{path} is there already; choose another file with --out")
    check_can_write(path)
    with announce_if_slow("looking for rules"):
        content = suggested_rules(
            data,
            out=path,
            target=target,
            favourable=favourable,
            id_column=id_column,
            time=time,
            drop=[name for name in drop.split(",") if name],
            categorical=[name for name in categorical.split(",") if name],
            encoding=encoding,
        )
    write_whole(path, content.encode())
    say(f"Dataset file to edit: {path}")
