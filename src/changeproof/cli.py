"""The command line: all commands in one application, and how it ends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from changeproof import __version__
from changeproof.commands import auditing, board, leaderboard, reading, running
from changeproof.commands.console import Command, Group
from changeproof.errors import InputError, as_options, visible
from changeproof.workers.interpreter import SAFE_PATH, collect_garbage_rarely

INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

Commands = dict[str, Callable[..., None]]
USE = "Use, with your own data and model"
RESEARCH = "Research, with methods and the benchmark"

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Will this counterfactual still hold after the model changes?

    Every method gives its advice once, on the same model. That advice is then tested, unchanged,
    on the same changed models: the paper's eight families of change, 25 models each, and more
    families by name.

    changeproof audit --data german-credit --out audit

    changeproof explain --from audit --row 17

    changeproof letters audit --out letters

    changeproof run --preset quick
    """,
)
diagnose = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Run a diagnostic of the paper's appendix.

    changeproof diagnose apds-radius --datasets diabetes --factuals 5
    """,
)

# In the order in which --help lists them.
USED: Commands = {
    "audit": auditing.audit,
    "explain": auditing.explain,
    "letters": auditing.letters,
    "gate": reading.gate,
    "report": reading.report,
    "show": reading.show,
    "status": running.status,
    "compare-runs": reading.compare_runs,
    "suggest-rules": auditing.suggest_rules,
}
RESEARCHED: Commands = {
    "run": running.run,
    "compare": reading.compare,
    "check": reading.check,
    "submit": board.submit,
    "verify": board.verify,
    "contest": board.contest,
    "leaderboard": leaderboard.leaderboard,
    "list": reading.list_names,
}
for panel, commands in ((USE, USED), (RESEARCH, RESEARCHED)):
    for name, function in commands.items():
        app.command(name, cls=Command, rich_help_panel=panel)(function)
app.add_typer(diagnose, name="diagnose", rich_help_panel=RESEARCH)
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
