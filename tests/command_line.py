"""Calls of the command line, each in a process of its own.

The processes are forked from one that has the heavy imports behind it, which is what saves most
of their time; nothing that a call does is seen by another, or by the tests.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["changeproof.cli", "changeproof.workflow", "changeproof.front_door"])


def call(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Do what `changeproof ARGUMENTS` does, and return its exit code and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        told = [Path(folder) / "stdout", Path(folder) / "stderr"]
        words = ["changeproof", *map(str, arguments)]
        process = SERVER.Process(target=_become, args=(words, cwd or Path.cwd(), told))
        process.start()
        process.join(timeout=120)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{' '.join(words)} did not end")
        out, err = (path.read_text(encoding="utf-8") for path in told)
    return subprocess.CompletedProcess(words, process.exitcode, out, err)


def call_anew(
    *arguments: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Do the same in a new interpreter, with more environment variables."""
    command = [sys.executable, "-m", "changeproof", *map(str, arguments)]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, env=environment
    )


def _become(words: list[str], cwd: Path, told: list[Path]) -> None:
    for number, path in enumerate(told, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.chdir(cwd)
    sys.argv = words
    # As in a new interpreter, modules are looked for in the working directory.
    sys.path.insert(0, str(cwd))
    sys.dont_write_bytecode = True
    from joblib.externals.loky import reusable_executor

    from changeproof.cli import main

    try:
        main()
    finally:
        # An interpreter that ends sends its workers home; a fork would wait until they are bored.
        if reusable_executor._executor is not None:
            reusable_executor._executor.shutdown(wait=True, kill_workers=True)
