"""Retraining as if other people had come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from pydantic import PositiveFloat, PositiveInt
from scipy.optimize import brentq

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Variant,
)
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Floats
from changeproof.models.learner import Learner
from changeproof.models.recipes import weighted_recipe

SHIFTS = (0.25, 0.5, 1.0)
# No row counts more than this many times as much as the average row.
MOST = 20.0
STEEPEST = 64.0
MOST_TRIES = 1000
# Beyond what processors agree on.
DIGITS = 6
SEEDS, SEEDS_OF_A_LEVEL = 360_000, 1_000


class CovariateShift(ReplicatedFamily):
    """Retrain with weights that move the mean of a feature, or of a random direction.

    A row counts exp(t x) where x is its value, and t is such that the weighted mean of x moves by
    the stated number of standard deviations. Features and random directions take turns, up or down
    at random. No row counts more than 20 times as much as the average row; t is found with that in
    place. Models that cannot weigh rows are trained on rows drawn in proportion to the weights. All
    keep the base model's initialisation.

    Parameters
    ----------
    replicates
        How many changed models there are; the levels share them.
    shifts
        How far the mean moves, in standard deviations.
    """

    name = "covariate-shift"
    label = Label("Covariate shift", "shift", "Covar. shift")
    summary = "retraining with weights that move a mean by 0.25, 0.5 or 1 standard deviations"
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = REPLICATES, shifts: Several[PositiveFloat] = SHIFTS
    ) -> None:
        super().__init__(replicates=replicates)
        self.shifts = tuple(shifts)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        first = base.seed + SEEDS
        weights = {
            shift: _weights(
                task.rows("train"), shift, np.random.default_rng(first + SEEDS_OF_A_LEVEL * place)
            )
            for place, shift in enumerate(self.shifts)
        }
        variants = []
        for shift, r, seed in self.with_seeds(self.shifts, first + 1, SEEDS_OF_A_LEVEL):
            sampling = None if learner.traits.weighs_rows else seed
            recipe = weighted_recipe(task, next(weights[shift]), base.seed, sampling)
            variants.append(Variant(f"{shift:g} sd", r, recipe))
        return variants


def _weights(rows: Floats, shift: float, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield weights that shift features and random directions in turns, where that can be done."""
    varying = np.flatnonzero(rows.std(axis=0) > 0)
    both_ways = [sign * rows[:, column] for column in varying for sign in (1.0, -1.0)]
    order = generator.permutation(len(both_ways))
    features = _moved((both_ways[place] for place in order), shift)
    random = _moved((rows @ generator.normal(size=rows.shape[1]) for _ in range(MOST_TRIES)), shift)
    for number in count():
        found = next(features, None) if number % 2 == 0 else None
        found = next(random, None) if found is None else found
        if found is None:
            raise InputError(f"no weights move a mean by {shift:g} standard deviations")
        yield found


def _moved(directions: Iterator[Floats], shift: float) -> Iterator[Floats]:
    for values in directions:
        if (weights := shifting_weights(values, shift)) is not None:
            yield weights


def shifting_weights(values: Floats, shift: float) -> Floats | None:
    """Return weights exp(t value), cut off, that move the mean by a number of standard deviations.

    None where no weights of this form do.
    """
    scaled = (values - values.mean()) / values.std()

    def weights(steepness: float) -> Floats:
        raw = np.exp(steepness * (scaled - scaled.max()))
        return np.asarray(np.minimum(raw / raw.mean(), MOST))

    def missing(steepness: float) -> float:
        return float(np.average(scaled, weights=weights(steepness)) - shift)

    steepness = 0.125
    while missing(steepness) < 0.0:
        steepness *= 2.0
        if steepness > STEEPEST:
            return None
    return weights(brentq(missing, 0.0, steepness, xtol=1e-12)).round(DIGITS)
