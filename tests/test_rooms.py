"""Leakage is ruled out by layout: who may import whom."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import changeproof
from changeproof.fingerprints.sources import code_digest

PACKAGE = Path(changeproof.__file__).parent
# Data flows from left to right: a room may import from itself and from the rooms before it.
# Methods come before changes, though changes happen first: that is what keeps them apart.
ROOMS = ["errors", "files", "randomness", "fingerprints", "plugins", "model"]
ROOMS += ["arithmetic", "feasible", "datasets", "networks", "models"]
ROOMS += ["certificates", "methods", "adapters", "changes"]
LATER = ["evaluation", "workers", "runs", "tables", "checks", "paper", "report", "gating"]
LATER += ["explanation", "notebook", "workflow", "front_door", "tracking", "pytest_plugin"]
LATER += ["letters", "board", "commands", "cli"]


def names_in(path: Path) -> set[str]:
    """Return what a module imports: modules, and names of modules."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "changeproof"}


def imported(path: Path) -> set[str]:
    names = names_in(path)
    return names | {name.rpartition(".")[0] for name in names}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_never_point_back() -> None:
    order = ROOMS + LATER
    for path in sorted(PACKAGE.rglob("*.py")):
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        assert room in order, f"{path} is in no known room"
        for name in imported(path):
            parts = name.split(".")
            if len(parts) > 1 and parts[1] in order:
                assert order.index(parts[1]) <= order.index(room), f"{path} imports {name}"


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Neither when a name is first needed, nor for type checkers only."""
    paths = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        # Where a module is imported from a package, the package itself is not meant.
        found = {name if name in modules else name.rpartition(".")[0] for name in names_in(path)}
        graph[module] = found & set(modules) - {"changeproof", module}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError


BEFORE_CHANGES = ROOMS[ROOMS.index("feasible") : ROOMS.index("changes")]


@pytest.mark.parametrize("room", BEFORE_CHANGES)
def test_nothing_before_the_changes_can_reach_them(room: str) -> None:
    seen: set[Path] = set()
    waiting = list((PACKAGE / room).rglob("*.py"))
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imported(path):
            base = PACKAGE.joinpath(*name.split(".")[1:])
            for candidate in (base.with_suffix(".py"), base / "__init__.py"):
                if candidate.exists() and candidate != PACKAGE / "__init__.py":
                    waiting.append(candidate)
    rooms = {room_of(path) for path in seen}
    assert not rooms & {"changes", "evaluation", "runs", "report"}, rooms


def test_code_of_a_method_is_part_of_its_fingerprint_and_of_no_other(tmp_path: Path) -> None:
    both = [code_digest(f"changeproof.methods.{name}") for name in ("kdtree", "wachter")]
    assert len(set(both)) == 2
    assert code_digest("changeproof.methods.kdtree") == both[0]


def test_methods_and_families_can_be_imported_by_the_name_of_their_class() -> None:
    for name in changeproof.builtin_method_names():
        cls = changeproof.get_method(name)
        assert getattr(changeproof, cls.__name__) is cls
    for name in changeproof.builtin_family_names():
        cls = type(changeproof.get_family(name))
        assert getattr(changeproof, cls.__name__) is cls


def test_families_that_are_sequences_are_listed_as_such() -> None:
    listed = tuple(changeproof.changes._SEQUENCES)
    families = map(changeproof.get_family, changeproof.builtin_family_names())
    assert tuple(family.name for family in families if family.sequence) == listed


def test_everything_exported_can_be_imported() -> None:
    for name in changeproof.__all__:
        assert getattr(changeproof, name) is not None
    with pytest.raises(AttributeError, match="No changeproof attribute nothing"):
        changeproof.nothing  # noqa: B018


LONGEST = 700


def test_modules_can_be_read_at_one_sitting() -> None:
    lines = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert not {name for name, count in lines.items() if count > LONGEST}


def test_tests_stand_where_the_code_does() -> None:
    """A folder of tests for every room, and no folder of tests for a room that is not there."""
    tests = Path(__file__).parent
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    folders = {path.name for path in tests.iterdir() if any(path.glob("**/test_*.py"))}
    elsewhere = {"benchmarks", "docs", "tools"}
    assert folders - elsewhere == rooms


def test_the_daily_round_goes_through_every_room() -> None:
    """`make quick` has tests of every room, and names none that is not there."""
    tests = Path(__file__).parent
    (listed,) = re.findall(
        r"^QUICK := ((?:.*\\\n)*.*)$", (tests.parent / "Makefile").read_text(), re.MULTILINE
    )
    names = listed.replace("\\", "").split()
    assert not [name for name in names if not (tests / name).exists()]
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= {name.split("/")[0] for name in names}
