"""The learner that methods see: for models of their own, not for those of the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access, Model, Stack
from changeproof.models.learner import Alternative, Learner
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
        self.follows = learner.follows
        self.has_seeds = learner.has_seeds
        self.has_parameters = learner.has_parameters

    def __repr__(self) -> str:
        return f"PrivateLearner({self._learner!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe; give seeds and samples of the method's own."""
        for number, refused in enumerate(self.refused(recipes)):
            if refused:
                raise InputError(
                    f"recipe {number} is that of a changed model of the evaluation; a method "
                    "trains with seeds of its own (base_seed + 100_000 and above)"
                )
        return self._learner.train(recipes, task)

    def refused(self, recipes: Sequence[TrainingRecipe]) -> list[bool]:
        """Return which recipes are those of changed models of the evaluation."""
        reserved = self._reserved()
        return [recipe_identity(recipe) in reserved for recipe in recipes]

    def configurations(self) -> Sequence[Alternative]:
        """Return other training configurations, if any are known."""
        return self._learner.configurations()

    def replacements(self) -> list[Alternative]:
        """Return models that may replace this one, if any are known."""
        return self._learner.replacements()

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""
        return self._learner.perturbed(model, radius, seed)
