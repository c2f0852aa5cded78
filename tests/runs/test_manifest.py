"""What a run directory says of itself is all that readers need, and is not believed blindly."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from changeproof import InputError, Plan, Results, run
from changeproof.runs.manifest import MANIFEST, PLAN, read_manifest
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import resolve
from changeproof.runs.work import pieces_of
from planned import write_plan

PLANNED = Plan(
    datasets=("breast-cancer",),
    methods=("kdtree", "wachter"),
    families=("bootstrap(replicates=2)", "updates(length=2, replicates=2)"),
    base_seeds=(2027,),
    factuals=3,
    limit=True,
)
# What takes long to import, and what would resolve or fingerprint anything.
HEAVY = ("pandas", "numba", "sklearn", "scipy", "changeproof.runs.resolve", "changeproof.runs.work")
STATUS = f"""
import sys
from changeproof.cli import app
app(["status", sys.argv[1]], standalone_mode=False)
print([name for name in {HEAVY!r} if name in sys.modules])
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(PLANNED, tmp_path_factory.mktemp("manifest") / "run", jobs=1, publish=False).folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_it_lists_all_pieces_with_their_files_and_inputs(finished: Path) -> None:
    listed, expected = read_manifest(finished), pieces_of(resolve(PLANNED))
    assert listed.pieces == expected
    assert [piece.inputs for piece in listed.pieces] == [piece.inputs for piece in expected]
    lines = json.loads((finished / MANIFEST).read_text())["pieces"]
    for line, piece in zip(lines, expected, strict=True):
        assert len(list((finished / "pieces").glob(f"{line['file']}.*"))) == 1
        assert line["file"] == piece.file_stem
    assert {name: each.sequence for name, each in listed.families.items()} == {
        "bootstrap(replicates=2)": False,
        "updates(length=2, replicates=2)": True,
    }
    assert Results(finished).counting_families == ("bootstrap(replicates=2)",)


def test_status_takes_half_a_second_and_imports_nothing_heavy(finished: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, "-c", STATUS, str(finished)], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Complete." in ended.stdout and ended.stdout.splitlines()[-1] == "[]"
    assert after.ru_utime - before.ru_utime < 1.0, "0.3 s were measured; slow machines get more"


def test_without_it_the_way_to_get_it_is_told(copy: Path) -> None:
    (copy / MANIFEST).unlink()
    with pytest.raises(InputError, match=r"has no manifest.json; .* go on with: changeproof run"):
        Results(copy)
    pieces = {path.name for path in (copy / "pieces").rglob("*.*")}
    again = run(PLANNED, copy, jobs=1, publish=False)
    assert again.inventory.complete
    assert {path.name for path in (copy / "pieces").rglob("*.*")} == pieces


def test_it_belongs_to_its_plan(copy: Path) -> None:
    write_plan(copy, PLANNED.model_copy(update={"factuals": 4}))
    with pytest.raises(InputError, match=r"plan.json is not the plan that .* was written for"):
        Results(copy)


def struck(content: dict[str, Any], kind: Kind) -> None:
    content["pieces"] = [line for line in content["pieces"] if line["kind"] != kind]


def moved(content: dict[str, Any], **values: Any) -> None:
    content["pieces"][-1] |= values


EDITS = {
    "format": lambda content: content.update(format=99),
    "no pieces": lambda content: content.update(pieces=[]),
    "no limit": lambda content: struck(content, Kind.LIMIT),
    "no survival": lambda content: struck(content, Kind.SURVIVAL),
    "no method": lambda content: content["methods"].popitem(),
    "a family more": lambda content: content["families"].update(more={}),
    "odd family": lambda content: content["families"].update(bootstrap={"x": 1}),
    "another file": lambda content: moved(content, file="../../elsewhere.0123"),
    "another folder": lambda content: moved(content, dataset="../elsewhere"),
    "its own input": lambda content: moved(content, inputs=[len(content["pieces"])]),
    "another seed": lambda content: moved(content, base_seed=1),
    "no list": lambda content: content.update(pieces=7),
    "a number": lambda content: content.update(methods=7),
}


@pytest.mark.parametrize("edit", EDITS)
def test_odd_ones_are_refused_in_one_line(copy: Path, edit: str) -> None:
    content = json.loads((copy / MANIFEST).read_text())
    EDITS[edit](content)
    (copy / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"manifest.json is damaged, or of another version; .*"):
        Results(copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 2000 + b"]" * 2000])
def test_what_is_none_is_refused_in_one_line(copy: Path, content: bytes) -> None:
    (copy / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=r"manifest.json.*go on with: changeproof run --out"):
        read_manifest(copy)
    assert (copy / PLAN).exists()
