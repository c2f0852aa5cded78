from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Factuals, InputError, Network, Task
from changeproof.methods.entropic_risk import EntropicRisk, risks_and_weights
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe
from constrained import asked, loans_task

likelihoods = arrays(np.float64, (5, 3), elements=st.floats(0, 1))


def plain_risk(likely: list[float], theta: float) -> float:
    return math.log(sum(math.exp(theta * (1.0 - p)) for p in likely) / len(likely)) / theta


@settings(max_examples=40)
@given(likelihoods, st.floats(0.01, 100))
def test_risks_are_as_written_and_lie_between_the_mean_loss_and_the_largest(
    likely: np.ndarray, theta: float
) -> None:
    risks, weights = risks_and_weights(likely, theta)
    expected = [plain_risk(column.tolist(), theta) for column in likely.T]
    np.testing.assert_allclose(risks, expected, atol=1e-9)
    assert (risks >= (1.0 - likely).mean(axis=0) - 1e-9).all()
    assert (risks <= (1.0 - likely).max(axis=0) + 1e-12).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)


def test_a_small_theta_is_the_mean_loss_and_a_large_one_the_largest() -> None:
    likely = np.random.default_rng(2).random((6, 4))
    np.testing.assert_allclose(
        risks_and_weights(likely, 1e-6)[0], (1.0 - likely).mean(axis=0), atol=1e-5
    )
    np.testing.assert_allclose(
        risks_and_weights(likely, 1e5)[0], (1.0 - likely).max(axis=0), atol=1e-4
    )


@pytest.fixture(scope="module")
def fitted(small_context: Context) -> EntropicRisk:
    return EntropicRisk(theta=20.0, ensemble_size=8).fit(small_context)


def test_slopes_are_the_derivatives(fitted: EntropicRisk, small_factuals: Factuals) -> None:
    rows = small_factuals.rows[:10]
    _, slopes = fitted._left(rows)
    for column in range(rows.shape[1]):
        moved = np.zeros(rows.shape[1])
        moved[column] = 1e-6
        above, below = fitted._left(rows + moved)[0], fitted._left(rows - moved)[0]
        np.testing.assert_allclose((above - below) / 2e-6, slopes[:, :, column], atol=1e-3)


def test_the_risk_is_kept_and_no_random_shorter_change_keeps_it(
    fitted: EntropicRisk, small_context: Context, small_factuals: Factuals
) -> None:
    answers = fitted.generate(small_factuals)
    assert answers.base_valid.all()
    plain = [
        plain_risk([model.probabilities(row[None])[0] for model in fitted._members], 20.0)
        for row in answers.rows
    ]
    assert max(plain) <= 0.5
    assert np.median(plain) > 0.49
    np.testing.assert_allclose(answers.diagnostics["risk"], plain, atol=1e-9)
    task, generator = small_context.task, np.random.default_rng(1)
    low, high = task.training_range
    lengths = task.distances(answers.factuals, answers.rows)
    nearer = 0
    for person, length in zip(small_factuals.rows, lengths, strict=True):
        shares = generator.dirichlet(np.full(5, 0.4), 2_000) * generator.choice([-1, 1], (2_000, 5))
        tried = person + 0.9 * length * shares / task.distance_weights
        tried = np.clip(tried, np.minimum(low, person), np.maximum(high, person))
        base, risks = fitted._judged(tried)
        nearer += bool(((base >= 0.5) & (risks <= 0.5)).any())
    assert nearer <= 2


def test_a_larger_theta_goes_farther_until_no_model_loses_more(
    small_context: Context, small_factuals: Factuals
) -> None:
    lengths, accepting = [], []
    for theta in (1.0, 30.0, 3_000.0):
        method = EntropicRisk(theta=theta, ensemble_size=8).fit(small_context)
        answers = method.generate(small_factuals)
        lengths.append(small_context.task.distances(answers.factuals, answers.rows).mean())
        accepting.append(answers.diagnostics["ensemble_accepts"].mean())
    assert lengths == sorted(lengths)
    assert accepting == sorted(accepting)
    assert accepting[0] < 0.7
    # The largest loss is at most so much more than the risk.
    most = 0.5 + math.log(8) / 3_000.0
    likely = [model.probabilities(answers.rows) for model in method._members]
    assert np.min(likely) >= 1.0 - most - 1e-9


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(8, max_depth=4, random_state=0)],
    ids=["linear", "forest"],
)
def test_any_model_that_can_be_trained_again(estimator: Any, small_task: Task) -> None:
    learner = EstimatorLearner(estimator)
    model: Any = learner.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
    rows, row_ids = small_task.rows("test"), small_task.row_ids("test")
    rejected = np.flatnonzero(~model.favourable(rows))[:6]
    context = Context(small_task, model, 1, PrivateLearner(learner))
    method = EntropicRisk(theta=100.0, ensemble_size=6).fit(context)
    answers = method.generate(Factuals(row_ids[rejected], rows[rejected]))
    assert answers.base_valid.all()
    assert (method.risks(answers.rows) <= 0.5).all()
    nearest = method._nearest_rows(answers.factuals)
    distances = small_task.distances(answers.factuals, answers.rows)
    assert (distances < small_task.distances(answers.factuals, nearest)).all()


def test_where_people_may_be_told_only_certain_rows_the_risk_is_kept() -> None:
    context, people = asked(loans_task(), 12)
    method = EntropicRisk(theta=50.0, ensemble_size=6).fit(context)
    answers = method.generate(people)
    found = answers.found
    assert found.sum() > 8
    assert answers.base_valid[found].all()
    risks = answers.diagnostics["risk"].astype(float)[found]
    np.testing.assert_array_equal(risks, method.risks(answers.rows[found]))
    assert (risks <= 0.5).mean() > 0.8


def test_nothing_with_so_low_a_risk_is_a_reason(small_task: Task, small_factuals: Factuals) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    answers = EntropicRisk(ensemble_size=2).fit(Context(small_task, never, 1))
    outcomes = answers.generate(small_factuals[:3]).outcomes
    assert set(outcomes) == {"no point was found with a risk of at most 0.5"}


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="threshold"):
        EntropicRisk(threshold=1.0)
    with pytest.raises(InputError, match="theta"):
        EntropicRisk(theta=0.0)
