"""Models from their descriptions: recipes are trained, what is finished already stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from changeproof.datasets.task import Task
from changeproof.model import Model, Stack
from changeproof.networks.training import TrainingRecipe


class Trains(Protocol):
    """Whoever trains models: a learner, or a method's private one."""

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe."""


class Wanted(NamedTuple):
    """A recipe with who trains it on which task, or a finished model."""

    change: TrainingRecipe | Model
    learner: Trains
    task: Task


def made(wanted: Sequence[Wanted]) -> list[Model]:
    """Return the models in the given order; those of one learner and task are trained together."""
    models: dict[int, Model] = {}
    recipes: dict[tuple[Trains, Task], dict[int, TrainingRecipe]] = {}
    for place, (change, learner, task) in enumerate(wanted):
        if isinstance(change, TrainingRecipe):
            recipes.setdefault((learner, task), {})[place] = change
        else:
            models[place] = change
    for (learner, task), asked in recipes.items():
        trained = learner.train(list(asked.values()), task)
        models |= {place: trained[number] for number, place in enumerate(asked)}
    return [models[place] for place in range(len(wanted))]
