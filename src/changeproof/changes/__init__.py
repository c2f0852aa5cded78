"""What may happen to a model: families of change, and the bank of changed models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changeproof.plugins import Registry

if TYPE_CHECKING:
    from changeproof.changes.family import Family

# The name of the family of models that really came next; in records, what precedes a model's hash.
SUCCESSOR, HASH_SIGN = "successor", "#"
# Families, each with the module that has its class. First the paper's, in its order.
_PUBLISHED = dict.fromkeys(
    (
        "new-initialization",
        "bootstrap",
        "data-deletion",
        "data-addition",
        "label-update",
        "training-configuration",
        "architecture",
        "parameter-perturbation",
    ),
    "published",
)
# Single changes that the paper does not have. The first five train nothing.
_BEYOND = {
    "decision-threshold": "outputs",
    "recalibration": "outputs",
    "weight-rounding": "weights",
    "magnitude-pruning": "weights",
    "measurement-error": "features",
    "distillation": "inherited",
    "fine-tuning": "inherited",
    "influential-deletion": "reweighting",
    "group-reweighting": "reweighting",
    "feature-change": "features",
    "covariate-shift": "reweighting",
    "followed-advice": "followed_advice",
}
# Updates that follow each other.
_SEQUENCES = {"later-data": "sequences", "updates": "sequences"}


# A class is imported when it is first used.
_CLASSES = {
    name: f"{__name__}.{module}:{name.title().replace('-', '')}"
    for name, module in (_PUBLISHED | _BEYOND | _SEQUENCES).items()
}
REGISTRY: Registry[Family] = Registry(
    "family", "changeproof.families", _CLASSES, f"{__name__}.extension:KIND.accept"
)


def builtin_family_names() -> tuple[str, ...]:
    """Return the names of the families that come with the package, the paper's first."""
    return REGISTRY.builtin_names


def published_family_names() -> tuple[str, ...]:
    """Return the names of the paper's families, in its order."""
    return tuple(_PUBLISHED)


def beyond_family_names() -> tuple[str, ...]:
    """Return the names of the single changes that the paper does not have."""
    return tuple(_BEYOND)


def family_names() -> tuple[str, ...]:
    """Return the names of all families: ours, then those of packages and of one's own."""
    return REGISTRY.names


def get_family(reference: str) -> Family:
    """Return a family by name or import path, with settings: "bootstrap(replicates=50)"."""
    return REGISTRY.make(reference)
