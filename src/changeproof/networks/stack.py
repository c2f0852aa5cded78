"""Many networks, one evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.functions import sigmoids
from changeproof.errors import InputError
from changeproof.model import Booleans, Floats, Integers, Singles
from changeproof.networks.blocks import Blocks, Parameters, blocks
from changeproof.networks.layout import pack
from changeproof.networks.network import Network, Sides, check_sides, differentiate, evaluate

Tensors = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Group:
    """Networks of one shape: parameters [models, out, in] and their places in the stack."""

    positions: Integers
    weights: tuple[Singles, ...]
    biases: tuple[Singles, ...]
    n_adverse: int = 0

    def __post_init__(self) -> None:
        check_sides(self.sides)

    @property
    def sides(self) -> Sides:
        return Sides(self.n_adverse, int(self.biases[-1].shape[1]))

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[2])

    @cached_property
    def packed(self) -> tuple[Floats, Integers, tuple[int, ...]]:
        return *pack(self.weights, self.biases, np.float64), tuple(self.sides)


class NetworkStack:
    """Networks of any shapes over the same features, evaluated together.

    >>> stack = NetworkStack.of([first, second])
    >>> stack.probabilities(rows).shape
    (2, len(rows))
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        self._size = sum(len(group.positions) for group in self.groups)
        features = {group.n_features for group in self.groups}
        if len(features) > 1:
            raise InputError(f"networks in a stack must share their features; got {features}")
        places = [place for group in self.groups for place in group.positions.tolist()]
        if sorted(places) != list(range(self._size)):
            raise InputError(f"positions in a stack must be 0 to {self._size - 1}, each once")

    @classmethod
    def of(cls, networks: Sequence[Network]) -> Self:
        """Stack networks in the given order."""
        by_shape = defaultdict(list)
        for position, network in enumerate(networks):
            by_shape[network.n_features, *network.hidden, network.sides].append(position)
        groups = []
        for places in by_shape.values():
            members = [networks[place] for place in places]
            layers = range(len(members[0].weights))
            weights = tuple(np.stack([m.weights[layer] for m in members]) for layer in layers)
            biases = tuple(np.stack([m.biases[layer] for m in members]) for layer in layers)
            positions = np.array(places, dtype=np.int64)
            groups.append(Group(positions, weights, biases, members[0].n_adverse))
        return cls(groups)

    @classmethod
    def joined(cls, stacks: Sequence[NetworkStack]) -> Self:
        return cls.of([network for stack in stacks for network in stack])

    def __len__(self) -> int:
        return self._size

    def part(self, start: int, stop: int) -> NetworkStack:
        return NetworkStack.of([self[position] for position in range(start, stop)])

    def __getitem__(self, position: int) -> Network:
        for group in self.groups:
            (found,) = np.nonzero(group.positions == position)
            if len(found):
                return Network(
                    tuple(weight[found[0]] for weight in group.weights),
                    tuple(bias[found[0]] for bias in group.biases),
                    group.n_adverse,
                )
        raise IndexError(f"position {position} in a stack of {self._size} networks")

    def __iter__(self) -> Iterator[Network]:
        return (self[position] for position in range(self._size))

    def __repr__(self) -> str:
        return f"NetworkStack({self._size} networks, {len(self.groups)} shapes)"

    def logits(self, rows: Floats) -> Floats:
        """Return the logits [models, rows]."""
        result = np.empty((self._size, len(rows)))
        for group in self.groups:
            result[group.positions] = evaluate(*group.packed, rows, group.n_features)
        return result

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [models, rows] and their derivatives [rows, models, features]."""
        logits = np.empty((self._size, len(rows)))
        gradients = np.empty((len(rows), self._size, rows.shape[1]))
        for group in self.groups:
            found = differentiate(*group.packed, rows, group.n_features)
            logits[group.positions], gradients[:, group.positions] = found
        return logits, gradients

    @cached_property
    def blocks(self) -> Blocks:
        """All of them in one, for kernels that judge a few rows at a time."""
        return blocks(
            [
                Parameters(group.positions, group.weights, group.biases, group.sides)
                for group in self.groups
            ]
        )

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable class [models, rows]."""
        return sigmoids(self.logits(rows))

    def favourable(self, rows: Floats) -> Booleans:
        """Return which models call which rows favourable [models, rows]."""
        return self.logits(rows) >= 0.0

    def to_tensors(self) -> Tensors:
        """Return the stack as named arrays, for storage."""
        tensors: Tensors = {}
        for number, group in enumerate(self.groups):
            tensors[f"{number}.positions"] = group.positions
            if group.sides.several:
                tensors[f"{number}.adverse"] = np.array([group.n_adverse], dtype=np.int64)
            for layer, (weight, bias) in enumerate(zip(group.weights, group.biases, strict=True)):
                tensors[f"{number}.weight.{layer}"] = weight
                tensors[f"{number}.bias.{layer}"] = bias
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[np.generic]]) -> Self:
        """Undo `to_tensors`."""
        groups = []
        for number in range(sum(name.endswith(".positions") for name in tensors)):
            layers = range(sum(name.startswith(f"{number}.weight.") for name in tensors))
            positions = tensors[f"{number}.positions"].astype(np.int64)
            weights, biases = (
                tuple(tensors[f"{number}.{kind}.{i}"].astype(np.float32) for i in layers)
                for kind in ("weight", "bias")
            )
            adverse = int(tensors[f"{number}.adverse"][0]) if f"{number}.adverse" in tensors else 0
            groups.append(Group(positions, weights, biases, adverse))
        return cls(groups)
