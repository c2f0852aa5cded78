"""The commands for one's own data and model: audit and explain."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from changeproof.commands.options import split as split_names
from changeproof.commands.options import whole_numbers
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.explanation import Explanation
    from changeproof.workflow import Results

DATA = "Your data"
MODEL = "Your model"
RUN = "The run"


def _option(panel: str, text: str, **more: Any) -> Any:
    return typer.Option(help=text, show_default=False, rich_help_panel=panel, **more)


Data = Annotated[Path, _option(DATA, "A CSV or Parquet file.", metavar="FILE")]
Target = Annotated[str, _option(DATA, "The column to predict.", metavar="COLUMN")]
Favourable = Annotated[
    list[str], _option(DATA, "The value of it that people want; repeat for several.")
]
Name = Annotated[str | None, _option(DATA, "How tables call the data; the file's name.")]
IdColumn = Annotated[
    str | None,
    _option(DATA, "The column with one id per row; row numbers from 0.", metavar="COLUMN"),
]
Categorical = Annotated[
    list[str] | None, _option(DATA, "Columns to take as categories.", metavar="COLUMN,…")
]
Drop = Annotated[list[str] | None, _option(DATA, "Columns to leave out.", metavar="COLUMN,…")]
Missing = Annotated[
    Literal["refuse", "impute"],
    typer.Option(help="What to do with missing values.", rich_help_panel=DATA),
]
SplitColumn = Annotated[
    str | None,
    _option(DATA, "A column that says train, update, validation or test.", metavar="COLUMN"),
]
ModelName = Annotated[
    str,
    typer.Option(
        help="mlp, mlp:64,32, sklearn:ClassName or sklearn:ClassName(parameter=value), "
        "python:module:name, or a pickled classifier as pickle:FILE.",
        rich_help_panel=MODEL,
    ),
]
Grid = Annotated[
    list[str] | None,
    _option(
        MODEL,
        "Training configurations of a scikit-learn model; repeat per parameter.",
        metavar="PARAMETER=VALUE,…",
    ),
]
Replacements = Annotated[
    list[str] | None,
    _option(MODEL, "Models that may take its place; repeat for several.", metavar="MODEL"),
]
Unpickle = Annotated[
    bool,
    typer.Option(
        "--unpickle-and-run-its-code",
        help="Load a pickle:FILE. This runs whatever code the file holds: only for files whose "
        "author you trust.",
        rich_help_panel=MODEL,
    ),
]
Jobs = Annotated[int | None, _option(RUN, "Worker processes; all cores.", metavar="N")]
Families = Annotated[list[str] | None, _option(RUN, "Families of change; all.", metavar="NAME,…")]


def audit(
    data: Data,
    target: Target,
    favourable: Favourable,
    out: Annotated[Path, _option(RUN, "The run directory.", metavar="DIR")],
    model: ModelName = "mlp",
    counterfactuals: Annotated[
        list[str] | None,
        _option(
            RUN,
            "Counterfactuals from another tool, with an id column; repeat for several.",
            metavar="[NAME=]FILE",
        ),
    ] = None,
    name: Name = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    drop: Drop = None,
    missing: Missing = "refuse",
    split: SplitColumn = None,
    grid: Grid = None,
    replacements: Replacements = None,
    methods: Annotated[
        list[str] | None,
        _option(RUN, "Methods; all that fit the model.", metavar="NAME,…"),
    ] = None,
    families: Families = None,
    base_seeds: Annotated[
        list[str] | None,
        _option(RUN, "Seeds of the base models. [default: 2026]", metavar="SEED,…"),
    ] = None,
    factuals: Annotated[
        int | None,
        _option(RUN, "The most people per base model. [default: 250]", metavar="N"),
    ] = None,
    jobs: Jobs = None,
    unpickle: Unpickle = False,
) -> None:
    """Audit recourse on your own data and model.

    Trains the model, has every method that fits it answer the people whom it
    rejects, changes the model in every way that it supports, and writes tables
    and a report. With --counterfactuals, what another tool told people is put to
    the same changed models, and the people are those in its table. What does not
    fit the model is left out, with the reason. The same command goes on with an
    interrupted run.

    changeproof audit --data loans.csv --target approved --favourable yes
    --model sklearn:HistGradientBoostingClassifier --out audit
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
    data: Data,
    target: Target,
    favourable: Favourable,
    row: Annotated[str, _option(RUN, "The person: an id of the data.", metavar="ID")],
    method: Annotated[str, _option(RUN, "The method that answers.", metavar="NAME")],
    model: ModelName = "mlp",
    out: Annotated[
        Path | None,
        _option(RUN, "Where models and answers are kept; runs/explain-NAME.", metavar="DIR"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead.", rich_help_panel=RUN)
    ] = False,
    name: Name = None,
    id_column: IdColumn = None,
    categorical: Categorical = None,
    drop: Drop = None,
    missing: Missing = "refuse",
    split: SplitColumn = None,
    grid: Grid = None,
    replacements: Replacements = None,
    families: Families = None,
    jobs: Jobs = None,
    unpickle: Unpickle = False,
) -> None:
    """Say what one person is told to change, and how long that holds.

    Prints the recourse in the units of the data with the share of changed models
    under which it still holds, per family of change, with a 95 % interval.

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
        typer.echo(f"  no recourse: {answer.outcome}")
        return
    for sentence in answer.advice:
        typer.echo(f"  {sentence}.")
    accepts = "accepts" if answer.base_valid else "does not accept"
    typer.echo(
        f"  Today's model {accepts} this; {answer.distance:.2f} typical deviations a feature."
    )
    typer.echo("Still accepted after a change of the model (95 % interval):")
    for holding in (*answer.families, answer.overall):
        interval = f"{holding.low:.0%} to {holding.high:.0%}"
        counts = f"{holding.held} of {holding.models}"
        typer.echo(f"  {holding.family:<24}{counts:>11}  {holding.share:>4.0%}  ({interval})")


def _say_what_was_left_out(results: Results) -> None:
    for name, reason in results.plan.left_out.items():
        typer.echo(f"Left out: {name} ({reason})")


def _model(reference: str, unpickle: bool) -> Any:
    """Return a reference as it is; a pickle is loaded here, once, if that was allowed."""
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
            raise InputError(f"two tables of counterfactuals are called {name!r}")
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
