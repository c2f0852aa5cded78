"""The learner that methods see: for models of their own, not for those of the evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Model, Stack
from changeproof.models.learner import Alternative, Learner, Traits
from changeproof.models.recipes import model_identity, reserved_identity
from changeproof.networks.training import TrainingRecipe

# Base seeds are below the first; methods' own are far away from those of changed models.
SEEDS, FAR_AWAY = 2**31, 2**30


class PrivateLearner:
    """The base model's learner for methods, which cannot train the models they are evaluated on.

    This guards against accidents, such as a seed that a changed model has. A recipe is refused
    however it is spelled, with weights of 1 or without any, and for however long it is trained. It
    does not guard against cheating on purpose: a learning rate that differs in its last digit
    trains about the same network.

    Parameters
    ----------
    learner
        The kind of model.
    reserved
        Returns the identities of what is refused: the recipes of the changed models, and those
        that are finished already. It is called when something is to be trained or moved.
    level
        Which alternative to the base model's learner this is, as changed models name it.
    """

    def __init__(
        self,
        learner: Learner,
        reserved: Callable[[], frozenset[str]] = frozenset,
        level: str = "",
    ) -> None:
        self._learner, self._reserved, self._level = learner, reserved, level
        self.name: str = learner.name
        self.traits: Traits = learner.traits

    def __repr__(self) -> str:
        return f"PrivateLearner({self._learner!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe; seeds and samples must be the method's own."""
        reserved = self._reserved()
        for number, recipe in enumerate(recipes):
            plain = self._learner.normalised(recipe, task)
            if reserved and reserved_identity(plain, self._level, task) in reserved:
                raise InputError(
                    f"recipe {number} is that of a changed model of the evaluation; a method "
                    "trains with seeds of its own (base_seed + 100_000 and above)"
                )
        return self._learner.train(recipes, task)

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Perturb the model with seeds half the range away from those of changed models."""
        found = self._learner.perturbed(model, radius, (seed + FAR_AWAY) % SEEDS)
        reserved = self._reserved()
        if reserved and model_identity(found) in reserved:
            raise InputError(
                f"seed {seed} moves the model to a changed model of the evaluation; a method "
                "moves it with seeds of its own (base_seed and above)"
            )
        return found

    def configurations(self) -> list[PrivateLearner]:
        return self._private(self._learner.configurations())

    def replacements(self) -> list[PrivateLearner]:
        return self._private(self._learner.replacements())

    def _private(self, others: Sequence[Alternative]) -> list[PrivateLearner]:
        return [PrivateLearner(other.learner, self._reserved, other.level) for other in others]
