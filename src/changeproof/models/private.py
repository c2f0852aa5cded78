"""The learner that methods see: for models of their own, not for those of the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access, Model, Stack
from changeproof.models.learner import Alternative, Learner
from changeproof.networks.training import TrainingRecipe, recipe_identity

# Base seeds are below the first; methods' own are far away from those of changed models.
SEEDS, FAR_AWAY = 2**31, 2**30


class PrivateLearner:
    """Trains like the base model's learner, but no model that methods are evaluated on.

    Parameters
    ----------
    learner
        The kind of model.
    reserved
        Returns the identities of the recipes that are refused: those of the changed models. It
        is asked when something is to be trained.
    level
        Which alternative to the base model's learner this is, as changed models name it.
    """

    def __init__(
        self,
        learner: Learner,
        reserved: Callable[[], frozenset[str]] = frozenset,
        level: str = "",
    ) -> None:
        self._learner = learner
        self._level = level
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
        reserved = self._reserved()
        for number, recipe in enumerate(recipes):
            level = self._level
            marks = recipe_identity(recipe, level), recipe_identity(recipe, level, task)
            if not reserved.isdisjoint(marks):
                raise InputError(
                    f"recipe {number} is that of a changed model of the evaluation; a method "
                    "trains with seeds of its own (base_seed + 100_000 and above)"
                )
        return self._learner.train(recipes, task)

    def moved(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved at random as `Learner.perturbed` does, with seeds of its own.

        They are half the range of seeds away from those of changed models.
        """
        return self._learner.perturbed(model, radius, (seed + FAR_AWAY) % SEEDS)

    def other_settings(self) -> list[PrivateLearner]:
        """Return other training configurations, if any are known."""
        return self._private(self._learner.configurations())

    def other_kinds(self) -> list[PrivateLearner]:
        """Return models that may replace this one, if any are known."""
        return self._private(self._learner.replacements())

    def _private(self, others: Sequence[Alternative]) -> list[PrivateLearner]:
        return [PrivateLearner(other.learner, self._reserved, other.level) for other in others]
