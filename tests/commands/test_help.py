"""What --help says: every option once declared, whole words, nothing cut off."""

from __future__ import annotations

import re

import pytest

from changeproof.commands.options import (
    JOBS,
    PANELS,
    TABLE,
    UNPICKLE,
    WORKERS,
    flags_of,
    plan_options,
)
from command_line import call

COMMANDS = ["run", "audit", "explain", "status", "report", "show", "compare", "compare-runs"]
COMMANDS += ["gate", "leaderboard", "list", "check", "diagnose apds-radius"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_breaks_or_cuts_a_word(command: str) -> None:
    done = call(*command.split(), "--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("-")]
    assert not re.search(r"\w…(?!\])", done.stdout.replace(",…", ""))


@pytest.mark.parametrize("command", ["run", "audit", "explain"])
def test_fields_of_the_plan_are_options_with_the_same_help(command: str) -> None:
    said = " ".join(call(command, "--help").stdout.split())
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
