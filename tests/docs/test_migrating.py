"""What docs/migrating.md says of names is so: new ones are there, old ones are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

import changeproof as cp
from changeproof import cli
from changeproof.errors import InputError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrating.md").read_text(encoding="utf-8")
# Where an object of the class is at hand to be told things.
ATTRIBUTE = r"`(Explanation|Task|Actions|Results|Observer)\.(\w+)`"


def rows_of(title: str) -> list[list[str]]:
    """Return the rows of the table under a title, without its head."""
    (part,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [
        re.split(r" *\| *", line.strip("|")) for line in part.splitlines() if line.startswith("|")
    ]
    assert len(rows) > 3
    return rows[2:]


def has(thing: str, name: str) -> bool:
    found: Any = getattr(cp, thing)
    return hasattr(found, name) or name in getattr(found, "__annotations__", {})


def test_attributes_were_renamed() -> None:
    rows = [row for row in rows_of("Python") if re.search(ATTRIBUTE, row[0])]
    assert len(rows) >= 6
    for old, new in rows:
        assert not [each for each in re.findall(ATTRIBUTE, old) if has(*each)]
        found = re.findall(ATTRIBUTE, new)
        assert found and all(has(*each) for each in found)


def test_options_and_keys_were_renamed() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    options = {name: {o for p in each.params for o in p.opts} for name, each in commands.items()}
    for command in ("run", "audit", "explain"):
        assert "--feasible" in options[command] and "--realisable" not in options[command]
    for command in ("report", "status"):
        assert "--import-its-code" not in options[command]
    named = {word for row in rows_of("Defaults") for word in re.findall(r"`(--[a-z-]+)", row[1])}
    known = set().union(*(p.opts + p.secondary_opts for p in commands["audit"].params))
    assert named and named <= known
    with pytest.raises(InputError, match="called 'feasible' now"):
        cp.Plan.checked({"realisable": True})


@pytest.mark.parametrize("old, new", rows_of("Settings of methods"))
def test_settings_are_gone(old: str, new: str) -> None:
    asked = [f"{name}(farther=True)" for name in re.findall(r"`([a-z-]+)`", old)]
    for call in asked or re.findall(r"`(.+?)`", old):
        with pytest.raises(InputError, match="has no setting"):
            cp.make_method(call.replace("…", "1"))
    for call in re.findall(r"`(\w+\(.+\))`", new):
        assert cp.make_method(call.replace("…", "5"))


def test_columns_of_tables(advised_run: cp.Results) -> None:
    for file, old, new in rows_of("Tables"):
        for name in re.findall(r"`(\w+)\.csv`", file):
            columns = set(advised_run.table(name).columns)
            assert not columns & set(re.findall(r"`(\w+)`", old))
            expected = re.findall(r"`(\w+)`", new)
            assert expected
            assert {c for c in expected if c in columns or f"{c}_mean" in columns} == set(expected)
    assert {"families", "model", "people_above_bar"} <= set(advised_run.tables())


def test_what_a_learner_says() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(block, {"__name__": "page"})
    with pytest.raises(InputError, match=r"expected traits = Traits\(has_seeds"):
        exec(block.replace("traits = cp.Traits(has_seeds=False)", "has_seeds = False"), {})
