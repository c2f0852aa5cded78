"""Our multilayer perceptron as a learner, of any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access
from changeproof.models.learner import EVERY_FIELD, Learner, Traits
from changeproof.models.recipes import normalised
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import HIDDEN, TrainingData, TrainingRecipe, train


class NetworkLearner(Learner):
    """ReLU networks with the protocol's training.

    Parameters
    ----------
    hidden
        Widths of the hidden layers of the base network. The architecture family has its own.
    """

    traits = Traits(
        offers=Access.RELU_PARAMETERS,
        follows=EVERY_FIELD,
        has_parameters=True,
        has_weights=True,
        soft_labels=True,
        storable=True,
    )

    def __init__(self, hidden: Sequence[int] = HIDDEN) -> None:
        self.hidden = tuple(hidden)
        if not self.hidden or any(units < 1 for units in self.hidden):
            raise InputError(f"hidden layers must have at least one unit each; got {self.hidden}")
        widths = ",".join(map(str, self.hidden))
        self.name = "mlp" if self.hidden == HIDDEN else f"mlp:{widths}"

    def __repr__(self) -> str:
        return f"NetworkLearner(hidden={self.hidden})"

    def adapted(self, recipe: TrainingRecipe) -> TrainingRecipe:
        """Return a recipe for this width; one that names other hidden layers keeps them."""
        return replace(recipe, hidden=self.hidden) if recipe.hidden is None else recipe

    def normalised(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        found = self.adapted(normalised(recipe, task))
        # What begins with a network has that one's layers.
        return found if found.start is None else replace(found, hidden=None)

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> NetworkStack:
        adapted = [self.adapted(recipe) for recipe in recipes]
        return train(adapted, TrainingData.of(task)).stack
