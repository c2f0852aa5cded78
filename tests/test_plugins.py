from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from changeproof.errors import InputError
from changeproof.plugins import Registry

GROUP = "changeproof.test-things"


def accept(found: Any, reference: str) -> str:
    if not isinstance(found, str):
        raise InputError(f"thing {reference!r} is no text")
    return found


@pytest.fixture
def registry() -> Registry[Any]:
    return Registry("thing", GROUP, {"separator": "os:sep", "ending": "os:linesep"}, accept)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which modules and packages with entry points can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def offer(folder: Path, package: str, **points: str) -> None:
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name.replace('_', '-')} = {value}" for name, value in points.items()]
    (information / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


def test_builtins_come_first_then_packages_then_registered(
    registry: Registry[Any], folder: Path
) -> None:
    (folder / "plugin.py").write_text("THING = 'from a package'\n")
    offer(folder, "plugin", own_thing="plugin:THING")
    registry.register("mine", "another")
    assert registry.names == ("separator", "ending", "own-thing", "another")
    assert registry.builtin_names == ("separator", "ending")
    assert registry.get("separator") == "/"
    assert registry.get("own-thing") == "from a package"
    assert registry.get("another") == "mine"
    assert registry.get("plugin:THING") == "from a package"
    given = ["plugin:THING", "ending", "another", "separator"]
    assert registry.check(given, resolve=False) == (
        "separator",
        "ending",
        "plugin:THING",
        "another",
    )


def test_the_last_registration_counts(registry: Registry[Any]) -> None:
    registry.register("first", "mine")
    registry.register("second", "mine")
    assert registry.get("mine") == "second"
    assert registry.names.count("mine") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("separator", "'separator' is a built-in thing; choose another name"),
        ("My Thing", "bad name 'My Thing' for a thing; expected lower-case letters, digits and"),
        ("", "bad name ''"),
        ("a:b", "bad name 'a:b'"),
    ],
)
def test_names_that_are_refused(registry: Registry[Any], name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        registry.register("mine", name)
    assert registry.names == ("separator", "ending")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nothing", r"unknown thing 'nothing'; expected one of: separator, ending, .*import path"),
        ("no_such_module:THING", r"'no_such_module:THING' cannot be imported: ModuleNotFoundErr"),
        ("broken:THING", r"'broken:THING' cannot be imported: ZeroDivisionError: division by"),
        ("leaving:THING", r"'leaving:THING' cannot be imported: SystemExit: 3"),
        ("plugin:NOTHING", r"'plugin:NOTHING': plugin has no 'NOTHING'"),
        ("plugin:NUMBER", r"thing 'plugin:NUMBER' is no text"),
        ("plugin:", r"'plugin:' is not an import path; expected module:attribute"),
        ("a b:c", r"'a b:c' is not an import path"),
        ("cracked", r"entry point 'cracked' of package one \(broken:THING\) cannot be imported: Z"),
        ("missing", r"entry point 'missing' of package one \(gone:THING\) cannot be .*Module"),
        ("twice", r"thing 'twice' is offered by the packages .* and .*; name one by its import"),
        ("Loud", r"entry point 'Loud' of package one .* has a bad name"),
    ],
)
def test_references_that_lead_nowhere(
    registry: Registry[Any], folder: Path, reference: str, message: str
) -> None:
    (folder / "plugin.py").write_text("THING = 'text'\nNUMBER = 3\n")
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    points = {"cracked": "broken:THING", "missing": "gone:THING", "twice": "plugin:THING"}
    offer(folder, "one", **points, Loud="plugin:THING")
    offer(folder, "two", twice="plugin:NUMBER", whole="plugin:THING")
    with pytest.raises(InputError, match=message) as caught:
        registry.get(reference)
    assert "\n" not in str(caught.value)
    assert registry.get("whole") == "text"


def test_what_is_broken_is_listed_and_harms_no_other(registry: Registry[Any], folder: Path) -> None:
    (folder / "plugin.py").write_text("THING = 'text'\n")
    points = {"good": "plugin:THING", "cracked": "gone:THING", "separator": "plugin:THING"}
    offer(folder, "one", **points)
    broken = registry.broken()
    assert broken["separator (one)"] == "has the name of a built-in thing"
    assert "No module named 'gone'" in broken["cracked"]
    assert len(broken) == 2
    assert registry.get("separator") == "/"


def test_modules_of_the_working_directory_are_found(
    registry: Registry[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = folder / "work"
    here.mkdir()
    (here / "local_thing.py").write_text("class Outer:\n    THING = 'here'\n")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    assert registry.get("local_thing:Outer.THING") == "here"


def test_a_record_need_not_be_resolved(registry: Registry[Any]) -> None:
    given = ["gone:THING", "somebody-s", "ending"]
    assert registry.check(given, resolve=False) == ("ending", "gone:THING", "somebody-s")
    with pytest.raises(InputError, match="unknown thing 'Bad Name'"):
        registry.check(["Bad Name"], resolve=False)
