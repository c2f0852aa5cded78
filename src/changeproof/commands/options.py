"""What several commands take, and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from changeproof.errors import InputError

RunDirectory = Annotated[Path, typer.Argument(help="The run directory (--out of a run).")]


def names(help_text: str) -> Any:
    """Return an option that takes names, with commas or repeated."""
    return typer.Option(help=help_text, show_default=False, metavar="NAME,…")


def split(values: list[str] | None) -> list[str] | None:
    """Return the names in repeated options with commas."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def whole_numbers(what: str, values: list[str] | None) -> list[int] | None:
    """Return texts as whole numbers; `what` names them in an error."""
    if values is None:
        return None
    for value in values:
        if not value.isdecimal():
            raise InputError(f"{what} {value!r}; expected a whole number of 0 or more")
    return [int(value) for value in values]
