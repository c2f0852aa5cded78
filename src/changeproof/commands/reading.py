"""Look at what a run found."""

from __future__ import annotations

from typing import Annotated

import typer

from changeproof.commands.options import RunDirectory
from changeproof.errors import InputError


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
    from changeproof.commands.progress import patience
    from changeproof.workflow import report as write_report

    with patience("writing the report"):
        path = write_report(directory)
    typer.echo(f"Report: {path}")
    if open_page:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            typer.echo("No browser could be started; open the file by hand.", err=True)


def show(
    directory: RunDirectory,
    table: Annotated[
        str | None,
        typer.Option(help="One table only, whole, by the name of its file.", show_default=False),
    ] = None,
) -> None:
    """Print the result tables of a finished run."""
    from changeproof.report.terminal import print_table, print_tables
    from changeproof.runs.tables import read_finished

    _, tables = read_finished(directory)
    if table is None:
        print_tables(tables)
    elif table in tables:
        print_table(table, tables[table])
    else:
        raise InputError(f"unknown table {table!r}; expected one of: {', '.join(tables)}")


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
    not judged: the paper's are those of an Apple M4 Pro. The numbers in the
    paper's text are checked one by one. Known deviations are printed with their
    reason. Picks of tuning that hang on one validation row or on none are named:
    those may be others elsewhere.

    A run with fewer datasets, methods or families is compared in what it has.
    Differences mean little unless the run has the paper's five base seeds and
    250 factuals. Everything is also written to tables/paper_comparison.csv in
    the run directory. Exit code 1: something is outside its tolerance and not
    explained.

    changeproof compare runs/paper --all
    """
    from changeproof.paper.comparison import compare_with_paper, write_comparison
    from changeproof.report.terminal.comparison import print_comparison

    comparison = compare_with_paper(directory)
    path = write_comparison(directory, comparison)
    print_comparison(comparison, everything=everything)
    typer.echo(f"Every number: {path}")
    if not comparison.passed:
        raise typer.Exit(1)
