"""What several commands take, and how it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from changeproof.errors import InputError

RunDirectory = Annotated[
    Path, typer.Argument(help="The run directory: what --out was.", metavar="DIR")
]
ImportItsCode = Annotated[
    bool,
    typer.Option(
        "--import-its-code",
        help="Import methods, families and models that the run directory names and that are not "
        "installed. This runs their code.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print everything as one JSON document: plan, verdict, what was left out, tables.",
    ),
]

CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
# Quoted text, a bracket or a comma; the apostrophe in a word quotes nothing.
MARK = re.compile(r"""(?<![^\s(\[{,=:])(?:"[^"]*"|'[^']*')|[(\[{)\]},]""")


def names(help_text: str, default: str | bool = False) -> Any:
    """Return an option that takes names, separated by commas or repeated."""
    return typer.Option(help=help_text, show_default=default, metavar="NAME,…")


def split(values: list[str] | None) -> list[str] | None:
    """Return the names in repeated options with commas.

    Commas in brackets or quotes do not separate: ``rbr(samples=5, delta=0.1),kdtree`` is two names.
    """
    if values is None:
        return None
    return [name.strip() for value in values for name in _parts(value) if name.strip()]


def _parts(text: str) -> list[str]:
    parts, start = [], 0
    awaited: list[str] = []
    for found in MARK.finditer(text):
        mark = found.group()
        if mark in CLOSED_BY:
            awaited.append(CLOSED_BY[mark])
        elif mark in CLOSED_BY.values():
            if not awaited or awaited.pop() != mark:
                raise InputError(f"{text!r} has a {mark!r} that closes nothing")
        elif mark == "," and not awaited:
            parts.append(text[start : found.start()])
            start = found.end()
    if awaited:
        raise InputError(f"{text!r} lacks a {awaited[-1]!r}")
    return [*parts, text[start:]]


def whole_numbers(what: str, values: list[str] | None) -> list[int] | None:
    """Return texts as whole numbers; `what` names them in an error."""
    if values is None:
        return None
    for value in values:
        if not value.isdecimal():
            raise InputError(f"{what} {value!r}; expected a whole number of 0 or more")
    return [int(value) for value in values]
