from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import InputError, Network, Task, evaluation_factuals
from changeproof.evaluation.factuals import named_factuals, tuning_factuals
from changeproof.model import Model
from changeproof.models.learner import FittedModel


@cache
def task_of(seed: int) -> Task:
    generator = np.random.default_rng(seed)
    row_ids = generator.permutation(1000)[:400]
    frame = pd.DataFrame(generator.normal(size=(400, 3)), columns=list("abc"), index=row_ids)
    return Task("t", frame, generator.integers(0, 2, 400))


def model_of(seed: int, adverse: float) -> Model:
    """A model that finds about this share of the rows adverse."""
    weights = np.random.default_rng(seed).normal(size=3)
    weights /= np.linalg.norm(weights)
    limit = {0.0: -np.inf, 1.0: np.inf}.get(adverse, 2 * adverse - 1)
    return FittedModel(lambda rows: (rows @ weights >= limit).astype(float), "linear")


tasks = st.integers(0, 4).map(task_of)
models = st.builds(model_of, st.integers(0, 99), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
seeds, limits = st.integers(0, 100_000), st.integers(0, 150)


@given(tasks, models, seeds, limits)
@settings(deadline=None, max_examples=40)
def test_factuals_are_a_sample_of_the_adverse_test_rows(
    task: Task, model: Model, seed: int, limit: int
) -> None:
    adverse = []
    for position in task.split.test:
        row = (task.frame.to_numpy()[position] - task.mean) / task.scale
        if model.probabilities(row[None])[0] < 0.5:
            adverse.append(task.frame.index[position])
    people = pd.Series(adverse, dtype=np.int64)
    expected = people.sample(n=min(limit, len(people)), random_state=seed + 30_000)
    factuals = evaluation_factuals(task, model, seed, limit)
    assert factuals.row_ids.tolist() == expected.tolist()
    assert factuals.row_ids.dtype == np.int64
    np.testing.assert_array_equal(factuals.rows, task.standardise(task.frame.loc[expected]))
    assert factuals.places.tolist() == list(range(len(expected)))
    assert not model.favourable(factuals.rows).any()


@given(tasks, models, seeds, limits)
@settings(deadline=None, max_examples=40)
def test_everyone_gets_the_same_factuals(task: Task, model: Model, seed: int, limit: int) -> None:
    np.random.seed(1)  # noqa: NPY002 (what others draw must not matter)
    first = evaluation_factuals(task, model, seed, limit)
    np.random.seed(2)  # noqa: NPY002
    second = evaluation_factuals(task, model, seed, limit)
    np.testing.assert_array_equal(first.row_ids, second.row_ids)
    np.testing.assert_array_equal(first.rows, second.rows)


@given(tasks, models, seeds, limits, limits)
@settings(deadline=None, max_examples=40)
def test_fewer_factuals_are_the_first_of_more(
    task: Task, model: Model, seed: int, fewer: int, more: int
) -> None:
    """So that asking for more keeps whom was asked about before, in the same places."""
    fewer, more = sorted((fewer, more))
    small, large = (evaluation_factuals(task, model, seed, limit) for limit in (fewer, more))
    assert len(small) == min(fewer, len(large))
    np.testing.assert_array_equal(small.row_ids, large.row_ids[: len(small)])


@given(tasks, models, seeds)
@settings(deadline=None, max_examples=40)
def test_tuning_rows_are_adverse_validation_rows(task: Task, model: Model, seed: int) -> None:
    ids = task.row_ids("validation")
    people = pd.Series(ids[~model.favourable(task.rows("validation"))], dtype=np.int64)
    expected = people.sample(n=min(25, len(people)), random_state=seed + 70_000)
    factuals = tuning_factuals(task, model, seed)
    assert factuals.row_ids.tolist() == expected.tolist()
    np.testing.assert_array_equal(factuals.rows, task.standardise(task.frame.loc[expected]))


@given(tasks, st.lists(st.integers(0, 399), max_size=10))
@settings(deadline=None, max_examples=40)
def test_people_are_found_by_their_row_ids(task: Task, positions: list[int]) -> None:
    row_ids = task.frame.index[positions].tolist()
    factuals = named_factuals(task, row_ids)
    assert factuals.row_ids.tolist() == row_ids
    np.testing.assert_array_equal(factuals.rows, task.standardise(task.frame)[positions])


def test_unknown_people_are_refused() -> None:
    with pytest.raises(InputError, match="task 't' has no row 1001"):
        named_factuals(task_of(0), [int(task_of(0).frame.index[0]), 1001])


def test_the_protocols_sample_of_a_trained_network(cancer: Task, cancer_network: Network) -> None:
    rows, ids = cancer.rows("test"), cancer.row_ids("test")
    adverse = pd.Series(ids[[cancer_network.probabilities(row[None])[0] < 0.5 for row in rows]])
    factuals = evaluation_factuals(cancer, cancer_network, 2026, 25)
    assert factuals.row_ids.tolist() == adverse.sample(n=25, random_state=32_026).tolist()
    assert len(evaluation_factuals(cancer, cancer_network, 2026, 250)) == len(adverse) == 64
    tuning = tuning_factuals(cancer, cancer_network, 2026)
    assert set(tuning.row_ids) <= set(cancer.row_ids("validation"))
    assert 0 < len(tuning) <= 25
    assert not cancer_network.favourable(tuning.rows).any()
