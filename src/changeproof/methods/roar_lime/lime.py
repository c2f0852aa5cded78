"""Local linear surrogates of a model, as LIME fits them (Ribeiro, Singh and Guestrin).

LIME draws normal samples around the training mean, scaled by the training standard deviation,
and measures distances in that scale. A task's rows are standardised with those very statistics,
so LIME's scale is the one that rows are in already, and its samples are standard normal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, exponentials, fma, log1p, solve_positive
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
from changeproof.feasible.wide_tables import WIDE, affordable
from changeproof.methods.method import Context, Factuals
from changeproof.model import Booleans, Floats
from changeproof.networks.kernels import add_lanes, add_outer_product
from changeproof.networks.layout import tile_length, tile_rows, tile_values
from changeproof.randomness import stream

ONE_CLASS = "the model predicts one class for all of LIME's samples"
NOT_CONVERGED = "LIME's logistic regression did not converge"

TILE = 256
# Of the mean gradient. Newton's last step from there is right to seven digits or more.
GRADIENT_TOLERANCE = 1e-6
ROUNDING = 1e-12
MAX_EVALUATIONS = 200
# On wide tables a step's equations are solved up to this share of what was left at first, with at
# most so many products.
ENOUGH, MOST_PRODUCTS = 0.05, 100


class Surrogate(NamedTuple):
    """A linear model around a factual; where there is none, `reason` says why.

    `accuracy` is the weighted share of samples on whose side of the boundary it is right.
    """

    coefficients: Floats
    intercept: float
    accuracy: float
    reason: str = ""


class Fit(NamedTuple):
    """A logistic regression: one coefficient per feature, then the intercept."""

    parameters: Floats
    accuracy: float
    converged: bool


@dataclass(kw_only=True, eq=False)
class LocalSurrogates:
    """Fit surrogates, each from its factual's own random stream, and remember them.

    A surrogate depends on the context and on the factual alone, so methods that differ only in
    what they do with it (the candidates of a tuning) may share one of these.
    """

    n_samples: int
    kernel_width: float
    inverse_penalty: float
    decimals: int
    _context: Context | None = field(default=None, init=False)
    _known: dict[tuple[int, bytes], Surrogate] = field(default_factory=dict, init=False)

    def of(self, context: Context, factuals: Factuals) -> list[Surrogate]:
        """Return the surrogates of the context's model around the factuals."""
        if self._context is not context:
            self._context, self._known = context, {}
        surrogates = []
        for row_id, row in zip(factuals.row_ids.tolist(), factuals.rows, strict=True):
            key = (row_id, row.tobytes())
            if key not in self._known:
                self._known[key] = self._fit(context, row_id, row)
            surrogates.append(self._known[key])
        return surrogates

    def _fit(self, context: Context, row_id: int, row: Floats) -> Surrogate:
        address = (context.task.name, context.base_seed, "lime", row_id)
        n_samples = affordable(self.n_samples, len(row))
        samples = stream(*address).standard_normal((n_samples, len(row)))
        samples[0] = row
        favourable = context.model.favourable(samples)
        if favourable.all() or not favourable.any():
            return Surrogate(np.full_like(row, np.nan), np.nan, np.nan, ONE_CLASS)
        fit = fit_logistic(samples, favourable, self.weights(samples, row), self.inverse_penalty)
        if not fit.converged:
            return Surrogate(np.full_like(row, np.nan), np.nan, np.nan, NOT_CONVERGED)
        rounded = np.round(fit.parameters, self.decimals)
        return Surrogate(rounded[:-1], float(rounded[-1]), fit.accuracy)

    def weights(self, samples: Floats, row: Floats) -> Floats:
        """Return how much each sample counts: the less, the farther it is from the factual."""
        width = self.kernel_width * np.sqrt(len(row))
        squares = np.square(samples - row).sum(axis=1)
        return np.asarray(np.sqrt(exponentials(-squares / width**2)))


def fit_logistic(
    samples: Floats, favourable: Booleans, weights: Floats, inverse_penalty: float
) -> Fit:
    """Fit a weighted logistic regression by Newton's method, the intercept not penalised."""
    size = samples.shape[1] + 1
    length = tile_length(len(samples), TILE)
    tiles = tile_rows(np.column_stack((samples, np.ones(len(samples)))), length, np.float64)
    labels = tile_values(favourable, length, np.float64)
    tiled_weights = tile_values(weights, length, np.float64)
    penalties = np.full(size, 1.0 / inverse_penalty)
    penalties[-1] = 0.0
    # A few of the samples tell where to start, at a fraction of the price.
    few = max(1, len(tiles) // 8)
    share = few / len(tiles)
    start = _newton(
        tiles[:few], labels[:few], tiled_weights[:few], share * penalties, np.zeros(size)
    )
    return _newton(tiles, labels, tiled_weights, penalties, start.parameters)


def _newton(
    tiles: Floats, labels: Floats, weights: Floats, penalties: Floats, start: Floats
) -> Fit:
    """Take Newton's steps; one that does not lower the loss is halved until it does."""
    total = weights.sum()
    step_from = _solved_step if len(start) <= WIDE + 1 else _approximate_step
    best, step, least = start, np.zeros_like(start), np.inf
    accuracy = 0.0
    for _ in range(MAX_EVALUATIONS):
        parameters = best + step
        loss, agreement, gradient, bends = _evaluate(tiles, labels, weights, parameters)
        loss += 0.5 * (penalties * parameters**2).sum()
        if not loss <= least * (1.0 + ROUNDING):
            step = 0.5 * step
            continue
        best, least, accuracy = parameters, loss, agreement / total
        gradient = gradient[: len(start)] + penalties * parameters
        step = step_from(tiles, bends, penalties, gradient)
        if np.isnan(step).any():  # a factual so far away that all else is lost in rounding
            break
        if np.abs(gradient).max() <= GRADIENT_TOLERANCE * total:
            return Fit(best + step, accuracy, converged=True)
    return Fit(best, accuracy, converged=False)


def _solved_step(tiles: Floats, bends: Floats, penalties: Floats, gradient: Floats) -> Floats:
    size = len(gradient)
    hessian = _curvature(tiles, bends)[:size, :size]
    return np.asarray(solve_positive(hessian + np.diag(penalties), -gradient))


def _approximate_step(tiles: Floats, bends: Floats, penalties: Floats, gradient: Floats) -> Floats:
    """Return about the same step by conjugate gradients, for very many features."""
    step, left = np.zeros_like(gradient), -gradient
    way, size = left, float((left * left).sum())
    enough = ENOUGH**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= enough:
            break
        bent = _product(tiles, bends, way)[: len(way)] + penalties * way
        share = size / float((way * bent).sum())
        step, left = step + share * way, left - share * bent
        before, size = size, float((left * left).sum())
        way = left + (size / before) * way
    return step


@compiled
def _evaluate(tiles: Any, labels: Any, weights: Any, parameters: Any) -> Any:
    """Return loss, agreement, gradient [features] and how each sample bends the loss.

    Sums over samples are spread over lanes, as the gradients of networks are.
    """
    n_tiles, n_features, n_rows = tiles.shape
    lanes = count(tiles)
    logits, residuals = aligned_zeros((n_rows,), tiles), aligned_zeros((n_rows,), tiles)
    losses, agreements = aligned_zeros((n_rows,), tiles), aligned_zeros((n_rows,), tiles)
    slopes = aligned_zeros((n_features, lanes), tiles)
    gradient, bends = np.zeros(n_features), np.zeros(labels.shape)
    loss, agreement = spread(0.0), spread(0.0)
    for tile in range(n_tiles):
        rows = tiles[tile]
        _fill_logits(rows, parameters, logits)
        labelled, weighed = labels[tile], weights[tile]
        _judge_samples(logits, labelled, weighed, losses, agreements, residuals, bends[tile])
        for r in range(0, n_rows, lanes):
            loss = plus(loss, load(losses, r))
            agreement = plus(agreement, load(agreements, r))
        _add_columns(rows, residuals, slopes)
    add_lanes(slopes, gradient)
    return tree_sum(loss), tree_sum(agreement), gradient, bends


@compiled
def _curvature(tiles: Any, bends: Any) -> Any:
    """Return the second derivatives of the loss [features, features]."""
    n_tiles, n_features, n_rows = tiles.shape
    bent = aligned_zeros((n_features, n_rows), tiles)
    products = aligned_zeros((n_features * n_features, count(tiles)), tiles)
    for tile in range(n_tiles):
        rows = tiles[tile]
        for k in range(n_features):
            for r in range(n_rows):
                bent[k, r] = bends[tile, r] * rows[k, r]
        for j in range(0, n_features, 4):
            add_outer_product(
                bent[j:], 4, rows, j + 4, products, j * n_features, n_features, n_rows
            )
    curvature = np.empty((n_features, n_features))
    for j in range(n_features):
        for k in range(j + 1):
            curvature[j, k] = tree_sum(load_row(products, j * n_features + k, 0))
            curvature[k, j] = curvature[j, k]
    return curvature


@compiled
def _product(tiles: Any, bends: Any, vector: Any) -> Any:
    """Return the curvature times a vector."""
    n_tiles, n_features, n_rows = tiles.shape
    along = aligned_zeros((n_rows,), tiles)
    slopes = aligned_zeros((n_features, count(tiles)), tiles)
    product = np.zeros(n_features)
    for tile in range(n_tiles):
        rows = tiles[tile]
        _fill_logits(rows, vector, along)
        for r in range(n_rows):
            along[r] *= bends[tile, r]
        _add_columns(rows, along, slopes)
    add_lanes(slopes, product)
    return product


@compiled
def _fill_logits(rows: Any, parameters: Any, logits: Any) -> None:
    """Fill in the logits of samples, which are columns [features, samples]."""
    for r in range(len(logits)):
        logits[r] = 0.0
    for k in range(len(parameters)):
        for r in range(len(logits)):
            logits[r] = fma(parameters[k], rows[k, r], logits[r])


@compiled
def _judge_samples(
    logits: Any, labels: Any, weights: Any, losses: Any, agreements: Any, residuals: Any, bends: Any
) -> None:
    """Fill in what each sample loses, whether it agrees, and how it slopes and bends the loss."""
    for r in range(len(logits)):
        logit, label, weight = logits[r], labels[r], weights[r]
        small = exp(-abs(logit))
        positive = logit if logit > 0.0 else 0.0
        probability = (1.0 if logit >= 0.0 else small) / (1.0 + small)
        losses[r] = weight * (positive - label * logit + log1p(small))
        agreements[r] = weight if (logit >= 0.0) == (label > 0.5) else 0.0
        residuals[r] = weight * (probability - label)
        bends[r] = weight * small / ((1.0 + small) * (1.0 + small))


@compiled
def _add_columns(rows: Any, factors: Any, slopes: Any) -> None:
    """Add to every feature's lanes its values times the factors of the samples."""
    for k in range(len(slopes)):
        total = load_row(slopes, k, 0)
        for r in range(0, len(factors), slopes.shape[1]):
            total = fma(load(factors, r), load_row(rows, k, r), total)
        store_row(slopes, k, 0, total)
