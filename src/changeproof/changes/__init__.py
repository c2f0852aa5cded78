"""What may happen to a model: families of change, and the bank of changed models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from changeproof.plugins import Registry

if TYPE_CHECKING:
    from changeproof.changes.family import Family

# The name of what really came next; in records, what precedes the hash of such a model.
SUCCESSOR, MARK = "successor", "#"
# The paper's families, in its order; they are in `published.py`.
_PUBLISHED = (
    "new-initialization",
    "bootstrap",
    "data-deletion",
    "data-addition",
    "label-update",
    "training-configuration",
    "architecture",
    "parameter-perturbation",
)
# Single changes that the paper does not have, each in a file of its own name. The first five train
# nothing.
_BEYOND = (
    "decision-threshold",
    "recalibration",
    "weight-rounding",
    "magnitude-pruning",
    "measurement-error",
    "distillation",
    "fine-tuning",
    "influential-deletion",
    "group-reweighting",
    "feature-change",
    "covariate-shift",
    "followed-advice",
)
# Updates that follow each other.
_SEQUENCES = ("later-data", "updates")


def _place(name: str) -> str:
    """Return the module and the class of a family, which is imported when it is first used."""
    module = "published" if name in _PUBLISHED else name.replace("-", "_")
    return f"{__name__}.{module}:{name.title().replace('-', '')}"


def _accept(found: Any, reference: str) -> type[Family]:
    from changeproof.changes.extension import KIND

    return KIND.accept(found, reference)


_BUILTIN = {name: _place(name) for name in (*_PUBLISHED, *_BEYOND, *_SEQUENCES)}
REGISTRY: Registry[Family] = Registry("family", "changeproof.families", _BUILTIN, _accept)


def builtin_family_names() -> tuple[str, ...]:
    """Return the names of the families that come with the package, the paper's first."""
    return REGISTRY.builtin_names


def published_family_names() -> tuple[str, ...]:
    """Return the names of the paper's families, in its order."""
    return _PUBLISHED


def beyond_family_names() -> tuple[str, ...]:
    """Return the names of the single changes that the paper does not have."""
    return _BEYOND


def sequence_family_names() -> tuple[str, ...]:
    """Return the names of the families whose changes follow each other."""
    return _SEQUENCES


def family_names() -> tuple[str, ...]:
    """Return the names of all families: ours, then those of packages and of one's own."""
    return REGISTRY.names


def get_family(reference: str) -> Family:
    """Return a family by name or import path, with settings: "bootstrap(replicates=50)"."""
    return REGISTRY.make(reference)
