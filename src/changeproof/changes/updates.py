"""A chain of updates: each starts from what the last one left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PositiveInt

from changeproof.changes.family import REPLICATES, BaseModel, Family, Label, Variant
from changeproof.datasets.task import Task
from changeproof.errors import unknown
from changeproof.model import Integers, Singles
from changeproof.models.learner import Learner
from changeproof.models.recipes import HIDDEN_LAYERS, configuration_recipes
from changeproof.networks.training import TrainingRecipe, usual_weights
from changeproof.randomness import stream

# Seeds of initialisations are above those of the paper's families, a thousand for every future.
SEEDS, MOST_UPDATES = 300_000, 1_000
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
# What a model may be trained with: fields of the recipe, or another learner.
Choices = list[dict[str, Any] | Learner]


@dataclass(frozen=True, eq=False)
class State:
    """What an update passes on to the next: row weights, and how models are trained.

    `unused` are the rows of the update pool that have not arrived yet, in the order in which they
    will. `settings` are fields of the recipe; `learner` is another kind of model, if one has
    taken the place of the first.
    """

    weights: Singles
    unused: Integers
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    learner: Learner | None = None


class Updates(Family):
    """A future of updates, one after the other, and many such futures.

    Every update starts from the last: old rows go, new ones arrive, the model is initialised
    anew, and now and then it is trained with another configuration or gets another architecture,
    which it keeps. Chance has an address: the first updates of a longer chain are those of a
    shorter one, and more futures leave the first ones as they are.

    Parameters
    ----------
    length
        How many updates follow each other.
    replicates
        How many futures.
    arriving
        How many rows of the update pool arrive with each update, as a share of the training part.
        Each arrives once; when all have, they are drawn again at random, with replacement.
    leaving
        The share of the present rows that go with each update, at random.
    every
        A new configuration or architecture comes so many updates after the last, on average.
    steps
        What an update is made of, by the names of the families that do it once: "data-addition",
        "data-deletion", "new-initialization", "training-configuration", "architecture", which are
        the default; and "bootstrap", which draws the present rows again. One name, or several.
    """

    name = "updates"
    label = Label("Chain of updates", "chain", "Chain of updates")
    cost = 1.1
    summary = "retraining update after update, each from the last, with rows that come and go"
    source = "changeproof, docs/how-long.md"
    sequence = True

    def __init__(
        self,
        *,
        length: Annotated[int, Field(ge=1, le=MOST_UPDATES)] = 12,
        replicates: PositiveInt = REPLICATES,
        arriving: Annotated[float, Field(ge=0, lt=1)] = 0.05,
        leaving: Annotated[float, Field(ge=0, lt=1)] = 0.05,
        every: PositiveInt = 4,
        steps: str | Sequence[str] = (),
    ) -> None:
        self.length, self.replicates, self.every = length, replicates, every
        self.arriving, self.leaving, self.steps = arriving, leaving, steps
        self._steps = _checked_steps([steps] if isinstance(steps, str) else steps)

    @property
    def expected_models(self) -> int:
        return self.replicates * self.length

    def reason_against(self, learner: Learner) -> str | None:
        anew = "new-initialization" in self._steps and learner.traits.has_seeds
        if anew or any(step in ROWS for step in self._steps) or self._choices(learner):
            return None
        return f"none of {', '.join(self._steps)} can happen to {learner.name}"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        choices = self._choices(learner)
        return [
            Variant(f"update {number}", future, _recipe(state, learner), state.learner)
            for future in range(self.replicates)
            for number, state in enumerate(
                self._future(task, base, learner, choices, future), start=1
            )
        ]

    def _future(
        self,
        task: Task,
        base: BaseModel,
        learner: Learner,
        choices: dict[str, Choices],
        future: int,
    ) -> Iterator[State]:
        """Yield the state after each update of a future."""
        n_train, n_pool = len(task.split.train), len(task.split.update)
        order = stream("updates", base.seed, future, "arrivals").permutation(n_pool)
        state = State(usual_weights(n_train, n_pool), n_train + order, base.seed)
        for number in range(1, self.length + 1):
            generator = stream("updates", base.seed, future, number)
            weights, unused = self._rows(task, state, generator)
            state = replace(state, weights=weights, unused=unused)
            if "new-initialization" in self._steps and learner.traits.has_seeds:
                seed = base.seed + SEEDS + MOST_UPDATES * future + number
                state = replace(state, seed=seed)
            yield (state := self._rebuilt(state, choices, generator))

    def _rows(
        self, task: Task, state: State, generator: np.random.Generator
    ) -> tuple[Singles, Integers]:
        """Return the rows of an update: some go, some arrive, perhaps all are drawn again."""
        weights, unused = state.weights.copy(), state.unused
        n_train, n_pool = len(task.split.train), len(task.split.update)
        if "data-deletion" in self._steps:
            present = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            number = min(round(self.leaving * len(present)), len(present) - 1)
            gone = generator.choice(present, number, replace=False)
            np.subtract.at(weights, gone, 1.0)
        if "data-addition" in self._steps:
            wanted = round(self.arriving * n_train)
            again = n_train + generator.integers(0, n_pool, max(0, wanted - len(unused)))
            np.add.at(weights, [*unused[:wanted], *again], 1.0)
            unused = unused[wanted:]
        if "bootstrap" in self._steps:
            present = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            drawn = generator.choice(present, len(present), replace=True)
            weights = np.bincount(drawn, minlength=len(weights)).astype(np.float32)
        return weights, unused

    def _choices(self, learner: Learner) -> dict[str, Choices]:
        """Return the configurations and architectures to draw from, if there are any."""
        known = {
            "training-configuration": _configurations(learner),
            "architecture": _architectures(learner),
        }
        return {step: found for step, found in known.items() if found and step in self._steps}

    def _rebuilt(
        self, state: State, choices: dict[str, Choices], generator: np.random.Generator
    ) -> State:
        """Return the state, now and then with another configuration or architecture."""
        if not choices or generator.integers(0, self.every):
            return state
        kind = list(choices)[generator.integers(0, len(choices))]
        chosen = choices[kind][generator.integers(0, len(choices[kind]))]
        if isinstance(chosen, Learner):
            return replace(state, learner=chosen)
        return replace(state, settings=state.settings | chosen, learner=None)


def _recipe(state: State, learner: Learner) -> TrainingRecipe:
    """Return the recipe of a state, with the settings that the kind of model follows."""
    follows = (state.learner or learner).traits.follows
    settings = {name: value for name, value in state.settings.items() if name in follows}
    return TrainingRecipe(
        initialisation_seed=state.seed, row_weights=state.weights.copy(), **settings
    )


def _configurations(learner: Learner) -> Choices:
    if "optimiser" in learner.traits.follows:
        return [{name: getattr(r, name) for name in CONFIGURED} for r in configuration_recipes(0)]
    return [other.learner for other in learner.configurations()]


def _architectures(learner: Learner) -> Choices:
    layers = HIDDEN_LAYERS if "hidden" in learner.traits.follows else ()
    others = [other.learner for other in learner.replacements()]
    return [*({"hidden": hidden} for hidden in layers), *others]


def _checked_steps(given: Sequence[str]) -> tuple[str, ...]:
    for step in given:
        if step not in EVERY_STEP:
            raise unknown("step of an update", step, EVERY_STEP)
    return tuple(step for step in EVERY_STEP if step in given) or STEPS
