"""What may happen to a model that is not ours: the same families, for any learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice

from changeproof.changes.family import BaseModel, Family
from changeproof.changes.parameter_perturbation import DIRECTIONS, RADII, perturbation_seed
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Model
from changeproof.models.learner import Alternative, Learner, ModelStack
from changeproof.models.network import NetworkLearner
from changeproof.networks.training import TrainingRecipe

VARIANTS = 25
CONFIGURATION, ARCHITECTURE = "training-configuration", "architecture"
PERTURBATION = "parameter-perturbation"


@dataclass(frozen=True, eq=False)
class OwnVariant:
    """One changed model of any kind: a learner and its recipe, or the finished model."""

    level: str
    replicate: int
    learner: Learner
    recipe: TrainingRecipe | None = None
    model: Model | None = None

    def made(self, task: Task) -> Model:
        """Return the changed model."""
        if self.model is not None:
            return self.model
        if self.recipe is None:
            raise InputError(f"changed model {self.level!r} has neither a recipe nor a model")
        return self.learner.train([self.recipe], task)[0]


def reason_against(learner: Learner, family: Family) -> str | None:
    """Return why a learner cannot go through a family, or None if it can."""
    if isinstance(learner, NetworkLearner):
        return None
    if family.name == CONFIGURATION and not learner.configurations():
        return f"no training configurations of {learner.name} are known; give a parameter grid"
    if family.name == ARCHITECTURE and not learner.replacements():
        return f"no models that could replace {learner.name} are known; name some"
    if family.name == PERTURBATION and type(learner).perturbed is Learner.perturbed:
        return f"{learner.name} has no parameters that could be moved a little"
    return None


def own_variants(task: Task, base: BaseModel, learner: Learner, family: Family) -> list[OwnVariant]:
    """Describe the changed models of a base model of any kind."""
    is_network = isinstance(learner, NetworkLearner)
    if family.name == CONFIGURATION and not is_network:
        return _cycled(base.seed, learner.configurations())
    if family.name == ARCHITECTURE and not is_network:
        return _cycled(base.seed, learner.replacements())
    if family.name == PERTURBATION and not is_network:
        return _perturbed(base, learner)
    described = _described(task, base, learner, family)
    if family.name == ARCHITECTURE:
        described += _cycled(base.seed, learner.replacements())[: len(learner.replacements())]
    return described


def train_variants(task: Task, variants: Sequence[OwnVariant]) -> ModelStack:
    """Make changed models, one after the other."""
    return ModelStack([variant.made(task) for variant in variants])


def _described(task: Task, base: BaseModel, learner: Learner, family: Family) -> list[OwnVariant]:
    """Take the family's own description; its seeds, weights and labels suit every learner."""
    described = []
    for variant in family.variants(task, base):
        level, replicate, change = variant.level, variant.replicate, variant.change
        if isinstance(change, TrainingRecipe):
            described.append(OwnVariant(level, replicate, learner, recipe=change))
        else:
            described.append(OwnVariant(level, replicate, learner, model=change))
    return described


def _cycled(base_seed: int, alternatives: Sequence[Alternative]) -> list[OwnVariant]:
    """Go through the alternatives, again with other seeds if there are fewer than 25."""
    endless = (
        OwnVariant(
            alternative.level,
            replicate,
            alternative.learner,
            TrainingRecipe(initialisation_seed=base_seed + replicate),
        )
        for replicate in count()
        for alternative in alternatives
    )
    return list(islice(endless, VARIANTS))


def _perturbed(base: BaseModel, learner: Learner) -> list[OwnVariant]:
    variants = []
    for radius in RADII:
        for r in range(DIRECTIONS):
            seed = perturbation_seed(base.seed, radius, r)
            model = learner.perturbed(base.network, radius, seed)
            variants.append(OwnVariant(f"{radius:g}", r, learner, model=model))
    return variants
