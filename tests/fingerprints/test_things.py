from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from changeproof import Method
from changeproof.fingerprints.sources import code_digest, source_digest
from changeproof.fingerprints.things import class_fingerprint
from changeproof.methods.extension import KIND

METHOD = """
from changeproof import Candidates, Method
{imports}

class Mine(Method):
    name, summary = "mine", "a test"

    def _search(self, factuals):
        return Candidates(factuals.rows + {step})
"""


def load(folder: Path, name: str = "own_package.methods") -> ModuleType:
    """Import a module afresh, as another process would."""
    for loaded in [m for m in sys.modules if m.split(".")[0] in ("own_package", "own_file", "aid")]:
        del sys.modules[loaded]
    importlib.invalidate_caches()
    return importlib.import_module(name)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("STEP = 1\n")
    (folder / "steps.py").write_text("STEP = 1\n")
    (folder / "other.py").write_text("STEP = 1\n")
    imports = "from .steps import STEP\nfrom . import __doc__"
    (folder / "methods.py").write_text(METHOD.format(imports=imports, step="STEP"))
    return folder


@pytest.mark.parametrize(
    ("file", "old", "new", "recomputed"),
    [
        ("methods.py", "+ STEP", "- STEP", True),
        ("methods.py", "class Mine", "# a comment\nclass Mine", False),
        ("methods.py", "    name, summary", '    """A docstring."""\n    name, summary', False),
        ("steps.py", "1", "2", True),
        ("other.py", "1", "2", False),
    ],
)
def test_edits_of_what_is_imported_of_the_same_package_count(
    package: Path, file: str, old: str, new: str, recomputed: bool
) -> None:
    before = class_fingerprint(load(package).Mine)
    assert class_fingerprint(load(package).Mine) == before
    (package / file).write_text((package / file).read_text().replace(old, new))
    assert (class_fingerprint(load(package).Mine) != before) == recomputed


def test_a_file_that_was_edited_but_not_imported_again_is_not_what_runs(package: Path) -> None:
    mine = load(package).Mine
    before = class_fingerprint(mine)
    (package / "steps.py").write_text("STEP = 2\n")
    assert class_fingerprint(mine) == before


def test_files_beside_a_file_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "aid.py").write_text("STEP = 1\n")
    (tmp_path / "own_file.py").write_text(
        METHOD.format(imports="from aid import STEP", step="STEP")
    )
    before = class_fingerprint(load(tmp_path, "own_file").Mine)
    (tmp_path / "aid.py").write_text("STEP = 2\n")
    assert class_fingerprint(load(tmp_path, "own_file").Mine) != before


def test_code_of_ours_that_is_built_upon_counts(package: Path) -> None:
    plain = source_digest(["own_package.other"])
    (package / "other.py").write_text("from changeproof.methods.kdtree import KDTree\nSTEP = 1\n")
    with_import = source_digest(["own_package.other"])
    (package / "other.py").write_text("from changeproof.methods.rnce import RNCE\nSTEP = 1\n")
    assert len({plain, with_import, source_digest(["own_package.other"])}) == 3
    assert code_digest("changeproof.methods.kdtree") != with_import


def carrying(value: object) -> type[Method]:
    def carry(context: object, factuals: object) -> object:
        return value

    return KIND.from_function(carry, "carry")


def test_what_a_function_closes_over_counts() -> None:
    assert class_fingerprint(carrying(1)) == class_fingerprint(carrying(1))
    assert class_fingerprint(carrying(1)) != class_fingerprint(carrying(2))
    assert class_fingerprint(carrying([1, 2])) != class_fingerprint(carrying([2, 1]))
    assert class_fingerprint(carrying(open)) == class_fingerprint(carrying(open))


NOTEBOOK = """
from changeproof.methods.extension import KIND
from changeproof.fingerprints.things import class_fingerprint
FACTOR = {factor}
NOTE = {note!r}
def helper(rows):
    return [part for part in rows if part in {{"a", "b", "c"}}] and rows * FACTOR {more}
def mine(context, factuals):
    return helper(factuals.rows)
print(class_fingerprint(KIND.from_function(mine, "mine")))
"""


def digests(*versions: dict[str, object]) -> list[str]:
    """The code of methods of a process without any file, as a notebook is."""
    cells = [NOTEBOOK.format(**{"factor": 1, "note": "", "more": "", **v}) for v in versions]
    command = [sys.executable, "-c", f"for cell in {cells!r}:\n    exec(cell, globals())"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_code_in_no_file_counts_with_all_that_it_refers_to() -> None:
    (before,) = digests({})
    noted, again, doubled, more = digests(
        {"note": "nobody uses this"}, {}, {"factor": 2}, {"more": "+ 1"}
    )
    assert again == before
    assert noted == before
    assert doubled != before
    assert more != before


SCRIPT = """
import sys
from changeproof.fingerprints.things import class_fingerprint, thing_fingerprint
from changeproof.methods.extension import KIND
FACTOR = {factor}
def mine(context, factuals):
    return factuals.rows * FACTOR
def fit(X, y, sample_weight, seed):
    return lambda rows: rows[:, 0] * FACTOR
print(class_fingerprint(KIND.from_function(mine, "mine")), thing_fingerprint(fit))
{more}
"""


def of_script(folder: Path, **parts: object) -> str:
    script = folder / "script.py"
    script.write_text(SCRIPT.format(**{"factor": 1, "more": "", **parts}))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[0]


def test_lines_around_a_function_of_a_script_do_not_count(tmp_path: Path) -> None:
    before = of_script(tmp_path)
    assert of_script(tmp_path, more="# a comment\nprint('something else')") == before
    both = zip(of_script(tmp_path, factor=2).split(), before.split(), strict=True)
    assert all(one != other for one, other in both)
