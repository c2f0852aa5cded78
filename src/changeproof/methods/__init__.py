"""Ways to give recourse: one file per method, none of which can see a changed model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from changeproof.errors import unknown

if TYPE_CHECKING:
    from changeproof.methods.method import Method

# Name, and where the class is; it is imported when it is first asked for.
_METHODS = {
    "apds": ("changeproof.methods.apds", "APDS"),
    "betarce": ("changeproof.methods.betarce", "BetaRCE"),
    "robx-balanced": ("changeproof.methods.robx", "RobXBalanced"),
    "robx-robust": ("changeproof.methods.robx", "RobXRobust"),
    "kdtree": ("changeproof.methods.kdtree", "KDTree"),
    "rbr": ("changeproof.methods.rbr", "RBR"),
    "rnce": ("changeproof.methods.rnce", "RNCE"),
    "roar-lime": ("changeproof.methods.roar_lime", "RoarLime"),
    "wachter": ("changeproof.methods.wachter", "Wachter"),
}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, in alphabetical order as in the paper's tables."""
    return tuple(sorted(_METHODS))


def get_method(name: str) -> type[Method]:
    """Return the method of that name."""
    if name not in _METHODS:
        raise unknown("method", name, method_names())
    module, class_name = _METHODS[name]
    method: type[Method] = getattr(import_module(module), class_name)
    return method
