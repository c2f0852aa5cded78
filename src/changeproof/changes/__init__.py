"""What may happen to a model: one file per family of change, and the bank made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from changeproof.registry import Registry

if TYPE_CHECKING:
    from changeproof.changes.family import Family

# The name of what really came next; in records, before the hash of such a model.
SUCCESSOR, MARK = "successor", "#"
# Name, and where the class is, in the paper's order; imported when it is first asked for.
_PUBLISHED = {
    "new-initialization": ("changeproof.changes.new_initialization", "NewInitialization"),
    "bootstrap": ("changeproof.changes.bootstrap", "Bootstrap"),
    "data-deletion": ("changeproof.changes.data_deletion", "DataDeletion"),
    "data-addition": ("changeproof.changes.data_addition", "DataAddition"),
    "label-update": ("changeproof.changes.label_update", "LabelUpdate"),
    "training-configuration": (
        "changeproof.changes.training_configuration",
        "TrainingConfiguration",
    ),
    "architecture": ("changeproof.changes.architecture", "Architecture"),
    "parameter-perturbation": (
        "changeproof.changes.parameter_perturbation",
        "ParameterPerturbation",
    ),
}

# Single changes that the paper does not have; the first five train nothing.
_BEYOND = {
    "decision-threshold": ("changeproof.changes.decision_threshold", "DecisionThreshold"),
    "recalibration": ("changeproof.changes.recalibration", "Recalibration"),
    "weight-rounding": ("changeproof.changes.weight_rounding", "WeightRounding"),
    "magnitude-pruning": ("changeproof.changes.magnitude_pruning", "MagnitudePruning"),
    "measurement-error": ("changeproof.changes.measurement_error", "MeasurementError"),
    "distillation": ("changeproof.changes.distillation", "Distillation"),
    "fine-tuning": ("changeproof.changes.fine_tuning", "FineTuning"),
    "influential-deletion": ("changeproof.changes.influential_deletion", "InfluentialDeletion"),
    "group-reweighting": ("changeproof.changes.group_reweighting", "GroupReweighting"),
    "feature-change": ("changeproof.changes.feature_change", "FeatureChange"),
    "covariate-shift": ("changeproof.changes.covariate_shift", "CovariateShift"),
    "followed-advice": ("changeproof.changes.followed_advice", "FollowedAdvice"),
}

# Updates that follow each other.
_SEQUENCES = {
    "later-data": ("changeproof.changes.later_data", "LaterData"),
    "updates": ("changeproof.changes.updates", "Updates"),
}


def _accept(found: Any, reference: str) -> type[Family]:
    from changeproof.changes.extension import as_family

    return as_family(found, reference)


REGISTRY: Registry[Family] = Registry(
    "family", "changeproof.families", _PUBLISHED | _BEYOND | _SEQUENCES, _accept
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


def sequence_family_names() -> tuple[str, ...]:
    """Return the names of the families whose changes follow each other."""
    return tuple(_SEQUENCES)


def family_names() -> tuple[str, ...]:
    """Return the names of all families: ours, then those of packages and of one's own."""
    return REGISTRY.names


def get_family(reference: str) -> Family:
    """Return a family by name or import path, with settings: "bootstrap(replicates=50)"."""
    return REGISTRY.make(reference)
