"""The command line: all commands in one application, and how it ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from changeproof import __version__
from changeproof.commands import auditing, board, leaderboard, reading, running
from changeproof.commands.console import Command
from changeproof.errors import InputError, as_options, visible
from changeproof.workers.interpreter import SAFE_PATH, collect_garbage_rarely

INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Will this counterfactual still hold after the model changes? Every method explains the "
    "same model once. Those explanations are then tested on the same changed models: the paper's "
    "eight families of change, 25 models each, and more families by name.",
)
diagnose = typer.Typer(no_args_is_help=True, help="Run a diagnostic of the paper's appendix.")

# In the order in which --help lists them.
app.command(cls=Command)(running.run)
app.command(cls=Command)(auditing.audit)
app.command(cls=Command)(auditing.explain)
app.command("suggest-rules", cls=Command)(auditing.suggest_rules)
app.command(cls=Command)(auditing.letters)
app.command(cls=Command)(running.status)
app.command(cls=Command)(reading.report)
app.command(cls=Command)(reading.show)
app.command(cls=Command)(reading.compare)
app.command("compare-runs", cls=Command)(reading.compare_runs)
app.command(cls=Command)(reading.gate)
app.command(cls=Command)(board.submit)
app.command(cls=Command)(board.verify)
app.command(cls=Command)(board.contest)
app.command(cls=Command)(leaderboard.leaderboard)
app.command("list", cls=Command)(reading.list_names)
app.command(cls=Command)(reading.check)
app.add_typer(diagnose, name="diagnose")
diagnose.command("apds-radius", cls=Command)(running.diagnose_apds_radius)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line. A mistake in what was given ends with one line and exit code 2.

    So does a standard output that takes no more, as on a full disk.
    """
    collect_garbage_rarely()
    # Processes that are started from here take no module from the working directory.
    os.environ.update(SAFE_PATH)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        _end(f"changeproof: {visible(as_options(str(error)), lines=True)}", 2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer says nothing
            _end("changeproof: interrupted; run the same command again to go on", INTERRUPTED)
        raise
    except OSError as error:
        # What is read or written elsewhere is named, and was caught where it happened.
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        sys.stdout = _nowhere()
        _end(f"changeproof: cannot write to standard output: {error.strerror}", 2)


def _end(words: str, code: int) -> NoReturn:
    """End with some last words, if there is anywhere to write them."""
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = _nowhere()
    sys.exit(code)


def _nowhere() -> TextIO:
    """Return where the rest goes of what nobody takes, so that it is not tried once more."""
    return Path(os.devnull).open("w", encoding="utf-8")
