"""Retraining with other hidden layers, or another kind of model."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant, alternatives
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import HIDDEN_LAYERS
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER


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
        """Say that nothing is known that could take a model's place."""
        if "hidden" in learner.traits.follows or learner.replacements():
            return None
        return f"no models that could replace {learner.name} are known; give replacements"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe other hidden layers, then replacements; only these where there are no layers."""
        replacements = alternatives(base, learner.replacements())
        if "hidden" not in learner.traits.follows:
            return self.cycled(replacements, learner)
        own = base.model.hidden if isinstance(base.model, Network) else ()
        layers = [
            Variant(
                "-".join(map(str, hidden)),
                0,
                TrainingRecipe(initialisation_seed=base.seed, hidden=hidden),
            )
            for hidden in HIDDEN_LAYERS
            if hidden != own
        ]
        return [*self.cycled(layers, learner), *replacements]
