"""The command for pipelines: gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from changeproof.commands.console import say
from changeproof.commands.options import RunDirectory


def gate(
    directory: RunDirectory,
    rules: Annotated[
        Path, typer.Argument(help="The rules: a TOML file.", metavar="RULES", show_default=False)
    ],
    junit: Annotated[
        Path | None,
        typer.Option(help="Also write JUnit XML.", metavar="FILE", show_default=False),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Also write JSON.", metavar="FILE", show_default=False)
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A rule that is not decided counts as broken.")
    ] = False,
) -> None:
    """Check a finished run against rules, for a pipeline.

    Each rule has one of three answers. It passes if the whole 95 % interval over
    people is on the right side of the limit, and fails if the whole interval is on
    the wrong side. Otherwise it is not decided: more people would be needed.

    A rule says what it is about, a metric and a limit: method = "rnce",
    family = "bootstrap", metric = "end_to_end_robustness", at_least = 95. All that
    rules can say is in docs/gate.md.

    The exit code is 0 if no rule fails, 1 if one does (with --strict also if one is
    not decided), and 2 if the rules or the run cannot be read. Tables that were not
    made from the plan and the pieces of the run are made again from the pieces. No
    model and nobody's code is loaded.

    changeproof gate audit rules.toml --junit gate.xml
    """
    from changeproof.files import write_whole
    from changeproof.gating.judging import gate as judge
    from changeproof.gating.writing import as_json, words
    from changeproof.gating.writing import junit as as_junit

    found = judge(directory, rules)
    for line in words(found):
        say(line)
    for path, written in ((junit, as_junit), (json, as_json)):
        if path is not None:
            write_whole(path, written(found, strict=strict).encode())
    if not found.passed(strict=strict):
        raise typer.Exit(1)
