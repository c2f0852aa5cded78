"""A model seen through a change of its rows or of its output.

Rows may be measured differently, have a column more, or hide a feature; probabilities may have
another threshold, or be calibrated again. Our own networks stay networks where their layers can
absorb the change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from changeproof.arithmetic.functions import exponentials, log, logarithms, sigmoids
from changeproof.model import Access, Booleans, Floats, Model
from changeproof.models.thresholds import Threshold
from changeproof.networks.network import Network

# Logits of probabilities nearer to 0 and 1 are those of the bound: a forest says 0 and 1 often.
SMALLEST_PROBABILITY = 1e-3
# Of Newton's method: its steps, where it ends, and what keeps its steps finite where all logits are
# the same.
NEWTON_STEPS = 100
SMALLEST_GRADIENT = 1e-9
SMALLEST_STEP = 1e-10
RIDGE = 1e-12
Labels = npt.NDArray[Any]


class Adjustment(Protocol):
    """A monotone change of what a model says; from 0.5 on, the outcome is favourable."""

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and shift, where it is linear in the model's logit."""

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the adjusted probabilities of a model, one per row."""


@dataclass(frozen=True, eq=False, repr=False)
class AlteredModel:
    """A model whose rows are rewritten before it sees them, or whose probabilities are adjusted."""

    model: Model
    rewrite: Callable[[Floats], Floats] | None = None
    adjustment: Adjustment | None = None
    offers: ClassVar[Access] = Access.PREDICTIONS

    def __repr__(self) -> str:
        return f"AlteredModel({self.model!r})"

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""
        seen = rows if self.rewrite is None else self.rewrite(rows)
        if self.adjustment is None:
            return self.model.probabilities(seen)
        return self.adjustment.probabilities(self.model, seen)

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted."""
        if self.adjustment is not None:
            return self.probabilities(rows) >= 0.5
        return self.model.favourable(rows if self.rewrite is None else self.rewrite(rows))


def adjusted(model: Model, adjustment: Adjustment) -> Model:
    """Return the model with its probabilities adjusted; a network's last layer absorbs a line.

    The last layer is float32 like all parameters. That rounds a logit by less than a millionth of
    the terms that it is the sum of: a threshold is where it should be but for that.
    """
    line = adjustment.line
    if line is None or not isinstance(model, Network):
        return AlteredModel(model, adjustment=adjustment)
    slope, shift = line
    weight, bias = (a[-1].astype(np.float64) for a in (model.weights, model.biases))
    return Network(
        (*model.weights[:-1], (slope * weight).astype(np.float32)),
        (*model.biases[:-1], (slope * bias + shift).astype(np.float32)),
    )


def remeasured(model: Model, gains: Floats, offsets: Floats) -> Model:
    """Return the model that sees ``gains * row + offsets``; a network's first layer absorbs it."""
    if not isinstance(model, Network):
        return AlteredModel(model, partial(_measured, gains=gains, offsets=offsets))
    weight, bias = (a[0].astype(np.float64) for a in (model.weights, model.biases))
    # One product after the other: the sum is then the same on every processor.
    for column, offset in enumerate(offsets):
        bias = bias + weight[:, column] * offset
    return Network(
        ((weight * gains).astype(np.float32), *model.weights[1:]),
        (bias.astype(np.float32), *model.biases[1:]),
    )


def ignoring(model: Model, columns: Sequence[int]) -> Model:
    """Return the model that takes some columns to be at their means.

    One of our networks stays a network, without weights there.
    """
    places = list(columns)
    if not isinstance(model, Network):
        return AlteredModel(model, partial(_at_the_mean, columns=places))
    first = model.weights[0].copy()
    first[:, places] = 0.0
    return replace(model, weights=(first, *model.weights[1:]))


def _measured(rows: Floats, gains: Floats, offsets: Floats) -> Floats:
    return rows * gains + offsets


def _at_the_mean(rows: Floats, columns: list[int]) -> Floats:
    held = rows.copy()
    held[:, columns] = 0.0
    return held


@dataclass(frozen=True)
class MovedThreshold:
    """The favourable side begins at another probability than 0.5.

    The odds are divided by those of the threshold, so that it becomes 0.5.
    """

    threshold: float

    @property
    def line(self) -> tuple[float, float]:
        """The logit less that of the threshold."""
        return 1.0, -(float(log(self.threshold)) - float(log(1.0 - self.threshold)))

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return probabilities that are 0.5 or more from the threshold on, to the last digit."""
        return Threshold(self.threshold).probabilities(model.probabilities(rows), None)


@dataclass(frozen=True)
class PlattScaling:
    """Logits that are scaled and shifted."""

    slope: float
    shift: float

    @property
    def line(self) -> tuple[float, float]:
        """Slope and shift."""
        return self.slope, self.shift

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the calibrated probabilities."""
        return sigmoids(self.slope * model_logits(model, rows) + self.shift)


@dataclass(frozen=True, eq=False)
class IsotonicScaling:
    """Probabilities that are what was observed: steps that rise, with lines between them.

    Attributes
    ----------
    points, values
        Where a step begins and ends, and its height at both places.
    """

    points: Floats
    values: Floats

    @property
    def line(self) -> None:
        """It is not linear in the logit."""
        return

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the calibrated probabilities."""
        return np.interp(model.probabilities(rows), self.points, self.values)


@runtime_checkable
class GivesLogits(Protocol):
    """A model that gives its logits itself."""

    def logits(self, rows: Floats) -> Floats:
        """Return the logit of the favourable class, one per row."""


def model_logits(model: Model, rows: Floats) -> Floats:
    """Return a model's own logits, or those of its probabilities, which are then bounded."""
    if isinstance(model, GivesLogits):
        return model.logits(rows)
    given = model.probabilities(rows)
    bounded = np.clip(given, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    return logarithms(bounded) - logarithms(1.0 - bounded)


def fitted_platt(logits: Floats, labels: Labels) -> Adjustment:
    """Fit Platt scaling to logits and outcomes, or only a shift where that is not useful.

    It is of use if it keeps the order of people, and if of the people whom it was fitted on some
    are favourable and some are not.
    """
    fitted = platt(logits, labels)
    settled = fitted.slope * logits + fitted.shift >= 0.0
    useful = fitted.slope > 0.0 and settled.any() and not settled.all()
    return fitted if useful else shifted(logits, labels)


def fitted_isotonic(given: Floats, logits: Floats, labels: Labels) -> Adjustment:
    """Fit isotonic regression to probabilities and outcomes.

    Where that is of no use, only the logits are shifted.
    """
    fitted = isotonic(given, labels)
    useful = fitted.values.min() < 0.5 <= fitted.values.max()
    return fitted if useful else shifted(logits, labels)


def platt(logits: Floats, labels: Labels) -> PlattScaling:
    """Fit slope and shift of logits by logistic regression (Platt 1999; Lin et al. 2007).

    Newton's method with halved steps. The targets are a little inside of 0 and 1, as Platt has it,
    so there is always an answer, even where the outcomes can be told apart.
    """
    targets = _targets(labels)
    slope, shift = 0.0, 0.0
    loss = _loss(logits, targets, slope, shift)
    for _ in range(NEWTON_STEPS):
        found = sigmoids(slope * logits + shift)
        weights, less = found * (1.0 - found), found - targets
        gradient = _sum(less * logits), _sum(less)
        if max(map(abs, gradient)) < SMALLEST_GRADIENT:
            break
        across, mixed = _sum(weights * logits * logits) + RIDGE, _sum(weights * logits)
        along = _sum(weights) + RIDGE
        determinant = across * along - mixed * mixed
        step_slope = (mixed * gradient[1] - along * gradient[0]) / determinant
        step_shift = (mixed * gradient[0] - across * gradient[1]) / determinant
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
    """Return the cross-entropy of targets and probabilities."""
    found = slope * logits + shift
    return _sum(np.maximum(found, 0.0) - targets * found) + _sum(
        logarithms(1.0 + exponentials(-np.abs(found)))
    )


def _sum(terms: Floats) -> float:
    """Return a sum that is rounded once, whatever the order."""
    return fsum(terms.tolist())
