"""ROAR on true coefficients: where its walk ends, and what the exact method makes of it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from changeproof import Context, Factuals, Task, evaluation_factuals, load_task, make_method
from changeproof.checks.methods import LinearNetwork
from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.methods.linear_robust.nearest import NearestRows
from changeproof.methods.roar import GRID, NOT_WORTH_IT, Roar
from changeproof.methods.tuning import candidates
from changeproof.model import Floats
from changeproof.networks.network import Network


def linear(coefficients: list[float], intercept: float) -> LinearNetwork:
    weights = np.array([coefficients], dtype=np.float32)
    biases = np.array([intercept], dtype=np.float32)
    return LinearNetwork.of(Network((weights,), (biases,)))


def plain_task(columns: int) -> Task:
    rows = np.random.default_rng(0).normal(size=(200, columns))
    frame = pd.DataFrame(rows, columns=[f"c{place}" for place in range(columns)])
    return Task("plain", frame, (rows[:, 0] > 0).astype(int))


def answered(method: Roar, task: Task, model: LinearNetwork, rows: Floats) -> Floats:
    factuals = Factuals(np.arange(len(rows)), rows)
    return method.fit(Context(task, model, 2026)).generate(factuals).rows


def test_the_walk_ends_where_the_worst_case_is_worth_no_further_change() -> None:
    """Only the first column is worth it; there the slope of the loss equals the penalty."""
    radius, penalty, slope = 0.1, 0.2, 1.5
    model = linear([slope, 0.25], -1.0)
    rows = np.array([[-1.0, 0.0], [0.2, 0.0], [-0.5, 0.0]])
    method = Roar(penalty=penalty, radius=radius, tolerance=0.0, max_steps=40_000)
    found = answered(method, plain_task(2), model, rows)
    logit = math.log((slope - radius) / penalty - 1.0)
    expected = (logit + 1.0 + radius) / (slope - radius)
    np.testing.assert_allclose(found[:, 0], expected, atol=2e-3)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=2e-3)


def test_who_has_nothing_worth_its_penalty_gets_no_answer() -> None:
    task, model = plain_task(2), linear([0.3, 0.2], -1.0)
    people = Factuals(np.arange(1), np.array([[0.5, 0.5]]))
    none = Roar(penalty=0.0, radius=0.0).fit(Context(task, linear([0.0, 0.0], -1.0), 0))
    assert none.generate(people).outcomes.tolist() == [NOT_WORTH_IT]
    assert np.isfinite(answered(Roar(penalty=0.01), task, model, people.rows)).all()


@pytest.mark.parametrize("penalty", [0.05, 0.1])
def test_the_exact_method_never_goes_farther_for_the_same_worst_case(penalty: float) -> None:
    task = load_task("diabetes")
    model = linear([-0.6, -1.2, 0.3, 0.1, 0.1, -0.6, -0.3, -0.1], 0.9)
    context = Context(task, model, 2026)
    people = evaluation_factuals(task, model, 2026, 20)
    answers = make_method(f"roar(penalty={penalty})").fit(context).generate(people)
    worst = answers.diagnostics["worst_logit"].astype(float)
    there = np.flatnonzero(worst > 0.0)
    assert len(there) >= 5
    ball = ParameterBall(model.coefficients, model.intercept, 0.1, "inf")
    own = people.rows[there]
    anywhere = np.full_like(own, -100.0), np.full_like(own, 100.0)
    search = NearestRows(ball, task.distance_weights, own, *anywhere)
    exact = np.stack(
        [search.find(float(worst[place]))[number] for number, place in enumerate(there)]
    )
    assert (ball.worst_logits(exact) >= worst[there]).all()
    far, other = (task.distances(own, rows) for rows in (exact, answers.rows[there]))
    assert (far <= other + 1e-12).all()
    assert far.mean() < other.mean()


def test_penalties_are_tuned_and_the_rest_stays_as_given() -> None:
    grid = candidates(make_method("roar(radius=0.05)"))
    assert [each.settings()["penalty"] for each in grid] == [tenth / 10 for tenth in GRID]
    assert {each.settings()["radius"] for each in grid} == {0.05}
