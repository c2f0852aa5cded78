"""What may happen to a model: one file per family of change, and the bank made from them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from changeproof.errors import unknown

if TYPE_CHECKING:
    from changeproof.changes.family import Family

# Name, and where the class is, in the paper's order; imported when it is first asked for.
_FAMILIES = {
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


def family_names() -> tuple[str, ...]:
    """Return the names of all families, in the paper's order."""
    return tuple(_FAMILIES)


def get_family(name: str) -> Family:
    """Return the family of that name."""
    if name not in _FAMILIES:
        raise unknown("family", name, _FAMILIES)
    module, class_name = _FAMILIES[name]
    family: Family = getattr(import_module(module), class_name)()
    return family
