from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from changeproof.model import Floats
from changeproof.models.forests.around import Surroundings, _decision
from changeproof.models.forests.reading import read_forest
from forests import CODED, table

DRAWS = np.random.default_rng(5).normal(scale=0.1, size=(200, 6))


def single() -> Any:
    library = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return library.XGBClassifier(n_estimators=40, n_jobs=1)


MODELS = {
    "boosting": lambda: GradientBoostingClassifier(n_estimators=40, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "forest": lambda: RandomForestClassifier(20, random_state=0),
    "float32": single,
}


def surroundings(model: Any, draws: Floats = DRAWS, place: int = 1) -> Surroundings:
    forest, reason = read_forest(model)
    assert forest is not None, reason
    return Surroundings(forest, draws, place)


def around(model: Any, points: Floats, draws: Floats = DRAWS, place: int = 1) -> Floats:
    moved = (points[:, None, :] + draws).reshape(-1, points.shape[1])
    return np.asarray(model.predict_proba(moved)[:, place], np.float64).reshape(len(points), -1)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_probabilities_around_points_are_those_of_the_library(kind: str, wide: bool) -> None:
    model = MODELS[kind]().fit(*table(0, missing=False))
    # So wide that most leaves of a forest can be reached, which are then more than there are bits.
    draws = 10 * DRAWS if wide else DRAWS
    points, _ = table(1, n=20, missing=False)
    found = surroundings(model, draws).probabilities(points)
    np.testing.assert_array_equal(found, around(model, points, draws))


def test_missing_values_stay_missing_and_categories_stay_as_they_are() -> None:
    rows, labels = table(0)
    model = HistGradientBoostingClassifier(max_iter=30, categorical_features=[CODED])
    model.fit(rows, labels)
    still = DRAWS.copy()
    still[:, CODED] = 0.0
    points, _ = table(1, n=30)
    assert np.isnan(points[:, CODED]).any()
    found = surroundings(model, still).probabilities(points)
    np.testing.assert_array_equal(found, around(model, points, still))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("kind", MODELS)
def test_fewer_draws_decide_what_all_decide(kind: str, place: int) -> None:
    """Whichever of the two classes is the favourable one."""
    rows, labels = table(0, missing=False)
    model = MODELS[kind]().fit(rows, labels)
    near = surroundings(model, place=place)
    likely = around(model, rows, place=place)
    np.testing.assert_array_equal(near.probabilities(rows[:20]), likely[:20])
    stability = likely.mean(axis=1) - likely.std(axis=1)
    # Among the thresholds, the very number of a point: it is not above itself.
    for threshold in (0.0, 0.3, *np.quantile(stability, [0.2, 0.5, 0.9]), stability[7], 1.0):
        stable, seen = near.stable_after(rows, float(threshold))
        np.testing.assert_array_equal(stable, stability > threshold)
        assert (seen <= len(DRAWS)).all()
    assert near.stable_after(rows, 1.1)[1].max() == 0
    assert near.stable_after(rows, float(np.median(stability)))[1].mean() < len(DRAWS)


NUMBERS = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@given(NUMBERS, st.integers(0, 12), st.floats(0, 1), st.floats(0, 0.3))
def test_a_decision_holds_whatever_the_rest_is(
    numbers: list[float], seen: int, threshold: float, spare: float
) -> None:
    seen = min(seen, len(numbers) - 1)
    known, rest = np.array(numbers[:seen]), np.array(numbers[seen:])
    low, high = rest.min() - spare, rest.max() + spare
    given = known.sum(), (known * known).sum(), low, high, threshold, 1e-9
    decided = _decision(seen, len(numbers), *given)
    # The numbers themselves, all at an end, and every way to have some at each.
    ends = [np.r_[np.full(k, low), np.full(len(rest) - k, high)] for k in range(len(rest) + 1)]
    equal = [np.full(len(rest), x) for x in np.linspace(low, high, 9)]
    for others in (rest, *ends, *equal):
        every = np.r_[known, others]
        above = every.mean() - every.std() > threshold
        assert decided != (-1 if above else 1)


def test_decisions_are_made_as_soon_as_nothing_else_is_possible() -> None:
    """A bound that is loose by much would be of no use."""
    # Half of ten numbers are 0, the others are at most 1: the mean is at most 0.5.
    assert _decision(5, 10, 0.0, 0.0, 0.0, 1.0, 0.2, 1e-9) == -1
    # Half of ten numbers are 1, the others at least 0.9.
    assert _decision(5, 10, 5.0, 5.0, 0.9, 1.0, 0.85, 1e-9) == 1
    assert _decision(5, 10, 5.0, 5.0, 0.0, 1.0, 0.85, 1e-9) == 0
