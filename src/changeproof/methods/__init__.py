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
    "cvas": "changeproof.methods.cvas:CVAS",
    "dirrac": "changeproof.methods.dirrac:DiRRAc",
    "entropic-risk": "changeproof.methods.entropic_risk:EntropicRisk",
    "face": "changeproof.methods.face:FACE",
    "forest-votes": "changeproof.methods.forest_votes:ForestVotes",
    "growing-spheres": "changeproof.methods.growing_spheres:GrowingSpheres",
    "kdtree": "changeproof.methods.kdtree:KDTree",
    "linear-robust": "changeproof.methods.linear_robust.method:LinearRobust",
    "mce-r": "changeproof.methods.mce_r:MCER",
    "nearest-point": "changeproof.methods.nearest_point:NearestPoint",
    "nearest-row": "changeproof.methods.nearest_row:NearestRow",
    "probe": "changeproof.methods.probe:Probe",
    "proplace": "changeproof.methods.proplace:Proplace",
    "quorum": "changeproof.methods.quorum.method:Quorum",
    "rbr": "changeproof.methods.rbr:RBR",
    "rnce": "changeproof.methods.rnce:RNCE",
    "roar": "changeproof.methods.roar:Roar",
    "roar-lime": "changeproof.methods.roar_lime.method:RoarLime",
    "robx-balanced": "changeproof.methods.robx:RobXBalanced",
    "robx-robust": "changeproof.methods.robx:RobXRobust",
    "sns": "changeproof.methods.sns:SNS",
    "trex": "changeproof.methods.trex:TRex",
    "trex-nearest": "changeproof.methods.trex:TRexNearest",
    "wachter": "changeproof.methods.wachter:Wachter",
}

# Those of the paper, in its order; and ours. The others are of the field: they are asked by name.
PAPER = (
    "apds",
    "betarce",
    "kdtree",
    "rbr",
    "rnce",
    "roar-lime",
    "robx-balanced",
    "robx-robust",
    "wachter",
)
OURS = ("quorum",)


REGISTRY: Registry[Method] = Registry(
    "method", "changeproof.methods", _METHODS, f"{__name__}.extension:KIND.accept"
)


def builtin_method_names() -> tuple[str, ...]:
    """Return the names of the methods that come with the package, in alphabetical order."""
    return REGISTRY.builtin_names


def published_method_names() -> tuple[str, ...]:
    """Return the names of the paper's methods, in alphabetical order as in its tables."""
    return PAPER


def usual_method_names() -> tuple[str, ...]:
    """Return the names of the paper's methods and ours."""
    return tuple(name for name in REGISTRY.builtin_names if name in (*PAPER, *OURS))


def default_method_names() -> tuple[str, ...]:
    """Return the names of the methods of an audit that names none: also those of one's own."""
    field = {*REGISTRY.builtin_names} - {*usual_method_names()}
    return tuple(name for name in REGISTRY.names if name not in field)


def method_names() -> tuple[str, ...]:
    """Return the names of all methods: ours, then those of packages and of one's own."""
    return REGISTRY.names


# The class of a name or import path.
get_method = REGISTRY.get
# A method by name or import path, with settings: "robx-balanced(quantile=0.7)".
make_method = REGISTRY.make
