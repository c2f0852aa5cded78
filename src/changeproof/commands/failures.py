"""How a command ends when pieces of its run have failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from changeproof.commands.console import say
from changeproof.runs.execute import PieceFailedError


@contextmanager
def failures_told(folder: Path) -> Iterator[None]:
    """End a run with failures: print what failed and why, and where the rest is."""
    try:
        yield
    except PieceFailedError as error:
        for item in error.failures[:1]:
            if not item.refused:
                say(item.failure or "", err=True, lines=True)
        for line in error.summary:
            say(f"changeproof: {line}", err=True)
        if (folder / "tables").exists():
            say(f"Tables and report of everything else are in {folder}.", err=True)
        raise typer.Exit(2 if error.refused else 1) from None
