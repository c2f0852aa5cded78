"""Retraining without a feature, or with one that was not used so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, combinations_with_replacement, islice
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Variant,
)
from changeproof.datasets.altered import with_columns, with_feature_held
from changeproof.datasets.task import SMALLEST_SCALE, Task
from changeproof.model import Floats
from changeproof.models.altered import AlteredModel, ignoring
from changeproof.models.learner import Learner
from changeproof.networks.draws import TorchDraws
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe

Kind = Literal["dropped", "added"]
DROPPED: Kind = "dropped"
ADDED: Kind = "added"
KINDS = (DROPPED, ADDED)
SEEDS, SEEDS_OF_INPUTS = 350_000, 1_000
# Changed models, in the order in which they are taken.
Described = Iterator[Variant]


class FeatureChange(ReplicatedFamily):
    """Retrain without one of the features, or with a product or square of features added.

    A dropped feature is at its training mean while the model learns and is ignored afterwards, with
    all columns of its categories. An added one is computed from a person's row, so that advice can
    be put to the new model as it stands; products of numbers come before those of categories. Which
    ones is drawn at random. All keep the base model's initialisation, up to where nothing else is
    left to change; one of our networks with a further input begins with the base network's initial
    weights and random ones for that input.

    Parameters
    ----------
    replicates
        How many changed models there are at most.
    kinds
        "dropped", "added", or both. Models that take features by name do not see added ones.
    """

    name = "feature-change"
    label = Label("Feature change", "feature", "Feature change")
    cost = 1.6
    summary = "retraining without one feature, or with a product or square of features added"
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = REPLICATES, kinds: Kind | Several[Kind] = KINDS
    ) -> None:
        super().__init__(replicates=replicates)
        self.kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)

    def reason_against(self, learner: Learner) -> str | None:
        if DROPPED in self.kinds or not learner.traits.original:
            return None
        return f"{learner.name} takes the features by name and would not see an added one"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe models without a feature (half of them, if possible), then with an added one."""
        generator = np.random.default_rng(base.seed + SEEDS)
        both = ADDED in self.kinds and not learner.traits.original
        found: list[Variant] = []
        if DROPPED in self.kinds:
            most = self.replicates - self.replicates // 2 if both else self.replicates
            found += islice(_without_features(task, base, generator), most)
        if both:
            found += islice(_with_products(task, base, generator), self.replicates - len(found))
        return [_begun_anew(variant) for variant in self.cycled(found, learner, SEEDS)]


def _begun_anew(variant: Variant) -> Variant:
    """Return a variant that starts from its own seed if it is not the first replicate."""
    recipe = variant.change
    if variant.replicate == 0 or not isinstance(recipe, TrainingRecipe):
        return variant
    return replace(variant, change=replace(recipe, start=None))


def _without_features(task: Task, base: BaseModel, generator: np.random.Generator) -> Described:
    """Describe models without a feature that has more than one value, in a random order."""
    spread = np.ptp(task.rows("train"), axis=0)
    varying = [feature for feature in task.features if spread[list(feature.columns)].max() > 0]
    if len(varying) < 2:
        return
    for place in generator.permutation(len(varying)):
        feature = varying[place]
        yield Variant(
            f"without {feature.name}",
            0,
            TrainingRecipe(initialisation_seed=base.seed),
            task=with_feature_held(task, feature),
            finish=partial(ignoring, columns=feature.columns),
        )


def _with_products(task: Task, base: BaseModel, generator: np.random.Generator) -> Described:
    """Describe models with a square or a product of columns, in a random order."""
    names, rows = task.feature_names, task.standardise(task.frame.to_numpy(dtype=np.float64))
    pairs = _pairs(task)
    for number, (one, other) in enumerate(
        pair for part in pairs for pair in generator.permutation(part)
    ):
        name = f"{names[one]} squared" if one == other else f"{names[one]} times {names[other]}"
        widened = with_columns(task, [name], products(rows, one, other))
        if np.ptp(widened.rows("train")[:, -1]) <= SMALLEST_SCALE:
            continue
        seed = base.seed + SEEDS + SEEDS_OF_INPUTS + number
        yield Variant(
            f"with {name}",
            0,
            TrainingRecipe(initialisation_seed=base.seed, start=_wider_start(base, seed)),
            task=widened,
            finish=partial(
                AlteredModel, rewrite=partial(_widened, task=widened, one=one, other=other)
            ),
        )


def _pairs(task: Task) -> list[list[tuple[int, int]]]:
    """Return pairs of columns whose product is informative: first those of numbers."""
    owners = {column: feature for feature in task.features for column in feature.columns}
    numbers = [column for column in owners if not owners[column].categories]
    mixed = [
        (one, other)
        for one, other in combinations(sorted(owners), 2)
        if owners[one] is not owners[other] and (owners[one].categories or owners[other].categories)
    ]
    return [part for part in (list(combinations_with_replacement(numbers, 2)), mixed) if part]


def _wider_start(base: BaseModel, seed: int) -> Network | None:
    """Return the base network before training with one more input; None for other models."""
    if not isinstance(base.model, Network):
        return None
    n_features, hidden = base.model.n_features, base.model.hidden
    start = Network.initialised(n_features, hidden, base.seed)
    bound = 1.0 / math.sqrt(n_features + 1)
    column = TorchDraws(seed).uniform(-bound, bound, (hidden[0], 1))
    first = np.concatenate([start.weights[0], column], axis=1)
    return replace(start, weights=(first, *start.weights[1:]))


def products(rows: Floats, one: int, other: int) -> Floats:
    """Return the products of two columns [rows, 1]."""
    return np.asarray(rows[:, one] * rows[:, other])[:, None]


def _widened(rows: Floats, task: Task, one: int, other: int) -> Floats:
    added = (products(rows, one, other) - task.mean[-1]) / task.scale[-1]
    return np.concatenate([rows, added], axis=1)
