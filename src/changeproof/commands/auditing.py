"""The commands for one's own data and model: audit and explain."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands import audit_options as ask
from changeproof.commands import constraints as may
from changeproof.commands.options import split as split_names
from changeproof.commands.options import whole_numbers
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.explanation import Explanation
    from changeproof.workflow import Results


def audit(
    data: ask.Data,
    target: ask.Target,
    favourable: ask.Favourable,
    out: Annotated[Path, ask.option(ask.RUN, "The run directory.", metavar="DIR")],
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
    missing: ask.Missing = "refuse",
    split: ask.SplitColumn = None,
    immutable: may.Immutable = None,
    only_increase: may.OnlyIncrease = None,
    only_decrease: may.OnlyDecrease = None,
    ranges: may.Range = None,
    most_changes: may.MostChanges = None,
    realisable: may.Realisable = True,
    grid: ask.Grid = None,
    replacements: ask.Replacements = None,
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
    jobs: ask.Jobs = None,
    unpickle: ask.Unpickle = False,
) -> None:
    """Test counterfactual explanations on your own data and model.

    Trains your model. Each method explains to the people whom it rejects what they
    could change. Then the model is changed in many ways, and every explanation is
    tested on every changed model. Methods and families of change that do not fit
    your model are left out, with the reason.

    With --counterfactuals, explanations of another tool are tested beside them, on
    the people in its table.

    People are only told what they can do: one category of each feature, whole steps,
    inside the range of the data, and no change that you forbid with --immutable,
    --only-increase, --only-decrease, --range and --most-changes.

    The run directory gets tables, a report and a copy of the data. Run the same
    command again to continue after an interruption. Other options or other data
    need another directory.

    changeproof audit --data loans.csv --target approved --favourable yes
    --model sklearn:HistGradientBoostingClassifier --out audit

    changeproof audit --data loans.csv --target approved --favourable yes
    --methods "kdtree,robx-balanced(quantile=0.7)" --out audit-robx

    changeproof audit --data loans.csv --target approved --favourable yes
    --immutable sex,purpose --only-increase age --range income=0:9000
    --most-changes 3 --out audit-realisable
    """
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.front_door import audit as run_audit

    with ConsoleObserver() as observer, failures_told(out):
        results = run_audit(
            data,
            out,
            target=target,
            favourable=favourable,
            model=_model(model, unpickle),
            counterfactuals=_tables(counterfactuals),
            grid=_grid(grid),
            replacements=replacements,
            name=name,
            id_column=id_column,
            categorical=split_names(categorical) or (),
            drop=split_names(drop) or (),
            missing=missing,
            split=split,
            actions=may.constraints(immutable, only_increase, only_decrease, ranges),
            most_changes=most_changes,
            realisable=realisable,
            jobs=jobs,
            observer=observer,
            methods=split_names(methods),
            families=split_names(families),
            base_seeds=whole_numbers("base seed", split_names(base_seeds)),
            factuals=factuals,
        )
    _say_what_was_left_out(results)
    typer.echo(f"Tables: {results.folder / 'tables'}")
    typer.echo(f"Report: {results.folder / 'report' / 'index.html'}")


def explain(
    data: ask.Data,
    target: ask.Target,
    favourable: ask.Favourable,
    row: Annotated[str, ask.option(ask.RUN, "The id of the person.", metavar="ID")],
    method: Annotated[
        str, ask.option(ask.RUN, "The method, with or without settings.", metavar="NAME")
    ],
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
    split: ask.SplitColumn = None,
    immutable: may.Immutable = None,
    only_increase: may.OnlyIncrease = None,
    only_decrease: may.OnlyDecrease = None,
    ranges: may.Range = None,
    most_changes: may.MostChanges = None,
    realisable: may.Realisable = True,
    grid: ask.Grid = None,
    replacements: ask.Replacements = None,
    families: ask.Families = None,
    jobs: ask.Jobs = None,
    unpickle: ask.Unpickle = False,
) -> None:
    """Show what one person is told to change, and whether that will hold.

    Prints the advice in the units of your data. For each family of change, it says
    under how many changed models the advice still holds, with a 95 % interval.

    changeproof explain --data loans.csv --target approved --favourable yes
    --model mlp --method robx-balanced --row 17
    """
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.datasets.custom import own_task
    from changeproof.explanation import explain as explain_person
    from changeproof.explanation import row_of
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
    }
    task = own_task(data, **options)
    folder = out if out is not None else Path("runs") / f"explain-{task.name}"
    with ConsoleObserver() as observer, failures_told(folder):
        results = run_audit(
            data,
            folder,
            model=_model(model, unpickle),
            grid=_grid(grid),
            replacements=replacements,
            jobs=jobs,
            observer=observer,
            methods=[method],
            families=split_names(families),
            rows=(row_of(task.ids, row),),
            realisable=realisable,
            publish=False,
            same_plan=False,
            **options,
        )
    answer = explain_person(results, row, method)
    if as_json:
        typer.echo(json.dumps(answer.as_dict(), indent=2, default=str))
    else:
        _print(answer)
        _say_what_was_left_out(results)


def _print(answer: Explanation) -> None:
    typer.echo(f"{answer.method} on {answer.dataset}, for {answer.person}:")
    if not answer.advice:
        typer.echo(f"  no advice: {answer.outcome}")
        return
    for sentence in answer.advice:
        typer.echo(f"  {sentence}.")
    accepts = "accepts" if answer.base_valid else "does not accept"
    typer.echo(
        f"  Today's model {accepts} this. "
        f"Distance: {answer.distance:.2f} typical deviations per feature."
    )
    typer.echo("Still holds after the model changes (95 % interval):")
    for holding in (*answer.families, answer.overall):
        interval = f"{holding.low:.0%} to {holding.high:.0%}"
        counts = f"{holding.held} of {holding.models}"
        typer.echo(f"  {holding.family:<24}{counts:>11}  {holding.share:>4.0%}  ({interval})")


def _say_what_was_left_out(results: Results) -> None:
    for name, reason in results.plan.left_out.items():
        typer.echo(f"Left out: {name} ({reason})")


def _model(reference: str, unpickle: bool) -> Any:
    """Return a reference unchanged; a pickle is loaded here, once, if that is allowed."""
    from changeproof.models.find import find_learner

    return (
        find_learner(reference, unpickle=unpickle) if reference.startswith("pickle:") else reference
    )


def _tables(given: list[str] | None) -> dict[str, Path] | None:
    tables: dict[str, Path] = {}
    for text in given or ():
        before, sign, after = text.partition("=")
        name, path = (before, Path(after)) if sign else (Path(text).stem, Path(text))
        if name in tables:
            raise InputError(f"two tables are called {name!r}; name them with NAME=FILE")
        tables[name] = path
    return tables or None


def _grid(given: list[str] | None) -> dict[str, list[Any]] | None:
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
