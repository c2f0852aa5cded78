"""What commands say: one line at a time, and nothing that a terminal would obey."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import typer

from changeproof.spelling import as_options, visible

# Standard output and standard error, as other processes know them.
OUTPUT, ERROR = 1, 2


def say(text: str, *, err: bool = False, lines: bool = False) -> None:
    """Print a line, with settings as options; `lines` if it may have several."""
    typer.echo(visible(as_options(text), lines=lines), err=err)


def print_document(text: str) -> None:
    """Print a document for programs, as it is."""
    typer.echo(text)


@contextmanager
def quiet_output(wanted: bool) -> Iterator[None]:
    """Have whatever is printed go to standard error, if output is to hold one document only.

    Models and methods that people bring may print, here and in worker processes.
    """
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(OUTPUT)
    os.dup2(ERROR, OUTPUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, OUTPUT)
        os.close(kept)
