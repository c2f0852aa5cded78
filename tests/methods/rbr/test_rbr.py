from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from changeproof import Context, Factuals, Task
from changeproof.methods.rbr import (
    NO_BOUNDARY,
    NO_FAVOURABLE_ROW,
    RBR,
    nearest_boundary,
    project,
    single_length,
)
from changeproof.randomness import stream
from plain_searches import Judge, odds, plain_boundary, plain_log_odds


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
        value, gradient = odds(here, samples, labels)
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
        {"extra_distance": 50.0},
        {"extra_distance": 50.0, "max_iterations": 3},
    ],
    ids=["surface", "patience", "budget"],
)
def test_the_walk_ends_where_it_should(
    settings: dict[str, float], small_context: Context, small_factuals: Factuals
) -> None:
    method = RBR(**settings).fit(small_context)  # type: ignore[arg-type]
    asked = small_factuals[:6]
    answers = method.generate(asked)
    start = RBR(max_iterations=0).fit(small_context).generate(asked)
    boundary = nearest_boundary(small_context.model, asked.rows, method._favourable, 1000, 100)
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
    assert not RBR.tuning_candidates()
