"""Compare two runs: compare-runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from changeproof.commands.console import print_document, say
from changeproof.errors import InputError


def compare_runs(
    before: Annotated[Path, typer.Argument(help="A run directory.", metavar="BEFORE")],
    after: Annotated[Path, typer.Argument(help="Another one.", metavar="AFTER")],
    match: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare a method with one of another name or with other settings. Repeat for "
            "several.",
            show_default=False,
            metavar="OLD=NEW",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Print every family, not only what is clear under one."),
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Also write all differences to this file, such as comparison.csv.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Compare two runs: what became better, and what worse?

    Only what is in both is compared: datasets, methods and families of the same
    name, and changes of the same level and replicate. Where both runs asked the
    same people, differences are between the same people, which makes them more
    certain. What is in one run only is listed.

    A difference is called better or worse if its 95 % interval excludes 0.
    Settings, models and versions of changeproof may differ: nothing of what made
    the runs is imported.

    changeproof compare-runs audits/spring audits/autumn --csv comparison.csv

    changeproof compare-runs audit-1 audit-2 --match "rbr=rbr(extra_distance=0.5)"
    """
    from changeproof.runs.compare import compare_runs as compare

    comparison = compare(before, after, matches(match or []))
    if csv is not None:
        from changeproof.files import write_whole
        from changeproof.spreadsheets import csv_bytes

        write_whole(csv, csv_bytes(comparison.table))
    if as_json:
        import json

        print_document(json.dumps(comparison.as_dict(), indent=2, allow_nan=False))
        return
    from changeproof.report.terminal.comparisons import print_run_comparison

    print_run_comparison(comparison, everything=everything)
    if csv is not None:
        say(f"Every difference: {csv}")


def matches(given: list[str]) -> dict[str, str]:
    """Return pairs of methods; an equals sign in brackets belongs to a setting."""
    found: dict[str, str] = {}
    for text in given:
        depth, place = 0, -1
        for position, letter in enumerate(text):
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "=" and depth == 0 and place < 0:
                place = position
        old, new = text[:place].strip(), text[place + 1 :].strip()
        if place < 0 or not old or not new:
            raise InputError(f"--match {text!r}; expected OLD=NEW")
        if old in found or new in found.values():
            raise InputError(f"--match {text!r}: a method is matched more than once")
        found[old] = new
    return found
