"""One multilayer perceptron."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.functions import exponentials, sigmoids
from changeproof.errors import InputError
from changeproof.model import Access, Booleans, Floats, Integers, Singles
from changeproof.networks import kernels
from changeproof.networks.draws import TorchDraws
from changeproof.networks.flat import FlatNetwork, flatten
from changeproof.networks.layout import Kind, pack, tile_length, tile_rows, unpack

if TYPE_CHECKING:
    from torch import nn

EVALUATION_TILE = 256
# Rows that are laid out at once; how many changes no result.
EVALUATED_AT_ONCE = 65_536


class Sides(NamedTuple):
    """How many outputs are adverse classes, which come first, and how many outputs there are.

    The only output of two classes is the logit of the favourable one.
    """

    adverse: int = 0
    outputs: int = 1

    @property
    def several(self) -> bool:
        return self.outputs > 1

    def __str__(self) -> str:
        return f"{self.adverse} adverse of {self.outputs} outputs"

    def leads(self, outputs: Floats) -> Floats:
        """Return the only one of the outputs [rows, outputs], or the lead of the best favourable.

        It leads by its difference from the best adverse one.
        """
        if not self.several:
            return outputs[:, 0]
        favourable, adverse = outputs[:, self.adverse :], outputs[:, : self.adverse]
        return np.asarray(favourable.max(axis=1) - adverse.max(axis=1))


def check_sides(sides: Sides) -> None:
    right = 0 < sides.adverse < sides.outputs if sides.several else sides == ONE_OUTPUT
    if not right:
        raise InputError(
            f"a network has one output, or one per class with some of them adverse; got {sides}"
        )


ONE_OUTPUT = Sides()


@dataclass(frozen=True, eq=False)
class Network:
    """A ReLU network with one sigmoid output, or with an output for each of several classes.

    It predicts the class with the largest output. Of several classes, the logit of a row is the
    best favourable output minus the best other one.

    Parameters are float32, as trained; logits are computed in float64, so that a decision at
    the threshold does not hang on rounding.
    """

    weights: tuple[Singles, ...]
    biases: tuple[Singles, ...]
    # Of several classes, how many are adverse. They come first.
    n_adverse: int = 0

    def __post_init__(self) -> None:
        if self.n_adverse or len(self.biases[-1]) > 1:
            check_sides(self.sides)

    @classmethod
    def initialised(
        cls, n_features: int, hidden: Sequence[int], seed: int, sides: Sides = ONE_OUTPUT
    ) -> Self:
        """Return the network that PyTorch initialises after `torch.manual_seed(seed)`."""
        draws = TorchDraws(seed)
        widths = (n_features, *hidden, sides.outputs)
        weights, biases = [], []
        for n_in, n_out in pairwise(widths):
            # The arithmetic of torch.nn.Linear's initialisation, to the last digit.
            bound = math.sqrt(3.0) * (math.sqrt(2.0 / 6.0) / math.sqrt(n_in))
            weights.append(draws.uniform(-bound, bound, (n_out, n_in)))
            bound = 1.0 / math.sqrt(n_in)
            biases.append(draws.uniform(-bound, bound, n_out))
        return cls(tuple(weights), tuple(biases), sides.adverse)

    def __repr__(self) -> str:
        classes = f", {self.sides}" if self.sides.several else ""
        return f"Network({self.n_features} features, hidden {self.hidden}{classes})"

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def hidden(self) -> tuple[int, ...]:
        return tuple(weight.shape[0] for weight in self.weights[:-1])

    @property
    def sides(self) -> Sides:
        return Sides(self.n_adverse, len(self.biases[-1]))

    @property
    def offers(self) -> Access:
        # What uses parameters is about one output.
        return Access.GRADIENTS if self.sides.several else Access.RELU_PARAMETERS

    @property
    def parameters(self) -> Singles:
        """All parameters, one after the other: weight, bias, weight, ..."""
        return np.concatenate([array.ravel() for array in self._arrays])

    @property
    def _arrays(self) -> list[Singles]:
        pairs = zip(self.weights, self.biases, strict=True)
        return [array for pair in pairs for array in pair]

    @cached_property
    def flat(self) -> FlatNetwork:
        """The same in double precision, for kernels that go row by row."""
        return flatten(self.parameters, (self.n_features, *self.hidden, self.sides.outputs))

    def packed(self, dtype: type[Kind]) -> tuple[npt.NDArray[Kind], Integers]:
        """Return the parameters [1, n] and padded widths for kernels that go tile by tile."""
        return pack([w[None] for w in self.weights], [b[None] for b in self.biases], dtype)

    def with_packed(self, parameters: Singles) -> Network:
        """Return the network of this shape whose packed parameters [1, n] these are."""
        widths = (self.n_features, *self.hidden, self.sides.outputs)
        weights, biases = unpack(parameters[0], widths)
        return replace(self, weights=weights, biases=biases)

    @cached_property
    def _packed(self) -> tuple[Floats, Integers, tuple[int, ...]]:
        return *self.packed(np.float64), tuple(self.sides)

    def logits(self, rows: Floats) -> Floats:
        """Return the logit of the favourable class, or its lead over the best other, per row."""
        return np.asarray(evaluate(*self._packed, rows, self.n_features)[0])

    def outputs(self, rows: Floats) -> Floats:
        """Return every output [outputs, rows]."""
        weight, bias = self.weights[-1], self.biases[-1]
        each = [
            Network((*self.weights[:-1], weight[[k]]), (*self.biases[:-1], bias[[k]]))
            for k in range(self.sides.outputs)
        ]
        return np.array([network.logits(rows) for network in each])

    def class_probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of several classes [rows, classes]."""
        outputs = self.outputs(rows)
        powers = exponentials(outputs - outputs.max(axis=0))
        return np.asarray((powers / powers.sum(axis=0)).T)

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row.

        Of several classes, it is that of the best favourable one against the best other one.
        """
        return sigmoids(self.logits(rows))

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""
        return self.logits(rows) >= 0.0

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [rows] and their derivatives by the features [rows, features]."""
        logits, gradients = differentiate(*self._packed, rows, self.n_features)
        return logits[0], gradients[:, 0].copy()

    def perturbed(self, radius: float, seed: int) -> Network:
        """Return the network moved in a random direction whose largest component is the radius."""
        draws = TorchDraws(seed)
        noise = [draws.uniform(-1.0, 1.0, array.shape) for array in self._arrays]
        factor = np.float32(radius / max(float(np.abs(part).max()) for part in noise))
        moved = [array + part * factor for array, part in zip(self._arrays, noise, strict=True)]
        return replace(self, weights=tuple(moved[0::2]), biases=tuple(moved[1::2]))

    def layer_weights(self) -> list[Floats]:
        return [weight.astype(np.float64) for weight in self.weights]

    def with_layer_weights(self, weights: Sequence[Floats]) -> Network:
        """Return the network with other weights, rounded to float32 like all parameters."""
        return replace(self, weights=tuple(weight.astype(np.float32) for weight in weights))

    def to_torch(self) -> nn.Sequential:
        """Return the same network as a PyTorch module that gives probabilities."""
        import torch
        from torch import nn

        layers: list[nn.Module] = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            linear = nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight.data = torch.from_numpy(weight.copy())
            linear.bias.data = torch.from_numpy(bias.copy())
            layers += [linear, nn.ReLU()]
        last = nn.Softmax(dim=1) if self.sides.several else nn.Sigmoid()
        return nn.Sequential(*layers[:-1], last)


def evaluate(
    parameters: Floats, sizes: Integers, sides: tuple[int, ...], rows: Floats, n_features: int
) -> Floats:
    """Return the logits [models, rows] of packed networks of one shape."""
    rows = checked_rows(rows, n_features)
    if len(rows) > EVALUATED_AT_ONCE:
        starts = range(0, len(rows), EVALUATED_AT_ONCE)
        parts = [rows[start : start + EVALUATED_AT_ONCE] for start in starts]
        found = [evaluate(parameters, sizes, sides, part, n_features) for part in parts]
        return np.concatenate(found, axis=1)
    length = tile_length(len(rows), EVALUATION_TILE)
    tiles = tile_rows(rows, length, np.float64)
    logits = np.empty((len(parameters), len(tiles), 1, length))
    kernels.fill_logits(parameters, sizes, sides, tiles, logits)
    return logits.reshape(len(parameters), -1)[:, : len(rows)]


def differentiate(
    parameters: Floats, sizes: Integers, sides: tuple[int, ...], rows: Floats, n_features: int
) -> tuple[Floats, Floats]:
    """Return the logits [models, rows] and gradients [rows, models, features] of one shape."""
    rows = checked_rows(rows, n_features)
    length = tile_length(len(rows), EVALUATION_TILE)
    tiles = tile_rows(rows, length, np.float64)
    logits = np.empty((len(parameters), len(tiles), 1, length))
    gradients = np.empty((len(parameters), *tiles.shape))
    kernels.fill_logits_and_gradients(parameters, sizes, sides, tiles, logits, gradients)
    by_row = gradients.transpose(1, 3, 0, 2).reshape(-1, len(parameters), tiles.shape[1])
    values = logits.reshape(len(parameters), -1)[:, : len(rows)]
    return values, by_row[: len(rows), :, :n_features]


def checked_rows(rows: Floats, n_features: int) -> Floats:
    """Return rows as kernels want them, if they are finite and of the right width."""
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise InputError(f"expected rows of shape (n, {n_features}); got {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("a network can only judge finite rows; got NaN or infinity")
    return np.ascontiguousarray(rows, dtype=np.float64)
