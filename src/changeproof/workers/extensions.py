"""People's own methods and families in worker processes.

What was registered in code lives in one process. It is shipped to the others together with the
work: by its import path where a fresh process can import it, else by value, as for classes of a
script, a notebook or a test.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle

from changeproof import changes, methods
from changeproof.fingerprints.modules import spec_on_disk
from changeproof.registry import Registry

REGISTRIES: dict[str, Registry[Any]] = {
    registry.kind: registry for registry in (methods.REGISTRY, changes.REGISTRY)
}


class Parcel(NamedTuple):
    """One registered thing: its bytes or, where it cannot be sent, the reason."""

    kind: str
    name: str
    content: bytes
    reason: str


class Shipment(NamedTuple):
    """What a worker has to know: where modules are found, and what was registered."""

    search_path: tuple[str, ...]
    parcels: tuple[Parcel, ...]


_installed: dict[tuple[str, str], str] = {}


def registered() -> Shipment:
    """Return what was registered in this process, ready for another one."""
    parcels = [
        _parcel(kind, name, thing)
        for kind, registry in REGISTRIES.items()
        for name, thing in registry.registered.items()
    ]
    return Shipment(tuple(sys.path), tuple(parcels))


def shipment_of(kind: str, name: str, thing: Any) -> Shipment:
    """Return one thing, registered or not, ready for another process under a name."""
    return Shipment(tuple(sys.path), (_parcel(kind, name, thing),))


def install(shipment: Shipment) -> None:
    """Register what came from another process; one that cannot be used harms no other."""
    sys.path += [place for place in shipment.search_path if place not in sys.path]
    for parcel in shipment.parcels:
        registry, key = REGISTRIES[parcel.kind], (parcel.kind, parcel.name)
        mark = hashlib.sha256(parcel.content).hexdigest()
        if _installed.get(key) == mark and parcel.name in registry.registered:
            continue
        if parcel.reason:
            registry.mark_unusable(parcel.name, parcel.reason)
            continue
        try:
            registry.register(pickle.loads(parcel.content), parcel.name)
            _installed[key] = mark
        except Exception as error:
            reason = f"cannot be rebuilt in a worker process: {type(error).__name__}: {error}"
            registry.mark_unusable(parcel.name, reason)


def _parcel(kind: str, name: str, thing: Any) -> Parcel:
    try:
        with _by_value(sys.modules.get(thing.__module__)):
            return Parcel(kind, name, cloudpickle.dumps(thing), "")
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"cannot be sent to worker processes ({cause}); run it with one job"
        return Parcel(kind, name, b"", reason)


@contextmanager
def _by_value(module: ModuleType | None) -> Iterator[None]:
    """Have the contents of a module pickled whole if other processes cannot import it."""
    if module is None or module.__name__ == "__main__" or _importable(module):
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _importable(module: ModuleType) -> bool:
    """Return whether a fresh process with this search path would find the same file."""
    spec = spec_on_disk(module.__name__)
    return spec is not None and spec.origin == getattr(module, "__file__", None)
