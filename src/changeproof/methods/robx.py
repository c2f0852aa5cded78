"""RobX (Dutta et al.): move a counterfactual until the model is stable around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import sigmoids
from changeproof.feasible.wide_tables import WIDE
from changeproof.methods.answers import BUDGET
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.shared.estimates import Estimates, tiled_moves
from changeproof.methods.shared.growing_spheres import GrowingSpheres
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.learner import FittedModel
from changeproof.networks.flat import layer_sums
from changeproof.networks.network import Network
from changeproof.plugins import PAPER
from changeproof.randomness import stream

THRESHOLD_OFFSET = 81_000
LEAST_THRESHOLD = 0.5
ROWS_AT_ONCE = 8_192
NONE_STABLE = "no training row is stable"


@dataclass(kw_only=True, eq=False, repr=False)
class RobXBalanced(Method):
    """Start from growing spheres; step towards stable training rows until stable.

    Stability of a point is the mean minus the standard deviation of the model's probability
    over Gaussian draws around it. A point is stable above a threshold: a quantile of the
    stability of the training rows that the model calls favourable.

    A row is good enough if it is stable.

    Parameters
    ----------
    quantile
        Which quantile the threshold is; the balanced configuration takes the median.
    samples, variance
        Gaussian draws around a point. They are drawn once and serve every point.
    anchors
        Stable training rows, nearest to the start, that are approached at the same time.
    stride, max_steps
        Share of the remaining way that a step covers, and how many steps there are.
    shell_samples, shell_step, max_shells
        Growing spheres of the start, in the absolute norm and inside the training range.
    """

    name = "robx-balanced"
    label = "RobX balanced"
    cost = Cost(per_person=0.012, feasible=0.1, own_model=0.4)
    warm_up = WarmUp(seconds=3)
    summary = "moved towards stable training rows until as stable as half of them"
    source = f"Dutta et al. 2022 (https://arxiv.org/abs/2207.02739), as in {PAPER}"

    quantile: float = 0.5
    samples: int = 1_000
    variance: float = 0.01
    anchors: int = 10
    stride: float = 0.1
    max_steps: int = 800
    shell_samples: int = 1_000
    shell_step: float = 0.1
    max_shells: int = 800

    def _prepare(self) -> None:
        task, model = self.context.task, self.context.model
        rows = task.rows("train")
        favourable = rows[model.favourable(rows)]
        # Training rows get draws of their own, so that the threshold does not lean one way.
        generator = np.random.default_rng(self.context.base_seed + THRESHOLD_OFFSET)
        scores = self._stability(
            favourable, lambda rows: self._around(rows, self._draw(generator, len(rows)))
        )
        self._noise = self._draw(stream(task.name, self.context.base_seed, "robx stability"), 1)
        self._estimates, self._shaken = None, None
        view = model.as_forest if isinstance(model, FittedModel) else None
        self._draws = None if view is None else view.around(self._noise[0])
        if isinstance(model, Network) and task.n_features > WIDE:
            self._shaken = Shaken(model, self._noise[0])
        elif isinstance(model, Network):
            self._estimates = Estimates(model)
            self._moves = tiled_moves(list(self._noise))
        quantile = np.quantile(scores, self.quantile) if len(scores) else LEAST_THRESHOLD
        self.threshold = max(LEAST_THRESHOLD, float(quantile))
        self._anchors = favourable[scores > self.threshold]
        low, high = task.training_range
        size = (self.shell_samples, self.shell_step, self.max_shells)
        self._spheres = GrowingSpheres(*size, norm=1, low=low, high=high)

    def stability(self, points: Floats) -> Floats:
        """Return mean minus standard deviation of the probability around every point."""
        if self._shaken is not None:
            return self._stability(points, self._shaken.probabilities)
        return self._stability(points, lambda rows: self._around(rows, self._noise))

    def _stability(self, points: Floats, probabilities: Callable[[Floats], Floats]) -> Floats:
        result = np.empty(len(points))
        group = max(1, ROWS_AT_ONCE // self.samples)
        for first in range(0, len(points), group):
            likely = probabilities(points[first : first + group])
            result[first : first + group] = likely.mean(axis=1) - likely.std(axis=1)
        return result

    def _around(self, points: Floats, noise: Floats) -> Floats:
        """Return the probabilities [points, draws] at points to which noise is added."""
        moved = (points[:, None, :] + noise).reshape(-1, points.shape[1])
        return self.context.model.probabilities(moved).reshape(-1, self.samples)

    def _draw(self, generator: np.random.Generator, points: int) -> Floats:
        shape = (points, self.samples, self.context.task.n_features)
        return np.asarray(np.sqrt(self.variance) * generator.standard_normal(shape))

    def _stable(self, points: Floats) -> Booleans:
        """A point that the model calls adverse is never stable."""
        stable = self.context.model.favourable(points)
        if self._draws is not None:
            some = np.flatnonzero(stable)
            stable[some], unknown = self._draws.stable(points[some], self.threshold)
            some = some[unknown]
            stable[some] = self.stability(points[some]) > self.threshold
            return stable
        if self._estimates is not None:  # rules most points out quickly
            possible = self._estimates.may_be_stable(points[stable], self._moves, self.threshold)
            stable[stable] = possible
        stable[stable] = self.stability(points[stable]) > self.threshold
        return stable

    def _search(self, factuals: Factuals) -> Candidates:
        model = self.context.model
        address = (self.context.task.name, self.context.base_seed, "robx start")
        starts = self._spheres.search(factuals.rows, model.favourable, *address, model=model)
        rows, steps = starts.points.copy(), np.zeros(len(factuals), dtype=np.int64)
        waiting = np.flatnonzero(np.isfinite(rows).all(axis=1))
        waiting = waiting[~self._stable(rows[waiting])]
        if len(self._anchors):
            rows[waiting], steps[waiting] = self._approach(rows[waiting])
        else:
            rows[waiting] = np.nan
        reasons = np.where(np.isnan(rows).any(axis=1), BUDGET, "").astype(object)
        if not len(self._anchors):
            reasons[waiting] = NONE_STABLE
        diagnostics = {
            "threshold": np.full(len(rows), self.threshold),
            "shells": starts.shells,
            "steps": steps,
        }
        return Candidates(rows, reasons.tolist(), diagnostics)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._stable(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"stable": self._stable(rows)}

    def _approach(self, starts: Floats) -> tuple[Floats, Integers]:
        """Move copies of every start to its anchors; return the first stable one and its step."""
        anchors = self._anchors[nearest_rows(starts, self._anchors, self.anchors).places]
        results = np.full(starts.shape, np.nan)
        steps = np.full(len(starts), self.max_steps, dtype=np.int64)
        moving = np.arange(len(starts))
        copies = np.repeat(starts[:, None, :], anchors.shape[1], axis=1)
        for step in range(1, self.max_steps + 1):
            copies = copies + self.stride * (anchors[moving] - copies)
            stable = self._stable(copies.reshape(-1, starts.shape[1])).reshape(copies.shape[:2])
            ended = stable.any(axis=1)
            # Anchors are sorted, so the first stable copy is the one with the nearest anchor.
            results[moving[ended]] = copies[ended, stable[ended].argmax(axis=1)]
            steps[moving[ended]] = step
            moving, copies = moving[~ended], copies[~ended]
            if not len(moving):
                break
        return results, steps


@dataclass(kw_only=True, eq=False, repr=False)
class RobXRobust(RobXBalanced):
    """The robustness-first configuration: as stable as the most stable tenth."""

    name = "robx-robust"
    label = "RobX robust-first"
    cost = Cost(per_person=0.016, feasible=0.1, own_model=0.5)
    summary = "moved towards stable training rows until as stable as the top tenth of them"

    quantile: float = 0.9


@dataclass(frozen=True, eq=False)
class Shaken:
    """The probabilities of a network at points to which draws [draws, features] are added.

    Draws add the same to the neurons of the first layer, whatever the point. So that is worked out
    once, and a point asks for no more than the layers behind it.
    """

    network: Network
    draws: Floats

    @cached_property
    def _moves(self) -> Floats:
        return first_sums(self.network, self.draws) - self.network.biases[0]

    @cached_property
    def _behind(self) -> Network | None:
        weights, biases = self.network.weights[1:], self.network.biases[1:]
        return replace(self.network, weights=weights, biases=biases) if weights else None

    def probabilities(self, points: Floats) -> Floats:
        sums = first_sums(self.network, points)[:, None] + self._moves
        flat = sums.reshape(-1, sums.shape[2])
        if self._behind is None:
            return sigmoids(self.network.sides.leads(flat)).reshape(sums.shape[:2])
        return self._behind.probabilities(np.maximum(flat, 0.0)).reshape(sums.shape[:2])


def first_sums(network: Network, rows: Floats) -> Floats:
    """Return the pre-activations of the first layer [rows, neurons]."""
    sums = np.empty((len(rows), len(network.biases[0])))
    _fill_sums(network.flat, np.ascontiguousarray(rows), sums)
    return sums


@compiled
def _fill_sums(network: Any, rows: Any, sums: Any) -> None:
    values = np.empty(network.layers[-1, 3] + network.layers[-1, 1])
    for i in range(len(rows)):
        layer_sums(network.turned, network.layers, 0, rows[i], values)
        sums[i] = values[: sums.shape[1]]
