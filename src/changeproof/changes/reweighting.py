"""Retraining with other weights of the training rows: shifted, balanced, or none for some."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import PositiveFloat, PositiveInt
from scipy.optimize import brentq

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
from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown
from changeproof.model import Floats, Integers
from changeproof.models.learner import Learner
from changeproof.models.recipes import DELETED_SHARES, weighted_recipe

DELETION_SEEDS, GROUP_SEEDS, SHIFT_SEEDS = 330_000, 340_000, 360_000
# Of a shift: no row counts more than this many times as much as the average row.
MOST = 20.0
STEEPEST = 64.0
MOST_TRIES = 1000
# Beyond what processors agree on.
DIGITS = 6
# Whose rows are deleted, and the label that these have.
AMONG = {"all": None, "favourable": 1, "adverse": 0}
# After this many draws a deletion may repeat an earlier one, as it must where rows are few.
MOST_DRAWS = 100
# A model that is sure of every row would have no leverage at all.
LEAST_PROBABILITY = 0.01
SMALLEST_REST = 1e-3
RIDGE = 1e-6


class CovariateShift(ReplicatedFamily):
    """Retrain with weights that move the mean of a feature, or of a random direction.

    A row counts exp(t x) where x is its value, and t is such that the weighted mean of x moves by
    the stated number of standard deviations. Features and random directions take turns, up or down
    at random. No row counts more than 20 times as much as the average row; t is found with that in
    place. Models that cannot weigh rows are trained on rows drawn in proportion to the weights. All
    keep the base model's initialisation.

    Parameters
    ----------
    shifts
        How far the mean moves, in standard deviations.
    """

    name = "covariate-shift"
    label = Label("Covariate shift", "shift", "Covar. shift")
    source = "changeproof, docs/beyond.md"

    def __init__(
        self,
        *,
        replicates: PositiveInt = REPLICATES,
        shifts: Several[PositiveFloat] = (0.25, 0.5, 1.0),
    ) -> None:
        super().__init__(replicates=replicates)
        self.shifts = tuple(shifts)
        found = either(self.shifts)
        self.summary = f"retraining with weights that move a mean by {found} standard deviations"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        rows, first = task.rows("train"), base.seed + SHIFT_SEEDS
        weights = {
            shift: _weights(rows, shift, np.random.default_rng(first + 1_000 * place))
            for place, shift in enumerate(self.shifts)
        }
        variants = []
        for shift, r, seed in self.with_seeds(self.shifts, first + 1):
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


class GroupReweighting(ReplicatedFamily):
    """Retrain with Kamiran and Calders' weights, under which groups have the same base rate.

    A row counts P(group) P(label) / P(group, label), so that label and group are independent in the
    weighted training rows. The first replicate of a grouping has these weights. The others, and
    models that cannot weigh rows, are trained on as many rows drawn in proportion to them. All keep
    the base model's initialisation.

    Parameters
    ----------
    by
        A column beside the features, or a feature, that makes the groups: categories as they are,
        numbers at or above their median and below. By default the features one after the other.
    """

    name = "group-reweighting"
    label = Label("Group reweighting", "groups", "Group weights")
    summary = "retraining with row weights under which groups are favourable equally often"
    source = "changeproof, docs/beyond.md"

    def __init__(self, *, replicates: PositiveInt = REPLICATES, by: str = "") -> None:
        super().__init__(replicates=replicates)
        self.by = by

    def reason_against_task(self, task: Task) -> str | None:
        if self._groupings(task):
            return None
        what = f"{self.by} makes" if self.by else "the features make"
        return f"{what} no groups of {task.name} that differ in how often they are favourable"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        if reason := self.reason_against_task(task):
            raise InputError(reason)
        variants, groupings = [], self._groupings(task).items()
        for (name, weights), r, seed in self.with_seeds(groupings, base.seed + GROUP_SEEDS, 100):
            sampling = None if r == 0 and learner.traits.weighs_rows else seed
            recipe = weighted_recipe(task, weights, base.seed, sampling)
            variants.append(Variant(name, r, recipe))
        return variants

    def _groupings(self, task: Task) -> dict[str, Floats]:
        labels = task.labels_of("train")
        values = task.decoded(task.rows("train"))
        beside = task.beside.iloc[task.split.train]
        if self.by in beside.columns:
            values = beside
        elif self.by and self.by not in values.columns:
            raise unknown("group", self.by, [*map(str, beside.columns), *values.columns])
        found = {
            str(name): reweighing(groups_of(values[name]), labels)
            for name in ([self.by] if self.by else values.columns)
        }
        return {name: weights for name, weights in found.items() if np.ptp(weights) > 0.0}


def groups_of(values: pd.Series[Any]) -> Integers:
    """Return the group of each value: categories as they are, numbers by their median.

    Numbers at or above the median are a group; those above it, if nothing is below. So are people
    of whom nothing is known.
    """
    known = values.notna().to_numpy()
    kinds = values[known].infer_objects()
    names = values.astype(str).to_numpy(dtype=str)
    if pd.api.types.is_numeric_dtype(kinds.dtype) and not pd.api.types.is_bool_dtype(kinds.dtype):
        numbers = kinds.to_numpy(dtype=np.float64)
        middle = np.median(numbers)
        upper = numbers >= middle if (numbers < middle).any() else numbers > middle
        names[known] = np.where(upper, "upper", "lower")
    _, groups = np.unique(names, return_inverse=True)
    return groups.astype(np.int64)


def reweighing(groups: Integers, labels: npt.NDArray[np.int8]) -> Floats:
    """Return P(group) P(label) / P(group, label) of every row."""
    rows, counts = len(labels), np.zeros((groups.max() + 1, 2))
    np.add.at(counts, (groups, labels), 1.0)
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / rows
    return np.asarray(expected[groups, labels] / counts[groups, labels])


class InfluentialDeletion(ReplicatedFamily):
    """Retrain after deleting the rows that the model depends on most.

    How much a row matters is the step that a logistic model would take without it (see
    `influences`), whatever the kind of model. Shares are of the rows of all people, of the
    favourable or of the adverse ones. In the first replicate of a level the most influential rows
    go; in others as many go, drawn in proportion to their influence. All keep the base model's
    initialisation, so that what is seen is the deletion.

    Parameters
    ----------
    shares
        How much of the rows is deleted.
    """

    name = "influential-deletion"
    label = Label("Influential deletion", "influence", "Influent. deletion")
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = REPLICATES, shares: Several[Share] = DELETED_SHARES
    ) -> None:
        super().__init__(replicates=replicates)
        self.shares = tuple(shares)
        found = either([100 * share for share in self.shares])
        self.summary = f"retraining after the {found} % most influential training rows were deleted"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        rows, labels = task.rows("train"), task.labels_of("train")
        influence = influences(rows, labels, base.model.probabilities(rows))
        variants: list[Variant] = []
        seen: set[bytes] = set()
        levels = product(self.shares, AMONG.items())
        for (share, (among, label)), r, seed in self.with_seeds(levels, base.seed + DELETION_SEEDS):
            eligible = np.flatnonzero((labels == label) | (label is None))
            for gone in _deletions(influence[eligible], share, r == 0, seed):
                weights = np.ones(len(rows), np.float32)
                weights[eligible[gone]] = 0.0
                if weights.tobytes() not in seen:
                    break
            seen.add(weights.tobytes())
            recipe = weighted_recipe(task, weights, base.seed)
            variants.append(Variant(f"{percent(share)} of {among}", r, recipe))
        return variants


def _deletions(influence: Floats, share: float, first: bool, seed: int) -> Iterator[Integers]:
    """Yield which rows may go: perhaps the most influential, then others drawn by influence."""
    number = max(1, round(share * len(influence)))
    if first:
        yield np.argsort(-influence, kind="stable")[:number]
    generator, chances = np.random.default_rng(seed), influence / influence.sum()
    for _ in range(MOST_DRAWS):
        yield generator.choice(len(influence), number, replace=False, p=chances)


def influences(rows: Floats, labels: npt.ArrayLike, probabilities: Floats) -> Floats:
    """Return how much a logistic model would move without each row, in one step.

    This is Pregibon's approximation: with the residual r and weight w = p(1 - p) of a row at the
    probability p, and its leverage h = w m, the coefficients move by r² m / (1 - h)² in the norm
    of the information matrix. The probabilities are those of the model in question, which need not
    be logistic.
    """
    held = np.clip(probabilities, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    inputs = np.column_stack([np.ones(len(rows)), rows])
    weights = held * (1.0 - held)
    information = (inputs * weights[:, None]).T @ inputs
    # Columns of one feature's categories add up to a constant: without this it has no inverse.
    information += RIDGE * np.trace(information) / len(information) * np.eye(len(information))
    spread = (inputs * np.linalg.solve(information, inputs.T).T).sum(axis=1)
    rest = np.maximum(1.0 - weights * spread, SMALLEST_REST)
    moved = (np.asarray(labels) - held) ** 2 * spread / rest**2
    # Further digits may depend on the processor, and who goes first on them.
    return np.array([float(f"{value:.9e}") for value in moved])
