"""What a network says of many points, in single precision and with a bound on the error.

Searches that judge thousands of points per factual first rule out what an estimate rules out for
certain. Whatever is left is judged in double precision, so that estimates change no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import sigmoid
from changeproof.arithmetic.lanes import aligned_zeros
from changeproof.model import Booleans, Floats, Integers, Singles
from changeproof.networks.flat import layer_at
from changeproof.networks.kernels import forward, lead, workspace
from changeproof.networks.layout import tile_length, tile_rows
from changeproof.networks.network import Network

LARGEST_TILE = 256
SINGLE_ROUNDING = 2.0**-24
# What a mean of probabilities can be off by adding up.
ROUNDING_OF_MEANS = 1e-6


class Moves(NamedTuple):
    """Groups of moves: tiles [groups, tiles, features, rows], and the longest per feature."""

    tiles: Singles
    n_moves: int
    reach: Floats


def tiled_moves(groups: Sequence[Floats]) -> Moves:
    """Lay out groups of equally many moves [moves, features]."""
    count = len(groups[0])
    length = tile_length(count, LARGEST_TILE)
    tiles = np.stack([tile_rows(group, length, np.float32) for group in groups])
    return Moves(tiles, count, np.max([np.abs(group).max(axis=0) for group in groups], axis=0))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Quick answers about points around centres."""

    network: Network
    low: Floats | float = -np.inf
    high: Floats | float = np.inf

    @cached_property
    def _packed(self) -> tuple[Singles, Integers, tuple[int, ...]]:
        (parameters,), sizes = self.network.packed(np.float32)
        return parameters, sizes, tuple(self.network.sides)

    def first_possible(
        self, centres: Floats, moves: Moves, groups: Integers
    ) -> tuple[Integers, Booleans]:
        """Find each centre's next group in which a move may lead to a favourable point.

        It may be the one at `groups`. Returned are the groups (their number where there is none),
        and which of the moves it may be [centres, moves]: every other leads, clipped to the range,
        to an adverse point for certain.
        """
        low, high = (
            np.full(self.network.n_features, limit, np.float32) for limit in (self.low, self.high)
        )
        found = np.empty(len(centres), np.int64)
        possible = np.zeros((len(centres), moves.n_moves), np.bool_)
        _first_possible(
            *self._packed,
            centres.astype(np.float32),
            moves.tiles,
            low,
            high,
            np.float32(-self.error(centres, moves)),
            groups,
            found,
            possible,
        )
        return found, possible

    def may_be_stable(self, points: Floats, moves: Moves, threshold: float) -> Booleans:
        """Rule out points where, of the probability after one group of moves, mean minus deviation
        is not above the threshold.
        """
        result = np.empty(len(points), np.bool_)
        # A logit moves its probability, and so mean and deviation, by a quarter at most.
        slack = 0.5 * self.error(points, moves) + ROUNDING_OF_MEANS
        _may_be_stable(
            *self._packed,
            points.astype(np.float32),
            moves.tiles[0],
            moves.n_moves,
            threshold - slack,
            result,
        )
        return result

    def error(self, centres: Floats, moves: Moves) -> float:
        """Bound the error of every single-precision logit around the centres.

        A sum of n products carries a relative error of at most n roundings against the sum of
        the absolute products; errors of a layer's inputs pass through its absolute weights. The
        lead of one class over another has the errors of both, and that of their difference.
        """
        reach = np.abs(centres).max(axis=0, initial=0.0) + moves.reach
        reach = np.minimum(reach, np.maximum(np.abs(self.low), np.abs(self.high)))
        return float(_error(self.network.flat, reach))


@compiled
def _error(network: Any, reach: Any) -> float:
    flat, layers, largest = network.parameters, network.layers, reach
    errors = np.empty(len(reach))
    for k in range(len(reach)):
        errors[k] = 3.0 * SINGLE_ROUNDING * reach[k]
    for layer in range(len(layers)):
        n_in, n_out, start, _ = layer_at(layers, layer)
        totals, carried = np.empty(n_out), np.empty(n_out)
        for i in range(n_out):
            total, error = abs(flat[start + n_in * n_out + i]), 0.0
            for k in range(n_in):
                weight = abs(flat[start + i * n_in + k])
                total += weight * (largest[k] + errors[k])
                error += weight * errors[k]
            totals[i] = total
            carried[i] = error + (n_in + 4) * SINGLE_ROUNDING * total
        largest, errors = totals, carried
    if len(errors) > 1:
        return float(1.01 * 2.0 * (errors.max() + SINGLE_ROUNDING * (largest.max() + errors.max())))
    return float(1.01 * errors[0])


@compiled
def _first_possible(
    parameters: Any,
    sizes: Any,
    sides: Any,
    centres: Any,
    tiles: Any,
    low: Any,
    high: Any,
    least: Any,
    groups: Any,
    found: Any,
    possible: Any,
) -> None:
    n_features = centres.shape[1]
    n_groups, n_tiles, wide, n_rows = tiles.shape
    space = workspace(parameters, sizes, n_rows)
    activations, logits = space.activations, space.logits
    inputs = aligned_zeros((wide, n_rows), parameters)
    for centre in range(len(centres)):
        found[centre] = n_groups
        for group in range(groups[centre], n_groups):
            hits = 0
            for tile in range(n_tiles):
                for k in range(n_features):
                    x, lowest, highest = centres[centre, k], low[k], high[k]
                    for r in range(n_rows):
                        value = x + tiles[group, tile, k, r]
                        value = value if value > lowest else lowest
                        inputs[k, r] = value if value < highest else highest
                forward(parameters, sizes, inputs, activations, logits, n_rows)
                lead(logits, sides, n_rows)
                first = tile * n_rows
                for r in range(min(n_rows, possible.shape[1] - first)):
                    maybe = logits[0, r] >= least
                    possible[centre, first + r] = maybe
                    hits += maybe
            if hits > 0:
                found[centre] = group
                break


@compiled
def _may_be_stable(
    parameters: Any,
    sizes: Any,
    sides: Any,
    points: Any,
    tiles: Any,
    count: int,
    threshold: float,
    result: Any,
) -> None:
    n_features = points.shape[1]
    n_tiles, wide, n_rows = tiles.shape
    space = workspace(parameters, sizes, n_rows)
    activations, logits = space.activations, space.logits
    inputs = aligned_zeros((wide, n_rows), parameters)
    probabilities = np.empty(n_rows)
    for point in range(len(points)):
        result[point] = True
        total = squares = 0.0
        for tile in range(n_tiles):
            for k in range(n_features):
                for r in range(n_rows):
                    inputs[k, r] = points[point, k] + tiles[tile, k, r]
            forward(parameters, sizes, inputs, activations, logits, n_rows)
            lead(logits, sides, n_rows)
            filled = min(n_rows, count - tile * n_rows)
            for r in range(n_rows):
                probabilities[r] = sigmoid(np.float64(logits[0, r]))
            for r in range(filled):
                total += probabilities[r]
                squares += probabilities[r] * probabilities[r]
            # Draws still to come can be 1 at most, and can only add to the deviation.
            seen = tile * n_rows + filled
            mean = (total + (count - seen)) / count
            spread = max(0.0, squares - total * total / seen) / count
            if mean - np.sqrt(spread) <= threshold:
                result[point] = False
                break
