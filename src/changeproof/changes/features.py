"""Features that are measured differently, dropped or added."""

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
    Share,
    Variant,
    either,
    percent,
)
from changeproof.datasets.altered import with_columns, with_feature_held
from changeproof.datasets.task import SMALLEST_SCALE, Task
from changeproof.model import Booleans, Floats
from changeproof.models.altered import AlteredModel, ignoring, remeasured
from changeproof.models.learner import Learner
from changeproof.networks.draws import TorchDraws
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe
from changeproof.randomness import stream

Kind = Literal["dropped", "added"]
SEEDS, SEEDS_OF_INPUTS = 350_000, 1_000


class MeasurementError(ReplicatedFamily):
    """Show the model numbers that are off, for everybody in the same way.

    Each changed model has one draw for every numeric feature: an offset, and a gain about the mean
    of the training rows, both uniform up to a share of the feature's standard deviation there.
    Categories and columns of two values stay as they are.

    Parameters
    ----------
    shares
        How far a measurement is off at most: the offset in standard deviations, the gain in
        standard deviations per standard deviation from the mean.
    """

    name = "measurement-error"
    label = Label("Measurement error", "measure", "Measure. error")
    source = "changeproof, docs/beyond.md"
    trains = False

    def __init__(
        self,
        *,
        replicates: PositiveInt = REPLICATES,
        shares: Several[Share] = (0.01, 0.05, 0.10),
    ) -> None:
        super().__init__(replicates=replicates)
        self.shares = tuple(shares)
        limits = either([100 * share for share in shares])
        self.summary = (
            f"numeric features measured wrongly, by up to {limits} % of a standard deviation"
        )

    def reason_against_task(self, task: Task) -> str | None:
        return None if measured(task).any() else f"{task.name} has no numeric features"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        columns, variants = measured(task), []
        for share, r in self.shared_out(self.shares):
            generator = stream(task.name, base.seed, "measurement error", f"{share:g}", r)
            # Rows are standardised: the mean is 0, and a standard deviation 1.
            offsets, errors = generator.uniform(-share, share, (2, task.n_features)) * columns
            model = remeasured(base.model, 1.0 + errors, offsets)
            variants.append(Variant(percent(share), r, model))
        return variants


def measured(task: Task) -> Booleans:
    """Return which columns hold measurements: numbers with more than two values."""
    columns = np.zeros(task.n_features, dtype=np.bool_)
    for feature in task.features:
        if not feature.categories:
            (column,) = feature.columns
            columns[column] = task.frame.iloc[:, column].nunique() > 2
    return columns


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
        self,
        *,
        replicates: PositiveInt = REPLICATES,
        kinds: Kind | Several[Kind] = ("dropped", "added"),
    ) -> None:
        super().__init__(replicates=replicates)
        self.kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)

    def reason_against(self, learner: Learner) -> str | None:
        if "dropped" in self.kinds or not learner.traits.original:
            return None
        return f"{learner.name} takes the features by name and would not see an added one"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe models without a feature (half of them, if possible), then with an added one."""
        generator = np.random.default_rng(base.seed + SEEDS)
        both = "added" in self.kinds and not learner.traits.original
        found: list[Variant] = []
        if "dropped" in self.kinds:
            most = self.replicates - self.replicates // 2 if both else self.replicates
            found += islice(_without_features(task, base, generator), most)
        if both:
            found += islice(_with_products(task, base, generator), self.replicates - len(found))
        variants = self.cycled(found, learner, SEEDS)
        for place, variant in enumerate(variants):
            # From the second replicate on, each starts from its own seed.
            if variant.replicate and isinstance(variant.change, TrainingRecipe):
                variants[place] = replace(variant, change=replace(variant.change, start=None))
        return variants


def _without_features(
    task: Task, base: BaseModel, generator: np.random.Generator
) -> Iterator[Variant]:
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


def _with_products(
    task: Task, base: BaseModel, generator: np.random.Generator
) -> Iterator[Variant]:
    """Describe models with a square or a product of columns, in a random order."""
    names, rows = task.feature_names, task.standardise(task.frame.to_numpy(dtype=np.float64))
    pairs = (pair for part in _pairs(task) for pair in generator.permutation(part))
    for number, (one, other) in enumerate(pairs):
        name = f"{names[one]} squared" if one == other else f"{names[one]} times {names[other]}"
        widened = with_columns(task, [name], products(rows, one, other))
        if np.ptp(widened.rows("train")[:, -1]) <= SMALLEST_SCALE:
            continue
        start = _wider_start(base, base.seed + SEEDS + SEEDS_OF_INPUTS + number)
        rewrite = partial(_widened, task=widened, one=one, other=other)
        yield Variant(
            f"with {name}",
            0,
            TrainingRecipe(initialisation_seed=base.seed, start=start),
            task=widened,
            finish=partial(AlteredModel, rewrite=rewrite),
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
    start = Network.initialised(n_features, hidden, base.seed, base.model.sides)
    bound = 1.0 / math.sqrt(n_features + 1)
    column = TorchDraws(seed).uniform(-bound, bound, (hidden[0], 1))
    first = np.concatenate([start.weights[0], column], axis=1)
    return replace(start, weights=(first, *start.weights[1:]))


def products(rows: Floats, one: int, other: int) -> Floats:
    return np.asarray(rows[:, one] * rows[:, other])[:, None]


def _widened(rows: Floats, task: Task, one: int, other: int) -> Floats:
    added = (products(rows, one, other) - task.mean[-1]) / task.scale[-1]
    return np.concatenate([rows, added], axis=1)
