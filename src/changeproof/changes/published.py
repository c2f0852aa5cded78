"""The eight families of the paper, in its order; recipes and shares are in `models/recipes.py`."""

from __future__ import annotations

from typing import ClassVar

from changeproof.changes.family import (
    BaseModel,
    Label,
    ReplicatedFamily,
    Variant,
    alternatives,
    other_layers,
    percent,
)
from changeproof.datasets.task import Task
from changeproof.models import recipes
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER


class NewInitialization(ReplicatedFamily):
    """Retrain from another initialisation seed."""

    name = "new-initialization"
    label = Label("New initialization", "init", "New init.")
    summary = "the same data and training from another initialisation seed"
    source = PAPER
    needs = "seeds"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return [
            Variant("new seed", r, TrainingRecipe(initialisation_seed=base.seed + 1 + r))
            for r in range(self.replicates)
        ]


class Bootstrap(ReplicatedFamily):
    """Retrain on a bootstrap sample: as many training rows, drawn with replacement."""

    name = "bootstrap"
    label = Label("Bootstrap", "boot", "Boot- strap")
    cost = 0.7
    summary = "retraining on a bootstrap sample of the training rows"
    source = PAPER

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        seeds = range(base.seed + 10_000, base.seed + 10_000 + self.replicates)
        return [
            Variant("resample", r, recipes.bootstrap_recipe(task, base.seed, seed))
            for r, seed in enumerate(seeds)
        ]


class ShareFamily(ReplicatedFamily):
    """Retrain after something happened to a share of the rows, drawn at random."""

    source = PAPER
    shares: ClassVar[tuple[float, ...]]
    seeds: ClassVar[int]
    recipe: ClassVar[staticmethod[[Task, float, int, int], TrainingRecipe]]

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        variants = []
        for share, r in self._levels():
            sampling = base.seed + self.seeds + round(1000 * share) + r
            recipe = self.recipe(task, share, base.seed, sampling)
            variants.append(Variant(percent(share), r, recipe))
        return variants

    def _levels(self) -> list[tuple[float, int]]:
        return self.shared_out(self.shares)


class DataDeletion(ShareFamily):
    """Retrain after deleting a share of the training rows at random."""

    name = "data-deletion"
    label = Label("Data deletion", "delete", "Data deletion")
    summary = "retraining after 1, 5 or 10 % of the training rows were deleted"
    shares, seeds = recipes.DELETED_SHARES, 20_000
    recipe = staticmethod(recipes.deletion_recipe)


class DataAddition(ShareFamily):
    """Retrain on the training rows and a share of the reserved update pool."""

    name = "data-addition"
    label = Label("Data addition", "add", "Data addition")
    summary = "retraining with 25, 50, 75 or 100 % of the update pool added"
    shares, seeds = recipes.ADDED_SHARES, 30_000
    recipe = staticmethod(recipes.addition_recipe)

    def _levels(self) -> list[tuple[float, int]]:
        # There is one way to add the whole pool.
        return [*self.shared_out(self.shares, besides=1), (1.0, 0)]


class LabelUpdate(ShareFamily):
    """Retrain after flipping a share of the training labels at random.

    Of several classes, each of them becomes another one, drawn at random.
    """

    name = "label-update"
    label = Label("Label update", "labels", "Label update")
    summary = (
        "retraining after 1, 5 or 10 % of labels were flipped, or moved to a random other class"
    )
    shares, seeds = recipes.FLIPPED_SHARES, 40_000
    recipe = staticmethod(recipes.label_flip_recipe)


class TrainingConfiguration(ReplicatedFamily):
    """Retrain with another optimiser, learning rate or weight decay."""

    name = "training-configuration"
    label = Label("Training configuration", "train", "Training config.")
    summary = "another training configuration on the same data; of our networks, the optimiser's"
    source = PAPER

    def reason_against(self, learner: Learner) -> str | None:
        if "optimiser" in learner.traits.follows or learner.configurations():
            return None
        return f"no training configurations of {learner.name} are known; give a parameter grid"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        if "optimiser" not in learner.traits.follows:
            return self.cycled(alternatives(base, learner.configurations()), learner)
        variants = [
            Variant(f"{r.optimiser} lr={r.learning_rate:g} wd={r.weight_decay:g}", 0, r)
            for r in recipes.configuration_recipes(base.seed)
        ]
        return self.cycled(variants, learner)


class Architecture(ReplicatedFamily):
    """Retrain a network of another width or depth, or another kind of model.

    Hidden layers that the base network has itself are left out. The first of the others is then
    trained a second time, with another seed.
    """

    name = "architecture"
    label = Label("Architecture", "arch", "Archi- tecture")
    cost = 1.5
    summary = "another model on the same data; of our networks, another width or depth"
    source = PAPER

    def reason_against(self, learner: Learner) -> str | None:
        if "hidden" in learner.traits.follows or learner.replacements():
            return None
        if learner.traits.predicts_numbers:
            return f"{learner.name} predicts numbers, and what could replace it gives probabilities"
        return f"no models that could replace {learner.name} are known; give replacements"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe other hidden layers, then replacements; only these where there are no layers."""
        replacements = alternatives(base, learner.replacements())
        if "hidden" not in learner.traits.follows:
            return self.cycled(replacements, learner)
        layers = other_layers(base, recipes.HIDDEN_LAYERS)
        return [*self.cycled(layers, learner), *replacements]


class ParameterPerturbation(ReplicatedFamily):
    """Move every parameter a little; the largest move equals the radius."""

    name = "parameter-perturbation"
    label = Label("Parameter perturbation", "param", "Param. perturb.")
    summary = "every parameter moved at random, at most by a radius of 0.001 to 0.05"
    source = PAPER
    trains = False
    needs = "parameters"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        variants = []
        for radius, r in self.shared_out(recipes.RADII):
            seed = perturbation_seed(base.seed, radius, r)
            model = learner.perturbed(base.model, radius, seed)
            variants.append(Variant(f"{radius:g}", r, model))
        return variants


def perturbation_seed(base_seed: int, radius: float, replicate: int) -> int:
    return base_seed + 80_000 + round(1e6 * radius) + replicate
