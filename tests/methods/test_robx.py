from __future__ import annotations

import numpy as np
import pytest

from changeproof import (
    Context,
    Factuals,
    Network,
    Task,
    TrainingData,
    TrainingRecipe,
    load_task,
    train,
)
from changeproof.methods.robx import RobXBalanced, RobXRobust


def test_answers_are_stable_and_threshold_is_the_quantile(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = RobXBalanced().fit(small_context)
    answers = method.generate(small_factuals)
    assert answers.base_valid.all()
    assert (method.stability(answers.rows) > method.threshold).all()
    train_rows = small_context.task.rows("train")
    favourable = train_rows[small_context.model.favourable(train_rows)]
    assert method.threshold == pytest.approx(np.median(method.stability(favourable)), abs=0.01)
    low, high = small_context.task.training_range
    assert (answers.rows >= low - 1e-9).all()
    assert (answers.rows <= high + 1e-9).all()


def test_stability_is_mean_minus_population_sd(small_context: Context) -> None:
    method = RobXBalanced(samples=50).fit(small_context)
    point = small_context.task.rows("train")[3]
    around = [small_context.model.probabilities((point + n)[None])[0] for n in method._noise[0]]
    expected = np.mean(around) - np.std(around)
    assert method.stability(point[None])[0] == pytest.approx(expected, abs=1e-12)


def test_a_slow_walk_to_the_anchors_gives_the_same(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = RobXBalanced(samples=200).fit(small_context)
    answers = method.generate(small_factuals[:8])
    address = (small_context.task.name, 2026, "robx start")
    starts = method._spheres.search(
        small_factuals.rows[:8], small_context.model.favourable, *address
    )
    moved = 0
    for start, answer in zip(starts.points, answers.rows, strict=True):
        if method.stability(start[None])[0] > method.threshold:
            np.testing.assert_array_equal(answer, start)
            continue
        moved += 1
        order = np.argsort([np.abs(a - start).sum() for a in method._anchors], kind="stable")[:10]
        copies = [start.copy() for _ in order]
        for _ in range(800):
            copies = [
                c + 0.1 * (method._anchors[a] - c) for c, a in zip(copies, order, strict=True)
            ]
            stable = [
                small_context.model.favourable(c[None])[0]
                and method.stability(c[None])[0] > method.threshold
                for c in copies
            ]
            if any(stable):
                np.testing.assert_allclose(answer, copies[stable.index(True)], atol=1e-12)
                break
    assert moved > 0


def test_the_stricter_configuration_asks_for_more(
    small_context: Context, small_factuals: Factuals
) -> None:
    balanced = RobXBalanced(samples=200).fit(small_context)
    robust = RobXRobust(samples=200).fit(small_context)
    assert robust.threshold > balanced.threshold
    assert robust.settings()["quantile"] == 0.9
    task = small_context.task
    lengths = [
        task.distances(small_factuals.rows, m.generate(small_factuals).rows).mean()
        for m in (balanced, robust)
    ]
    assert lengths[1] > lengths[0]


def test_nothing_stable_is_a_reason(small_task: Task, small_factuals: Factuals) -> None:
    """A network that is favourable only just: no quantile exceeds the least threshold."""
    weight = np.array([[1e-3, 0, 0, 0, 0]], np.float32)
    faint = Network((weight,), (np.zeros(1, np.float32),))
    adverse = ~faint.favourable(small_factuals.rows)
    method = RobXBalanced(samples=100, quantile=1.0).fit(Context(small_task, faint, 1))
    answers = method.generate(small_factuals[adverse])
    assert set(answers.outcomes) <= {"no training row is stable", "found"}
    assert "no training row is stable" in answers.outcomes


@pytest.mark.parametrize(
    ("name", "balanced", "robust"),
    [("diabetes", (0.783, 0.834), (0.912, 0.973)), ("breast-cancer", (0.989, 0.997), (0.999, 1.0))],
)
def test_thresholds_of_the_papers_appendix(
    name: str, balanced: tuple[float, float], robust: tuple[float, float]
) -> None:
    task = load_task(name)
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(2026, 2031)]
    stack = train(recipes, TrainingData.of(task)).stack
    for method, (low, high) in ((RobXBalanced, balanced), (RobXRobust, robust)):
        found = [method().fit(Context(task, stack[i], 2026 + i)).threshold for i in range(5)]
        assert min(found) == pytest.approx(low, abs=0.001)
        assert max(found) == pytest.approx(high, abs=0.001)
