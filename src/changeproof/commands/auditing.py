"""The command for one's own data and model: audit."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands import audit_options as ask
from changeproof.commands import cluster_options as on
from changeproof.commands import constraints as may
from changeproof.commands import successors as next_to
from changeproof.commands.console import print_document, quiet_output, say
from changeproof.commands.group_options import AuditBy, AuditSmallestGroup
from changeproof.commands.options import AsJson, whole_numbers
from changeproof.commands.options import split as split_names
from changeproof.errors import InputError
from changeproof.files import plain_name, safe_name

if TYPE_CHECKING:
    from changeproof.workflow import Results


def audit(
    data: ask.Data,
    out: Annotated[Path, ask.option(ask.RUN, "The run directory.", metavar="DIR")],
    target: ask.Target = None,
    favourable: ask.Favourable = None,
    model: ask.ModelName = "mlp",
    counterfactuals: Annotated[
        list[str] | None,
        ask.option(
            ask.RUN,
            "A table of counterfactuals from another tool. Repeat for several.",
            metavar="[NAME=]FILE",
        ),
    ] = None,
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
    threshold: next_to.ThresholdValue = None,
    successor: next_to.SuccessorNames = None,
    renew: next_to.Renew = None,
    methods: Annotated[
        list[str] | None,
        ask.option(
            ask.RUN,
            "Methods, with or without settings: robx-balanced(quantile=0.7).",
            "all that fit the model",
            metavar="NAME,…",
        ),
    ] = None,
    families: ask.Families = None,
    base_seeds: Annotated[
        list[str] | None,
        ask.option(ask.RUN, "Seeds of the base models.", "2026", metavar="SEED,…"),
    ] = None,
    factuals: Annotated[
        int | None,
        ask.option(ask.RUN, "The most people to explain, per base model.", "250", metavar="N"),
    ] = None,
    limit: Annotated[
        bool,
        typer.Option(
            "--limit/--no-limit",
            help="Also look for the limit: the shortest change that the changed models accept, "
            "found by a search that knows them. Models that are not ours are trained again for it.",
            rich_help_panel=ask.RUN,
        ),
    ] = False,
    by: AuditBy = None,
    smallest_group: AuditSmallestGroup = None,
    jobs: ask.Jobs = None,
    unpickle: ask.Unpickle = False,
    cluster: on.ClusterName = None,
    tls_ca_file: on.Authority = None,
    tls_cert: on.Certificate = None,
    tls_key: on.Key = None,
    as_json: AsJson = False,
) -> None:
    """Test counterfactual explanations on your own data and model.

    Trains your model. Each method explains to the people whom it rejects what they
    could change. Then the model is changed in many ways, and every explanation is
    tested on every changed model. Methods and families of change that do not fit
    your model are left out, with the reason.

    With --counterfactuals, explanations of another tool are tested beside them, on
    the people in its table.

    With --successor, letters that are out are put to the model that came next: which
    break, who is it, and was the real change within what was simulated? --renew looks
    for the further change that repairs them.

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
    --most-changes 3 --out audit-realisable

    changeproof audit --data loans.csv --target approved --favourable yes
    --time applied --families later-data,updates --out audit-over-time

    changeproof audit --data loans.csv --target approved --favourable yes
    --counterfactuals letters.csv --model pickle:today.pkl --successor pickle:next.pkl
    --renew kdtree --unpickle-and-run-its-code --out audit-successor

    changeproof audit --data loans.csv --target approved --favourable yes
    --drop sex --by sex,age:10 --out audit-groups

    changeproof audit --data loans.toml --out audit-described
    """
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.front_door import audit as run_audit

    source, described = ask.data_of(
        data,
        {
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
        },
        split_names(by) or (),
    )
    with (
        quiet_output(as_json),
        on.workers_of(cluster, jobs, (tls_ca_file, tls_cert, tls_key)) as workers,
        ConsoleObserver(beginning=f"reading {data.name}") as observer,
        failures_told(out),
    ):
        results = run_audit(
            source,
            out,
            model=next_to.model_of(model, unpickle, bool(successor)),
            threshold=threshold,
            successors=next_to.successors_of(successor, unpickle),
            renew=renew,
            counterfactuals=_tables(counterfactuals),
            grid=grid_of(grid),
            replacements=replacements,
            realisable=realisable,
            limit=limit,
            over_time=over_time or time is not None,
            by=split_names(by),
            smallest_group=smallest_group,
            observer=observer,
            methods=split_names(methods),
            families=split_names(families),
            base_seeds=whole_numbers("base seed", split_names(base_seeds)),
            factuals=factuals,
            **workers,
            **described,
        )
    if as_json:
        print_document(results.to_json())
        return
    say_what_was_left_out(results)
    say_the_verdict(results)
    if results.plan.successors:
        next_to.say_what_came_next(results)
    say(f"Tables: {results.folder / 'tables'}")
    say(f"Report: {results.folder / 'report' / 'index.html'}")


def say_what_was_left_out(results: Results) -> None:
    """Print what does not fit the model, with the reason."""
    for name, reason in results.plan.left_out.items():
        say(f"Left out: {name} ({reason})")


def say_the_verdict(results: Results) -> None:
    """Print what the page says at its top."""
    from changeproof.report.verdict import verdict

    for line in verdict(results, results.tables()).lines:
        say(line)


def _tables(given: list[str] | None) -> dict[str, Path] | None:
    tables: dict[str, Path] = {}
    for text in given or ():
        before, sign, after = text.partition("=")
        path = Path(after if sign else text)
        name = safe_name(before, "counterfactuals") if sign else plain_name(path.stem, "given")
        if name in tables:
            raise InputError(f"two tables are called {name!r}; name them with NAME=FILE")
        tables[name] = path
    return tables or None


def grid_of(given: list[str] | None) -> dict[str, list[Any]] | None:
    """Return parameters and their values from repeated options."""
    if given is None:
        return None
    grid = {}
    for text in given:
        key, sign, values = text.partition("=")
        if not sign or not values:
            raise InputError(f"--grid {text!r}; expected PARAMETER=VALUE,VALUE")
        grid[key.strip()] = [_literal(value.strip()) for value in values.split(",")]
    return grid


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
