"""What --help says: examples first, every option once declared, whole words, nothing cut off."""

from __future__ import annotations

import io
import re
import shlex
import textwrap
from contextlib import redirect_stdout
from typing import Any

import pytest
import typer

from changeproof import cli
from changeproof.commands.console import examples_and_text
from changeproof.commands.options import (
    JOBS,
    PANELS,
    TABLE,
    UNPICKLE,
    WORKERS,
    flags_of,
    plan_options,
)

MAIN: Any = typer.main.get_command(cli.app)
COMMANDS = ["", "diagnose apds-radius", *MAIN.commands]
WIDTHS = (60, 80, 100, 120)


def help_of(command: str, width: int = 80) -> str:
    """Return what `changeproof COMMAND --help` prints in a terminal of that width."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setenv("COLUMNS", str(width))
        done = MAIN.main([*command.split(), "--help"], "changeproof", standalone_mode=False)
    assert done == 0
    return printed.getvalue()


def found(command: str) -> Any:
    """Return a command by the words that call it."""
    each = MAIN
    for name in command.split():
        each = each.commands[name]
    return each


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_too_long_and_none_breaks_or_cuts_a_word(command: str) -> None:
    words = {}
    for width in WIDTHS:
        text = help_of(command, width)
        assert max(map(len, text.splitlines())) <= min(width, 100)
        assert "..." not in text.replace("COMMAND [ARGS]...", "")
        words[width] = [word for word in text.split() if word != "\\"]
    assert all(each == words[WIDTHS[-1]] for each in words.values())
    assert not [word for word in words[60] if re.search(r"\w-$", word)]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", WIDTHS)
def test_help_begins_with_examples_that_a_shell_reads_as_they_are_meant(
    command: str, width: int
) -> None:
    usage, shown, *_ = help_of(command, width).split("\n\n")
    assert usage.startswith(f"Usage: changeproof {command}".strip())
    title, _, lines = shown.partition("\n")
    assert title in ("Example:", "Examples:")
    examples, text = examples_and_text(found(command).help)
    assert examples and text
    calls = textwrap.dedent(lines).replace("\\\n", " ").splitlines()
    assert [shlex.split(each) for each in calls] == [shlex.split(each) for each in examples]


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_examples_call_their_command_with_options_that_it_has(command: str) -> None:
    called = "diagnose apds-radius" if command == "diagnose" else command
    for example in examples_and_text(found(command).help)[0]:
        assert example.startswith(f"changeproof {called} ")
        options = {each for option in found(called).params for each in option.opts}
        assert {word for word in shlex.split(example) if word.startswith("--")} <= options


def test_commands_are_listed_for_use_and_for_research() -> None:
    listed = help_of("").partition("\nUse, ")[2].partition("\nOptions:")[0]
    use, _, research = listed.partition("\nResearch, ")
    names = [re.findall(r"^  ([a-z-]+) ", part, re.MULTILINE) for part in (use, research)]
    assert names[0][:5] == ["audit", "explain", "letters", "gate", "report"]
    assert names[1][:2] == ["run", "compare"]
    assert sorted(names[0] + names[1]) == sorted(MAIN.commands)


@pytest.mark.parametrize("command", ["run", "audit", "explain"])
def test_fields_of_the_plan_are_options_with_the_same_help(command: str) -> None:
    said = " ".join(help_of(command).split())
    groups = {"run": WORKERS, "audit": TABLE | UNPICKLE | WORKERS, "explain": TABLE | JOBS}
    options = plan_options(command) | groups[command]
    assert len(options) > 10
    for name, (_, option) in options.items():
        assert f" {flags_of([name])}" in said
        assert " ".join(option.help.split()) in said
        assert option.panel in PANELS


def test_lists_and_switches_of_a_plan_are_read_as_such() -> None:
    kinds = {name: kind for name, (kind, _) in plan_options("audit").items()}
    assert kinds["methods"] == kinds["base_seeds"] == kinds["grid"] == list[str]
    assert (kinds["limit"], kinds["factuals"], kinds["threshold"]) == (bool, int, str)
    assert {"datasets", "left_out", "rows"}.isdisjoint(kinds)
