from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Factuals, InputError, Method, Network, Task
from changeproof.evaluation.imprecise import held_imprecisely
from changeproof.methods.probe import Probe, upper_quantile
from changeproof.methods.sns import SNS
from changeproof.methods.trex import TRex
from changeproof.methods.wachter import Wachter
from changeproof.models.estimator import EstimatorLearner
from changeproof.networks.training import TrainingRecipe
from constrained import asked, loans_task


@pytest.fixture(scope="module")
def plane(small_task: Task) -> Network:
    """A network without hidden layers: to first order is then exact."""
    weights = np.array([[0.8, -0.5, 0.3, 0.05, -1.1]], np.float32)
    return Network((weights,), (np.array([-1.0], np.float32),))


def adverse(task: Task, network: Network) -> Factuals:
    rows, row_ids = task.rows("test"), task.row_ids("test")
    rejected = ~network.favourable(rows)
    return Factuals(row_ids[rejected], rows[rejected])


@pytest.mark.parametrize("chance", [0.45, 0.35, 0.05, 1e-6])
def test_quantiles_are_those_of_the_normal_distribution(chance: float) -> None:
    assert upper_quantile(chance) == pytest.approx(norm.isf(chance), abs=1e-10)
    assert upper_quantile(0.5) == 0.0


def cheapest(task: Task, network: Network, person: np.ndarray, logit: float) -> float:
    """Return the least distance to a logit of a plane: the best features first, as far as each."""
    weights, (low, high) = network.weights[0][0].astype(float), task.training_range
    low, high = np.minimum(low, person), np.maximum(high, person)
    missing, length = logit - network.logits(person[None])[0], 0.0
    for column in np.argsort(-np.abs(weights) / task.distance_weights):
        room = (
            high[column] - person[column] if weights[column] > 0 else person[column] - low[column]
        )
        change = min(room, missing / abs(weights[column]))
        length += change * task.distance_weights[column]
        missing -= change * abs(weights[column])
        if missing <= 0.0:
            return length
    return np.inf


@pytest.mark.parametrize("target", [0.35, 0.1])
def test_on_a_plane_the_answer_is_the_nearest_and_fails_as_often_as_the_target(
    target: float, small_task: Task, plane: Network
) -> None:
    people = adverse(small_task, plane)
    answers = Probe(invalidation=target).fit(Context(small_task, plane, 1)).generate(people)
    low, high = small_task.training_range
    noise = 0.1 * (high - low)
    spread = np.sqrt(((noise * plane.weights[0][0].astype(float)) ** 2).sum())
    needed = norm.isf(target) * spread
    lengths = small_task.distances(people.rows, answers.rows)
    expected = [cheapest(small_task, plane, person, needed) for person in people.rows]
    np.testing.assert_allclose(lengths[answers.found], np.array(expected)[answers.found], rtol=1e-4)
    assert answers.found.mean() > 0.95
    assert np.isinf(np.array(expected)[~answers.found]).all()
    reason = f"no point was found that fails with a chance of at most {target:g}"
    assert set(answers.outcomes[~answers.found]) <= {reason}
    draws = np.random.default_rng(5).normal(size=(20_000, 5)) * noise
    failing = [
        1.0 - plane.favourable(row + draws).mean() for row in answers.rows[answers.found][:8]
    ]
    np.testing.assert_allclose(failing, target, atol=0.015)
    np.testing.assert_allclose(
        answers.diagnostics["invalidation"][answers.found], target, atol=1e-4
    )


def test_no_shorter_change_keeps_the_chance_as_far_as_random_ones_tell(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = Probe().fit(small_context)
    answers = method.generate(small_factuals)
    assert answers.base_valid.all()
    assert (answers.diagnostics["invalidation"] <= 0.35).all()
    task, generator = small_context.task, np.random.default_rng(1)
    low, high = task.training_range
    lengths = task.distances(answers.factuals, answers.rows)
    nearer = 0
    for person, length in zip(small_factuals.rows, lengths, strict=True):
        shares = generator.dirichlet(np.full(5, 0.4), 4_000) * generator.choice([-1, 1], (4_000, 5))
        tried = person + 0.9 * length * shares / task.distance_weights
        tried = np.clip(tried, np.minimum(low, person), np.maximum(high, person))
        nearer += bool((method.invalidations(tried) <= 0.35).any())
    assert nearer <= 1


def test_a_smaller_target_goes_farther_and_holds_where_advice_is_missed(
    small_context: Context, small_factuals: Factuals
) -> None:
    held, lengths = [], []
    for method in (Wachter(), Probe(invalidation=0.35), Probe(invalidation=0.05)):
        answers = method.fit(small_context).generate(small_factuals)
        task, model = small_context.task, small_context.model
        held.append(held_imprecisely(task, model, answers, 2026).mean(axis=0))
        lengths.append(task.distances(answers.factuals, answers.rows).mean())
    assert (held[1] > held[0]).all()
    assert (held[2] >= held[1]).all()
    assert lengths[2] > lengths[1]


def test_without_noise_it_is_the_nearest_point(small_task: Task, plane: Network) -> None:
    people = adverse(small_task, plane)
    answers = Probe(variance=0.0).fit(Context(small_task, plane, 1)).generate(people)
    expected = [cheapest(small_task, plane, person, 0.0) for person in people.rows]
    np.testing.assert_allclose(
        small_task.distances(people.rows, answers.rows), expected, rtol=1e-4, atol=1e-4
    )


def test_where_people_may_be_told_only_certain_rows_the_chance_is_kept() -> None:
    context, people = asked(loans_task(), 12)
    method = Probe(invalidation=0.2).fit(context)
    answers = method.generate(people)
    found = answers.found
    assert found.sum() > 8
    chances = answers.diagnostics["invalidation"].astype(float)[found]
    np.testing.assert_array_equal(chances, method.invalidations(answers.rows[found]))
    assert (chances <= 0.2 + 1e-9).mean() > 0.8


METHODS = (Probe(), SNS(steps=20), TRex(samples=50), TRex(samples=50, base="wachter"))


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_gradients_of_any_model_are_enough(method: Method, small_task: Task) -> None:
    learner = EstimatorLearner(LogisticRegression())
    model: Any = learner.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
    people = adverse(small_task, model)[:10]
    answers = method.fit(Context(small_task, model, 1)).generate(people)
    assert answers.base_valid.all()
    feasible = replace(method.context, actions=small_task.actions)
    assert method.fit(feasible).generate(people).base_valid.all()


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="invalidation"):
        Probe(invalidation=0.6)
