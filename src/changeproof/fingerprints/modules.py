"""Finding the source of a module without importing it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

PACKAGE = __name__.split(".")[0]
INSTALLED = ("site-packages", "dist-packages")
SCRIPT = "__main__"


def source_of(module: str) -> Path | None:
    """Return the Python file of a module, if there is one.

    Where our own modules are is remembered; people's may move while they work. A script that is
    run counts as no file: what a function of it does is not changed by the lines around it.
    """
    if module == SCRIPT:
        return None
    return _own_source(module) if module.split(".")[0] == PACKAGE else _source(module)


def is_installed(module: str) -> bool:
    """Return whether a module comes with Python or with a package that pip has installed."""
    top = module.split(".")[0]
    if top == SCRIPT or top in sys.stdlib_module_names:
        return top != SCRIPT
    path = source_of(module) or source_of(top)
    if path is None:  # compiled, or in no file at all
        spec = spec_on_disk(top)
        return spec is not None and spec.origin is not None
    return not set(INSTALLED).isdisjoint(path.parts)


def spec_on_disk(module: str) -> ModuleSpec | None:
    """Return what a fresh process would find under a name, though it may be loaded here."""
    path: Sequence[str] | None = None
    spec = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        if end > 1 and path is None:
            return None
        spec = _spec(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, path)) is not None:
            return spec
    return None


def _source(module: str) -> Path | None:
    if module in sys.modules:
        origin = getattr(sys.modules[module], "__file__", None)
    else:
        spec = spec_on_disk(module)
        origin = spec.origin if spec is not None else None
    if origin is None or not origin.endswith(".py"):
        return None
    path = Path(origin)
    return path if path.is_file() else None


_own_source = cache(_source)
