"""Objects on their way to worker processes.

On one machine, code is sent by its import path where a fresh process can import it, else by value,
as for classes of a script, a notebook or a test. Other machines have what is installed; all other
code is sent to them by value. What cannot be sent is unusable there, with the reason, and harms
nothing else.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle

from changeproof.errors import InputError
from changeproof.fingerprints.sources import PACKAGE, is_installed, spec_on_disk


class Label(NamedTuple):
    """What is said of a parcel: whose it is, the hash of its bytes, why there are none."""

    name: str
    mark: str
    reason: str = ""

    def opened(self, contents: Mapping[str, bytes]) -> Any:
        """Return the object; the same one whenever it is asked for in a process."""
        if self.reason:
            raise InputError(f"{self.name!r} {self.reason}")
        return _opened(_Sealed(self, contents))


class Parcel(NamedTuple):
    """One object as bytes, and what is said of it."""

    label: Label
    content: bytes = b""

    def opened(self) -> Any:
        """Return the object; the same one whenever it is asked for in a process."""
        return self.label.opened({self.label.mark: self.content})


class _Sealed:
    """A parcel that is opened only where it has not been opened yet."""

    def __init__(self, label: Label, contents: Mapping[str, bytes]) -> None:
        self.label, self.contents = label, contents

    def __hash__(self) -> int:
        return hash(self.label)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sealed) and self.label == other.label

    def take_out(self) -> bytes:
        """Return the bytes, which are then not kept here."""
        contents, self.contents = self.contents, {}
        return contents[self.label.mark]


def packed(name: str, thing: Any, *, far: bool = False) -> Parcel:
    """Pack an object for another process, which may be on another machine (`far`)."""
    homes = {getattr(thing, "__module__", None), type(thing).__module__}
    near = [sys.modules[home] for home in homes if home in sys.modules]
    try:
        with _by_value(_not_installed() if far else [m for m in near if not _importable(m)]):
            content = cloudpickle.dumps(thing)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"cannot be sent to worker processes ({cause}); run it with one job"
        return Parcel(Label(name, "", reason))
    return Parcel(Label(name, hashlib.sha256(content).hexdigest()), content)


@lru_cache(maxsize=64)
def _opened(sealed: _Sealed) -> Any:
    try:
        return pickle.loads(sealed.take_out())
    except Exception as error:
        raise InputError(
            f"{sealed.label.name!r} cannot be rebuilt in a worker process: "
            f"{type(error).__name__}: {error}"
        ) from error


@contextmanager
def _by_value(modules: Iterable[ModuleType]) -> Iterator[None]:
    """Have the contents of modules pickled whole."""
    known = cloudpickle.list_registry_pickle_by_value()
    own = [m for m in modules if m.__name__ not in ("__main__", "builtins", *known)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _importable(module: ModuleType) -> bool:
    """Return whether a fresh process with this search path would find the same file."""
    spec = spec_on_disk(module.__name__)
    return spec is not None and spec.origin == getattr(module, "__file__", None)


def _not_installed() -> list[ModuleType]:
    """Return the modules at hand that come neither with Python nor with an installed package."""
    return [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and name == module.__name__
        and name.split(".")[0] != PACKAGE
        and not is_installed(name)
    ]
