"""The tutorial on own methods is true: its files and commands work in the order they come in."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from command_line import call, run_script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-method.md"
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    folder = tmp_path_factory.mktemp("tutorial")
    for text in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", text)
        assert name is not None, "every file starts with its name"
        (folder / name[1]).write_text(text)
    return folder


COMMANDS = [line for text in blocks("console") for line in text.splitlines()]


def test_the_commands_work_one_after_the_other(folder: Path) -> None:
    assert COMMANDS
    for command in COMMANDS:
        try_command(command, folder)


def try_command(command: str, folder: Path) -> None:
    program, *arguments = shlex.split(command)
    if program == "changeproof":
        done = call(*arguments, cwd=folder)
    else:
        assert program == "python"
        done = run_script(folder / arguments[0])
    assert done.returncode == 0, command + done.stdout + done.stderr
    if "check" in arguments:
        assert "All checks passed." in done.stdout
    if "show" in arguments:
        assert "halfway:halfway" in done.stdout
    if program == "python":
        lines = [line.split() for line in done.stdout.splitlines()[1:]]
        robustness = {name: float(value) for name, value, _ in lines}
        one, other = "confident-neighbour", "confident-neighbour(probability=0.9)"
        assert 50 < robustness["kdtree"] < robustness[one] <= robustness[other] <= 100


def test_the_first_method_is_short() -> None:
    code = [line for line in blocks("python")[0].splitlines() if line and line[0] != "#"]
    assert len(code) <= 10


def test_the_entry_points_are_valid() -> None:
    (text,) = blocks("toml")
    groups = tomllib.loads(text)["project"]["entry-points"]
    assert set(groups) == {"changeproof.methods", "changeproof.families"}
