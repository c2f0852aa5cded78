from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import changeproof.methods.rbr as rbr
from changeproof import Context, Factuals
from changeproof.methods.rbr import largest_distance, nearest_boundary
from plain_searches import Judge, plain_boundary


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
    monkeypatch.setattr(rbr, "SHELL_POINTS", shell_points)
    monkeypatch.setattr(rbr, "FACTUALS_AT_ONCE", 5)
    train = small_context.task.rows("train")
    rows = train[small_context.model.favourable(train)]
    people = small_factuals.rows[:12]
    found = nearest_boundary(small_context.model, people, rows, n_rows, n_steps)
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
    found = nearest_boundary(model, people, rows, n_rows, 100)
    assert sum(model.asked) <= len(people) * min(n_rows, len(rows)) * 99
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
    found = nearest_boundary(model, people, rows, 1000, 100)
    lengths = np.abs(rows[None] - people[:, None]).sum(axis=2)
    steps = np.arange(1, 100) / 99 * lengths[:, :, None]
    must = (steps < found.distances[:, None, None]).sum()
    assert must < sum(model.asked) < 0.7 * steps.size
    assert sum(model.asked) < must + 16 * (len(rows) + rbr.SHELL_POINTS)


def test_boundary_of_equals_is_the_first_and_may_not_exist() -> None:
    rows = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    people = np.zeros((1, 2))
    found = nearest_boundary(Judge(lambda p: p.sum(axis=1) >= 1), people, rows, 3, 3)
    np.testing.assert_array_equal(found.rows, [[1.0, 0.0]])
    assert found.distances.tolist() == [1.0]
    never = Judge(lambda p: np.zeros(len(p), dtype=bool))
    found = nearest_boundary(never, people, rows, 3, 100)
    assert np.isnan(found.rows).all() and np.isnan(found.distances).all()
    assert sum(never.asked) == 3 * 99


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 80), heavy=st.booleans())
def test_largest_distance(seed: int, n: int, heavy: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.standard_cauchy((n, 4)) if heavy else generator.normal(size=(n, 4))
    assert largest_distance(rows) == pytest.approx(pdist(rows).max(), rel=1e-13)


def test_largest_distance_of_one_row_is_none() -> None:
    assert largest_distance(np.ones((1, 3))) == 0.0
