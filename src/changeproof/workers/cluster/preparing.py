"""What every worker of a cluster does before it gets work, also one that comes later."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin
from filelock import FileLock

from changeproof.errors import InputError
from changeproof.workers.cluster.facts import Facts, difference, facts_of


class Preparing(WorkerPlugin):  # type: ignore[misc]
    """Makes sure that a worker is as the client is, and has what it needs compiled.

    Parameters
    ----------
    client
        What is known of the client.
    packages
        The packages whose versions count.
    kernels
        What to compile: arguments of `compile_kernels`.
    """

    name = "changeproof"

    def __init__(
        self, client: Facts, packages: tuple[str, ...], kernels: list[tuple[str, bool]]
    ) -> None:
        self.client, self.packages, self.kernels = client, packages, kernels

    async def setup(self, worker: Any) -> None:
        """Prepare a worker, who goes on listening meanwhile."""
        await asyncio.get_running_loop().run_in_executor(None, self.prepare)

    def prepare(self) -> None:
        """Prepare this process."""
        here = facts_of(self.packages)
        if differs := difference(here, self.client):
            raise InputError(f"this worker {differs}")
        folder = _own_folder()
        if (here.host, here.home) != (self.client.host, self.client.home):
            _keep_kernels_in(folder)
        from changeproof.workers.warm_up import compile_kernels

        # The first worker of a machine compiles; the others wait, and find it done.
        with FileLock(folder / ".lock"):
            for part in self.kernels:
                compile_kernels(part)


def _own_folder() -> Path:
    """Return a folder of this machine for compiled kernels, which nobody else can write to."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"changeproof-kernels-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    ours = stat.S_ISDIR(about.st_mode) and (
        not hasattr(os, "getuid") or (about.st_uid == user and not about.st_mode & 0o022)
    )
    if not ours:
        raise InputError(f"{folder} belongs to somebody else, who could put code there; remove it")
    return folder


def _keep_kernels_in(folder: Path) -> None:
    """Have numba keep compiled kernels in a folder, unless it has been told where."""
    if "NUMBA_CACHE_DIR" in os.environ or "changeproof.arithmetic.compiling" in sys.modules:
        return
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
