"""What may happen to a model: one file per family of change, and the bank made from them."""

from __future__ import annotations

from changeproof.changes.architecture import Architecture
from changeproof.changes.bootstrap import Bootstrap
from changeproof.changes.data_addition import DataAddition
from changeproof.changes.data_deletion import DataDeletion
from changeproof.changes.family import Family
from changeproof.changes.label_update import LabelUpdate
from changeproof.changes.new_initialization import NewInitialization
from changeproof.changes.parameter_perturbation import ParameterPerturbation
from changeproof.changes.training_configuration import TrainingConfiguration
from changeproof.errors import unknown

_FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        NewInitialization,
        Bootstrap,
        DataDeletion,
        DataAddition,
        LabelUpdate,
        TrainingConfiguration,
        Architecture,
        ParameterPerturbation,
    )
}


def family_names() -> tuple[str, ...]:
    """Return the names of all families, in the paper's order."""
    return tuple(_FAMILIES)


def get_family(name: str) -> Family:
    """Return the family of that name."""
    if name not in _FAMILIES:
        raise unknown("family", name, _FAMILIES)
    return _FAMILIES[name]()
