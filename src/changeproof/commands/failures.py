"""How a command ends when pieces of its run have failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from changeproof.runs.runner import PieceFailedError
from changeproof.spelling import as_options


@contextmanager
def failures_told(folder: Path) -> Iterator[None]:
    """End a run with failures: print what failed and why, and where the rest is."""
    try:
        yield
    except PieceFailedError as error:
        for item in error.failures[:1]:
            if not item.refused:
                typer.echo(item.failure, err=True)
        for line in error.summary:
            typer.echo(f"changeproof: {as_options(line)}", err=True)
        if (folder / "tables").exists():
            typer.echo(f"Tables and report of everything else are in {folder}.", err=True)
        raise typer.Exit(2 if error.refused else 1) from None
