"""The command line. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof import __version__, own_commands
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.protocol.plan import Plan

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Will this counterfactual still hold after the model changes? changeproof generates "
    "counterfactual explanations once, holds them fixed and tests every method against the same "
    "changed models, 25 from each of eight families of change.",
)


diagnose = typer.Typer(no_args_is_help=True, help="Diagnostics beside the main comparison.")
app.add_typer(diagnose, name="diagnose")


class Preset(StrEnum):
    """The plans that come with the package."""

    quick = "quick"
    paper = "paper"


class Subject(StrEnum):
    """What can be listed."""

    datasets = "datasets"
    families = "families"
    methods = "methods"


RunDirectory = Annotated[Path, typer.Argument(help="The run directory (--out of a run).")]


def _names(help_text: str) -> Any:
    return typer.Option(help=help_text, show_default=False, metavar="NAME,…")


@app.command()
def run(
    preset: Annotated[
        Preset | None,
        typer.Option(help="quick: two datasets, one base network, seconds; paper: everything."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the keys datasets, methods, families, base_seeds, factuals.",
            show_default=False,
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None, _names("Datasets; see 'changeproof list datasets'.")
    ] = None,
    methods: Annotated[
        list[str] | None, _names("Methods; see 'changeproof list methods', or import paths.")
    ] = None,
    families: Annotated[
        list[str] | None, _names("Families; see 'changeproof list families', or import paths.")
    ] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(help="Seeds of the base networks.", show_default=False, metavar="SEED,…"),
    ] = None,
    factuals: Annotated[
        int | None,
        typer.Option(help="The most people per base network.", show_default=False, metavar="N"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Worker processes; all cores by default.", show_default=False, metavar="N"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run directory; runs/NAME by default.", show_default=False),
    ] = None,
) -> None:
    """Run a plan, or go on with one that was interrupted.

    Options change single values of the preset or plan. Lists take commas or
    repeated options. Without --preset or --plan an existing run directory goes on
    with its own plan, and a new one gets the preset quick. Finished pieces are
    never computed twice.

    changeproof run --preset paper --methods kdtree,wachter --out runs/baselines
    """
    from changeproof.protocol.directory import check_free

    changes = {
        "datasets": _split(datasets),
        "methods": _split(methods),
        "families": _split(families),
        "base_seeds": _whole_numbers("base seed", _split(base_seeds)),
        "factuals": factuals,
    }
    folder = out if out is not None else Path("runs") / (plan.stem if plan else preset or "quick")
    chosen = _plan(preset, plan, folder, {k: v for k, v in changes.items() if v is not None})
    check_free(folder)
    from changeproof.failures import failures_told
    from changeproof.progress import ConsoleObserver
    from changeproof.workflow import run as run_plan

    with ConsoleObserver() as observer, failures_told(folder):
        results = run_plan(chosen, folder, jobs=jobs, observer=observer)
    typer.echo(f"Tables: {results.folder / 'tables'}")
    typer.echo(f"Report: {results.folder / 'report' / 'index.html'}")
    typer.echo(f"Look at them here with: changeproof show {results.folder}")


@app.command()
def report(
    directory: RunDirectory,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write the web page of a run, finished or not, into its folder report.

    One file that opens without a network: which method to take for which change,
    at what price, what a single person would be told, and what was run. 'changeproof
    run' writes it at its end; write it again after an update of changeproof, or
    write it early, while pieces are still missing: the page says which.

    changeproof report runs/paper --open
    """
    from changeproof.progress import patience
    from changeproof.workflow import report as write_report

    with patience("writing the report"):
        path = write_report(directory)
    typer.echo(f"Report: {path}")
    if open_page:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            typer.echo("No browser could be started; open the file by hand.", err=True)


@app.command()
def show(
    directory: RunDirectory,
    table: Annotated[
        str | None,
        typer.Option(help="One table only, whole, by the name of its file.", show_default=False),
    ] = None,
) -> None:
    """Print the result tables of a finished run."""
    from changeproof.report.finished import read_finished
    from changeproof.report.terminal import print_table, print_tables

    _, tables = read_finished(directory)
    if table is None:
        print_tables(tables)
    elif table in tables:
        print_table(table, tables[table])
    else:
        raise InputError(f"unknown table {table!r}; expected one of: {', '.join(tables)}")


@app.command()
def compare(
    directory: RunDirectory,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every number, not only those that differ.")
    ] = False,
) -> None:
    """Put the published numbers beside those of a finished run.

    A rate may differ by 2 points or two published sd, a distance by 5 % or two
    published sd, whichever is more; counts not at all, balanced accuracy by
    0.002, disagreement by 0.25 points, probability MAE by 0.003. Times are shown,
    not judged. The numbers in the paper's text are checked one by one. Known
    deviations are printed with their reason.

    A run with fewer datasets, methods or families is compared in what it has.
    Differences mean little unless the run has the paper's five base seeds and
    250 factuals. Everything is also written to tables/paper_comparison.csv in
    the run directory. Exit code 1: something is outside its tolerance and not
    explained.

    changeproof compare runs/paper --all
    """
    from changeproof.report.comparison_view import print_comparison
    from changeproof.report.paper import compare_with_paper, write_comparison

    comparison = compare_with_paper(directory)
    path = write_comparison(directory, comparison)
    print_comparison(comparison, everything=everything)
    typer.echo(f"Every number: {path}")
    if not comparison.passed:
        raise typer.Exit(1)


@app.command()
def status(
    directory: RunDirectory,
    timings: Annotated[
        bool, typer.Option("--timings", help="Say where the time went, by stage and subject.")
    ] = False,
) -> None:
    """Say what of a run is done, what is missing and what is damaged.

    With --timings: how long the stages of the run took, by family and method. The
    times of every piece are kept in timings.jsonl of the run directory and summed
    up in tables/timings.csv.
    """
    from changeproof.protocol.directory import read_plan
    from changeproof.protocol.runner import take_inventory
    from changeproof.report.terminal import print_inventory, print_timings

    plan = read_plan(directory)
    if timings:
        print_timings(directory, plan)
    else:
        print_inventory(directory, plan, take_inventory(plan, directory))


@diagnose.command("apds-radius")
def diagnose_apds_radius(
    datasets: Annotated[list[str] | None, _names("Datasets; breast-cancer and diabetes.")] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(help="Base seeds; 2026 to 2028.", show_default=False, metavar="SEED,…"),
    ] = None,
    factuals: Annotated[int, typer.Option(help="People per base network.", min=1)] = 5,
    out: Annotated[
        Path | None, typer.Option(help="Also write the table as CSV.", show_default=False)
    ] = None,
) -> None:
    """Run AP-Delta-S with a radius from independently initialised networks.

    The diagnostic of the paper's appendix: networks that predict alike can be far
    apart in their parameters, and a radius taken from them leaves no counterfactual.
    """
    from changeproof.protocol.diagnosis import diagnose_apds_radius
    from changeproof.report.terminal import print_table

    table = diagnose_apds_radius(
        _split(datasets) or ("breast-cancer", "diabetes"),
        _whole_numbers("base seed", _split(base_seeds)) or (2026, 2027, 2028),
        factuals,
        lambda label: typer.echo(label, err=True),
    )
    short = {"calibrated_radius": "calibrated", "independent_radius": "independent"}
    print_table(
        "Radius of AP-Delta-S, and answers with the independent one", table.rename(columns=short)
    )
    if out is not None:
        table.to_csv(out, index=False)


own_commands.register(app)


@app.command("list")
def list_names(subject: Annotated[Subject, typer.Argument(help="What to list.")]) -> None:
    """List the datasets, families of change or methods that plans can name.

    Also those of installed packages (entry points changeproof.methods and
    changeproof.families); what cannot be imported is listed with its reason.
    """
    from changeproof.report.terminal import print_names

    print_names(subject.value)


@app.command()
def check(
    reference: Annotated[
        str, typer.Argument(help="A name or an import path: my_package.module:MyMethod.")
    ],
    family: Annotated[bool, typer.Option("--family", help="It is a family of change.")] = False,
) -> None:
    """Check that a method, or a family of change, keeps to its contract.

    A method has to give the same answers whatever the batch, the order or the
    process, to be honest where it finds nothing, and to leave alone what it is
    given. It is tried on an embedded dataset; its speed is told, not judged.
    Exit code 1: a check failed. The same from Python, for instance in a test:
    changeproof.check_method(MyMethod), changeproof.check_family(MyFamily).

    changeproof check my_package.module:MyMethod
    """
    from changeproof.protocol.check import check_family, check_method, findings_table
    from changeproof.report.terminal import print_table

    findings = (check_family if family else check_method)(reference)
    print_table(reference, findings_table(findings))
    failed = [finding for finding in findings if finding.failed]
    for finding in failed:
        typer.echo(f"{finding.check}: {finding.fix}")
    typer.echo(f"{len(failed)} of {len(findings)} checks failed." if failed else "All is well.")
    if failed:
        raise typer.Exit(1)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def _split(values: list[str] | None) -> list[str] | None:
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _whole_numbers(what: str, values: list[str] | None) -> list[int] | None:
    if values is None:
        return None
    for value in values:
        if not value.isdecimal():
            raise InputError(f"{what} {value!r}; expected a whole number of 0 or more")
    return [int(value) for value in values]


def _plan(preset: Preset | None, path: Path | None, folder: Path, changes: dict[str, Any]) -> Plan:
    from changeproof.protocol.directory import PLAN, read_plan
    from changeproof.protocol.plan import Plan

    if preset is not None and path is not None:
        raise InputError("give either --preset or --plan, not both")
    if path is not None:
        return Plan.from_toml(path, **changes)
    if preset is None and (folder / PLAN).exists():
        return Plan.checked({**read_plan(folder).model_dump(), **changes})
    return Plan.preset(preset.value if preset is not None else "quick", **changes)


def main() -> None:
    """Run the command line; what people got wrong ends with one line and exit code 2."""
    from changeproof.errors import InputError

    try:
        app()
    except InputError as error:
        print(f"changeproof: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("changeproof: interrupted; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
