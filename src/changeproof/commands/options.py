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


class Command(typer.core.TyperCommand):
    """A command that takes no empty text for the name of a file: Python would read it as "."."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was given, and refuse an empty name of a file."""
        said, *_ = self.make_parser(ctx).parse_args(args=list(args))
        left: list[str] = super().parse_args(ctx, args)
        for each in self.params:
            if said.get(each.name) == "" and isinstance(ctx.params.get(each.name), Path):
                name = each.opts[-1] if each.opts[-1].startswith("-") else each.opts[-1].upper()
                raise InputError(f"{name} is empty; expected a path")
        return left


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
    found = [name.strip() for value in values for name in _parts(value) if name.strip()]
    if values and not found:
        given = " ".join(map(repr, values))
        raise InputError(f"expected at least one name; got {given}, which has none")
    return found


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
