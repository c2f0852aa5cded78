"""Read the results of a run: report, show, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from changeproof.commands.console import print_document, say
from changeproof.commands.options import AsJson, ImportItsCode, RunDirectory
from changeproof.errors import InputError


def report(
    directory: RunDirectory,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: AsJson = False,
    xlsx: Annotated[
        Path | None,
        typer.Option(
            help="Also write a workbook: the verdict, then a sheet for every table. Needs "
            "XlsxWriter, the extra xlsx.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    import_its_code: ImportItsCode = False,
) -> None:
    """Write the web page of a run.

    The page is one file, report/index.html in the run directory, and opens offline.
    It shows which method holds best under which change, what that costs, and what
    each person would be told. 'changeproof run' writes it when it is done. Use this
    command while a run is unfinished (the page lists what is missing), or after an
    update of changeproof.

    --json prints the whole run for programs. --xlsx writes it as a workbook.

    changeproof report runs/paper --open

    changeproof report audit --xlsx audit.xlsx
    """
    from changeproof.commands.progress import patience
    from changeproof.report.workbook import check_workbook
    from changeproof.workflow import read_results, write_everything

    if xlsx is not None:
        check_workbook(xlsx)
    with patience("writing the report"):
        results = read_results(directory, import_its_code=import_its_code)
        path = write_everything(results)
        if xlsx is not None:
            results.to_xlsx(xlsx)
    if as_json:
        print_document(results.to_json())
    else:
        say(f"Report: {path}")
        if xlsx is not None:
            say(f"Workbook: {xlsx}")
    if open_page:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            say("No browser could be started; open the file by hand.", err=True)


def show(
    directory: RunDirectory,
    table: Annotated[
        str | None,
        typer.Option(
            help="Print this table only, all its rows: a file name in tables/, without .csv.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the result tables of a finished run.

    changeproof show runs/paper --table family_results
    """
    from changeproof.report.terminal.tables import print_groups, print_table, print_tables
    from changeproof.tables.registry import read_finished

    _, tables = read_finished(directory)
    if table is None:
        print_tables(tables)
        print_groups(tables)
    elif table in tables:
        print_table(table, tables[table])
    else:
        raise InputError(f"unknown table {table!r}; expected one of: {', '.join(tables)}")


def compare(
    directory: RunDirectory,
    everything: Annotated[
        bool, typer.Option("--all", help="Print all numbers, not only those that differ.")
    ] = False,
) -> None:
    """Compare a finished run with the published numbers.

    The tables are compared row by row, the numbers in the paper's text one by one.
    Allowed differences are 2 points or two published standard deviations for rates,
    5 % or two standard deviations for distances (the larger counts), 0.002 for
    balanced accuracy, 0.25 points for disagreement, 0.003 for probability MAE and
    none for counts. Times are only shown: the paper's are from an Apple M4 Pro.
    Known deviations are printed with their reason. So are tuning choices that
    depend on a single validation row or on a tie: another machine may choose
    differently there.

    A run with fewer datasets, methods or families is compared where it can be.
    A run without the paper's five base seeds and 250 people is refused.
    All numbers are also written to tables/paper_comparison.csv in the run
    directory. The exit code is 1 if a difference is too large and has no known
    reason.

    changeproof compare runs/paper --all
    """
    from changeproof.paper.comparison import compare_with_paper, write_comparison
    from changeproof.report.terminal.comparisons import print_comparison

    comparison = compare_with_paper(directory)
    path = write_comparison(directory, comparison)
    print_comparison(comparison, everything=everything)
    say(f"Every number: {path}")
    if not comparison.passed:
        raise typer.Exit(1)
