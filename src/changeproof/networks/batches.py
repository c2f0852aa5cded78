"""Batches of a long table: rows are gathered by their places, and laid out anew for every step."""

from __future__ import annotations

from typing import Any, NamedTuple

from changeproof.arithmetic.compiling import compiled


class Supply(NamedTuple):
    """Where batches come from: rows [rows, features], labels and weights [rows], and an order.

    The order holds the places of the rows that count, ascending. A batch is the next `size` of
    them; after the last comes the first. Without an order there is one batch, laid out already.
    """

    rows: Any
    labels: Any
    weights: Any
    order: Any
    size: int


@compiled
def next_batch(tiles: Any, supply: Any, step: int) -> None:
    """Lay out the rows of a step (from 1 on) in tiles that have room for them."""
    length, n_rows = tiles.labels.shape[1], supply.order.size
    first = (step - 1) * supply.size
    for i in range(supply.size):
        row = supply.order[(first + i) % n_rows]
        tile, place = i // length, i % length
        tiles.labels[tile, place] = supply.labels[row]
        tiles.weights[tile, place] = supply.weights[row]
        for k in range(supply.rows.shape[1]):
            tiles.rows[tile, k, place] = supply.rows[row, k]
