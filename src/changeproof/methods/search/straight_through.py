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

# After so many steps without a row that the model likes better, none is expected.
PATIENCE = 1_000

Judge = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


class Walk(NamedTuple):
    """The best rows that may be told, who arrived with them, and after how many steps."""

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
    best: Floats
    waited: Integers
    mean: Floats
    square: Floats
    largest: Floats

    @classmethod
    def from_start(cls, actions: Actions, start: Floats) -> Self:
        low, high = actions.bounds(start)
        worst, waited = np.full(len(start), -np.inf), np.zeros(len(start), dtype=np.int64)
        zeros = np.zeros(start.shape)
        return cls(
            np.arange(len(start)), start, low, high, start, worst, waited, zeros, zeros, zeros
        )

    def only(self, going: Booleans) -> Self:
        return type(self)(*(getattr(self, field.name)[going] for field in fields(self)))


def walk(
    actions: Actions,
    factuals: Floats,
    judge: Judge,
    *,
    target: float,
    learning_rate: float,
    max_steps: int,
) -> Walk:
    """Walk by Adam with AMSGrad until the row that is told reaches the target.

    Parameters
    ----------
    actions, factuals
        What may change, and about whom.
    judge
        Of (the rows that are told, the points, the factuals): the logits of the rows, and the
        slope of the loss at every point.
    target
        The logit at which the walk ends.
    learning_rate, max_steps
        Step size, and how many steps there are.
    """
    state = _Walking.from_start(actions, factuals)
    rows, arrived = factuals.copy(), np.zeros(len(factuals), dtype=np.bool_)
    steps = np.zeros(len(factuals), dtype=np.int64)
    decay1 = decay2 = 1.0
    for step in range(1, max_steps + 1 if len(factuals) else 1):
        told = actions.project(state.start, state.here)
        logits, gradient = judge(told, state.here, state.start)
        better = logits > state.best
        rows[state.who[better]] = told[better]
        state.best = np.maximum(logits, state.best)
        state.waited = np.where(better, 0, state.waited + 1)
        steps[state.who] = step
        there = logits >= target
        ended = there | (state.waited >= PATIENCE)
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
    return Walk(rows, arrived, steps)
