"""Chains of updates: each starts from the last, with rows that come and go.

The family of that name makes chains of changed models with the protocol's seeds; a method that
advises for several updates makes its own, with streams and seeds that no changed model has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from changeproof.datasets.task import Task
from changeproof.errors import unknown
from changeproof.model import Integers, Singles
from changeproof.models.learner import Traits
from changeproof.models.recipes import HIDDEN_LAYERS, configuration_recipes
from changeproof.networks.training import TrainingRecipe, usual_weights
from changeproof.randomness import stream

MOST_UPDATES = 1_000
ARRIVING = LEAVING = 0.05
EVERY = 4
CONFIGURED = ("optimiser", "learning_rate", "weight_decay")
STEPS = (
    "data-addition",
    "data-deletion",
    "new-initialization",
    "training-configuration",
    "architecture",
)
EVERY_STEP = (*STEPS, "bootstrap")
ROWS = ("data-addition", "data-deletion", "bootstrap")


class HasTraits(Protocol):
    """A learner, or a method's private one."""

    @property
    def traits(self) -> Traits: ...


L = TypeVar("L", bound=HasTraits)


class State(NamedTuple, Generic[L]):
    """The model after an update: how it is trained, and by whom if not by the first learner."""

    recipe: TrainingRecipe
    replacement: L | None


def checked_steps(given: Sequence[str]) -> tuple[str, ...]:
    """Return what an update is made of, in order; none stands for all but `bootstrap`."""
    for step in given:
        if step not in EVERY_STEP:
            raise unknown("step of an update", step, EVERY_STEP)
    return tuple(step for step in EVERY_STEP if step in given) or STEPS


@dataclass(frozen=True)
class Chain(Generic[L]):
    """How updates follow each other; see the family `updates`.

    `configurations` and `replacements` are other learners that may take the first one's place.
    """

    learner: L
    configurations: Sequence[L]
    replacements: Sequence[L]
    arriving: float = ARRIVING
    leaving: float = LEAVING
    every: int = EVERY
    steps: tuple[str, ...] = STEPS

    @property
    def changes(self) -> bool:
        """Whether any of the steps can happen to the learner."""
        anew = "new-initialization" in self.steps and self.learner.traits.has_seeds
        return anew or any(step in ROWS for step in self.steps) or bool(self.choices())

    def states(
        self, task: Task, base_seed: int, seed_of: Callable[[int], int], *address: str | int
    ) -> Iterator[State[L]]:
        """Yield the states of one future, without end.

        An update passes on to the next: the row weights; the rows of the update pool that have not
        arrived yet, in the order in which they will; the seed; changed fields of the recipe; and
        another kind of model, if one has taken the place of the first. `seed_of` returns the
        initialisation seed of an update by its number, from 1 on. The address is that of the
        future's streams.
        """
        choices, traits = self.choices(), self.learner.traits
        n_train, n_pool = len(task.split.train), len(task.split.update)
        order = stream(*address, "arrivals").permutation(n_pool)
        weights, unused, seed = usual_weights(n_train, n_pool), n_train + order, base_seed
        settings: dict[str, Any] = {}
        replacement: L | None = None
        number = 0
        while True:
            number += 1
            generator = stream(*address, number)
            weights, unused = self._rows(n_train, weights, unused, generator)
            if "new-initialization" in self.steps and traits.has_seeds:
                seed = seed_of(number)
            if choices and not generator.integers(0, self.every):
                possible = choices[generator.integers(0, len(choices))]
                chosen = possible[generator.integers(0, len(possible))]
                if isinstance(chosen, dict):
                    settings, replacement = settings | chosen, None
                else:
                    replacement = chosen
            follows = (replacement or self.learner).traits.follows
            followed = {name: value for name, value in settings.items() if name in follows}
            recipe = TrainingRecipe(initialisation_seed=seed, row_weights=weights, **followed)
            yield State(recipe, replacement)

    def choices(self) -> list[list[dict[str, Any] | L]]:
        """Return the configurations and the architectures to draw from, if there are any.

        Each is fields of the recipe, or another learner.
        """
        follows = self.learner.traits.follows
        configurations: list[dict[str, Any] | L] = [*self.configurations]
        if "optimiser" in follows:
            recipes = configuration_recipes(0)
            configurations = [{name: getattr(r, name) for name in CONFIGURED} for r in recipes]
        architectures: list[dict[str, Any] | L] = [*self.replacements]
        if "hidden" in follows:
            architectures = [*({"hidden": hidden} for hidden in HIDDEN_LAYERS), *architectures]
        known = {"training-configuration": configurations, "architecture": architectures}
        return [found for step, found in known.items() if found and step in self.steps]

    def _rows(
        self, n_train: int, before: Singles, unused: Integers, generator: np.random.Generator
    ) -> tuple[Singles, Integers]:
        """Return the rows of an update: some go, some arrive, perhaps all are drawn again."""
        weights, n_pool = before.copy(), len(before) - n_train
        if "data-deletion" in self.steps:
            present = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            number = min(round(self.leaving * len(present)), len(present) - 1)
            np.subtract.at(weights, generator.choice(present, number, replace=False), 1.0)
        if "data-addition" in self.steps:
            number = round(self.arriving * n_train)
            again = n_train + generator.integers(0, n_pool, max(0, number - len(unused)))
            np.add.at(weights, [*unused[:number], *again], 1.0)
            unused = unused[number:]
        if "bootstrap" in self.steps:
            present = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            drawn = generator.choice(present, len(present), replace=True)
            weights = np.bincount(drawn, minlength=len(weights)).astype(np.float32)
        return weights, unused
