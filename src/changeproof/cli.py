"""The command line: all commands in one application, and how it ends."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from changeproof import __version__
from changeproof.commands import (
    auditing,
    comparing,
    explaining,
    extending,
    gating,
    reading,
    running,
)
from changeproof.errors import InputError
from changeproof.spelling import as_options, visible

INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Will this counterfactual still hold after the model changes? changeproof has every "
    "method explain the same model once. It then tests those explanations on the same changed "
    "models: the paper's eight families of change, 25 models each, and more by name.",
)
diagnose = typer.Typer(no_args_is_help=True, help="Run a diagnostic of the paper's appendix.")

# In the order in which --help lists them.
app.command()(running.run)
app.command()(auditing.audit)
app.command()(explaining.explain)
app.command()(running.status)
app.command()(reading.report)
app.command()(reading.show)
app.command()(reading.compare)
app.command("compare-runs")(comparing.compare_runs)
app.command()(gating.gate)
app.command("list")(extending.list_names)
app.command()(extending.check)
app.add_typer(diagnose, name="diagnose")
diagnose.command("apds-radius")(running.diagnose_apds_radius)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line. A mistake in what was given ends with one line and exit code 2."""
    try:
        app()
    except InputError as error:
        print(f"changeproof: {visible(as_options(str(error)), lines=True)}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer says nothing
            print("changeproof: interrupted; run the same command again to go on", file=sys.stderr)
        raise
