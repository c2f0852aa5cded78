from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import Task, TrainingRecipe
from changeproof.methods.shared import ensembles
from changeproof.methods.shared.ensembles import Ensemble, Groups
from changeproof.model import Booleans, Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import ModelStack, stacked
from changeproof.networks.network import Network

COLUMNS, STRICTEST = 5, 5


@pytest.fixture(scope="module")
def models(small_task: Task) -> ModelStack:
    """Forests that are evaluated together, others, and a model that refuses most."""
    generator, n_rows = np.random.default_rng(0), len(small_task.split.train)
    n_rows += len(small_task.split.update)
    kinds = (
        HistGradientBoostingClassifier(max_iter=10),
        LogisticRegression(),
        ExtraTreesClassifier(10, random_state=0),
    )
    found = []
    for number in range(7):
        share = 0.05 if number == STRICTEST else 0.6
        recipe = TrainingRecipe(
            initialisation_seed=number, labels=(generator.random(n_rows) < share).astype(float)
        )
        found += EstimatorLearner(kinds[number % 3]).train([recipe], small_task)
    return ModelStack(found)


def asked_of_all(models: ModelStack, rows: Floats, failures: int, least: Floats | None) -> Booleans:
    bars = np.full(len(models), 0.5) if least is None else least
    accepted = np.array(
        [model.probabilities(rows) >= bar for model, bar in zip(models, bars, strict=True)]
    )
    return np.asarray((~accepted).sum(axis=0) <= failures)


@pytest.mark.parametrize("failures", [0, 1, 3])
@pytest.mark.parametrize("bars", [None, np.linspace(0.3, 0.7, 7)])
def test_answers_are_those_of_all_models_before_and_after_they_are_in_order(
    models: ModelStack, failures: int, bars: Floats | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensembles, "ROWS_SHOWING", 100)
    generator = np.random.default_rng(1)
    ensemble = Ensemble(models)
    for n_rows in (0, 1, 40, 200, 7, 300):
        rows = generator.standard_normal((n_rows, COLUMNS))
        expected = asked_of_all(models, rows, failures, bars)
        np.testing.assert_array_equal(ensemble.accepts(rows, failures, bars), expected)


def test_the_strictest_is_asked_first_and_alone(models: ModelStack) -> None:
    asked = np.random.default_rng(1).standard_normal((2_000, COLUMNS))
    ensemble = Ensemble(models)
    for first in range(0, len(asked), 20):
        ensemble.accepts(asked[first : first + 20])
    strictest = (~models.favourable(asked)).sum(axis=1).argmax()
    assert strictest == STRICTEST
    first, *others = [which.tolist() for which, _ in ensemble._steps]
    assert first == [STRICTEST]
    assert sorted(np.concatenate(others).tolist()) == [0, 1, 2, 3, 4, 6]


def test_rows_that_all_refuse_leave_the_others_in_one_step() -> None:
    refused = np.array([[True, True], [False, False], [True, False], [False, True]])
    steps = [step.tolist() for step in ensembles._strictest_first(refused, 0)]
    assert steps == [[0], [2, 3, 1]]


def test_networks_are_asked_in_the_given_order() -> None:
    generator = np.random.default_rng(0)
    networks = [Network.initialised(COLUMNS, (3,), seed) for seed in range(9)]
    ensemble = Ensemble(stacked(networks))
    for _ in range(3):
        rows = generator.standard_normal((1_000, COLUMNS))
        expected = np.all([network.favourable(rows) for network in networks], axis=0)
        np.testing.assert_array_equal(ensemble.accepts(rows), expected)
    assert [which.tolist() for which, _ in ensemble._steps] == [[0, 1], [2, 3, 4, 5, 6, 7], [8]]


def test_models_reach_what_their_probabilities_reach(models: ModelStack) -> None:
    rows, least = np.random.default_rng(2).standard_normal((150, COLUMNS)), np.linspace(0.2, 0.8, 7)
    expected = models.probabilities(rows) >= least[:, None]
    np.testing.assert_array_equal(models.reaches(rows, least), expected)


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_group_refuses_as_soon_as_one_of_its_models_does(
    models: ModelStack, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensembles, "ROWS_SHOWING", 100)
    labels = [7, 2, 2, 7, 30, 30, 2]
    groups = Groups(labels)
    ensemble = Ensemble(models, groups)
    for n_rows in (1, 200, 300):
        rows = np.random.default_rng(n_rows).standard_normal((n_rows, COLUMNS))
        accepted = models.favourable(rows)
        lost = [
            len({label for label, holds in zip(labels, each, strict=True) if not holds})
            for each in accepted.T
        ]
        expected = np.array(lost) <= failures
        np.testing.assert_array_equal(ensemble.accepts(rows, failures), expected)
        np.testing.assert_array_equal(groups.refusals(~accepted), lost)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_the_lowest_models_are_those_that_are_left(labels: list[int], seed: int) -> None:
    scores = np.random.default_rng(seed).standard_normal((len(labels), 6))
    groups, names = Groups(labels), sorted(set(labels))
    lowest = groups.lowest(scores)
    assert len(groups) == len(lowest) == len(names)
    for failures in range(len(groups)):
        found = groups.lowest_models(scores, failures, wanted=5)
        for each, own in zip(found.T, scores.T, strict=True):
            of_group = {name: min(own[np.array(labels) == name]) for name in names}
            fail = sorted(names, key=of_group.__getitem__)[:failures]
            left = sorted((n for n, name in enumerate(labels) if name not in fail), key=own.item)
            assert each[: len(left)].tolist() == left[:5]
            assert (each[len(left) :] == left[0]).all()
    for column, own in enumerate(scores.T):
        assert lowest[:, column].tolist() == [min(own[np.array(labels) == n]) for n in names]
