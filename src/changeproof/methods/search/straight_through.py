"""Gradient descent among the rows that people may be told.

A point moves freely; the model judges, and is differentiated at, the nearest row that the person
may be told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.kernels import ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON

# After so many steps in which the row that is told stays as it is, it is not expected to change.
PATIENCE = 1_000

Judge = Callable[[Floats, Floats, Floats], tuple[Booleans, Floats]]


class Walk(NamedTuple):
    """Where everybody ended: the rows that are told, who arrived, and after how many steps."""

    rows: Floats
    arrived: Booleans
    steps: Integers


@dataclass
class _Walking:
    """Those who still walk [people] and their state; arrays shrink as people arrive."""

    who: Integers
    start: Floats
    low: Floats
    high: Floats
    here: Floats
    told: Floats
    still: Integers
    mean: Floats
    square: Floats
    largest: Floats

    def only(self, going: Booleans) -> Self:
        return type(self)(*(getattr(self, field.name)[going] for field in fields(self)))


def walk(
    actions: Actions, factuals: Floats, judge: Judge, *, learning_rate: float, max_steps: int
) -> Walk:
    """Walk by Adam with AMSGrad until `judge` is content with the rows that are told.

    Parameters
    ----------
    actions, factuals
        What may change, and about whom.
    judge
        Of (the rows that are told, the points, the factuals): who has arrived, and the slope of
        the loss at every point.
    learning_rate, max_steps
        Step size, and how many steps there are.
    """
    low, high = actions.bounds(factuals)
    zeros = np.zeros(factuals.shape)
    still = np.zeros(len(factuals), dtype=np.int64)
    state = _Walking(
        np.arange(len(factuals)),
        factuals,
        low,
        high,
        factuals.copy(),
        factuals.copy(),
        still,
        zeros,
        zeros,
        zeros,
    )
    rows, arrived = factuals.copy(), np.zeros(len(factuals), dtype=np.bool_)
    steps = np.zeros(len(factuals), dtype=np.int64)
    decay1 = decay2 = 1.0
    for step in range(1, max_steps + 1):
        there, gradient = judge(state.told, state.here, state.start)
        ended = there | (state.still >= PATIENCE)
        steps[state.who] = step
        if ended.any():
            arrived[state.who[there]] = True
            state, gradient = state.only(~ended), gradient[~ended]
            if not len(state.who):
                break
        state.mean = ADAM_BETA1 * state.mean + (1.0 - ADAM_BETA1) * gradient
        state.square = ADAM_BETA2 * state.square + (1.0 - ADAM_BETA2) * gradient**2
        state.largest = np.maximum(state.largest, state.square)
        decay1, decay2 = decay1 * ADAM_BETA1, decay2 * ADAM_BETA2
        size = learning_rate / (1.0 - decay1)
        spread = np.sqrt(state.largest) / np.sqrt(1.0 - decay2) + ADAM_EPSILON
        moved = state.here - size * state.mean / spread
        state.here = np.minimum(np.maximum(moved, state.low), state.high)
        told = actions.project(state.start, state.here)
        same = (told == state.told).all(axis=1)
        state.still = np.where(same, state.still + 1, 0)
        state.told = told
        rows[state.who] = told
    return Walk(rows, arrived, steps)
