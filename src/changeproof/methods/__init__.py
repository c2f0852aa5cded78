"""Ways to give recourse: one file per method, none of which can see a changed model."""

from __future__ import annotations

from changeproof.errors import unknown
from changeproof.methods.kdtree import KDTree
from changeproof.methods.method import Method
from changeproof.methods.wachter import Wachter

_METHODS: dict[str, type[Method]] = {method.name: method for method in (KDTree, Wachter)}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, in alphabetical order as in the paper's tables."""
    return tuple(sorted(_METHODS))


def get_method(name: str) -> type[Method]:
    """Return the method of that name."""
    if name not in _METHODS:
        raise unknown("method", name, _METHODS)
    return _METHODS[name]
