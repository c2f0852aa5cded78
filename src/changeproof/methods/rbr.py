"""Robust Bayesian recourse (Nguyen, Bui and Nguyen): away from the worst mixture of Gaussians.

First comes the closest favourable point on the segments from a person to favourable rows. Every
segment carries the same evenly spaced steps. They are judged in order of their distance, shell by
shell, up to the first shell that holds a favourable one: the answer is that of judging them all.

Then comes the walk down the worst-case odds. The published code walks in PyTorch's single precision
and ends where it finds itself on the surface of a ball, without a tolerance. Whether a row on the
surface comes out a rounding error inside hangs on the order of every sum, so these are PyTorch's,
which are the same for all of its vector widths (tried with 2.13.0):

- `single_length`, its 1-norm: one feature after the other;
- `single_sum`, its sum: eight lanes, in which feature k goes to lane k modulo 8; what is left
  over at the end first, then the lanes one after the other;
- its running sums: in double precision, each of them rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, exponentials, fma, log, logarithms
from changeproof.methods.method import Candidates, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.plugins import PAPER
from changeproof.randomness import stream

NO_FAVOURABLE_ROW = "no training row is predicted favourable"
NO_BOUNDARY = "no point on the way to a favourable training row is favourable"
# 1 / sqrt(1000), as single precision has it after two roundings.
STEP_SIZE = float(np.float32(1.0) / np.sqrt(np.float32(1_000.0)))
# Steps of a shell, about; and people whose shells are judged at once.
SHELL_POINTS = 512
FACTUALS_AT_ONCE = 16
LANES = 8
# Groups of lanes that take turns where a row is long enough to fill all of them.
GROUPS = 4
# Newton steps that reach the last digit of `optimistic` for every sigma, radius and distance.
OPTIMISTIC_STEPS = 5


@dataclass(kw_only=True, eq=False, repr=False)
class RBR(Method):
    """Find the closest boundary point, then walk to where the worst-case odds are better.

    Around the boundary point, samples labelled by the model are smoothed into one mixture of
    Gaussians per class. The walk lowers the odds of adverse to favourable under the mixtures
    least kind to the point, within Wasserstein radii. It ends where it has used up its distance,
    and its last point is the answer, favourable or not.

    A row is good enough if its odds are no worse than those of the method's own proposal.

    Parameters
    ----------
    n_rows
        How many of the nearest (absolute distance) favourable training rows to look towards.
    n_steps
        Points judged on the way to each of them, both ends included.
    n_samples
        Points drawn around the boundary point.
    sampling_radius
        Radius of the Euclidean ball that they come from, as a share of the largest distance
        between two training rows.
    sigma
        Deviation of the Gaussian around a sample.
    optimistic_radius, pessimistic_radius
        Wasserstein radii of the adverse and of the favourable mixture.
    extra_distance
        How much farther than the boundary point, in absolute distance, the walk may go.
    step_size, max_iterations
        Of the projected gradient descent.
    patience, tolerance
        The walk also ends after so many iterations in a row that did not improve the best value
        by more than the tolerance.

    Notes
    -----
    For a favourable sample stands the Gaussian whose mean has moved away by the whole radius. The
    published code always ends there, because the gradient of its inner search has a sign error,
    and the paper's numbers are of that. As the method is defined, it would be the Gaussian that
    makes the point least likely.

    As in the published code, the walk is in single precision: the factual, the boundary point,
    the radius, where the walk is, the gradient once it is known, the step, the projection, and
    the value that has to improve. The search for the boundary point, the samples and what is
    inside value and gradient are in double precision.

    The walk ends before the step at which it finds itself on the surface of its ball, without a
    tolerance: a row projected onto the surface may come to lie a rounding error inside, and then
    takes another step. All sums have the published order for that reason.
    """

    name = "rbr"
    label = "RBR"
    cost = Cost(per_person=0.005, feasible=0.1, own_model=0.02)
    warm_up = WarmUp(seconds=5)
    summary = "descent on the worst-case odds of Gaussian mixtures around the nearest boundary"
    source = f"Nguyen et al. 2022 (https://arxiv.org/abs/2206.10833), as in {PAPER}"

    n_rows: int = 1_000
    n_steps: int = 100
    n_samples: int = 200
    sampling_radius: float = 0.2
    sigma: float = 1.0
    optimistic_radius: float = 0.5
    pessimistic_radius: float = 0.5
    extra_distance: float = 0.2
    step_size: float = STEP_SIZE
    max_iterations: int = 500
    patience: int = 10
    tolerance: float = 1e-10

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._ball_radius = self.sampling_radius * largest_distance(rows)

    def _search(self, factuals: Factuals) -> Candidates:
        n, n_features = factuals.rows.shape
        boundary = nearest_boundary(
            self.context.model, factuals.rows, self._favourable, self.n_rows, self.n_steps
        )
        there = np.flatnonzero(np.isfinite(boundary.distances))
        samples, labels = self._samples(factuals.row_ids[there], boundary.rows[there])
        # The adverse first, and feature by feature: loops over samples do not jump in memory.
        order = np.argsort(labels, axis=1, kind="stable")[:, :, None]
        features = np.zeros((n, n_features, self.n_samples))
        features[there] = np.take_along_axis(samples, order, axis=1).transpose(0, 2, 1)
        adverse = np.zeros(n, dtype=np.int64)
        adverse[there] = (~labels).sum(axis=1)
        starts, walked = (each[there].astype(np.float32) for each in (factuals.rows, boundary.rows))
        limits = (self.extra_distance, self.max_iterations, self.patience, self.tolerance)
        rows = np.full_like(factuals.rows, np.nan)
        iterations, favourable = np.full((2, n), np.nan)
        iterations[there] = walk(
            walked, starts, features[there], adverse[there], self._mixtures, self.step_size, *limits
        )
        rows[there], favourable[there] = walked, labels.sum(axis=1)
        reason = NO_BOUNDARY if len(self._favourable) else NO_FAVOURABLE_ROW
        return Candidates(
            rows,
            np.where(np.isfinite(boundary.distances), "", reason).tolist(),
            {
                "boundary_distance": boundary.distances,
                "iterations": iterations,
                "favourable_samples": favourable,
            },
            {"features": features, "adverse": adverse},
        )

    def _score(self, rows: Floats, people: People) -> Floats:
        private = people.proposals.private
        features, adverse = private["features"], private["adverse"]
        return -np.asarray(all_log_odds(rows, people.places, features, adverse, self._mixtures))

    @property
    def _mixtures(self) -> Mixtures:
        return Mixtures(self.sigma, self.optimistic_radius, self.pessimistic_radius)

    def _samples(self, row_ids: Integers, centres: Floats) -> tuple[Floats, Booleans]:
        """Draw uniformly from the ball around each centre, and label what was drawn."""
        n, n_features = centres.shape
        samples = np.empty((n, self.n_samples, n_features))
        for i, row_id in enumerate(row_ids.tolist()):
            generator = stream(self.context.task.name, self.context.base_seed, "rbr", row_id)
            directions = generator.standard_normal((self.n_samples, n_features))
            directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
            reach = exponentials(logarithms(generator.random(self.n_samples)) / n_features)
            samples[i] = centres[i] + self._ball_radius * reach[:, None] * directions
        labels = self.context.model.favourable(samples.reshape(-1, n_features))
        return samples, labels.reshape(n, self.n_samples)


class Boundary(NamedTuple):
    """The closest favourable step of each factual, and its distance; NaN where there is none."""

    rows: Floats
    distances: Floats


def nearest_boundary(
    model: Model, factuals: Floats, favourable_rows: Floats, n_rows: int, n_steps: int
) -> Boundary:
    """Look on the segments from each factual to their nearest rows for a favourable point.

    A factual is connected with its `n_rows` nearest rows by absolute distance; there are `n_steps`
    points on every segment, both ends included.
    """
    found = Boundary(np.full(factuals.shape, np.nan), np.full(len(factuals), np.nan))
    if not len(favourable_rows):
        return found
    fractions = np.arange(1, n_steps) / (n_steps - 1)
    for first in range(0, len(factuals), FACTUALS_AT_ONCE):
        some = slice(first, first + FACTUALS_AT_ONCE)
        ends, lengths = nearest_rows(factuals[some], favourable_rows, n_rows)
        done, searching = np.zeros(ends.shape, np.int64), np.arange(len(ends))
        while len(searching):
            # One question for everybody: some models take long to be asked at all.
            segments = factuals[some], favourable_rows, ends, lengths, fractions
            points, distances, whose = _next_shells(*segments, done, searching, SHELL_POINTS)
            accepted = np.flatnonzero(model.favourable(points))
            # The nearest is written last, and of equally near ones the first.
            order = accepted[np.argsort(distances[accepted], kind="stable")[::-1]]
            found.rows[first + whose[order]] = points[order]
            found.distances[first + whose[order]] = distances[order]
            left = np.isnan(found.distances[some]) & (done < len(fractions)).any(axis=1)
            searching = np.flatnonzero(left)
    return found


@compiled
def _next_shells(
    factuals: Any,
    rows: Any,
    ends: Any,
    lengths: Any,
    fractions: Any,
    done: Any,
    searching: Any,
    quota: int,
) -> tuple[Any, Any, Any]:
    """Return the next steps of some factuals, their distances, and whose they are.

    Each has about `quota`, the nearest that are not done, in the order of its segments.
    """
    n_steps, n_features = len(fractions), factuals.shape[1]
    before, n = done.copy(), 0
    for i in searching:
        density, nearest = 0.0, np.inf
        for j in range(ends.shape[1]):
            if done[i, j] < n_steps:
                density += n_steps / lengths[i, j]
                nearest = min(nearest, fractions[done[i, j]] * lengths[i, j])
        reach = nearest + quota / density
        for j in range(ends.shape[1]):
            step, length = done[i, j], lengths[i, j]
            while step < n_steps and fractions[step] * length <= reach:
                step += 1
            n += step - done[i, j]
            done[i, j] = step
    points, distances, whose = np.empty((n, n_features)), np.empty(n), np.empty(n, np.int64)
    n = 0
    for i in searching:
        for j in range(ends.shape[1]):
            end, length = ends[i, j], lengths[i, j]
            for step in range(before[i, j], done[i, j]):
                fraction = fractions[step]
                distances[n], whose[n] = fraction * length, i
                for k in range(n_features):
                    start = factuals[i, k]
                    points[n, k] = start + fraction * (rows[end, k] - start)
                n += 1
    return points, distances, whose


def largest_distance(rows: Floats) -> float:
    """Return the largest Euclidean distance between two rows."""
    radii = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1))
    outermost_first = np.argsort(-radii, kind="stable")
    return float(_largest_distance(rows[outermost_first], radii[outermost_first]))


@compiled
def _largest_distance(rows: Any, radii: Any) -> float:
    """Compare pairs, outermost rows first, and pass over those too near the centre to matter."""
    slack = 1.0 + 1e-9
    largest = 0.0
    for i in range(len(rows)):
        for j in range(i):
            if (radii[i] + radii[j]) * slack < largest:
                break
            square = 0.0
            for k in range(rows.shape[1]):
                square += (rows[i, k] - rows[j, k]) ** 2
            largest = max(largest, np.sqrt(square))
    return largest


class Mixtures(NamedTuple):
    """Gaussians of deviation sigma around samples; how far the adverse and the others may move."""

    sigma: float
    optimistic_radius: float
    pessimistic_radius: float


@compiled
def walk(
    rows: Any,
    starts: Any,
    features: Any,
    adverse: Any,
    mixtures: Any,
    step_size: float,
    extra_distance: float,
    max_iterations: int,
    patience: int,
    tolerance: float,
) -> Any:
    """Move single precision rows, in place, down their log-odds; return how many steps each took.

    `features` [people, columns, samples] have the adverse samples first, of which there are
    `adverse` [people].
    """
    iterations = np.zeros(len(rows), np.int64)
    gradient = np.empty(rows.shape[1])
    step = np.float32(step_size)
    for i in range(len(rows)):
        here, start = rows[i], starts[i]
        radius = single_length(here, start) + np.float32(extra_distance)
        least, idle = np.inf, 0
        while iterations[i] < max_iterations and idle < patience:
            if single_length(here, start) >= radius:
                break
            odds = log_odds(here, features[i], adverse[i], mixtures, gradient)
            value = float(np.float32(odds))
            for k in range(len(here)):
                here[k] = here[k] - step * np.float32(gradient[k]) - start[k]
            project(here, radius)
            for k in range(len(here)):
                here[k] += start[k]
            iterations[i] += 1
            idle = 0 if least - value > tolerance else idle + 1
            least = min(least, value)
    return iterations


@compiled
def single_length(here: Any, start: Any) -> Any:
    """Return the absolute distance of two single precision rows."""
    length = np.float32(0.0)
    for k in range(len(here)):
        length += abs(here[k] - start[k])
    return length


@compiled
def single_sum(sizes: Any) -> Any:
    """Return the sum of a single precision row of up to 512 numbers as PyTorch has it.

    Fewer than eight numbers go to single lanes. Beyond 512 PyTorch adds up in more stages.
    """
    n = len(sizes)
    width = LANES if n >= LANES else 1
    n_turns = n // width
    n_full_turns = n_turns - n_turns % GROUPS
    lanes = np.zeros((GROUPS, width), np.float32)
    for turn in range(n_turns):
        group = turn % GROUPS if turn < n_full_turns else 0
        for lane in range(width):
            lanes[group, lane] += sizes[turn * width + lane]
    for group in range(1, GROUPS):
        for lane in range(width):
            lanes[0, lane] += lanes[group, lane]
    total = np.float32(0.0)
    for k in range(n_turns * width, n):
        total += sizes[k]
    for lane in range(width):
        total += lanes[0, lane]
    return total


@compiled
def project(changes: Any, radius: Any) -> None:
    """Move single precision changes, in place, to the nearest ones of a total of at most `radius`.

    Every change shrinks by the same amount, or to nothing where it is smaller than that. The
    amount is what the largest changes have too much, shared by them; those that shrink to nothing
    have no part in it.
    """
    sizes = np.abs(changes)
    nothing = np.zeros_like(sizes)
    if single_sum(sizes) <= radius or single_length(sizes, nothing) == radius:
        return
    largest_first = np.sort(sizes)[::-1]
    cut, running = largest_first[0], 0.0
    for k in range(len(sizes)):
        running += largest_first[k]
        excess = np.float32(running) - radius
        sharers = np.float32(k + 1)
        if largest_first[k] * sharers > excess:
            cut = excess / sharers
    for k in range(len(sizes)):
        size = max(sizes[k] - cut, np.float32(0.0))
        changes[k] = size if changes[k] > 0.0 else -size


@compiled
def all_log_odds(rows: Any, people: Any, features: Any, adverse: Any, mixtures: Any) -> Any:
    """Return the worst-case log-odds of rows, each for the person at the given place."""
    n_samples = features.shape[2]
    memory = np.empty(n_samples), np.empty(n_samples), np.empty(n_samples)
    result = np.empty(len(rows))
    for i in range(len(rows)):
        person = people[i]
        result[i] = mixture_log_odds(rows[i], features[person], adverse[person], mixtures, memory)
    return result


@compiled
def mixture_log_odds(here: Any, features: Any, n_adverse: int, mixtures: Any, memory: Any) -> float:
    """Return the worst-case log-odds of adverse to favourable.

    Leave the distance of every sample, its share in its class, and how its log-density rises with
    the distance.
    """
    n_features, n_samples = features.shape
    sigma, optimistic_radius, pessimistic_radius = mixtures
    distances, logs, slopes = memory
    distances[:] = 0.0
    for k in range(n_features):
        x = float(here[k])
        for n in range(n_samples):
            gap = x - features[k, n]
            distances[n] = fma(gap, gap, distances[n])
    for n in range(n_samples):
        distances[n] = math.sqrt(distances[n])
    for n in range(n_adverse):
        negative, rise = optimistic(distances[n], n_features, sigma, optimistic_radius)
        logs[n], slopes[n] = -negative, -rise
    for n in range(n_adverse, n_samples):
        logs[n], slopes[n] = corner(distances[n], n_features, sigma, pessimistic_radius)
    value = 0.0
    if n_adverse > 0:
        value += log_sum(logs[:n_adverse])
    if n_adverse < n_samples:
        value -= log_sum(logs[n_adverse:])
    return value


@compiled
def log_odds(here: Any, features: Any, n_adverse: int, mixtures: Any, gradient: Any) -> float:
    """Return the worst-case log-odds of adverse to favourable, and fill in their gradient.

    A class without samples is left out.
    """
    n_features, n_samples = features.shape
    distances, logs, slopes = np.empty(n_samples), np.empty(n_samples), np.empty(n_samples)
    memory = distances, logs, slopes
    value = mixture_log_odds(here, features, n_adverse, mixtures, memory)
    gradient[:] = 0.0
    for n in range(n_samples):
        # After `log_sum` a log is the sample's share in its class.
        weight = logs[n] * slopes[n] / distances[n] if distances[n] > 0.0 else 0.0
        weight = weight if n < n_adverse else -weight
        for k in range(n_features):
            gradient[k] += weight * (here[k] - features[k, n])
    return value


@compiled
def optimistic(c: float, n_features: int, sigma: float, radius: float) -> tuple[float, float]:
    """Return the least negative log-density at distance c, and its derivative.

    Up to c = radius the mean reaches the point; up to radius + sigma the whole radius is spent
    on the mean; from there on a part of it goes into the deviation. There the tangent of the
    split is (1 - t^2) / t, where t is deviation over distance, and t is the only root of
    t c - sigma - radius / sqrt(1 - t^2 + t^4), not far above (sigma + radius) / c. There are no
    branches, so that a loop over distances becomes vector instructions.
    """
    ratio = (sigma + radius) / c
    for _ in range(OPTIMISTIC_STEPS):
        square = ratio * ratio
        norm = 1.0 - square * (1.0 - square)
        root = math.sqrt(norm)
        value = ratio * c - sigma - radius / root
        slope = c + radius * ratio * (2.0 * square - 1.0) / (norm * root)
        ratio -= value / slope
    square = ratio * ratio
    share = radius / math.sqrt(1.0 - square * (1.0 - square))
    near = c <= radius + sigma
    deviation = sigma if near else sigma + share * (1.0 - square)
    gap = c - radius if near else c - share * ratio
    gap = 0.0 if c <= radius else gap
    scaled = gap / deviation
    value = log(deviation) + 0.5 * scaled * scaled + (n_features - 1) * log(sigma)
    return value, scaled / deviation


@compiled
def corner(c: float, n_features: int, sigma: float, radius: float) -> tuple[float, float]:
    """Return the log-density at distance c if the mean moves away by the radius; its derivative."""
    scaled = (c + radius) / sigma
    return -0.5 * scaled * scaled - n_features * log(sigma), -scaled / sigma


@compiled
def log_sum(logs: Any) -> float:
    """Return the logarithm of the sum of exponentials, and leave each one's share in that sum."""
    most = -np.inf
    for n in range(len(logs)):
        most = max(most, logs[n])
    for n in range(len(logs)):
        logs[n] = exp(logs[n] - most)
    total = 0.0
    for n in range(len(logs)):
        total += logs[n]
    for n in range(len(logs)):
        logs[n] /= total
    return float(most + log(total))
