from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from changeproof import (
    BaseModel,
    EstimatorLearner,
    InputError,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    get_family,
)
from changeproof.changes.reweighting import MOST, shifting_weights


@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.25, 0.5, 1.0, 1.4]), st.integers(20, 300))
def test_the_mean_moves_by_that_much(seed: int, shift: float, rows: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.normal(5.0, 3.0, rows) + generator.exponential(2.0, rows)
    weights = shifting_weights(values, shift)
    if weights is None:
        assert shift > 1.0
        return
    moved = (np.average(values, weights=weights) - values.mean()) / values.std()
    assert moved == pytest.approx(shift, abs=1e-4)
    assert weights.max() <= MOST
    order = np.argsort(values)
    assert (np.diff(weights[order]) >= 0).all()


def test_without_a_cut_the_weights_are_exponential() -> None:
    values = np.random.default_rng(0).normal(size=200)
    weights = shifting_weights(values, 0.5)
    assert weights is not None
    assert weights.mean() == pytest.approx(1.0, abs=1e-5)
    slope = np.polyfit(values, np.log(weights), 1)[0]
    assert np.abs(np.log(weights) - slope * (values - values.mean())).std() < 1e-3


def test_what_cannot_move_that_far() -> None:
    mostly = np.array([1.0] * 95 + [0.0] * 5)
    assert shifting_weights(mostly, 0.5) is None
    weights = shifting_weights(-mostly, 0.5)
    assert weights is not None
    assert np.average(mostly, weights=weights) == pytest.approx(0.95 - 0.5 * mostly.std(), abs=1e-5)


def test_a_mean_that_nothing_moves_so_far_is_refused(
    small_task: Task, small_network: Network
) -> None:
    base = BaseModel(2026, small_network)
    with pytest.raises(InputError, match="no weights move a mean by 9 standard deviations"):
        get_family("covariate-shift(shifts=(9.0,))").variants(small_task, base, NetworkLearner())


def test_features_and_random_directions_take_turns(
    small_task: Task, small_network: Network
) -> None:
    rows = small_task.rows("train")
    found = get_family("covariate-shift").variants(
        small_task, BaseModel(2026, small_network), NetworkLearner()
    )
    assert [variant.level for variant in found] == ["0.25 sd"] * 9 + ["0.5 sd"] * 8 + ["1 sd"] * 8
    for variant in found:
        weights: Any = variant.change.row_weights  # type: ignore[union-attr]
        shift = float(variant.level.removesuffix(" sd"))
        weights = np.asarray(weights[: len(rows)], dtype=np.float64)
        moved = np.abs(np.average(rows, axis=0, weights=weights) - rows.mean(axis=0))
        along_a_feature = bool(np.isclose(moved, shift, atol=1e-4).any())
        assert along_a_feature == (variant.replicate % 2 == 0)
        # Which way it went can be told from the weights: their logarithm is the direction.
        inside = (weights > 1e-5) & (weights < 0.99 * MOST)
        inputs = np.column_stack([np.ones(len(rows)), rows])[inside]
        slope = np.linalg.lstsq(inputs, np.log(weights[inside]), rcond=None)[0][1:]
        values = rows @ slope
        drawn = (np.average(values, weights=weights) - values.mean()) / values.std()
        assert drawn == pytest.approx(shift, abs=1e-2)


def test_models_that_cannot_weigh_rows_are_given_rows_more_often(small_task: Task) -> None:
    learner = EstimatorLearner(KNeighborsClassifier())
    model = learner.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
    found = get_family("covariate-shift").variants(small_task, BaseModel(1, model), learner)
    for variant in found:
        weights = np.asarray(variant.change.row_weights)  # type: ignore[union-attr]
        assert (weights == np.rint(weights)).all()
        assert weights.sum() == len(small_task.split.train)
