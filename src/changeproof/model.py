"""What a model is, what it offers, and the arrays that go in and out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class Access(IntEnum):
    """How far a method may look into a model; each level includes the ones before."""

    PREDICTIONS = 1
    GRADIENTS = 2
    RELU_PARAMETERS = 3

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


class Model(Protocol):
    """Anything that judges standardised rows."""

    @property
    def offers(self) -> Access:
        """How far a method may look into it."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""


@runtime_checkable
class DifferentiableModel(Model, Protocol):
    """A model that also tells how its logit moves with the features."""

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [rows] and their derivatives by the features [rows, features]."""


@runtime_checkable
class HasParameters(Protocol):
    """A model whose parameters can be moved a little."""

    def perturbed(self, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""


@runtime_checkable
class HasWeights(Protocol):
    """A model whose weights can be read and replaced."""

    def layer_weights(self) -> list[Floats]:
        """Return the weights, layer by layer, [outputs, ...], without the biases."""

    def with_layer_weights(self, weights: Sequence[Floats]) -> Model:
        """Return the model with other weights, in the same order and shapes."""


class Stack(Protocol):
    """Models over the same features, evaluated together."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int) -> Model: ...

    def part(self, start: int, stop: int) -> Stack:
        """Return the models from one position up to another."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable class [models, rows]."""

    def favourable(self, rows: Floats) -> Booleans:
        """Return which models call which rows favourable [models, rows]."""
