"""The workers of a cluster: whether they are as the client is, and what they do before any work.

Results are stored under fingerprints of the client's code and libraries, so a worker with others
would store something else under the same name. The processor may differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import socket
import stat
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from distributed import WorkerPlugin
from filelock import FileLock

from changeproof import __version__
from changeproof.errors import InputError
from changeproof.fingerprints.sources import PACKAGE, imports_of, is_installed
from changeproof.fingerprints.things import LIBRARIES, package_version

HOME = Path(__file__).resolve().parents[1]
# What results, or their way here, depend on.
ALWAYS = ("cloudpickle", "distributed", "pyarrow", "safetensors", *LIBRARIES)
EXTRAS = ("catboost", "dice", "ellice", "lightgbm", "mlflow", "onnx", "torch", "xgboost")


class Environment(NamedTuple):
    """Where a process runs, and with which code and versions."""

    host: str
    home: str
    code: str
    versions: dict[str, str]

    @property
    def key(self) -> str:
        """What has to be the same in every process that computes."""
        return hashlib.sha256(repr((self.code, sorted(self.versions.items()))).encode()).hexdigest()

    @property
    def resource(self) -> str:
        """The Dask resource of workers that have been found to be the same."""
        return f"{PACKAGE}-{self.key[:12]}"


def environment_of(packages: tuple[str, ...]) -> Environment:
    versions = {"python": platform.python_version(), PACKAGE: __version__}
    versions |= {name: package_version(name) for name in (*ALWAYS, *packages)}
    return Environment(socket.gethostname(), str(HOME), _code(), versions)


def difference(worker: Environment, client: Environment) -> str:
    """Say how a worker differs from the client, and what to do; "" if it does not."""
    for name, version in client.versions.items():
        there = worker.versions.get(name, "")
        if version and not there:
            extra = f"changeproof[{name}]" if name in EXTRAS else f"{name}=={version}"
            return f"has no {name}, which this run needs; install it there: pip install '{extra}'"
        if version != there:
            return f"has {name} {there}, the client {version}; install the same there"
    if worker.code != client.code:
        return (
            f"has other code of changeproof {__version__} than the client; install the same there"
        )
    return ""


def packages_of(things: Iterable[Any]) -> tuple[str, ...]:
    """Return the installed packages that the modules of objects import, beside `ALWAYS`."""
    modules = {cls.__module__ for thing in things for cls in type(thing).__mro__}
    modules |= {getattr(thing, "__module__", "") or "" for thing in things}
    named = {name for module in modules for name in imports_of(module)}
    tops = {name.split(".")[0] for name in named} - {PACKAGE, "__main__", ""}
    tops -= set(sys.stdlib_module_names)
    known = {name for name in tops if is_installed(name) and package_version(name)}
    return tuple(sorted(known - set(ALWAYS) - {"sklearn"}))


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for path in sorted(HOME.rglob("*.py")):
        digest.update(path.relative_to(HOME).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Preparation(WorkerPlugin):  # type: ignore[misc]
    """Checks that a worker is as the client is, and compiles what it needs.

    Also on workers that join later. Only then a worker gets the resource that all jobs ask for, so
    that no other worker gets any. `kernels` are arguments of `compile_kernels`.
    """

    name = "changeproof"

    def __init__(
        self, client: Environment, packages: tuple[str, ...], kernels: Sequence[tuple[str, bool]]
    ) -> None:
        self.client, self.packages, self.kernels = client, packages, kernels

    async def setup(self, worker: Any) -> None:
        """Prepare a worker, which goes on listening meanwhile."""
        await asyncio.get_running_loop().run_in_executor(None, self.prepare)
        await worker.set_resources(**{self.client.resource: 1})

    def prepare(self) -> None:
        here = environment_of(self.packages)
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
