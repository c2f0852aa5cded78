"""Our multilayer perceptron as a learner, of any width."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from changeproof.datasets.classes import Classes
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access
from changeproof.models.learner import EVERY_FIELD, Learner, Traits
from changeproof.models.recipes import class_shares, favourable_shares, normalised
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import HIDDEN, TrainingData, TrainingRecipe, train


class NetworkLearner(Learner):
    """ReLU networks with the protocol's training.

    Where the outcome has several classes they have an output for each, and predict the largest.

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

    # Whether several classes are told apart, and not only favourable from the rest.
    by_class = True

    def __init__(self, hidden: Sequence[int] = HIDDEN) -> None:
        self.hidden = tuple(hidden)
        if not self.hidden or any(units < 1 for units in self.hidden):
            raise InputError(f"hidden layers must have at least one unit each; got {self.hidden}")
        widths = ",".join(map(str, self.hidden))
        self.name = "mlp" if self.hidden == HIDDEN else f"mlp:{widths}"

    def __repr__(self) -> str:
        return f"NetworkLearner(hidden={self.hidden})"

    def offers_on(self, task: Task) -> Access:
        return self.traits.offers if self._classes(task) is None else Access.GRADIENTS

    def decides_at_half_on(self, task: Task) -> bool:
        return self._classes(task) is None

    def favourable_or_not(self) -> NetworkLearner:
        found = copy(self)
        found.by_class = False
        return found

    def _classes(self, task: Task) -> Classes | None:
        return task.classes if self.by_class else None

    def adapted(self, recipe: TrainingRecipe) -> TrainingRecipe:
        """Return a recipe for this width; one that names other hidden layers keeps them."""
        return replace(recipe, hidden=self.hidden) if recipe.hidden is None else recipe

    def normalised(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        found = self.adapted(normalised(recipe, task))
        # What begins with a network has that one's layers.
        return found if found.start is None else replace(found, hidden=None)

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> NetworkStack:
        adapted = [self._labelled(self.adapted(recipe), task) for recipe in recipes]
        return train(adapted, TrainingData.of(task, self._classes(task))).stack

    def _labelled(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        """Return a recipe whose labels are of the form that training takes."""
        labels, classes = recipe.labels, task.classes
        n_rows = len(task.split.train) + len(task.split.update)
        if labels is None or classes is None or np.shape(labels)[:1] != (n_rows,):
            return recipe
        given = np.asarray(labels)
        if self.by_class:
            return replace(recipe, labels=class_shares(task, classes, given))
        return replace(recipe, labels=favourable_shares(classes, given))
