from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.spatial.distance import pdist
from scipy.special import logsumexp

from benchmarks.plain.rbr import project as plain_project
from changeproof import Context, Factuals, Network, Task
from changeproof.errors import InputError
from changeproof.methods import nearest_boundary as boundary_module
from changeproof.methods.rbr import (
    NO_BOUNDARY,
    NO_FAVOURABLE_ROW,
    RBR,
    _roots,
)
from changeproof.methods.search.mixture_bounds import (
    corner,
    optimistic,
    pessimistic,
    pessimistic_table,
    solve_pessimistic,
)
from changeproof.methods.search.nearest_boundary import largest_distance, nearest_boundary
from changeproof.methods.search.single_precision import project, single_length, single_sum
from changeproof.methods.search.worst_case_odds import NO_TABLE, by_class, log_odds
from changeproof.model import Access
from changeproof.randomness import stream


class Judge:
    """A model known by its predictions only, that counts what it is asked."""

    offers = Access.PREDICTIONS

    def __init__(self, judge: Callable[[np.ndarray], np.ndarray]) -> None:
        self.judge = judge
        self.asked = 0

    def favourable(self, rows: np.ndarray) -> np.ndarray:
        self.asked += len(rows)
        return self.judge(rows)

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        return self.judge(rows).astype(float)


# The closest boundary point


def plain_boundary(
    model: Judge | Network, x: np.ndarray, rows: np.ndarray, n_rows: int, n_steps: int
) -> tuple[np.ndarray, float]:
    """Segment by segment, the first step that is favourable; of these the closest."""
    lengths = np.abs(rows - x).sum(axis=1)
    best, closest = np.full(len(x), np.nan), math.inf
    for i in np.argsort(lengths, kind="stable")[:n_rows]:
        points = x + (np.arange(n_steps) / (n_steps - 1))[:, None] * (rows[i] - x)
        favourable = model.favourable(points)
        if favourable.any():
            first = int(favourable.argmax())
            distance = first / (n_steps - 1) * lengths[i]
            if distance < closest:
                best, closest = points[first], distance
    return best, closest


@pytest.mark.parametrize(("n_rows", "n_steps"), [(1000, 100), (20, 100), (3, 7), (1, 2)])
@pytest.mark.parametrize("shell_points", [1, 30, 10_000])
def test_boundary_is_that_of_judging_every_step(
    n_rows: int,
    n_steps: int,
    shell_points: int,
    small_context: Context,
    small_factuals: Factuals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boundary_module, "SHELL_POINTS", shell_points)
    monkeypatch.setattr(boundary_module, "PEOPLE_AT_ONCE", 5)
    train = small_context.task.rows("train")
    rows = train[small_context.model.favourable(train)]
    people = small_factuals.rows[:12]
    found = nearest_boundary(small_context.model, people, rows, n_rows=n_rows, n_steps=n_steps)
    for i, x in enumerate(people):
        best, closest = plain_boundary(small_context.model, x, rows, n_rows, n_steps)
        np.testing.assert_array_equal(found.rows[i], best)
        assert found.distances[i] == pytest.approx(closest, rel=1e-14)
        assert found.distances[i] == pytest.approx(np.abs(best - x).sum())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), wavelength=st.floats(0.05, 3.0), n_rows=st.integers(1, 40))
def test_boundary_of_a_model_that_changes_its_mind_along_the_way(
    seed: int, wavelength: float, n_rows: int
) -> None:
    generator = np.random.default_rng(seed)

    def striped(rows: np.ndarray) -> np.ndarray:
        return np.sin(rows / wavelength).prod(axis=1) > 0.3

    points = generator.normal(size=(60, 3))
    people, rows = points[~striped(points)], points[striped(points)]
    if not len(people) or not len(rows):
        return
    model = Judge(striped)
    found = nearest_boundary(model, people, rows, n_rows=n_rows, n_steps=100)
    assert model.asked <= len(people) * min(n_rows, len(rows)) * 99
    for i, x in enumerate(people):
        best, _ = plain_boundary(model, x, rows, n_rows, 100)
        np.testing.assert_array_equal(found.rows[i], best)


def test_boundary_search_asks_for_little_more_than_it_must(
    small_context: Context, small_factuals: Factuals
) -> None:
    train = small_context.task.rows("train")
    rows = train[small_context.model.favourable(train)]
    model = Judge(small_context.model.favourable)
    people = small_factuals.rows[:16]
    found = nearest_boundary(model, people, rows, n_rows=1000, n_steps=100)
    lengths = np.abs(rows[None] - people[:, None]).sum(axis=2)
    steps = np.arange(1, 100) / 99 * lengths[:, :, None]
    must = (steps < found.distances[:, None, None]).sum()
    assert must < model.asked < 0.7 * steps.size
    assert model.asked < must + 16 * (len(rows) + boundary_module.SHELL_POINTS)


def test_boundary_of_equals_is_the_first_and_may_not_exist() -> None:
    rows = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    people = np.zeros((1, 2))
    found = nearest_boundary(Judge(lambda p: p.sum(axis=1) >= 1), people, rows, n_rows=3, n_steps=3)
    np.testing.assert_array_equal(found.rows, [[1.0, 0.0]])
    assert found.distances.tolist() == [1.0]
    never = Judge(lambda p: np.zeros(len(p), dtype=bool))
    found = nearest_boundary(never, people, rows, n_rows=3, n_steps=100)
    assert np.isnan(found.rows).all() and np.isnan(found.distances).all()
    assert never.asked == 3 * 99


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 80), heavy=st.booleans())
def test_largest_distance(seed: int, n: int, heavy: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.standard_cauchy((n, 4)) if heavy else generator.normal(size=(n, 4))
    assert largest_distance(rows) == pytest.approx(pdist(rows).max(), rel=1e-13)


def test_largest_distance_of_one_row_is_none() -> None:
    assert largest_distance(np.ones((1, 3))) == 0.0


# The bounds on densities


def plain_optimistic(c: float, p: int, sigma: float, radius: float) -> tuple[float, float]:
    def objective(v: np.ndarray) -> np.ndarray:
        return np.log(sigma + v[1]) + (c - v[0]) ** 2 / (2 * (sigma + v[1]) ** 2)

    value, v = constrained_minimum(objective, radius, 1.0)
    return value + (p - 1) * math.log(sigma), (c - v[0]) / (sigma + v[1]) ** 2


def plain_pessimistic(c: float, p: int, sigma: float, radius: float) -> tuple[float, float]:
    def objective(u: np.ndarray) -> np.ndarray:
        value = -np.log(sigma + u[1]) - (c + p**0.5 * u[0]) ** 2 / (2 * (sigma + u[1]) ** 2)
        left = np.maximum(0.0, radius**2 - p * u[0] ** 2 - u[1] ** 2)
        if p > 1:
            value = value - (p - 1) * np.log(sigma + np.sqrt(left / (p - 1)))
        return value

    value, u = constrained_minimum(objective, radius, p)
    return value, -(c + p**0.5 * u[0]) / (sigma + u[1]) ** 2


def constrained_minimum(
    objective: Callable[[np.ndarray], np.ndarray], radius: float, weight: float
) -> tuple[float, np.ndarray]:
    """Minimise where u >= 0 and weight u0^2 + u1^2 <= radius^2: a grid, then a descent."""

    def place(polar: np.ndarray) -> np.ndarray:
        length = radius * np.sin(polar[0])
        return np.array([length * np.cos(polar[1]) / weight**0.5, length * np.sin(polar[1])])

    quarter = math.pi / 2
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, quarter, 41)] * 2))
    values = objective(place(grid))
    start = grid[:, *np.unravel_index(values.argmin(), values.shape)]
    run = minimize(
        lambda polar: float(objective(place(polar))),
        start,
        bounds=[(0.0, quarter)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return float(run.fun), place(run.x)


DISTANCES = (0.0, 0.2, 0.5, 0.51, 0.8, 1.2, 1.499, 1.5, 1.6, 2.3, 4.0, 7.0, 30.0)


@pytest.mark.parametrize(("sigma", "radius"), [(1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("p", [1, 2, 8, 30])
def test_bounds_are_the_minima(p: int, sigma: float, radius: float) -> None:
    for c in DISTANCES:
        for ours, plain in ((optimistic, plain_optimistic), (solve_pessimistic, plain_pessimistic)):
            value, slope = ours(c, p, sigma, radius)
            slow_value, slow_slope = plain(c, p, sigma, radius)
            assert value <= slow_value + 1e-9
            assert value == pytest.approx(slow_value, abs=1e-6, rel=1e-5)
            # At a kink two minima are equally good and either derivative is right.
            h = 1e-6 * (1 + c)
            left, right = ((ours(max(c + s * h, 0.0), p, sigma, radius)[0]) for s in (-1, 1))
            numerical = (right - left) / (c + h - max(c - h, 0.0))
            assert slope == pytest.approx(numerical, abs=1e-3, rel=1e-4)
            assert slope == pytest.approx(slow_slope, abs=2e-3, rel=1e-3)


@pytest.mark.parametrize(("sigma", "radius"), [(1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("p", [3, 11, 20])
def test_the_table_is_as_good_as_solving(p: int, sigma: float, radius: float) -> None:
    table = pessimistic_table(p, sigma, radius)
    distances = np.random.default_rng(p).uniform(0, 2 * (sigma + radius), 400)
    fast = np.array([pessimistic(c, p, sigma, radius, table) for c in distances])
    slow = np.array([solve_pessimistic(c, p, sigma, radius) for c in distances])
    errors = np.sort(np.abs(fast - slow), axis=0)
    # Where one minimum takes over from another the derivative jumps within a cell of the table.
    assert (errors[-4] < [1e-6, 5e-3]).all()
    assert (errors[-20] < [1e-8, 1e-4]).all()
    assert errors[-1, 0] < 1e-2


def test_bounds_in_closed_form() -> None:
    # Nothing may move: a plain Gaussian, up to the constants.
    for c in (0.0, 0.7, 3.0):
        assert optimistic(c, 4, 1.0, 0.0) == pytest.approx((c**2 / 2, c))
        assert solve_pessimistic(c, 4, 1.0, 0.0) == pytest.approx((-(c**2) / 2, -c))
    # The mean moves onto the point, or all the way towards it.
    assert optimistic(0.4, 3, 2.0, 0.5) == pytest.approx((3 * math.log(2), 0.0))
    assert optimistic(1.5, 3, 1.0, 0.5) == pytest.approx((0.5, 1.0))
    # In one dimension far away, all of the radius takes the mean farther.
    assert solve_pessimistic(3.0, 1, 1.0, 0.5) == pytest.approx((-(3.5**2) / 2, -3.5))
    # Whatever moves, a point gets no less likely at best and no likelier at worst.
    for c in DISTANCES:
        assert optimistic(c, 8, 1.0, 0.5)[0] <= c**2 / 2
        assert solve_pessimistic(c, 8, 1.0, 0.5)[0] <= -(c**2) / 2


def test_optimistic_is_solved_to_the_last_digits() -> None:
    generator = np.random.default_rng(0)
    for sigma, radius in ((1.0, 0.5), (0.5, 1.0), (1e-3, 1.0), (1.0, 1e-3)):
        for c in (sigma + radius) * (1.0 + 10.0 ** generator.uniform(-6, 3, 100)):
            value, slope = optimistic(c, 5, sigma, radius)

            def rise(angle: float, c: float = c, s: float = sigma, r: float = radius) -> float:
                t = (s + r * math.sin(angle)) / (c - r * math.cos(angle))
                return math.cos(angle) * (t**2 - 1) + t * math.sin(angle)

            angle = brentq(rise, 0.0, math.pi / 2, xtol=1e-15, rtol=1e-15)
            gap, deviation = c - radius * math.cos(angle), sigma + radius * math.sin(angle)
            plain = math.log(deviation) + (gap / deviation) ** 2 / 2 + 4 * math.log(sigma)
            assert value == pytest.approx(plain, rel=1e-12, abs=1e-12)
            assert slope == pytest.approx(gap / deviation**2, rel=1e-11)


@pytest.mark.parametrize(("sigma", "radius"), [(1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("p", [1, 2, 8, 30])
def test_the_published_corner(p: int, sigma: float, radius: float) -> None:
    for c in DISTANCES:
        value, slope = corner(c, p, sigma, radius)
        # The objective of the inner search at sqrt(p) u0 = radius, u1 = 0.
        u0 = radius / math.sqrt(p)
        plain = -math.log(sigma) - (c + math.sqrt(p) * u0) ** 2 / (2 * sigma**2)
        assert value == pytest.approx(plain - (p - 1) * math.log(sigma))
        assert slope == pytest.approx(-(c + radius) / sigma**2)
        # It is one of the places that the minimum is taken over.
        assert solve_pessimistic(c, p, sigma, radius)[0] <= value + 1e-12


# The objective and the ball


def odds(
    here: np.ndarray, samples: np.ndarray, labels: np.ndarray, inner: str = "published"
) -> tuple[float, np.ndarray]:
    gradient = np.empty(len(here))
    table = cached_table(len(here)) if inner == "exact" else NO_TABLE
    return log_odds(here, *by_class(samples, labels), 1.0, 0.5, 0.5, table, gradient), gradient


@cache
def cached_table(p: int) -> np.ndarray:
    return np.asarray(pessimistic_table(p, 1.0, 0.5))


def plain_corner(c: float, p: int, sigma: float, radius: float) -> tuple[float, float]:
    return -((c + radius) ** 2) / (2 * sigma**2) - p * math.log(sigma), -(c + radius) / sigma**2


def plain_log_odds(
    here: np.ndarray, samples: np.ndarray, labels: np.ndarray, inner: str = "published"
) -> tuple[float, np.ndarray]:
    value, gradient = 0.0, np.zeros(len(here))
    worst = plain_pessimistic if inner == "exact" else plain_corner
    for label, bound, sign in ((False, plain_optimistic, 1.0), (True, worst, -1.0)):
        rows = samples[labels == label]
        if not len(rows):
            continue
        c = np.sqrt(((here - rows) ** 2).sum(axis=1))
        bounds = np.array([bound(each, len(here), 1.0, 0.5) for each in c])
        logs = bounds * (1.0 if label else -1.0)
        total = logsumexp(logs[:, 0])
        value += sign * total
        weights = sign * np.exp(logs[:, 0] - total) * logs[:, 1] / c
        gradient += (weights[:, None] * (here - rows)).sum(axis=0)
    return value, gradient


def test_samples_by_class() -> None:
    samples = np.arange(15.0).reshape(5, 3)
    labels = np.array([True, False, True, False, False])
    rows, features, n_adverse = by_class(samples, labels)
    np.testing.assert_array_equal(rows, samples[[1, 3, 4, 0, 2]])
    np.testing.assert_array_equal(features, rows.T)
    assert n_adverse == 3


@pytest.mark.parametrize("inner", ["published", "exact"])
@pytest.mark.parametrize("classes", ["both", "adverse", "favourable"])
def test_log_odds_and_their_gradient(classes: str, inner: str) -> None:
    generator = np.random.default_rng(3)
    samples = generator.normal(size=(25, 6)) * 1.5
    labels = {
        "both": generator.random(25) < 0.4,
        "adverse": np.zeros(25, dtype=bool),
        "favourable": np.ones(25, dtype=bool),
    }[classes]
    here = generator.normal(size=6)
    value, gradient = odds(here, samples, labels, inner)
    slow_value, slow_gradient = plain_log_odds(here, samples, labels, inner)
    assert value == pytest.approx(slow_value, abs=1e-5)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-3)
    for k in range(6):
        h = 1e-5 * np.eye(6)[k]
        left, right = (odds(here + s * h, samples, labels, inner)[0] for s in (-1, 1))
        assert gradient[k] == pytest.approx((right - left) / 2e-5, abs=1e-5)


def test_log_odds_at_a_sample_and_far_from_all() -> None:
    samples = np.array([[0.0, 0.0], [1.0, 0.0]])
    for inner in ("published", "exact"):
        for here in (samples[0].copy(), samples[1].copy(), np.array([1e4, -1e4])):
            value, gradient = odds(here, samples, np.array([False, True]), inner)
            assert np.isfinite(value) and np.isfinite(gradient).all()


def slow_sum(numbers: np.ndarray) -> np.float32:
    """Add up in PyTorch's order, as `single_precision.py` states it."""
    width = 8 if len(numbers) >= 8 else 1
    turns = numbers[: len(numbers) // width * width].reshape(-1, width)
    in_turn = len(turns) // 4 * 4
    groups = [[*turns[group:in_turn:4]] for group in range(4)]
    groups[0] += [*turns[in_turn:]]
    nothing = np.zeros(width, dtype=np.float32)
    lanes = sum((sum(group, nothing) for group in groups), nothing)
    return in_order([*numbers[turns.size :], *lanes])


def in_order(numbers: Iterable[np.float32]) -> np.float32:
    return sum(numbers, np.float32(0.0))


@pytest.mark.parametrize("p", [1, 3, 5, 7, 8, 11, 20, 30, 33, 80])
def test_single_precision_sums_are_those_of_torch(p: int) -> None:
    # PyTorch promises no order, but has the same for all vector widths of x86-64 processors.
    same_order = platform.machine() in ("x86_64", "AMD64")
    generator = np.random.default_rng(p)
    for _ in range(500):
        here, start = generator.normal(size=(2, p)).astype(np.float32)
        change = here - start
        assert single_length(here, start) == in_order(np.abs(change))
        assert single_sum(change) == slow_sum(change)
        if same_order:
            there = torch.from_numpy(here) - torch.from_numpy(start)
            assert single_length(here, start) == torch.linalg.norm(there, ord=1, dim=-1).item()
            assert single_sum(change) == there.sum().item()


@pytest.mark.parametrize("p", [1, 2, 8, 11, 20, 30])
def test_projection_is_that_of_torch(p: int) -> None:
    generator = np.random.default_rng(p)
    for _ in range(200):
        change = generator.normal(size=p).astype(np.float32)
        radius = np.float32(generator.uniform(0.1, 1.2) * np.abs(change).sum())
        ours = change.copy()
        project(ours, radius)
        theirs = plain_project(torch.from_numpy(change), torch.tensor(radius))
        np.testing.assert_array_equal(ours, theirs.numpy())


@settings(max_examples=200, deadline=None)
@given(
    change=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=8),
    radius=st.floats(2**-9, 60, width=32),
)
def test_projection_is_the_nearest_row_of_the_ball(change: list[float], radius: float) -> None:
    wished = np.array(change, dtype=np.float32)
    moved = wished.copy()
    project(moved, np.float32(radius))
    if single_sum(np.abs(wished)) <= radius:
        np.testing.assert_array_equal(moved, wished)
        return
    rounding = 1e-6 * float(np.abs(wished).sum())
    assert np.abs(moved).sum() == pytest.approx(radius, rel=1e-5, abs=rounding)
    # Optimal: what is left over points along the ball's normal at the result.
    left = wished.astype(np.float64) - moved
    largest = np.abs(left).max()
    np.testing.assert_allclose(left @ moved, largest * radius, rtol=1e-4, atol=60 * rounding)


# The method


def test_one_step_is_the_slow_one(small_context: Context, small_factuals: Factuals) -> None:
    method = RBR(n_samples=40, max_iterations=1, extra_distance=50.0).fit(small_context)
    asked = small_factuals[:2]
    answers = method.generate(asked)
    train = small_context.task.rows("train")
    rows = train[small_context.model.favourable(train)]
    radius = 0.2 * pdist(train).max()
    for i, (row_id, x) in enumerate(zip(asked.row_ids.tolist(), asked.rows, strict=True)):
        start, _ = plain_boundary(small_context.model, x, rows, 1000, 100)
        generator = stream("small", 2026, "rbr", row_id)
        directions = generator.standard_normal((40, 5))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        samples = start + radius * generator.random((40, 1)) ** (1 / 5) * directions
        labels = small_context.model.favourable(samples)
        _, gradient = plain_log_odds(start, samples, labels)
        np.testing.assert_allclose(answers.rows[i], start - gradient / 1000**0.5, atol=1e-4)
        assert answers.diagnostics["favourable_samples"][i] == labels.sum()


def plain_walk(
    method: RBR, x: np.ndarray, start: np.ndarray, samples: np.ndarray
) -> tuple[np.ndarray, int]:
    labels = method.context.model.favourable(samples)
    here, best, idle = start, math.inf, 0
    radius = single_length(here, x) + np.float32(method.extra_distance)
    for iteration in range(method.max_iterations):
        if single_length(here, x) >= radius:
            return here, iteration
        value, gradient = odds(here, samples, labels, method.inner)
        change = here - np.float32(method.step_size) * gradient.astype(np.float32) - x
        project(change, radius)
        here = change + x
        value = float(np.float32(value))
        idle = 0 if best - value > method.tolerance else idle + 1
        best = min(best, value)
        if idle == method.patience:
            return here, iteration + 1
    return here, method.max_iterations


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"inner": "exact"},
        {"extra_distance": 50.0},
        {"extra_distance": 50.0, "max_iterations": 3},
    ],
    ids=["surface", "exact", "patience", "budget"],
)
def test_the_walk_ends_where_it_should(
    settings: dict[str, float | str], small_context: Context, small_factuals: Factuals
) -> None:
    method = RBR(**settings).fit(small_context)  # type: ignore[arg-type]
    asked = small_factuals[:6]
    answers = method.generate(asked)
    start = RBR(max_iterations=0).fit(small_context).generate(asked)
    boundary = nearest_boundary(
        small_context.model, asked.rows, method._favourable, n_rows=1000, n_steps=100
    )
    samples, _ = method._samples(asked.row_ids, boundary.rows)
    for i, x in enumerate(asked.rows.astype(np.float32)):
        begin = boundary.rows[i].astype(np.float32)
        np.testing.assert_array_equal(start.rows[i], begin)
        row, iterations = plain_walk(method, x, begin, samples[i])
        assert answers.diagnostics["iterations"][i] == iterations
        np.testing.assert_array_equal(answers.rows[i], row)
        if "extra_distance" not in settings:
            radius = single_length(begin, x) + np.float32(0.2)
            assert single_length(row, x) >= radius


def test_both_inner_searches(small_context: Context, small_factuals: Factuals) -> None:
    published, exact = (
        RBR(inner=inner, extra_distance=50.0).fit(small_context).generate(small_factuals[:10])
        for inner in ("published", "exact")
    )
    default = RBR(extra_distance=50.0).fit(small_context).generate(small_factuals[:10])
    np.testing.assert_array_equal(default.rows, published.rows)
    assert np.abs(published.rows - exact.rows).max() > 1e-3
    with pytest.raises(InputError, match=r"inner search of rbr 'true'.*published, exact"):
        RBR(inner="true")


def test_roots() -> None:
    numbers = np.array([0.0, 1e-300, 0.3, 0.9999])
    for degree in (1, 8, 30):
        np.testing.assert_allclose(_roots(numbers, degree), numbers ** (1 / degree), rtol=1e-13)


def test_without_improvement_patience_ends_the_walk(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = RBR(extra_distance=1e3, tolerance=1e9, patience=4).fit(small_context)
    answers = method.generate(small_factuals[:5])
    # The first value improves on none at all.
    assert (answers.diagnostics["iterations"] == 5).all()


def test_without_a_step_the_answer_is_the_boundary_point(
    small_context: Context, small_factuals: Factuals
) -> None:
    answers = RBR(max_iterations=0).fit(small_context).generate(small_factuals)
    assert answers.base_valid.all()
    lengths = np.abs(answers.rows - small_factuals.rows).sum(axis=1)
    np.testing.assert_allclose(lengths, answers.diagnostics["boundary_distance"], rtol=1e-6)
    assert (answers.diagnostics["iterations"] == 0).all()


def test_samples_fill_the_ball_evenly(small_context: Context) -> None:
    method = RBR(n_samples=2_000).fit(small_context)
    centres = np.random.default_rng(0).normal(size=(3, 5))
    samples, labels = method._samples(np.arange(3), centres)
    radius = 0.2 * pdist(small_context.task.rows("train")).max()
    shares = np.linalg.norm(samples - centres[:, None], axis=2) / radius
    assert shares.max() <= 1.0
    # The share of the volume within a uniform sample's distance is itself uniform.
    np.testing.assert_allclose(np.quantile(shares**5, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.03)
    np.testing.assert_allclose((samples - centres[:, None]).mean(axis=(0, 1)), 0, atol=0.1)
    for one, label in zip(samples, labels, strict=True):
        np.testing.assert_array_equal(label, small_context.model.favourable(one))


def test_samples_of_one_class(small_task: Task) -> None:
    model = Judge(lambda rows: rows[:, 0] >= 0.1)
    rows = small_task.rows("test")
    asked = Factuals(np.arange(5), rows[~model.favourable(rows)][:5])
    # So small a ball lies on the favourable side of the boundary point's surroundings.
    answers = RBR(sampling_radius=1e-9).fit(Context(small_task, model, 0)).generate(asked)
    assert (answers.diagnostics["favourable_samples"] == 200).all()
    assert answers.found.all()
    # And so large a ball on the adverse side.
    narrow = Judge(lambda rows: (rows[:, 0] >= 0.1) & (np.abs(rows).max(axis=1) < 4.0))
    method = RBR(sampling_radius=1e6).fit(Context(small_task, narrow, 0))
    answers = method.generate(asked)
    assert (answers.diagnostics["favourable_samples"] == 0).all()
    assert answers.found.all()


def test_a_model_known_by_its_predictions_is_enough(small_task: Task) -> None:
    model = Judge(lambda rows: (rows**2).sum(axis=1) < 3.0)
    rows = small_task.rows("test")
    asked = Factuals(np.arange(20), rows[~model.favourable(rows)][:20])
    answers = RBR().fit(Context(small_task, model, 0)).generate(asked)
    assert answers.found.all()
    assert answers.base_valid.mean() > 0.8


def test_reasons(small_task: Task, small_factuals: Factuals) -> None:
    never = Judge(lambda rows: np.zeros(len(rows), dtype=bool))
    answers = RBR().fit(Context(small_task, never, 0)).generate(small_factuals)
    assert set(answers.outcomes) == {NO_FAVOURABLE_ROW}
    assert np.isnan(answers.diagnostics["iterations"]).all()
    # From so far away the way's end is no longer the row, but zero.
    picky = Judge(lambda rows: (np.abs(rows).max(axis=1) < 50) & (rows != 0).all(axis=1))
    far = np.vstack([np.full(5, 1e18), np.full(5, 60.0)])
    answers = RBR().fit(Context(small_task, picky, 0)).generate(Factuals(np.arange(2), far))
    assert answers.outcomes[0] == NO_BOUNDARY
    assert answers.outcomes[1] == "found"


def test_settings_are_the_papers() -> None:
    method = RBR()
    assert (method.n_rows, method.n_steps, method.n_samples) == (1000, 100, 200)
    assert (method.sampling_radius, method.extra_distance) == (0.2, 0.2)
    assert (method.sigma, method.optimistic_radius, method.pessimistic_radius) == (1, 0.5, 0.5)
    assert (method.max_iterations, method.patience, method.tolerance) == (500, 10, 1e-10)
    assert method.step_size == pytest.approx(1000**-0.5)
    assert method.inner == "published"
    assert not RBR.tuning_candidates()
