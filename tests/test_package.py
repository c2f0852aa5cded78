"""What is published works: source, wheel built from it, and the wheel outside of the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import changeproof as cp
from changeproof.plugins import PAPER

ROOT = Path(__file__).resolve().parent.parent
ASKED = ("diabetes", "sklearn:LogisticRegression", ["kdtree"], ["bootstrap(replicates=3)"])
TINY = """
import json
import changeproof as cp
tasks = {{name: len(cp.load_task(name).labels) for name in cp.dataset_names()}}
results = cp.evaluate(*{asked}, factuals=5, out="run", publish=True, jobs=1)
held = results.table("full_results")["empirical_robustness_mean"].tolist()
print(json.dumps([cp.__file__, tasks, held]))
"""


def call(*command: str | Path, cwd: Path) -> str:
    unset = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    alone = {key: value for key, value in os.environ.items() if key not in unset}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source: Path, kind: str, out: Path) -> Path:
    call(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", out, cwd=source)
    (built,) = out.iterdir()
    return built


def check_contents(wheel: Path) -> None:
    """Check that a wheel holds the files of the package, no others, and no path of this machine."""
    package = Path(cp.__file__).parent
    files = [path for path in package.rglob("*") if path.is_file()]
    expected = {
        path.relative_to(package.parent).as_posix()
        for path in files
        if "__pycache__" not in path.parts
    }
    assert {"changeproof/py.typed", "changeproof/__init__.pyi"} < expected
    with zipfile.ZipFile(wheel) as archive:
        information = f"changeproof-{cp.__version__}.dist-info/"
        held = {name for name in archive.namelist() if not name.startswith(information)}
        assert held == expected
        places = [str(path).encode() for path in (ROOT, Path.home(), wheel.parent)]
        assert not [name for name in held for place in places if place in archive.read(name)]


def test_the_wheel_runs_in_an_environment_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed (extra: dev)")
    packed = build(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    wheel = build(source, "wheel", tmp_path / "wheel")
    assert wheel.name == f"changeproof-{cp.__version__}-py3-none-any.whl"

    check_contents(wheel)

    # An empty environment that gets the wheel and, for what it needs, looks at this one's packages.
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    bin_folder = tmp_path / "env" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", bin_folder / "python", "install"]
    call(*pip, "--quiet", "--no-index", "--no-deps", "--no-compile", wheel, cwd=tmp_path)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    needed = [place for place in sys.path if Path(place).name == "site-packages"]
    (packages / "needed.pth").write_text("\n".join(needed), encoding="utf-8")

    away = tmp_path / "away"
    away.mkdir()
    assert call(bin_folder / "changeproof", "--version", cwd=away).strip() == cp.__version__
    tiny = TINY.format(asked=ASKED)
    printed = call(bin_folder / "python", "-c", tiny, cwd=away).splitlines()[-1]
    file, tasks, held = json.loads(printed)
    assert Path(file).is_relative_to(packages)
    assert tasks == {name: len(cp.load_task(name).labels) for name in cp.dataset_names()}
    here = cp.evaluate(*ASKED, factuals=5).table("full_results")
    assert held == here["empirical_robustness_mean"].tolist()
    assert (away / "run" / "report" / "index.html").stat().st_size > 100_000
    shown = call(bin_folder / "changeproof", "show", "run", cwd=away)
    assert "KD-tree" in shown


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.+)$", cited, flags=re.MULTILINE)
    (day,) = re.findall(r'^date-released: "(.+)"$', cited, flags=re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\S+) \((\S+)\)$", changelog, flags=re.MULTILINE)
    assert project["version"] == cp.__version__ == version
    assert released[0] == (version, day)


def test_the_paper_is_cited_alike() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    shown = (ROOT / "docs" / "the-paper.md").read_text(encoding="utf-8")
    (title,) = re.findall(r"^  title: \"(.+)\"$", cited, flags=re.MULTILINE)
    (address,) = re.findall(r"^  url: (.+)$", cited, flags=re.MULTILINE)
    assert f"title  = {{{title}}}" in shown
    assert f"url    = {{{address}}}" in shown
    assert PAPER.endswith(address)
