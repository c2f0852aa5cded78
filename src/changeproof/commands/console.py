"""What commands say: one line at a time, and nothing that a terminal would obey."""

from __future__ import annotations

import typer

from changeproof.spelling import as_options, visible


def say(text: str, *, err: bool = False, lines: bool = False) -> None:
    """Print a line, with settings as options; `lines` if it may have several."""
    typer.echo(visible(as_options(text), lines=lines), err=err)
