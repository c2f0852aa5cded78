"""The command line in processes of its own, with something prepared in them that goes wrong."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["changeproof.cli", "changeproof.workflow", "changeproof.report.printing"]
)
PATIENCE = 180.0
OPERATIONS = ("open", "os.rename", "os.mkdir", "os.remove")
COUNTED = ".operations"


class Ended:
    """How a command ended, and what it told."""

    def __init__(self, code: int | None, told: str) -> None:
        self.code, self.told = code, told

    @property
    def traceback(self) -> bool:
        """Whether it showed its insides."""
        return "Traceback (most recent call last)" in self.told

    @property
    def refusals(self) -> list[str]:
        """The lines in which it said what does not work."""
        return [line for line in self.told.splitlines() if line.startswith("changeproof: ")]


def become(
    words: list[str], cwd: Path, log: Path, prepare: Callable[..., None], *more: Any
) -> None:
    """Be the command line, in a process and a group of its own."""
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(cwd)
    sys.argv = ["changeproof", *words]
    from changeproof.cli import main
    from changeproof.report import printing

    # Figures take most of a trial's time. Their files are written, but nothing is drawn in them.
    printing.encoded = lambda figure, kind: f"a figure, {kind}".encode()
    prepare(*more)
    try:
        main()
    finally:
        # An interpreter that ends sends its workers home; a fork would wait until they are bored.
        loky = sys.modules.get("joblib.externals.loky.reusable_executor")
        if loky is not None and loky._executor is not None:
            loky._executor.shutdown(wait=True, kill_workers=True)


def started(words: Iterable[Any], cwd: Path, log: Path, prepare: Any, *more: Any) -> Any:
    """Start the command line."""
    process = SERVER.Process(target=become, args=([*map(str, words)], cwd, log, prepare, *more))
    process.start()
    return process


def ended(process: Any, log: Path, patience: float = PATIENCE, *, whole: bool = True) -> Ended:
    """Wait for a command; its group ends with it, unless it is to be left as it is."""
    process.join(timeout=patience)
    code = process.exitcode
    if whole or code is None:
        end_group(process.pid)
        process.join()
    return Ended(code, log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")


def end_group(pid: int) -> None:
    """End what is left of a process group that a trial started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def call(
    words: Iterable[Any], cwd: Path, prepare: Any = None, *more: Any, patience: float = PATIENCE
) -> Ended:
    """Do what a command line does, from beginning to end."""
    log = cwd / ".log"
    return ended(started(words, cwd, log, prepare or nothing, *more), log, patience)


def nothing() -> None:
    """Prepare nothing."""


def with_workers() -> None:
    """Use worker processes, however small the run is."""
    from changeproof.runs import execute

    execute.WORTH_WORKERS = -1.0


def counting(folder: str) -> None:
    """Count the file operations in a folder, in a file beside it."""
    seen = os.open(COUNTED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS and str(arguments[0]).startswith(folder):
            os.write(seen, b".")

    sys.addaudithook(watch)


def failing(folder: str, place: int, number: int) -> None:
    """Let the file operation at a place fail; with number 0 it is the last thing that happens."""
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in OPERATIONS or not str(arguments[0]).startswith(folder):
            return
        seen += 1
        if seen == place:
            if number == 0:
                os._exit(9)
            raise OSError(number, os.strerror(number), str(arguments[0]))

    sys.addaudithook(watch)


def read_only(folder: str) -> None:
    """Let nothing be written in a folder."""
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in OPERATIONS or not str(arguments[0]).startswith(folder):
            return
        if event != "open" or arguments[2] & writing:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(arguments[0]))

    sys.addaudithook(watch)


def half_written(place: int, number: int) -> None:
    """Let the file that is written at a place stop in its middle."""
    seen, whole = 0, Path.write_bytes

    def write_bytes(path: Path, content: Any) -> int:
        nonlocal seen
        seen += 1
        if seen == place:
            whole(path, bytes(content)[: len(content) // 2])
            raise OSError(number, os.strerror(number))
        return whole(path, content)

    Path.write_bytes = write_bytes  # type: ignore[method-assign]


def without_locks(number: int) -> None:
    """Let the system refuse every lock."""

    def flock(file: Any, how: int) -> None:
        raise OSError(number, os.strerror(number))

    fcntl.flock = flock


def at_time(seconds: float, step: float) -> None:
    """Let the clock begin at a time, and go by steps, which may lead backwards."""
    now = seconds

    def tick() -> float:
        nonlocal now
        now += step
        return now

    time.time = tick
    time.time_ns = lambda: int(1e9 * tick())


def onto(path: str) -> None:
    """Write standard output to a file that takes nothing."""
    os.dup2(os.open(path, os.O_WRONLY), 1)


ERRORS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.EDQUOT, errno.EMFILE)
