"""Messages name settings as the interface in use spells them."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from changeproof import commands
from changeproof.commands.progress import ConsoleObserver
from changeproof.errors import InputError, as_keys, as_options, setting, visible
from changeproof.report.terminal.grid import print_table, say
from command_line import call
from loans import loans

COMMANDS = Path(commands.__file__).parent


@pytest.mark.parametrize(
    ("said", "option", "key"),
    [
        (setting(missing="impute"), "--missing impute", 'missing = "impute"'),
        (setting(id_column="who"), "--id-column who", 'id = "who"'),
        (setting(categorical=["a b", "c"]), "--categorical 'a b,c'", 'categorical = ["a b", "c"]'),
        (setting(most_changes=3), "--most-changes 3", "most_changes = 3"),
        (setting(over_time=True), "--over-time", "over_time = true"),
        ("`name=` is kept", "`name=` is kept", "`name=` is kept"),
        ("`x=y`", "`x=y`", "`x=y`"),
    ],
)
def test_a_setting_is_said_in_three_ways(said: str, option: str, key: str) -> None:
    assert as_options(f"ask for {said}.") == f"ask for {option}."
    assert as_keys(f"ask for {said}.") == f"ask for {key}."


def test_the_command_line_and_dataset_files_name_their_own(tmp_path: Path) -> None:
    frame = loans()
    frame.loc[3, "income"] = None
    frame.to_csv(tmp_path / "loans.csv", index=False)
    named = ("--target", "approved", "--favourable", "yes", "--drop", "applicant")
    out = ("--out", tmp_path / "audit")
    table = call("audit", "--data", tmp_path / "loans.csv", *named, *out)
    assert (table.returncode, table.stderr.count("\n")) == (2, 1)
    assert "drop the column, or ask for --missing impute\n" in table.stderr
    described = tmp_path / "loans.toml"
    described.write_text('data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\n')
    described.write_text(described.read_text() + 'drop = ["applicant"]\n')
    file = call("audit", "--data", described, *out)
    assert file.returncode == 2
    assert 'drop the column, or ask for missing = "impute"\n' in file.stderr


def test_python_is_told_of_arguments() -> None:
    from changeproof.datasets.custom import own_task

    with pytest.raises(InputError, match="ask for `missing='impute'`"):
        own_task(
            loans().assign(income=[None, *loans()["income"][1:]]),
            target="approved",
            favourable="yes",
            drop=["applicant"],
        )


def test_what_a_terminal_would_obey_is_made_visible() -> None:
    assert visible("a\x1b[2Jb\x07\x9b\r\x7f") == r"a\x1b[2Jb\x07\x9b\r\x7f"
    assert visible("one\ntwo\tthree") == "one\\ntwo\tthree"
    assert visible("one\ntwo\x1b", lines=True) == "one\ntwo\\x1b"
    assert visible("abc\u202edef\udce9") == r"abc\u202edef\udce9"
    assert visible("Zürich 🙂 100 %") == "Zürich 🙂 100 %"


def test_no_escape_sequence_reaches_the_terminal_from_names() -> None:
    console = Console(width=200, force_terminal=True, no_color=True)
    name = "mine\x1b]0;owned\x07\x1b[2J"
    table = pd.DataFrame({name: [name], "number": [1]})
    with console.capture() as capture:
        print_table(name, table, console)
        say(console, name)
    shown = capture.get()
    assert shown.count(r"mine\x1b]0;owned\x07\x1b[2J") == 4
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    lines = StringIO()
    with ConsoleObserver(Console(file=lines), beginning=name) as observer:
        observer.note(f"column {name}")
    assert r"column mine\x1b]0;owned" in lines.getvalue()
    assert "\x1b" not in lines.getvalue()


def test_no_escape_sequence_reaches_the_terminal_from_a_mistake(tmp_path: Path) -> None:
    bad = "\x1b[31mred"
    named = ("--target", "approved", "--favourable", "yes", "--out", tmp_path / "out")
    refused = call("audit", "--data", tmp_path / f"{bad}.csv", *named)
    assert refused.returncode == 2
    assert r"\x1b[31mred.csv: there is no such file" in refused.stderr
    assert "\x1b" not in refused.stderr


@pytest.mark.parametrize("path", sorted(COMMANDS.glob("*.py")), ids=lambda path: path.stem)
def test_commands_print_names_in_one_way_only(path: Path) -> None:
    echoed = path.read_text(encoding="utf-8")
    assert ("typer.echo(" in echoed) == (path.stem == "console")
    assert "print(" not in re.sub(r"console\.print\(", "", echoed)
