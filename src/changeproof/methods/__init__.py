"""Ways to give recourse: one file per method, none of which can see a changed model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changeproof.plugins import Registry

if TYPE_CHECKING:
    from changeproof.methods.method import Method

# Name, and where the class is; it is imported when it is first asked for.
_METHODS = {
    "apds": "changeproof.methods.apds.method:APDS",
    "betarce": "changeproof.methods.betarce:BetaRCE",
    "kdtree": "changeproof.methods.kdtree:KDTree",
    "quorum": "changeproof.methods.quorum.method:Quorum",
    "rbr": "changeproof.methods.rbr:RBR",
    "rnce": "changeproof.methods.rnce:RNCE",
    "roar-lime": "changeproof.methods.roar_lime.method:RoarLime",
    "robx-balanced": "changeproof.methods.robx:RobXBalanced",
    "robx-robust": "changeproof.methods.robx:RobXRobust",
    "wachter": "changeproof.methods.wachter:Wachter",
}

# Those that the paper does not have.
OURS = ("quorum",)


REGISTRY: Registry[Method] = Registry(
    "method", "changeproof.methods", _METHODS, f"{__name__}.extension:KIND.accept"
)


def builtin_method_names() -> tuple[str, ...]:
    """Return the names of the methods that come with the package, in alphabetical order."""
    return REGISTRY.builtin_names


def published_method_names() -> tuple[str, ...]:
    """Return the names of the paper's methods, in alphabetical order as in its tables."""
    return tuple(name for name in REGISTRY.builtin_names if name not in OURS)


def method_names() -> tuple[str, ...]:
    """Return the names of all methods: ours, then those of packages and of one's own."""
    return REGISTRY.names


# The class of a name or import path.
get_method = REGISTRY.get
# A method by name or import path, with settings: "robx-balanced(quantile=0.7)".
make_method = REGISTRY.make
