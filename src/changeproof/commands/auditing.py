"""The command for one's own data and model: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from changeproof.commands.console import failures_reported, print_document, quiet_output, say
from changeproof.commands.options import (
    RUN,
    AsJson,
    Brought,
    DataFile,
    Given,
    Pickles,
    Table,
    Workers,
    ask,
    data_of,
    plan_values,
    takes,
    workers_of,
)
from changeproof.commands.parsing import model_of, successors_of, tables_of
from changeproof.commands.running import say_where
from changeproof.runs.plan import Plan

if TYPE_CHECKING:
    from changeproof.workflow import Results


@takes("audit", Table, Plan, Pickles, Brought, Workers)
def audit(
    given: Given,
    data: Annotated[Path, DataFile],
    out: Annotated[Path, ask("The run directory.", "DIR", panel=RUN)],
    as_json: AsJson = False,
) -> None:
    """Test counterfactual explanations on your own data and model.

    Trains your model. Each method explains to the people whom it rejects what they
    could change. Then the model is changed in many ways, and every explanation is
    tested on every changed model. Methods and families of change that do not fit
    your model are left out, with the reason.

    With --counterfactuals, explanations of another tool are tested beside them, on
    the people in its table.

    With --successor, letters that were sent are tested on the model that came next:
    which of them break, whose are they, and was the real change among the simulated
    ones? With --renew, a method finds what else those people would have to change.

    People are only told what they can do: one category of each feature, whole steps,
    inside the range of the data, and no change that you forbid with --immutable,
    --only-increase, --only-decrease, --range and --most-changes.

    The run directory gets tables, a report and a copy of the data. --json also
    prints the whole audit as one JSON document, and nothing else. Run the same
    command again to continue after an interruption. Other options or other data
    need another directory.

    changeproof audit --data loans.csv --target approved --favourable yes
    --model sklearn:HistGradientBoostingClassifier --out audit

    changeproof audit --data loans.csv --target approved --favourable yes
    --methods "kdtree,robx-balanced(quantile=0.7)" --out audit-robx

    changeproof audit --data loans.csv --target approved --favourable yes
    --immutable sex,purpose --only-increase age --range income=0:90000
    --most-changes 3 --out audit-feasible

    changeproof audit --data loans.csv --target approved --favourable yes
    --time applied --families later-data,updates --out audit-over-time

    changeproof audit --data loans.csv --target approved --favourable yes
    --counterfactuals letters.csv --model pickle:today.pkl --successor pickle:next.pkl
    --renew kdtree --unpickle-and-run-its-code --out audit-successor

    changeproof audit --data loans.csv --target approved --favourable yes
    --drop sex --by sex,age:10 --out audit-groups

    changeproof audit --data loans.toml --out audit-described
    """
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.front_door import audit as run_audit

    source, described = data_of(data, given)
    values, unpickle = plan_values(given), given.get("unpickle", False)
    if "model" in values:
        values["model"] = model_of(values["model"], unpickle, "successor" in given)
    if "time" in given:
        values["over_time"] = True
    with (
        quiet_output(as_json),
        workers_of(given) as workers,
        ConsoleObserver(beginning=f"reading {data.name}") as observer,
        failures_reported(out),
    ):
        results = run_audit(
            source,
            out,
            successors=successors_of(given.get("successor", []), unpickle) or None,
            counterfactuals=tables_of(given.get("counterfactuals", [])) or None,
            observer=observer,
            **values,
            **workers,
            **described,
        )
    if as_json:
        print_document(results.to_json())
        return
    say_what_was_left_out(results)
    say_the_verdict(results)
    say_where(results.folder)


def say_what_was_left_out(results: Results) -> None:
    """Print what does not fit the model, with the reason."""
    for name, reason in results.plan.left_out.items():
        say(f"Left out: {name} ({reason})")


def say_the_verdict(results: Results) -> None:
    """Print what the page says at its top, and what successors do to letters."""
    from changeproof.report.letters import letter_lines
    from changeproof.report.verdict import verdict

    tables = results.tables()
    letters = letter_lines(tables) if results.plan.successors else ()
    for line in (*verdict(results, tables).lines, *letters):
        say(line)
