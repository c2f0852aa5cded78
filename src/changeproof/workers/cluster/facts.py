"""What is known of a process: its versions, its code. Workers have to be as the client is.

Results are stored under fingerprints of the client's code and libraries, so a worker with other
ones would store something else under the same name. The processor may be another.
"""

from __future__ import annotations

import hashlib
import pickletools
import platform
import socket
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from changeproof import __version__
from changeproof.fingerprints.sources import PACKAGE, imports_of, is_installed
from changeproof.fingerprints.things import LIBRARIES, package_version

HOME = Path(__file__).resolve().parents[2]
# What results, or their way here, depend on.
ALWAYS = ("cloudpickle", "distributed", "pyarrow", "safetensors", *LIBRARIES)
EXTRAS = ("dice", "ellice", "onnx", "torch")


class Facts(NamedTuple):
    """What is known of a process."""

    host: str
    home: str
    code: str
    versions: dict[str, str]

    @property
    def mark(self) -> str:
        """What has to be the same of everybody who computes."""
        return hashlib.sha256(repr((self.code, sorted(self.versions.items()))).encode()).hexdigest()

    @property
    def resource(self) -> str:
        """What Dask calls it that a worker has been found to be so."""
        return f"{PACKAGE}-{self.mark[:12]}"


def facts_of(packages: tuple[str, ...]) -> Facts:
    """Return what is known of this process, with the versions of some packages."""
    versions = {"python": platform.python_version(), PACKAGE: __version__}
    versions |= {name: package_version(name) for name in (*ALWAYS, *packages)}
    return Facts(socket.gethostname(), str(HOME), _code(), versions)


def difference(worker: Facts, client: Facts) -> str:
    """Say in what a worker differs from the client, and what to do; "" if it does not."""
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


def packages_of(things: Iterable[Any], pickled: Iterable[bytes] = ()) -> tuple[str, ...]:
    """Return the installed packages that objects are made of, beside those that are always needed.

    Those that their modules import, and those that their pickles name.
    """
    modules = {cls.__module__ for thing in things for cls in type(thing).__mro__}
    modules |= {getattr(thing, "__module__", "") or "" for thing in things}
    named = {name for module in modules for name in imports_of(module)}
    for content in pickled:
        named |= _named(content)
    tops = {name.split(".")[0] for name in named} - {PACKAGE, "__main__", ""}
    tops -= set(sys.stdlib_module_names)
    known = {name for name in tops if is_installed(name) and package_version(name)}
    return tuple(sorted(known - set(ALWAYS) - {"sklearn"}))


def _named(content: bytes) -> set[str]:
    """Return the modules that a pickle names, and other words in it that look like some."""
    texts = [argument for _, argument, _ in pickletools.genops(content)]
    words = {text.split(" ")[0] for text in texts if isinstance(text, str) and len(text) < 200}
    return {word for word in words if word.split(".")[0] in sys.modules}


@cache
def _code() -> str:
    """Hash every file of code that belongs to the package."""
    digest = hashlib.sha256()
    for path in sorted(HOME.rglob("*.py")):
        digest.update(path.relative_to(HOME).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
