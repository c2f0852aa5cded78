"""Commands that run no plan: report, show, compare, compare-runs, gate; list and check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from changeproof.commands.console import print_document, say
from changeproof.commands.options import AsJson, RunDirectory, ask
from changeproof.commands.parsing import matches
from changeproof.errors import unknown


def report(
    directory: RunDirectory,
    open_page: Annotated[bool, ask("Open the page in a browser.", flags="--open")] = False,
    as_json: AsJson = False,
    xlsx: Annotated[
        Path | None,
        ask(
            "Also write a workbook: the verdict, then a sheet for every table. Needs "
            "XlsxWriter, the extra xlsx.",
            "FILE",
        ),
    ] = None,
) -> None:
    """Write the web page of a run.

    The page is one file, report/index.html in the run directory, and opens offline.
    It shows which method's advice holds best under which change, what that costs,
    and what each person would be told. 'changeproof run' writes it when it is done.
    Use this command while a run is unfinished (the page lists what is missing), or
    after an update of changeproof.

    --json prints the whole run for programs. --xlsx writes it as a workbook.

    changeproof report runs/paper --open

    changeproof report audit --xlsx audit.xlsx
    """
    from changeproof.commands.progress import announce_if_slow
    from changeproof.report.workbook import check_workbook
    from changeproof.workflow import Results, write_everything

    if xlsx is not None:
        check_workbook(xlsx)
    with announce_if_slow("writing the report"):
        results = Results(directory)
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
        ask("Print this table only, all its rows: a file name in tables/, without .csv.", "NAME"),
    ] = None,
) -> None:
    """Print the result tables of a finished run.

    changeproof show runs/paper --table family_results
    """
    from changeproof.report.judged import judged_words
    from changeproof.report.terminal.grid import print_table
    from changeproof.report.terminal.tables import print_groups, print_tables
    from changeproof.tables.registry import read_finished

    _, tables = read_finished(directory, current=True)
    if table is None:
        if words := judged_words(tables):
            say(f"{words}\n", lines=True)
        print_tables(tables)
        print_groups(tables)
    elif table in tables:
        print_table(table, tables[table])
    else:
        raise unknown("table", table, tables)


def compare(
    directory: RunDirectory,
    everything: Annotated[
        bool, ask("Print all numbers, not only those that differ.", flags="--all")
    ] = False,
) -> None:
    """Compare a finished run with the published numbers.

    Its tables are compared row by row, the numbers in the paper's text one by one.
    Allowed differences are 2 points or two published standard deviations for rates,
    5 % or two standard deviations for distances (the larger counts), 0.002 for
    balanced accuracy, 0.25 points for disagreement, 0.003 for probability MAE and
    none for counts. Times are only shown: the paper's are from an Apple M4 Pro.
    Known deviations are printed with their reason. So are tuning choices that
    depend on a single validation row or on a tie: another machine may choose
    differently there.

    A run with fewer datasets, methods or families is compared where it can be; one
    without the paper's five base seeds and 250 people is refused. All numbers are
    also written to tables/paper_comparison.csv in the run directory. The exit code
    is 1 if a difference is too large and has no known reason.

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


def compare_runs(
    before: Annotated[Path, typer.Argument(help="A run directory.", metavar="BEFORE")],
    after: Annotated[Path, typer.Argument(help="A later one.", metavar="AFTER")],
    match: Annotated[
        list[str] | None,
        ask(
            "Compare a method with one of another name or other settings. Repeat for several.",
            "OLD=NEW",
        ),
    ] = None,
    everything: Annotated[
        bool, ask("Print every family, not only clear differences.", flags="--all")
    ] = False,
    csv: Annotated[
        Path | None, ask("Also write all differences to this file, such as comparison.csv.", "FILE")
    ] = None,
    as_json: Annotated[bool, ask("Print JSON instead of words.", flags="--json")] = False,
) -> None:
    """Compare two runs: what became better, and what worse?

    Only what is in both is compared: datasets, methods and families of the same
    name, and changes of the same level and replicate. What is in one run only is
    listed. Where both runs asked the same people, they are compared person by
    person, which makes differences more certain.

    A difference is called better or worse if its 95 % interval excludes 0.
    Settings, models and versions of changeproof may differ: no code that the runs
    used is imported.

    changeproof compare-runs audits/spring audits/autumn --csv comparison.csv

    changeproof compare-runs audit-1 audit-2 --match "rbr=rbr(extra_distance=0.5)"
    """
    from changeproof.runs.compare import compare_runs as compare

    comparison = compare(before, after, matches(match or []))
    if csv is not None:
        from changeproof.files import write_whole
        from changeproof.tables.spreadsheets import csv_bytes

        write_whole(csv, csv_bytes(comparison.table))
    if as_json:
        import json

        print_document(json.dumps(comparison.as_dict(), indent=2, allow_nan=False))
        return
    from changeproof.report.terminal.comparisons import print_run_comparison

    print_run_comparison(comparison, everything=everything)
    if csv is not None:
        say(f"Every difference: {csv}")


def gate(
    directory: RunDirectory,
    rules: Annotated[
        Path, typer.Argument(help="The rules: a TOML file.", metavar="RULES", show_default=False)
    ],
    junit: Annotated[Path | None, ask("Also write JUnit XML.", "FILE")] = None,
    json: Annotated[Path | None, ask("Also write JSON.", "FILE")] = None,
    markdown: Annotated[
        Path | None, ask("Also write Markdown, with the verdict of the run.", "FILE")
    ] = None,
    strict: Annotated[
        bool, ask("A rule that is not decided counts as broken.", flags="--strict")
    ] = False,
) -> None:
    """Check a finished run against rules, for a pipeline.

    Each rule has one of three answers. It passes if the whole 95 % interval over
    people is on the right side of the limit, and fails if the whole interval is on
    the wrong side. Otherwise it is not decided: more people would be needed.

    A rule says what it is about, and names a metric and a limit: method = "rnce",
    family = "bootstrap", metric = "end_to_end_robustness", at_least = 95. All that
    rules can say is in docs/gate.md.

    The exit code is 0 if no rule fails, 1 if one does (with --strict also if one is
    not decided), and 2 if the rules or the run cannot be read. Tables that do not
    belong to the plan and the pieces of the run are built again from the pieces. No
    model is loaded, and no code that the run used.

    changeproof gate audit rules.toml --junit gate.xml
    """
    from changeproof.files import write_whole
    from changeproof.gating.judging import gate as judge
    from changeproof.gating.writing import as_json, as_markdown, words
    from changeproof.gating.writing import junit as as_junit

    found = judge(directory, rules)
    for line in words(found):
        say(line)
    for path, written in ((junit, as_junit), (json, as_json)):
        if path is not None:
            write_whole(path, written(found, strict=strict).encode())
    if markdown is not None:
        from changeproof.workflow import Results

        said = Results(directory).verdict().found.lines
        write_whole(markdown, as_markdown(found, said, strict=strict).encode())
    if not found.passed(strict=strict):
        raise typer.Exit(1)


def list_names(
    what: Annotated[
        Literal["datasets", "families", "methods", "tracks"],
        typer.Argument(help="What to list.", metavar="datasets|families|methods|tracks"),
    ],
    verbose: Annotated[
        bool, ask("Also say where each of them is from.", flags="--verbose -v")
    ] = False,
) -> None:
    """List the datasets, the families of change, the methods or the tracks of the benchmark.

    The list includes methods and families of installed packages (entry points
    changeproof.methods and changeproof.families). One that cannot be imported is
    listed with the reason.

    changeproof list methods

    changeproof list families -v
    """
    if what == "tracks":
        from changeproof.board.tracks import TRACKS, VERSION

        say(f"Tracks of the benchmark version {VERSION}:")
        for name, track in TRACKS.items():
            say(f"{name:<10} {track.words}")
        return
    from changeproof.report.terminal.status import print_names

    print_names(what, sources=verbose)


def check(
    reference: Annotated[
        str,
        typer.Argument(
            help="A name, or an import path such as my_package.module:MyMethod.",
            metavar="REFERENCE",
        ),
    ],
    family: Annotated[
        bool, ask("Check a family of change, not a method.", flags="--family")
    ] = False,
) -> None:
    """Check your own method or family against the contract.

    A method must give a person the same answer in any batch, order and process.
    It must say so when it finds nothing, and must not modify its inputs. It is
    tried on an embedded dataset. Its speed is shown but not judged. The exit code
    is 1 if a check fails. From Python: changeproof.check_method(MyMethod) and
    changeproof.check_family(MyFamily).

    changeproof check my_package.module:MyMethod
    """
    from changeproof.checks.families import check_family
    from changeproof.checks.methods import check_method
    from changeproof.report.terminal.grid import print_table

    findings = (check_family if family else check_method)(reference)
    columns = ("check", "outcome", "seen")
    print_table(reference, [{name: getattr(each, name) for name in columns} for each in findings])
    failed = [finding for finding in findings if finding.failed]
    for finding in failed:
        say(f"{finding.check}: {finding.fix}")
    say(f"{len(failed)} of {len(findings)} checks failed." if failed else "All checks passed.")
    if failed:
        raise typer.Exit(1)
