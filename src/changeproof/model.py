"""What a model is, what it offers, and the arrays that go in and out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class Access(Flag):
    """What a method needs of a model, or what a model offers: it fits if ``needs in offers``.

    A model with gradients gives predictions, too; one with linear coefficients or with the
    parameters of its ReLU layers also has gradients. A forest that takes the mean of its trees also
    tells how many of them vote for a row.
    """

    PREDICTIONS = 1
    GRADIENTS = 2 | PREDICTIONS
    LINEAR = 4 | GRADIENTS
    RELU_PARAMETERS = 8 | GRADIENTS
    VOTES = 16 | PREDICTIONS

    def __str__(self) -> str:
        """Return its words, without what follows from the rest."""
        held = [each for each in _WORDS if each in self]
        told = [each for each in held if not any(each in o for o in held if o is not each)]
        return " and ".join(_WORDS[each] for each in told)


_WORDS = {
    Access.PREDICTIONS: "predictions",
    Access.GRADIENTS: "gradients",
    Access.LINEAR: "linear coefficients",
    Access.RELU_PARAMETERS: "relu parameters",
    Access.VOTES: "votes of trees",
}


def without_votes(offers: Access) -> Access:
    """Return the same without votes, as of a model that does not decide by their majority."""
    return Access.PREDICTIONS if offers is Access.VOTES else offers


class Model(Protocol):
    """Anything that judges standardised rows."""

    @property
    def offers(self) -> Access:
        """What a method may use of it."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""


@runtime_checkable
class DifferentiableModel(Model, Protocol):
    """A model that also tells how its logit moves with the features."""

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [rows] and their derivatives by the features [rows, features]."""


class LinearModel(DifferentiableModel, Protocol):
    """A model whose logit is ``rows @ coefficients + intercept``."""

    @property
    def coefficients(self) -> Floats:
        """How the logit moves with each feature [features]."""

    @property
    def intercept(self) -> float:
        """The logit of a row of zeros."""


@runtime_checkable
class VotingModel(Model, Protocol):
    """A model made of trees, each of which decides about a row by itself."""

    @property
    def n_voters(self) -> int:
        """How many trees there are."""

    def votes(self, rows: Floats) -> Integers:
        """Return how many trees predict the favourable class, one number per row."""


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
