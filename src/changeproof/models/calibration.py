"""Calibration: probabilities fitted again to what became of people.

A calibration is used if it keeps the order of people, and if of the people whom it was fitted on
some are favourable and some are not. Otherwise nobody would put it to use. Then the log odds are
only shifted, by as much as makes the mean probability that of the outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from changeproof.arithmetic.functions import exponentials, logarithms, sigmoids
from changeproof.model import Floats, Model
from changeproof.models.adjusted import Adjustment, log_odds

STEPS = 100
SMALLEST_GRADIENT = 1e-9
SMALLEST_STEP = 1e-10
# Keeps Newton's steps finite where all log odds are the same.
RIDGE = 1e-12
Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class PlattScaling:
    """Log odds that are scaled and shifted."""

    slope: float
    shift: float

    @property
    def line(self) -> tuple[float, float]:
        """Slope and shift."""
        return self.slope, self.shift

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the calibrated probabilities."""
        return sigmoids(self.slope * log_odds(model, rows) + self.shift)


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
        """It is no line of the log odds."""
        return

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the calibrated probabilities."""
        return np.interp(model.probabilities(rows), self.points, self.values)


def fitted_platt(odds: Floats, labels: Labels) -> Adjustment:
    """Fit Platt scaling to log odds and outcomes, or only a shift where that is of no use."""
    fitted = platt(odds, labels)
    settled = fitted.slope * odds + fitted.shift >= 0.0
    useful = fitted.slope > 0.0 and settled.any() and not settled.all()
    return fitted if useful else shifted(odds, labels)


def fitted_isotonic(given: Floats, odds: Floats, labels: Labels) -> Adjustment:
    """Fit isotonic regression to probabilities and outcomes.

    Where that is of no use, the log odds are shifted, which are given for it.
    """
    fitted = isotonic(given, labels)
    useful = fitted.values.min() < 0.5 <= fitted.values.max()
    return fitted if useful else shifted(odds, labels)


def platt(odds: Floats, labels: Labels) -> PlattScaling:
    """Fit slope and shift of log odds by logistic regression (Platt 1999; Lin et al. 2007).

    Newton's method with halved steps. The targets are a little inside of 0 and 1, as Platt has it,
    so there is always an answer, even where the outcomes can be told apart.
    """
    targets = _targets(labels)
    slope, shift = 0.0, 0.0
    loss = _loss(odds, targets, slope, shift)
    for _ in range(STEPS):
        found = sigmoids(slope * odds + shift)
        weights, less = found * (1.0 - found), found - targets
        gradient = _sum(less * odds), _sum(less)
        if max(map(abs, gradient)) < SMALLEST_GRADIENT:
            break
        across, mixed = _sum(weights * odds * odds) + RIDGE, _sum(weights * odds)
        along = _sum(weights) + RIDGE
        determinant = across * along - mixed * mixed
        step_slope = (mixed * gradient[1] - along * gradient[0]) / determinant
        step_shift = (mixed * gradient[0] - across * gradient[1]) / determinant
        size = 1.0
        while size >= SMALLEST_STEP:
            there = slope + size * step_slope, shift + size * step_shift
            if (better := _loss(odds, targets, *there)) < loss:
                break
            size /= 2.0
        else:
            break
        (slope, shift), loss = there, better
    return PlattScaling(slope, shift)


def shifted(odds: Floats, labels: Labels) -> PlattScaling:
    """Fit the shift of log odds alone: the mean probability becomes that of the outcomes."""
    total, farthest = _sum(_targets(labels)), float(np.abs(odds).max()) + 40.0
    shift = brentq(lambda by: _sum(sigmoids(odds + by)) - total, -farthest, farthest)
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


def _loss(odds: Floats, targets: Floats, slope: float, shift: float) -> float:
    """Return the cross-entropy of targets and probabilities."""
    found = slope * odds + shift
    return _sum(np.maximum(found, 0.0) - targets * found) + _sum(
        logarithms(1.0 + exponentials(-np.abs(found)))
    )


def _sum(terms: Floats) -> float:
    """Return a sum that is rounded once, whatever the order."""
    return fsum(terms.tolist())
