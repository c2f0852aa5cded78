"""Objects on their way to worker processes.

Code is sent by its import path where a fresh process can import it, else by value, as for
classes of a script, a notebook or a test. What cannot be sent is unusable there, with the
reason, and harms nothing else.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle

from changeproof.errors import InputError
from changeproof.fingerprints.modules import spec_on_disk


class Parcel(NamedTuple):
    """One object: its bytes and their hash or, where it cannot be sent, the reason."""

    name: str
    content: bytes
    mark: str
    reason: str = ""

    def unpacked(self) -> Any:
        """Return the object; the same one whenever it is asked for in a process."""
        if self.reason:
            raise InputError(f"{self.name!r} {self.reason}")
        return _unpacked(self)

    def __hash__(self) -> int:
        return hash(self.mark)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parcel) and self.mark == other.mark and self.name == other.name


def packed(name: str, thing: Any) -> Parcel:
    """Pack an object for another process."""
    homes = {getattr(thing, "__module__", None), type(thing).__module__}
    try:
        with _by_value([sys.modules[home] for home in homes if home in sys.modules]):
            content = cloudpickle.dumps(thing)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"cannot be sent to worker processes ({cause}); run it with one job"
        return Parcel(name, b"", "", reason)
    return Parcel(name, content, hashlib.sha256(content).hexdigest())


@lru_cache(maxsize=64)
def _unpacked(parcel: Parcel) -> Any:
    try:
        return pickle.loads(parcel.content)
    except Exception as error:
        raise InputError(
            f"{parcel.name!r} cannot be rebuilt in a worker process: "
            f"{type(error).__name__}: {error}"
        ) from error


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    """Have the contents of modules pickled whole if other processes cannot import them."""
    sent = [m for m in modules if m.__name__ not in ("__main__", "builtins") and not _importable(m)]
    for module in sent:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in sent:
            cloudpickle.unregister_pickle_by_value(module)


def _importable(module: ModuleType) -> bool:
    """Return whether a fresh process with this search path would find the same file."""
    spec = spec_on_disk(module.__name__)
    return spec is not None and spec.origin == getattr(module, "__file__", None)
