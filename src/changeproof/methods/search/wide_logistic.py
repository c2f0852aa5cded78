"""A weighted logistic regression on very many features, without their matrix of products.

Newton's steps are found by conjugate gradients, which ask only what the matrix makes of a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.arithmetic.lanes import (
    aligned_zeros,
    count,
    load,
    load_row,
    plus,
    spread,
    store_row,
    tree_sum,
)
from changeproof.methods.search.logistic_samples import fill_logits, judge_samples
from changeproof.model import Floats
from changeproof.networks.kernels import add_lanes

# How much smaller what is left of a step's equations has to be than at first, and how many
# products that may take.
ENOUGH, MOST_PRODUCTS = 0.05, 100


def loss_and_gradient(
    tiles: Floats, labels: Floats, weights: Floats, parameters: Floats
) -> tuple[float, float, Floats, Floats]:
    """Return the loss, the agreement, the gradient and how much each sample bends the loss."""
    gradient, bends = np.zeros(tiles.shape[1]), np.zeros(labels.shape)
    loss, agreement = _evaluate(tiles, labels, weights, parameters, gradient, bends)
    return loss, agreement, gradient[: len(parameters)], bends


def newton_step(tiles: Floats, bends: Floats, penalties: Floats, gradient: Floats) -> Floats:
    """Return about the step to where the gradient would be nought, were the loss a parabola."""

    def curved(vector: Floats) -> Floats:
        product = np.zeros(tiles.shape[1])
        _multiply(tiles, bends, vector, product)
        return np.asarray(product[: len(vector)] + penalties * vector)

    step, left = np.zeros_like(gradient), -gradient
    way, size = left, float((left * left).sum())
    enough = ENOUGH**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= enough:
            break
        bent = curved(way)
        share = size / float((way * bent).sum())
        step, left = step + share * way, left - share * bent
        before, size = size, float((left * left).sum())
        way = left + (size / before) * way
    return step


@compiled
def _evaluate(
    tiles: Any, labels: Any, weights: Any, parameters: Any, gradient: Any, bends: Any
) -> Any:
    n_tiles, n_features, n_rows = tiles.shape
    lanes = count(tiles)
    logits, residuals = aligned_zeros((n_rows,), tiles), aligned_zeros((n_rows,), tiles)
    losses, agreements = aligned_zeros((n_rows,), tiles), aligned_zeros((n_rows,), tiles)
    slopes = aligned_zeros((n_features, lanes), tiles)
    loss, agreement = spread(0.0), spread(0.0)
    for tile in range(n_tiles):
        rows = tiles[tile]
        fill_logits(rows, parameters, logits)
        labelled, weighed = labels[tile], weights[tile]
        judge_samples(logits, labelled, weighed, losses, agreements, residuals, bends[tile])
        for r in range(0, n_rows, lanes):
            loss = plus(loss, load(losses, r))
            agreement = plus(agreement, load(agreements, r))
        _add_columns(rows, residuals, slopes)
    add_lanes(slopes, gradient)
    return tree_sum(loss), tree_sum(agreement)


@compiled
def _multiply(tiles: Any, bends: Any, vector: Any, product: Any) -> None:
    n_tiles, n_features, n_rows = tiles.shape
    along = aligned_zeros((n_rows,), tiles)
    slopes = aligned_zeros((n_features, count(tiles)), tiles)
    for tile in range(n_tiles):
        rows = tiles[tile]
        fill_logits(rows, vector, along)
        for r in range(n_rows):
            along[r] *= bends[tile, r]
        _add_columns(rows, along, slopes)
    add_lanes(slopes, product)


@compiled
def _add_columns(rows: Any, factors: Any, slopes: Any) -> None:
    """Add to every feature's lanes its values times the factors of the samples."""
    for k in range(len(slopes)):
        total = load_row(slopes, k, 0)
        for r in range(0, len(factors), slopes.shape[1]):
            total = fma(load(factors, r), load_row(rows, k, r), total)
        store_row(slopes, k, 0, total)
