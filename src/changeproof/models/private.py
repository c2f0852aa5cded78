"""The learner that methods see: for models of their own, not for those of the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access, Stack
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, recipe_identity


class PrivateLearner:
    """Trains like the base model's learner, but no model that methods are evaluated on.

    Parameters
    ----------
    learner
        The kind of model.
    reserved
        Returns the identities of the recipes that are refused: those of the changed models. It
        is asked when something is to be trained.
    """

    def __init__(
        self, learner: Learner, reserved: Callable[[], frozenset[str]] = frozenset
    ) -> None:
        self._learner = learner
        self._reserved = reserved
        self.name: str = learner.name
        self.offers: Access = learner.offers

    def __repr__(self) -> str:
        return f"PrivateLearner({self._learner!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe; give seeds and samples of the method's own."""
        reserved = self._reserved()
        for number, recipe in enumerate(recipes):
            if recipe_identity(recipe) in reserved:
                raise InputError(
                    f"recipe {number} is that of a changed model of the evaluation; a method "
                    "trains with seeds of its own (base_seed + 100_000 and above)"
                )
        return self._learner.train(recipes, task)
