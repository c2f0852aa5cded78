"""Calls of the command line, each in a process of its own.

The processes are forked from one that has the heavy imports behind it, which is what saves most
of their time; nothing that a call does is seen by another, or by the tests.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest

SERVER = multiprocessing.get_context("forkserver")
PATIENCE = 120.0
# What of a command only a shell understands.
SHELL = set("|&;<>$`*")

Done = subprocess.CompletedProcess[str]


def call(*arguments: str | Path, cwd: Path | None = None) -> Done:
    """Do what `changeproof ARGUMENTS` does, and return its exit code and what it printed."""
    words = ["changeproof", *map(str, arguments)]
    return _forked(_command, words, cwd or Path.cwd())


def call_anew(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Done:
    """Do the same in a new interpreter, with more environment variables."""
    command = [sys.executable, "-m", "changeproof", *map(str, arguments)]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, env=environment
    )


def type_in(command: str, cwd: Path) -> Done:
    """Do a line of a terminal: a shell does what is more than a call of `changeproof`."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    if program == "changeproof" and not SHELL & set(command):
        return call(*arguments, cwd=cwd)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": programs}
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=cwd, check=False, env=environment
    )


def run_script(path: Path) -> Done:
    """Do what `python PATH` does in its folder; there, `command` does a line of a terminal."""
    return _forked(_script, [str(path)], path.parent)


def _forked(what: Callable[[list[str], Connection], None], words: list[str], cwd: Path) -> Done:
    start_server()
    here, there = SERVER.Pipe()
    with tempfile.TemporaryDirectory() as folder, here:
        told = [Path(folder) / "stdout", Path(folder) / "stderr"]
        process = SERVER.Process(
            target=_become, args=(what, words, cwd, told, dict(os.environ), there)
        )
        process.start()
        there.close()
        # Whoever is there asks for commands, and closes the pipe when it ends.
        while ready := wait([here, process.sentinel], timeout=PATIENCE):
            if process.sentinel in ready:
                break
            try:
                done = type_in(here.recv(), cwd)
            except EOFError:
                break
            here.send((done.returncode, done.stdout, done.stderr))
        process.join(timeout=PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{' '.join(words)} did not end")
        out, err = (path.read_text(encoding="utf-8") for path in told)
    return subprocess.CompletedProcess(words, process.exitcode, out, err)


@cache
def start_server() -> None:
    """Start what processes are forked from; Python 3.11 does not tell it where modules are.

    There is one for all of this process, so others may have said what it has to import.
    """
    SERVER.set_forkserver_preload(["preloaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        forkserver.ensure_running()


def _become(
    what: Callable[[list[str], Connection], None],
    words: list[str],
    cwd: Path,
    told: list[Path],
    environment: dict[str, str],
    pipe: Connection,
) -> None:
    assert "preloaded" in sys.modules, "somebody else has started the server of forks"
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(told, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.chdir(cwd)
    sys.argv = words
    # As in a new interpreter, modules are looked for in the working directory.
    sys.path.insert(0, str(cwd))
    sys.dont_write_bytecode = True
    from joblib.externals.loky import reusable_executor

    try:
        what(words, pipe)
    finally:
        # An interpreter that ends sends its workers home; a fork would wait until they are bored.
        if reusable_executor._executor is not None:
            reusable_executor._executor.shutdown(wait=True, kill_workers=True)


def _command(words: list[str], pipe: Connection) -> None:
    from changeproof.cli import main

    main()


def _script(words: list[str], pipe: Connection) -> None:
    def command(line: str) -> None:
        pipe.send(line)
        code, out, err = pipe.recv()
        sys.stdout.write(out)
        sys.stderr.write(err)
        assert code == 0, f"exit code {code}: {line}"

    runpy.run_path(words[0], init_globals={"command": command}, run_name="__main__")
