"""The methods that readers look for beside robust ones: spheres, the nearest row, paths."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from changeproof import Context, Factuals, Network, Task
from changeproof.methods.face import FACE, NO_GOAL, NO_PATH
from changeproof.methods.growing_spheres import GrowingSpheres, Rings
from changeproof.methods.nearest_row import NearestRow
from changeproof.model import Access, Booleans, Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.networks.training import TrainingRecipe


class Plane:
    """A model that accepts rows on one side of a plane."""

    offers = Access.PREDICTIONS

    def __init__(self, normal: Floats, level: float) -> None:
        self.normal, self.level = normal, level

    def probabilities(self, rows: Floats) -> Floats:
        return np.clip(0.5 + 0.1 * ((rows * self.normal).sum(axis=1) - self.level), 0.0, 1.0)

    def favourable(self, rows: Floats) -> Booleans:
        return self.probabilities(rows) >= 0.5


@pytest.fixture(scope="module")
def plane(small_task: Task) -> Plane:
    return Plane(np.array([0.6, 0.0, -0.8, 0.0, 0.0]), 1.3)


@pytest.fixture(scope="module")
def rejected(small_task: Task, plane: Plane) -> Factuals:
    rows = small_task.rows("test")
    adverse = ~plane.favourable(rows)
    return Factuals(small_task.row_ids("test")[adverse], rows[adverse])[:12]


def never(features: int = 5) -> Network:
    weights = (np.zeros((1, features), np.float32),)
    return Network(weights, (np.array([-1], np.float32),))


def test_rings_are_uniform_by_volume() -> None:
    for shell, features in [(0, 2), (3, 2), (5, 7)]:
        rings = Rings(20_000, 0.5, 10, norm=2)
        far = np.sqrt((rings._moves(shell, features, "test") ** 2).sum(axis=1))
        assert far.min() >= 0.5 * shell - 1e-12
        assert far.max() <= 0.5 * (shell + 1) + 1e-12
        shares = (far / 0.5) ** features - shell**features
        shares /= (shell + 1) ** features - shell**features
        # A quarter of the volume holds a quarter of the points, to four deviations.
        for share in (0.25, 0.5, 0.75):
            assert abs((shares < share).mean() - share) < 4 * math.sqrt(share * (1 - share) / 2e4)


def slow_spheres(method: GrowingSpheres, model: Any, person: Floats, address: Any) -> Floats:
    """Grow the spheres of one person ring by ring, as the paper writes it down."""
    number, radius = 0, method.first_radius
    while True:
        ball = Rings(method.samples, radius, 1, norm=2)
        points = person + ball._moves(0, len(person), *address, number)
        if not model.favourable(points).any():
            break
        number, radius = number + 1, radius / method.shrink
    for ring in range(method.max_rings):
        rings = Rings(method.samples, method.ring * radius, method.max_rings, norm=2)
        points = person + rings._moves(ring, len(person), *address, number)
        points = points[model.favourable(points)]
        if len(points):
            break
    answer = min(points, key=lambda point: float(((point - person) ** 2).sum())).copy()
    for feature in np.argsort(np.abs(answer - person)):
        tried = answer.copy()
        tried[feature] = person[feature]
        if model.favourable(tried[None])[0]:
            answer = tried
    return answer


@pytest.mark.parametrize(("shrink", "ring"), [(2.0, 1.0), (10.0, 0.18)])
def test_growing_spheres_are_those_of_a_plain_loop(
    shrink: float, ring: float, small_context: Context, small_factuals: Factuals
) -> None:
    method = GrowingSpheres(samples=100, first_radius=1.0, shrink=shrink, ring=ring)
    answers = method.fit(small_context).generate(small_factuals[:10])
    address = small_context.task.name, small_context.base_seed, "growing spheres"
    for person, answer in zip(small_factuals.rows, answers.rows, strict=False):
        slow = slow_spheres(method, small_context.model, person, address)
        np.testing.assert_array_equal(answer, slow)
    assert answers.diagnostics["balls"].max() > 1


def test_growing_spheres_end_just_behind_a_plane_and_change_what_matters(
    small_task: Task, plane: Plane, rejected: Factuals
) -> None:
    context = Context(small_task, plane, 2026)
    whole = GrowingSpheres(sparse=False).fit(context).generate(rejected)
    sparse = GrowingSpheres().fit(context).generate(rejected)
    needed = plane.level - (rejected.rows * plane.normal).sum(axis=1)
    far = np.sqrt(((whole.rows - rejected.rows) ** 2).sum(axis=1))
    assert (far >= needed - 1e-9).all()
    # The ring with the first accepted point, and one more for having missed some.
    assert (far <= needed + 0.5).all()
    assert whole.base_valid.all()
    assert sparse.base_valid.all()
    assert (whole.rows != rejected.rows).all()
    changed = sparse.rows != rejected.rows
    assert not changed[:, [1, 3, 4]].any()
    np.testing.assert_array_equal(sparse.rows[changed], whole.rows[changed])


def test_growing_spheres_without_an_accepted_point_say_so(
    small_task: Task, rejected: Factuals
) -> None:
    method = GrowingSpheres(samples=10, max_rings=5)
    answers = method.fit(Context(small_task, never(), 1)).generate(rejected)
    assert set(answers.outcomes) == {"work budget used up"}
    assert (answers.diagnostics["rings"] == 5).all()


@pytest.mark.parametrize("feasible", [False, True])
def test_the_nearest_row_behind_a_plane_is_that_of_the_closed_form(
    feasible: bool, small_task: Task, plane: Plane, rejected: Factuals
) -> None:
    fine = {name: {"step": 1e-7} for name in small_task.feature_names}
    task = small_task.replaced(actions=fine)
    context = Context(task, plane, 2026, actions=task.actions if feasible else None)
    answers = NearestRow().fit(context).generate(rejected)
    needed = plane.level - (rejected.rows * plane.normal).sum(axis=1)
    prices = task.distance_weights[[0, 2]] / np.abs(plane.normal[[0, 2]])
    assert answers.base_valid.all()
    far = task.distances(rejected.rows, answers.rows)
    low, high = task.training_range
    # Who has room for it changes the one feature that gains most for its distance.
    best = [0, 2][int(prices.argmin())]
    there = rejected.rows[:, best] + needed / plane.normal[best]
    room = (there >= low[best]) & (there <= high[best])
    assert room.sum() > 6
    shortest = needed * prices.min()
    assert (far >= shortest - 1e-9).all()
    assert (far[room] <= shortest[room] * (1 + 1 / 64) + 0.002 * task.distance_weights.max()).all()


def test_on_a_forest_the_nearest_row_is_the_nearest_of_all_cells() -> None:
    """Two whole numbers: every row that a person may be told is tried."""
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(generator.integers(0, 25, (300, 2)), columns=["a", "b"])
    score = np.abs(frame["a"] - 12) + (frame["b"] - 9) ** 2 / 9
    task = Task("whole", frame, (score > score.median()).astype(int))
    learner = EstimatorLearner(RandomForestClassifier(n_estimators=9, max_depth=4))
    model: Any = learner.train([TrainingRecipe(initialisation_seed=1)], task)[0]
    every = pd.DataFrame([(a, b) for a in range(25) for b in range(25)], columns=["a", "b"])
    rows = task.standardise(every)
    accepted, rejected = rows[model.favourable(rows)], rows[~model.favourable(rows)][::3]
    people = Factuals(np.arange(len(rejected)), rejected)
    answers = NearestRow().fit(Context(task, model, 1, actions=task.actions)).generate(people)
    assert answers.base_valid.all()
    far = task.distances(answers.factuals, answers.rows)
    exact = np.array(
        [task.distances(np.repeat([row], len(accepted), 0), accepted).min() for row in rejected]
    )
    assert (far >= exact - 1e-12).all()
    # The search is local: it finds the nearest row of nearly all.
    assert (far <= exact + 1e-12).mean() > 0.95
    assert (far <= 1.5 * exact).all()


def test_where_everything_may_change_rows_stay_in_the_training_range(
    small_context: Context, small_factuals: Factuals
) -> None:
    answers = NearestRow().fit(small_context).generate(small_factuals)
    low, high = small_context.task.training_range
    changed = answers.rows != small_factuals.rows
    inside = (answers.rows >= low - 0.002) & (answers.rows <= high + 0.002)
    assert inside[changed].all()
    assert answers.base_valid.all()


def slow_path(
    method: FACE, rows: Floats, goals: Booleans, person: Floats, k: int
) -> tuple[float, Floats]:
    """Return the shortest path from a person to a goal, edge by edge."""
    features, nodes = rows.shape[1], [*rows, person]
    volume = math.pi ** (features / 2) / math.gamma(features / 2 + 1)
    r = k / (len(rows) * volume) if method.graph == "knn" else method.radius**features
    far = np.array([[math.dist(a, b) for b in nodes] for a in nodes])
    joined = np.zeros(far.shape, dtype=bool)
    for i in range(len(nodes)):
        others = [j for j in np.argsort(far[i], kind="stable") if j not in (i, len(rows))]
        near = (
            others[:k]
            if method.graph == "knn"
            else [j for j in others if far[i, j] <= method.radius]
        )
        joined[i, near] = True
        if i < len(rows):
            joined[near, i] = True
    best, heap = {len(rows): 0.0}, [(0.0, len(rows))]
    while heap:
        length, i = heapq.heappop(heap)
        if i < len(rows) and goals[i]:
            return length, rows[i]
        if length > best[i]:
            continue
        for j in np.flatnonzero(joined[i]):
            density = r / far[i, j] ** features
            longer = length + far[i, j] * math.log(1.0 + 1.0 / density)
            if longer < best.get(j, math.inf):
                best[j] = longer
                heapq.heappush(heap, (longer, j))
    return math.inf, np.full(features, np.nan)


@pytest.mark.parametrize("graph", ["knn", "epsilon"])
def test_face_ends_where_a_plain_search_for_the_shortest_path_ends(
    graph: Any, small_context: Context, small_factuals: Factuals
) -> None:
    method = FACE(graph=graph, neighbours=4, radius=1.2, thin=0.3).fit(small_context)
    answers = method.generate(small_factuals[:12])
    rows, model = method._rows, small_context.model
    far = np.sort(((rows[:, None] - rows) ** 2).sum(axis=2), axis=1)[:, 4]
    dense = far <= np.sort(far)[int(0.7 * len(far)) - 1]
    goals = (model.probabilities(rows) >= 0.75) & dense
    assert 10 < goals.sum() < 0.7 * len(rows)
    lengths = []
    for person, row, length in zip(
        small_factuals.rows, answers.rows, answers.diagnostics["path_length"], strict=False
    ):
        slow, end = slow_path(method, rows, goals, person, 4)
        lengths.append(slow)
        np.testing.assert_array_equal(row, end)
        np.testing.assert_allclose(length, slow if math.isfinite(slow) else np.nan, rtol=1e-9)
    assert np.isfinite(lengths).any()
    assert answers.diagnostics["path_steps"].max() > 2
    outcomes = set(answers.outcomes[~np.isfinite(lengths)])
    assert outcomes <= {NO_PATH}
    assert (graph == "epsilon") == bool(outcomes)


def test_where_face_has_no_goal_it_says_so(small_task: Task, rejected: Factuals) -> None:
    answers = FACE().fit(Context(small_task, never(), 1)).generate(rejected)
    assert set(answers.outcomes) == {NO_GOAL}


def test_feasible_rows_of_face_are_as_dense_and_likely_as_its_goals(
    small_context: Context, small_factuals: Factuals
) -> None:
    task = small_context.task
    context = Context(task, small_context.model, 2026, actions=task.actions)
    method = FACE(neighbours=10).fit(context)
    answers = method.generate(small_factuals[:10])
    assert answers.found.all()
    assert (small_context.model.probabilities(answers.rows) >= 0.75).all()
    near = np.sort(((answers.rows[:, None] - method._rows) ** 2).sum(axis=2), axis=1)[:, 9]
    assert (near <= method._furthest**2 + 1e-9).all()
    proposed = FACE(neighbours=10).fit(small_context).generate(small_factuals[:10])
    far, before = (task.distances(small_factuals.rows[:10], a.rows) for a in (answers, proposed))
    assert far.mean() < before.mean()
