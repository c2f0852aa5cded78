"""A disk that is full or read-only: one line that names the file, and nothing half-written.

True small disks are mounted by `python -m benchmarks.reliability disk`, which needs the rights to.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands import call, read_only
from changeproof import Results
from changeproof.cli import main
from command_line import start_server
from loans import loans
from published_run import write_run

ASKED = (
    "--data", "loans.csv", "--target", "approved", "--favourable", "yes", "--jobs", "1",
    "--id-column", "applicant", "--model", "sklearn:LogisticRegression",
    "--families", "bootstrap(replicates=2)", "--out", "disk/out",
)  # fmt: skip
COMMANDS = {
    "audit": ("audit", *ASKED, "--methods", "kdtree", "--factuals", "2"),
    "explain": ("explain", *ASKED, "--method", "kdtree", "--row", "A001"),
    "report": ("report", "disk/run"),
    "compare": ("compare", "disk/published"),
}


def largest_file(size: int) -> None:
    """Let no file become larger, as a full disk does; what is longer is written in part.

    So would be the bytecode of what is imported first here, which others would then stumble over.
    """
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture
def cwd(tmp_path: Path, quick_run: Results) -> Path:
    start_server()
    shutil.copytree(quick_run.folder, tmp_path / "disk" / "run")
    write_run(tmp_path / "disk" / "published")
    loans(120).to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("prepare", "said"),
    [((largest_file, 3000), "File too large"), ((read_only, "disk/"), "Read-only file system")],
    ids=["full", "read-only"],
)
def test_it_is_told_in_one_line(
    cwd: Path, command: str, prepare: tuple[Any, ...], said: str
) -> None:
    before = contents(cwd / "disk")
    told = call(COMMANDS[command], cwd, *prepare)
    assert told.code == 2, told.told
    assert not told.traceback
    (line,) = told.refusals
    assert line.startswith("changeproof: cannot write ")
    assert "disk/" in line
    assert said in line
    left = contents(cwd / "disk")
    assert {path: left.get(path) for path in before} == before
    assert not [path for path in left if ".unfinished-" in path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("buffering", [1, 8192])
def test_standard_output_that_takes_no_more_is_told(
    buffering: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = Path("/dev/full").open("w", buffering=buffering, encoding="utf-8")  # noqa: SIM115
    monkeypatch.setattr(sys, "stdout", full)
    monkeypatch.setattr(sys, "argv", ["changeproof", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert sys.stdout is not full
    sys.stdout.close()
    said = capsys.readouterr().err
    assert said == f"changeproof: cannot write to standard output: {os.strerror(errno.ENOSPC)}\n"
    with suppress(OSError):
        full.close()
