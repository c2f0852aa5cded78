"""RobX (Dutta et al.): move a counterfactual until the model is stable around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import WIDE, fewer
from changeproof.methods.method import BUDGET, Candidates, Factuals, Method
from changeproof.methods.profile import Cost, WarmUp
from changeproof.methods.search.as_near import as_near
from changeproof.methods.search.estimates import Estimates, tiled_moves
from changeproof.methods.search.growing_spheres import GrowingSpheres
from changeproof.methods.search.nearest_rows import nearest_rows
from changeproof.methods.search.realisable_rows import nearest_accepted
from changeproof.methods.search.realisable_spheres import search_spheres
from changeproof.methods.search.shaken import Shaken
from changeproof.methods.search.undoing import shortened, shortest
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.plugins import PAPER
from changeproof.randomness import stream

THRESHOLD_OFFSET = 81_000
LEAST_THRESHOLD = 0.5
ROWS_AT_ONCE = 8_192
# How many anchors of a person are looked at at a time, and, where none is stable with only what
# may change, how many times those that are wanted.
ANCHORS_AT_ONCE, ANCHORS_LOOKED_AT = 32, 3
NONE_STABLE = "no training row is stable"


@dataclass(kw_only=True, eq=False, repr=False)
class RobXBalanced(Method):
    """Start from growing spheres; step towards stable training rows until stable.

    Stability of a point is the mean minus the standard deviation of the model's probability
    over Gaussian draws around it. A point is stable above a threshold: a quantile of the
    stability of the training rows that the model calls favourable.

    Where not everything may change, starts, anchors and the points of the way are rows that the
    person may be told, and what need not change that much to be stable does not. Who can be told
    of no stable row gets the most stable that was looked at. Nobody is sent farther than by the
    published answer, put on what may change, where the model accepts that one; see `farther`.

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
    farther
        Whether people may be sent farther than that, where a stable row needs it.
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
    farther: bool = False

    def _prepare(self) -> None:
        task, model = self.context.task, self.context.model
        rows = task.rows("train")
        favourable = rows[model.favourable(rows)]
        # Training rows get draws of their own, so that the threshold does not lean one way.
        generator = np.random.default_rng(self.context.base_seed + THRESHOLD_OFFSET)
        scores = self._stability(favourable, lambda n: self._draw(generator, n))
        self._noise = self._draw(stream(task.name, self.context.base_seed, "robx stability"), 1)
        self._estimates, self._shaken = None, None
        if isinstance(model, Network) and task.n_features > WIDE:
            self._shaken = Shaken(model, self._noise[0])
        elif isinstance(model, Network):
            self._estimates = Estimates(model)
            self._moves = tiled_moves(list(self._noise))
        quantile = np.quantile(scores, self.quantile) if len(scores) else LEAST_THRESHOLD
        self.threshold = max(LEAST_THRESHOLD, float(quantile))
        self._anchors = favourable[scores > self.threshold]
        low, high = task.training_range
        self._spheres = GrowingSpheres(
            samples=fewer(self.shell_samples, task.n_features),
            norm=1,
            step=self.shell_step,
            max_shells=self.max_shells,
            low=low,
            high=high,
        )

    def stability(self, points: Floats) -> Floats:
        """Return mean minus standard deviation of the probability around every point."""
        if self._shaken is None:
            return self._stability(points, lambda _: self._noise)
        result, group = np.empty(len(points)), max(1, ROWS_AT_ONCE // self.samples)
        for first in range(0, len(points), group):
            likely = self._shaken.probabilities(points[first : first + group])
            result[first : first + group] = likely.mean(axis=1) - likely.std(axis=1)
        return result

    def _stability(self, points: Floats, noise: Callable[[int], Floats]) -> Floats:
        result = np.empty(len(points))
        group = max(1, ROWS_AT_ONCE // self.samples)
        for first in range(0, len(points), group):
            chosen = points[first : first + group]
            around = chosen[:, None, :] + noise(len(chosen))
            probabilities = self.context.model.probabilities(around.reshape(-1, points.shape[1]))
            by_point = probabilities.reshape(-1, self.samples)
            result[first : first + group] = by_point.mean(axis=1) - by_point.std(axis=1)
        return result

    def _draw(self, generator: np.random.Generator, points: int) -> Floats:
        shape = (points, self.samples, self.context.task.n_features)
        return np.asarray(np.sqrt(self.variance) * generator.standard_normal(shape))

    def _stable(self, points: Floats) -> Booleans:
        """A point that the model calls adverse is never stable."""
        stable = self.context.model.favourable(points)
        stable[stable] = self._may_be_stable(points[stable])
        stable[stable] = self.stability(points[stable]) > self.threshold
        return stable

    def _may_be_stable(self, points: Floats) -> Booleans:
        """Rule out points by an estimate, where the model is a network."""
        if self._estimates is None:
            return np.ones(len(points), dtype=np.bool_)
        return self._estimates.may_be_stable(points, self._moves, self.threshold)

    def _search(self, factuals: Factuals) -> Candidates:
        actions, own = self.context.actions, factuals.rows
        candidates = self._searched(factuals, actions)
        if actions is None:
            return candidates
        rows = candidates.rows
        if not self.farther:
            published = self._searched(factuals, None).rows
            rows = as_near(actions, self.context.task, self.context.model, own, rows, published)
        found = np.isfinite(rows).all(axis=1)
        stable = np.zeros(len(rows), dtype=np.bool_)
        stable[found] = self._stable(rows[found])
        return replace(
            candidates, rows=rows, diagnostics={**candidates.diagnostics, "stable": stable}
        )

    def _searched(self, factuals: Factuals, actions: Actions | None) -> Candidates:
        context = self.context
        address = (context.task.name, context.base_seed, "robx start")
        own, accept = factuals.rows, context.model.favourable
        starts = search_spheres(
            self._spheres, actions, own, own, accept, *address, model=context.model
        )
        rows = starts.points.copy()
        reasons = np.full(len(rows), "", dtype=object)
        reasons[np.isnan(rows).any(axis=1)] = BUDGET
        steps = np.zeros(len(rows), dtype=np.int64)
        waiting = np.flatnonzero(reasons == "")
        waiting = waiting[~self._stable(rows[waiting])]
        if len(waiting) and not len(self._anchors):
            rows[waiting], reasons[waiting] = np.nan, NONE_STABLE
        elif len(waiting) and actions is not None:
            rows[waiting], steps[waiting] = self._walk(actions, own[waiting], rows[waiting])
        elif len(waiting):
            moved, steps[waiting] = self._approach(rows[waiting])
            rows[waiting] = moved
            reasons[waiting[np.isnan(moved).any(axis=1)]] = BUDGET
        diagnostics = {
            "threshold": np.full(len(rows), self.threshold),
            "shells": starts.shells,
            "steps": steps,
        }
        return Candidates(rows, reasons=reasons.tolist(), diagnostics=diagnostics)

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

    def _walk(self, actions: Actions, factuals: Floats, starts: Floats) -> tuple[Floats, Integers]:
        """Do the same with rows that may be told."""
        anchors = nearest_accepted(
            actions,
            factuals,
            self._anchors,
            lambda rows, _: self._anchoring(rows),
            centres=starts,
            weights=np.ones(starts.shape[1]),
            wanted=self.anchors,
            at_once=ANCHORS_AT_ONCE,
        ).rows
        copies = np.repeat(starts[:, None, :], self.anchors, axis=1)
        before, results = copies.copy(), np.full(copies.shape, np.nan)
        steps = np.zeros(copies.shape[:2], dtype=np.int64)
        who, which = np.nonzero(np.isfinite(anchors).all(axis=2))
        for step in range(1, self.max_steps + 1):
            copies[who, which] += self.stride * (anchors[who, which] - copies[who, which])
            told = actions.project(factuals[who], copies[who, which])
            fresh = np.asarray((told != before[who, which]).any(axis=1))
            before[who, which] = told
            stable: Booleans = np.zeros(len(who), dtype=np.bool_)
            stable[fresh] = self._stable(told[fresh])
            results[who[stable], which[stable]] = told[stable]
            steps[who, which] = step
            who, which = who[~stable], which[~stable]
            if not len(who):
                break
        rows = shortest(actions, factuals, results, lambda rows, _: self._stable(rows))
        for i in np.flatnonzero(np.isnan(rows).any(axis=1)):
            rows[i] = self._most_stable(actions, factuals[[i]], starts[[i]])
        return rows, steps.max(axis=1)

    def _most_stable(self, actions: Actions, factual: Floats, start: Floats) -> Floats:
        """Return the most stable row for one person who can be told of no stable one.

        Of the training rows that are stable, those most likely favourable are looked at.
        """
        told = actions.project(factual, self._anchors[None])[0]
        likely = np.argsort(-self.context.model.probabilities(told), kind="stable")
        told = np.concatenate([start, told[likely[: ANCHORS_LOOKED_AT * self.anchors]]])
        scores = np.where(self.context.model.favourable(told), self.stability(told), -np.inf)
        most = scores.max()

        def as_stable(rows: Floats, _: Integers) -> Booleans:
            return np.asarray(self.context.model.favourable(rows) & (self.stability(rows) >= most))

        most_stable = told[[scores.argmax()]]
        return np.asarray(shortened(actions, factual, most_stable, as_stable)[0])

    def _anchoring(self, rows: Floats) -> Booleans:
        """Return which rows are stable; most that are not are told by their own probability."""
        stable = self.context.model.probabilities(rows) > self.threshold
        stable[stable] = self._stable(rows[stable])
        return stable


@dataclass(kw_only=True, eq=False, repr=False)
class RobXRobust(RobXBalanced):
    """The robustness-first configuration: as stable as the most stable tenth."""

    name = "robx-robust"
    label = "RobX robust-first"
    cost = Cost(per_person=0.016, feasible=0.1, own_model=0.5)
    summary = "moved towards stable training rows until as stable as the top tenth of them"

    quantile: float = 0.9
