"""What commands print: help, lines, one document for programs, and failures at the end."""

from __future__ import annotations

import inspect
import os
import re
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
# How a paragraph of a help text begins that is an example.
PROGRAM = "changeproof "


class Help:
    """How --help is laid out: usage, examples, text, and lists in which no word is broken."""

    help: str | None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the examples first, as lines to copy; then what the text says."""
        examples, text = examples_and_text(self.help or "")
        if examples:
            with formatter.section("Examples" if len(examples) > 1 else "Example"):
                for each in examples:
                    lines = broken_example(each, formatter.width - formatter.current_indent)
                    formatter.write(
                        "".join(f"{'':>{formatter.current_indent}}{x}\n" for x in lines)
                    )
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_unbroken(text))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; no line ends at a hyphen, which would break names and options."""
        super().format_help(ctx, formatter)  # type: ignore[misc]
        formatter.buffer[:] = ["".join(formatter.buffer).replace(UNBROKEN, "-")]


class Command(Help, typer.core.TyperCommand):
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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List arguments, then the options of every panel."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS)}
        for each in self.get_params(ctx):
            if record := each.get_help_record(ctx):
                name, text = record
                panel = getattr(each, "rich_help_panel", None) or "Options"
                if each.param_type_name == "argument":
                    name, panel = each.metavar or each.name.upper(), "Arguments"
                panels.setdefault(panel, []).append((name, text))
        for name, records in panels.items():
            _write_list(formatter, name, records)


class Group(Help, typer.core.TyperGroup):
    """Several commands, listed by panel with the first sentence of their help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the commands, then the options."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            _, text = examples_and_text(command.help or "")
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(panel, []).append((name, text.partition("\n\n")[0]))
        for panel, records in panels.items():
            _write_list(formatter, panel, records)
        options = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        _write_list(formatter, "Options", [each for each in options if each])


def _write_list(formatter: Any, title: str, records: list[tuple[str, str]]) -> None:
    """Write names and what they mean, in two columns if the longest word leaves room for both."""
    if not records:
        return
    longest = max(len(word) for _, text in records for word in text.split())
    with formatter.section(title):
        room = formatter.width - formatter.current_indent - 2 - longest
        records = [(name, _unbroken(text)) for name, text in records]
        formatter.write_dl(records, col_max=max(min(30, room), 2))


def examples_and_text(text: str) -> tuple[list[str], str]:
    """Return the paragraphs of a help text that are calls of changeproof, and the others."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    examples = [" ".join(each.split()) for each in paragraphs if each.startswith(PROGRAM)]
    return examples, "\n\n".join(each for each in paragraphs if not each.startswith(PROGRAM))


def broken_example(example: str, width: int) -> list[str]:
    """Return a call as lines that a shell reads as one; an option stays with its value."""
    parts = re.findall(r"--\S+(?: (?!--)(?:\"[^\"]*\"|\S)+)?|(?:\"[^\"]*\"|\S)+", example)
    lines = [parts[0]]
    for part in parts[1:]:
        if len(f"{lines[-1]} {part} \\") <= width:
            lines[-1] += f" {part}"
        else:
            lines[-1] += " \\"
            lines.append(f"    {part}")
    return lines


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
