"""A Dask scheduler and workers as processes of their own, for tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import changeproof

# Where the code under test is, for processes with a search path of their own.
SOURCE = Path(changeproof.__file__).parents[1]
DASK = Path(sys.executable).with_name("dask")
# Tests do not wait long for what does not come.
HASTY = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_CHANGEPROOF__PATIENCE": "40s",
    "OMP_NUM_THREADS": "1",
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until(there: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    """Wait for something; it is an error if it does not come."""
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.05)


class ClusterProcesses:
    """A scheduler and workers, started as a user would, each in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.started:
            kill_all(process)

    def scheduler(self, *more: str, **environment: str) -> subprocess.Popen[bytes]:
        options = ["--host", "127.0.0.1", "--port", str(self.port), *more]
        # Any port that is free: several tests may run at a time.
        options += ["--dashboard-address", "127.0.0.1:0"]
        process = self._start("scheduler", *options, environment=environment)
        until(self._listens, "the scheduler")
        return process

    def worker(self, *, threads: int = 1, **environment: str) -> subprocess.Popen[bytes]:
        options = [self.address, "--nthreads", str(threads), "--no-dashboard"]
        return self._start("worker", *options, environment=environment)

    def _start(
        self, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        place = self.folder / f"{words[0]}-{len(self.started)}"
        place.mkdir(parents=True)
        with (self.folder / f"{place.name}.log").open("wb") as log:
            process = subprocess.Popen(
                [DASK, *words],
                cwd=place,
                env=os.environ | HASTY | dict(environment or {}),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def _listens(self) -> bool:
        with socket.socket() as trying:
            return trying.connect_ex(("127.0.0.1", self.port)) == 0


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):  # it is gone already
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def stored(folder: Path) -> dict[str, bytes]:
    """Return every file of a run directory that results are in, by name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    there = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: path.read_bytes()
        for name, path in there.items()
        if name.split("/")[0] in ("pieces", "data", "plan.json")
    }
