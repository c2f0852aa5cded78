"""What commands print: help, lines, one document for programs, and failures at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import typer

from changeproof.commands.options import PANELS
from changeproof.errors import InputError, as_options, visible

# Standard output and standard error, as other processes know them.
OUTPUT, ERROR = 1, 2
# Stands for a hyphen while lines are filled.
UNBROKEN = "\x00"


class Command(typer.core.TyperCommand):
    """A command whose help has options by panel, and that refuses an empty path."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was given, and refuse an empty path: Python would read it as "."."""
        texts, *_ = self.make_parser(ctx).parse_args(args=list(args))
        left: list[str] = super().parse_args(ctx, args)
        for each in self.params:
            if texts.get(each.name) == "" and isinstance(ctx.params.get(each.name), Path):
                name = each.opts[-1] if each.opts[-1].startswith("-") else each.opts[-1].upper()
                raise InputError(f"{name} is empty; expected a path")
        return left

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; no line ends at a hyphen, which would break names and options."""
        text, self.help = self.help, _unbroken(self.help or "")
        super().format_help(ctx, formatter)
        self.help = text
        formatter.buffer[:] = ["".join(formatter.buffer).replace(UNBROKEN, "-")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List arguments, then the options of every panel, each as wide as the terminal."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS)}
        for each in self.get_params(ctx):
            if record := each.get_help_record(ctx):
                name, text = record
                panel = getattr(each, "rich_help_panel", None) or "Options"
                if each.param_type_name == "argument":
                    name, panel = each.metavar or each.name.upper(), "Arguments"
                panels.setdefault(panel, []).append((name, _unbroken(text)))
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _unbroken(text: str) -> str:
    return text.replace("-", UNBROKEN)


def say(text: str, *, err: bool = False, lines: bool = False) -> None:
    """Print a line, with settings as options; `lines` if it may have several."""
    typer.echo(visible(as_options(text), lines=lines), err=err)


def print_document(text: str) -> None:
    """Print a document for programs, as it is."""
    typer.echo(text)


@contextmanager
def quiet_output(one_document: bool) -> Iterator[None]:
    """Send whatever is printed to standard error, if output is to hold one document only.

    Models and methods that people bring may print, here and in worker processes.
    """
    if not one_document:
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


@contextmanager
def failures_reported(folder: Path) -> Iterator[None]:
    """End a run with failures: print what failed and why, and where the rest is."""
    from changeproof.runs.execute import PieceFailedError

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
