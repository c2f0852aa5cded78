"""How networks and rows are laid out for the compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.lanes import aligned_zeros
from changeproof.model import Integers, Singles
from changeproof.networks.kernels import fill_tiles

# Rows of a tile come in whole blocks: two vectors of sixteen float32; one, where there are few.
ROW_BLOCK = 32
SMALL_BLOCK = 16
UNIT_BLOCK = 4

Kind = TypeVar("Kind", bound=np.floating[Any])


def padded(count: int, block: int) -> int:
    return -(-count // block) * block


def pack(
    weights: Sequence[Singles], biases: Sequence[Singles], dtype: type[Kind]
) -> tuple[npt.NDArray[Kind], Integers]:
    """Lay out stacked parameters [models, out, in] as padded vectors [models, n].

    Also return the padded widths of the inputs and the hidden layers.
    """
    models, parts = len(weights[0]), []
    *sizes, last = _padded_widths([*(weight.shape[2] for weight in weights), biases[-1].shape[1]])
    for weight, bias, n_in, n_out in zip(weights, biases, sizes, [*sizes[1:], last], strict=True):
        wide, long = np.zeros((models, n_out, n_in), dtype), np.zeros((models, n_out), dtype)
        wide[:, : weight.shape[1], : weight.shape[2]] = weight
        long[:, : bias.shape[1]] = bias
        parts += [wide.reshape(models, -1), long]
    return np.concatenate(parts, axis=1), np.array(sizes, dtype=np.int64)


def unpack(
    parameters: Singles, widths: Sequence[int]
) -> tuple[tuple[Singles, ...], tuple[Singles, ...]]:
    """Undo `pack` for one network, whose inputs, hidden layers and outputs have these widths."""
    weights, biases, start = [], [], 0
    sizes = _padded_widths(widths)
    for (n_in, n_out), (wide_in, wide_out) in zip(pairwise(widths), pairwise(sizes), strict=True):
        stop = start + wide_in * wide_out
        weight = parameters[start:stop].reshape(wide_out, wide_in)
        weights.append(weight[:n_out, :n_in].copy())
        biases.append(parameters[stop : stop + n_out].copy())
        start = stop + wide_out
    return tuple(weights), tuple(biases)


def _padded_widths(widths: Sequence[int]) -> list[int]:
    """Return the widths of inputs, hidden layers and outputs as kernels want them."""
    *others, last = widths
    return [
        *(padded(each, UNIT_BLOCK) for each in others),
        last if last == 1 else padded(last, UNIT_BLOCK),
    ]


def tile_length(n_rows: int, largest: int) -> int:
    """Return how many rows a tile holds: of the lengths that waste least, the largest.

    How rows are shared out among tiles changes no result.
    """
    if n_rows <= SMALL_BLOCK:
        return SMALL_BLOCK
    if n_rows <= largest:
        return padded(n_rows, ROW_BLOCK)
    lengths = range(padded(largest // 2, ROW_BLOCK), largest + 1, ROW_BLOCK)
    return min(lengths, key=lambda length: (padded(n_rows, length), -length))


def tile_rows(
    rows: npt.NDArray[Any], length: int, dtype: type[Kind], *, filled: int | None = None
) -> npt.NDArray[Kind]:
    """Lay out rows [rows, features] as zero-padded tiles [tiles, features, length].

    Only the first `filled` places of a tile are used, by default all.
    """
    filled = length if filled is None else filled
    n_rows, n_features = rows.shape
    tiles = max(1, -(-n_rows // filled))
    shape = tiles, padded(n_features, UNIT_BLOCK), length
    result = aligned_zeros(shape, np.empty(0, dtype))
    fill_tiles(np.ascontiguousarray(rows), result, filled)
    return cast("npt.NDArray[Kind]", result)


def tile_values(
    values: npt.NDArray[Any], length: int, dtype: type[Kind], *, filled: int | None = None
) -> npt.NDArray[Kind]:
    """Lay out one value per row as zero-padded tiles [tiles, length], as `tile_rows` does."""
    filled = length if filled is None else filled
    tiles = max(1, -(-len(values) // filled))
    packed = np.zeros((tiles, filled), dtype)
    packed.reshape(-1)[: len(values)] = values
    return np.pad(packed, ((0, 0), (0, length - filled)))


class Tiles(NamedTuple):
    """Rows [tiles, features, length], labels [tiles, outputs, length], weights [tiles, length]."""

    rows: Singles
    labels: Singles
    weights: Singles


def training_tiles(
    rows: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    length: int,
    *,
    filled: int | None = None,
) -> Tiles:
    """Lay out rows to learn from; what fills up the tiles has no weight.

    Labels are one per row, or the shares of all classes [rows, classes].
    """
    tiles = tile_rows(rows, length, np.float32, filled=filled)
    *by_output, counts = (
        tile_values(each, length, np.float32, filled=filled)
        for each in (*by_row(labels).T, weights)
    )
    return Tiles(tiles, np.stack(by_output, axis=1), counts)


def by_row(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels [rows, outputs]."""
    return labels if labels.ndim == 2 else labels[:, None]
