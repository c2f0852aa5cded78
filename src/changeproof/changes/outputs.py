"""The same model with another threshold, or with its probabilities calibrated again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.optimize import brentq

from changeproof.arithmetic.functions import exponentials, log, logarithms, sigmoids
from changeproof.changes.family import (
    BaseModel,
    Family,
    Label,
    ReplicatedFamily,
    Several,
    Variant,
    either,
)
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.model import Floats, Model
from changeproof.models.altered import AlteredModel, rescaled
from changeproof.models.learner import FittedModel, Learner
from changeproof.models.thresholds import ThresholdModel
from changeproof.networks.network import Network
from changeproof.randomness import stream

PLATT, ISOTONIC = "Platt", "isotonic"
# Logits of probabilities nearer to 0 and 1 are those of the bound: a forest says 0 and 1 often.
SMALLEST_PROBABILITY = 1e-3
# Of Newton's method: its steps, where it ends, and what keeps its steps finite where all logits are
# the same.
NEWTON_STEPS = 100
SMALLEST_GRADIENT = 1e-9
SMALLEST_STEP = 1e-10
RIDGE = 1e-12
Labels = npt.NDArray[Any]


class DecisionThreshold(Family):
    """Move the threshold: the favourable side begins at another probability than 0.5.

    Parameters
    ----------
    points
        By how many percentage points the threshold is moved, in both directions.
    """

    name = "decision-threshold"
    label = Label("Decision threshold", "thresh", "Decision threshold")
    source = "changeproof, docs/beyond.md"
    trains = False

    def __init__(self, *, points: Several[Annotated[float, Field(gt=0, lt=50)]] = (2, 5)) -> None:
        self.points = tuple(points)
        self.thresholds = [(50 + side * each) / 100 for each in points for side in (-1, 1)]
        found = either(self.thresholds)
        self.summary = f"the same model with a threshold of {found} instead of 0.5"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return [
            Variant(f"{threshold:g}", 0, with_moved_threshold(base.model, threshold))
            for threshold in self.thresholds
        ]


def with_moved_threshold(model: Model, threshold: float) -> Model:
    """Return the model whose probabilities are 0.5 where its own are at the threshold."""
    if isinstance(model, Network):
        return rescaled(model, 1.0, float(log(1.0 - threshold)) - float(log(threshold)))
    # By its probabilities, which agree with its decisions, and not by scores of its own.
    plain = AlteredModel(model) if isinstance(model, FittedModel) else model
    return ThresholdModel(plain, Threshold(threshold), scale=None)


class Recalibration(ReplicatedFamily):
    """Calibrate the model on validation rows, by Platt scaling or by isotonic regression.

    The first of each kind is fitted on the validation rows, the others on bootstrap samples of
    them. A fit that does not keep the order of people, or after which all or none of the people it
    was fitted on are favourable, is replaced by a shift of the logits.

    Parameters
    ----------
    replicates
        How many changed models there are, of both kinds together.
    """

    name = "recalibration"
    label = Label("Recalibration", "recal", "Recali- bration")
    summary = "the same model calibrated again on validation rows, by Platt or isotonic scaling"
    source = "changeproof, docs/beyond.md"
    trains = False

    def reason_against(self, learner: Learner) -> str | None:
        if learner.traits.decides_at_half:
            return None
        return self._reason(learner)

    def left_out(self, learner: Learner, tasks: Iterable[Task]) -> str:
        """Of several classes the best is predicted, also where it is less likely than the rest."""
        several = list(tasks)
        if reason := super().left_out(learner, several):
            return reason
        if all(learner.decides_at_half_on(task) for task in several):
            return ""
        return self._reason(learner)

    def _reason(self, learner: Learner) -> str:
        return (
            f"calibrated models decide at 0.5, and {learner.name} at another threshold or between "
            "several classes"
        )

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        rows, labels = task.rows("validation"), task.labels_of("validation")
        given, logits = base.model.probabilities(rows), model_logits(base.model, rows)
        variants = []
        for kind, r in self.shared_out((PLATT, ISOTONIC)):
            drawn = np.arange(len(rows))
            if r:
                generator = stream(task.name, base.seed, "recalibration", kind, r)
                drawn = generator.integers(0, len(rows), len(rows))
            if kind == PLATT:
                fitted: Scaling = fitted_platt(logits[drawn], labels[drawn])
            else:
                fitted = fitted_isotonic(given[drawn], logits[drawn], labels[drawn])
            variants.append(Variant(kind, r, calibrated(base.model, fitted)))
        return variants


@dataclass(frozen=True)
class PlattScaling:
    """Logits that are scaled and shifted."""

    slope: float
    shift: float

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        return sigmoids(self.slope * model_logits(model, rows) + self.shift)


@dataclass(frozen=True, eq=False)
class IsotonicScaling:
    """Probabilities that are what was observed: steps that rise, interpolated linearly between.

    `points` are where a step begins and ends, `values` its height at both places.
    """

    points: Floats
    values: Floats

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        return np.interp(model.probabilities(rows), self.points, self.values)


Scaling = PlattScaling | IsotonicScaling


def calibrated(model: Model, scaling: Scaling) -> Model:
    """Return the model with its probabilities calibrated; a network's last layer absorbs a line."""
    if isinstance(scaling, PlattScaling) and isinstance(model, Network):
        return rescaled(model, scaling.slope, scaling.shift)
    return AlteredModel(model, adjust=scaling.probabilities)


def model_logits(model: Model, rows: Floats) -> Floats:
    """Return a model's own logits, or those of its probabilities, which are then bounded."""
    if hasattr(model, "logits"):
        return np.asarray(model.logits(rows))
    given = model.probabilities(rows)
    bounded = np.clip(given, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    return logarithms(bounded) - logarithms(1.0 - bounded)


def fitted_platt(logits: Floats, labels: Labels) -> PlattScaling:
    """Fit Platt scaling, or only a shift where that is of no use (see `Recalibration`)."""
    fitted = platt(logits, labels)
    favourable = fitted.slope * logits + fitted.shift >= 0.0
    useful = fitted.slope > 0.0 and favourable.any() and not favourable.all()
    return fitted if useful else shifted(logits, labels)


def fitted_isotonic(given: Floats, logits: Floats, labels: Labels) -> Scaling:
    """Fit isotonic regression to probabilities, or only a shift of the logits."""
    fitted = isotonic(given, labels)
    useful = fitted.values.min() < 0.5 <= fitted.values.max()
    return fitted if useful else shifted(logits, labels)


def platt(logits: Floats, labels: Labels) -> PlattScaling:
    """Fit slope and shift of logits by logistic regression (Platt 1999; Lin et al. 2007).

    Newton's method with halved steps. The targets are a little inside of 0 and 1, as Platt has it,
    so there is always an answer, even where a logit separates the outcomes.
    """
    targets = _targets(labels)
    slope, shift = 0.0, 0.0
    loss = _loss(logits, targets, slope, shift)
    for _ in range(NEWTON_STEPS):
        found = sigmoids(slope * logits + shift)
        weights, residuals = found * (1.0 - found), found - targets
        gradient = _sum(residuals * logits), _sum(residuals)
        if max(map(abs, gradient)) < SMALLEST_GRADIENT:
            break
        # The Hessian is [[a, b], [b, c]].
        a, b = _sum(weights * logits * logits) + RIDGE, _sum(weights * logits)
        c = _sum(weights) + RIDGE
        determinant = a * c - b * b
        step_slope = (b * gradient[1] - c * gradient[0]) / determinant
        step_shift = (b * gradient[0] - a * gradient[1]) / determinant
        size = 1.0
        while size >= SMALLEST_STEP:
            there = slope + size * step_slope, shift + size * step_shift
            if (better := _loss(logits, targets, *there)) < loss:
                break
            size /= 2.0
        else:
            break
        (slope, shift), loss = there, better
    return PlattScaling(slope, shift)


def shifted(logits: Floats, labels: Labels) -> PlattScaling:
    """Fit the shift of logits alone: the mean probability becomes that of the outcomes."""
    total, farthest = _sum(_targets(labels)), float(np.abs(logits).max()) + 40.0
    shift = brentq(lambda by: _sum(sigmoids(logits + by)) - total, -farthest, farthest)
    return PlattScaling(1.0, float(shift))


def isotonic(given: Floats, labels: Labels) -> IsotonicScaling:
    """Fit the rising steps that are nearest to the outcomes, pooling neighbours that fall.

    Outcomes are counted in whole numbers: a step of as many favourable as adverse is exactly 0.5.
    """
    points, places = np.unique(given, return_inverse=True)
    people = np.bincount(places, minlength=len(points)).tolist()
    accepted = np.bincount(places, np.asarray(labels), len(points)).astype(int).tolist()
    steps: list[tuple[int, int, int, int]] = []
    for place, (some, many) in enumerate(zip(accepted, people, strict=True)):
        first = place
        while steps and steps[-1][0] * many >= some * steps[-1][1]:
            before_some, before_many, first, _ = steps.pop()
            some, many = some + before_some, many + before_many
        steps.append((some, many, first, place))
    ends = [(place, some / many) for some, many, *both in steps for place in sorted({*both})]
    return IsotonicScaling(points[[place for place, _ in ends]], np.array([h for _, h in ends]))


def _targets(labels: Labels) -> Floats:
    """Return outcomes as if each class had one more, and one of the other, in it."""
    favourable = int(np.sum(labels == 1))
    high, low = (favourable + 1.0) / (favourable + 2.0), 1.0 / (len(labels) - favourable + 2.0)
    return np.where(labels == 1, high, low)


def _loss(logits: Floats, targets: Floats, slope: float, shift: float) -> float:
    found = slope * logits + shift
    return _sum(np.maximum(found, 0.0) - targets * found) + _sum(
        logarithms(1.0 + exponentials(-np.abs(found)))
    )


def _sum(terms: Floats) -> float:
    """Return a sum that is rounded once, whatever the order."""
    return fsum(terms.tolist())
