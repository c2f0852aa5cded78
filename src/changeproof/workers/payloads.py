"""Objects as bytes, on their way to worker processes.

On one machine, code is sent by its import path where a fresh process can import it, else by value,
as for classes of a script, a notebook or a test. Other machines have what is installed; all other
code is sent to them by value. An object that cannot be sent is unusable there, with the reason, and
harms nothing else.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle

from changeproof.errors import InputError
from changeproof.fingerprints.sources import PACKAGE, is_installed, spec_on_disk

# Objects that this process has read, by key, and how many are kept.
_LOADED: dict[str, Any] = {}
MOST_LOADED = 64


class Payload(NamedTuple):
    """An object as bytes, with their hash as a key, or the reason why it cannot be sent."""

    name: str
    key: str = ""
    content: bytes = b""
    reason: str = ""

    @property
    def reference(self) -> Payload:
        """What stands for it where its bytes travel by key."""
        return self._replace(content=b"")

    def load(self, contents: Mapping[str, bytes] | None = None) -> Any:
        """Return the object, of a reference from bytes by key; always the same in a process."""
        if self.reason:
            raise InputError(f"{self.name!r} {self.reason}")
        if self.key not in _LOADED:
            if len(_LOADED) >= MOST_LOADED:
                del _LOADED[next(iter(_LOADED))]
            content = self.content if contents is None else contents[self.key]
            try:
                _LOADED[self.key] = pickle.loads(content)
            except Exception as error:
                raise InputError(
                    f"{self.name!r} cannot be rebuilt in a worker process: "
                    f"{type(error).__name__}: {error}"
                ) from error
        return _LOADED[self.key]


def packed(name: str, thing: Any, *, remote: bool = False) -> Payload:
    """Return an object as bytes for another process, which may be on another machine."""
    homes = {getattr(thing, "__module__", None), type(thing).__module__}
    near = [sys.modules[home] for home in homes if home in sys.modules]
    try:
        with _by_value(_not_installed() if remote else [m for m in near if not _importable(m)]):
            content = cloudpickle.dumps(thing)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"cannot be sent to worker processes ({cause}); run it with one job"
        return Payload(name, reason=reason)
    return Payload(name, hashlib.sha256(content).hexdigest(), content)


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
    """Return the imported modules that come neither with Python nor with an installed package."""
    return [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and name == module.__name__
        and name.split(".")[0] != PACKAGE
        and not is_installed(name)
    ]
