"""Retraining on real later rows: which rows, in which order, and when not at all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from changeproof import (
    BaseModel,
    EstimatorLearner,
    InputError,
    NetworkLearner,
    Task,
    build_bank,
    get_family,
    load_task,
    own_task,
)
from changeproof.changes.sequences import cuts
from lasting import MEANING, applications

SEED = 2028
LEARNER = NetworkLearner()


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(applications(), name="applications", **MEANING).over_time()


def described(task: Task, family: str) -> list[tuple[str, int, int, np.ndarray]]:
    base = BaseModel(SEED, LEARNER.train([], task))  # type: ignore[arg-type]
    found = []
    for variant in get_family(family).variants(task, base, LEARNER):
        recipe = variant.change
        found.append(
            (variant.level, variant.replicate, recipe.initialisation_seed, recipe.row_weights)  # type: ignore[union-attr]
        )
    return found


def times_of(task: Task) -> np.ndarray:
    """When each row became known, training rows first and then the pool."""
    assert task.times is not None
    return task.times.to_numpy()[np.concatenate([task.split.train, task.split.update])]


def test_every_update_knows_all_rows_up_to_its_time(task: Task) -> None:
    times, n_train = times_of(task), len(task.split.train)
    found = described(task, "later-data(updates=4, replicates=2)")
    assert [update for _, update, _, _ in found] == [0] * 4 + [1] * 4
    last = times[:n_train].max()
    for number, (level, _, _, weights) in enumerate(found[:4], start=1):
        assert set(weights) <= {0.0, 1.0}
        assert weights.sum() == n_train + 30 * number
        assert (weights[:n_train] == 1).all()
        known = times[weights > 0].max()
        assert known > last, "later than the update before"
        assert (weights > 0).tolist() == (times <= known).tolist()
        assert level == f"update {number}, to {np.datetime_as_string(known, unit='D')}"
        last = known
    assert (found[3][3] == 1).all(), "in the end everything is known"
    for one, other in zip(found[:4], found[4:], strict=True):
        np.testing.assert_array_equal(one[3], other[3])


def test_futures_differ_by_their_seed_and_the_first_keeps_the_base_models(task: Task) -> None:
    seeds = [seed for _, _, seed, _ in described(task, "later-data(updates=2, replicates=3)")]
    assert seeds == [SEED] * 2 + [SEED + 290_001] * 2 + [SEED + 290_002] * 2


def test_a_rolling_window_has_the_latest_rows(task: Task) -> None:
    times, n_train = times_of(task), len(task.split.train)
    for _, _, _, weights in described(task, "later-data(window='rolling', replicates=1)"):
        inside = weights > 0
        assert inside.sum() == n_train
        known = times[inside].max()
        outside = times[~inside & (times <= known)]
        assert len(outside) == 0 or outside.max() < times[inside].min()


def test_rows_of_one_time_are_not_cut_apart() -> None:
    years = np.repeat([2017, 2018, 2019], [2, 5, 3])
    assert cuts(years, 6).tolist() == [2, 7, 10]
    assert cuts(years, 3).tolist() == [2, 7, 10]
    assert cuts(years, 2).tolist() == [7, 10]
    assert cuts(years, 1).tolist() == [10]
    assert cuts(np.arange(12), 4).tolist() == [3, 6, 9, 12]
    assert cuts(np.array([1, 1, 1]), 2).tolist() == [3]
    employment = load_task("employment").over_time()
    levels = {level for level, *_ in described(employment, "later-data")}
    assert levels == {"update 1, to 2017", "update 2, to 2018"}


def test_a_model_without_seeds_has_one_future(task: Task) -> None:
    learner = EstimatorLearner(KNeighborsClassifier())
    base = BaseModel(SEED, learner.train([], task))  # type: ignore[arg-type]
    found = get_family("later-data").variants(task, base, learner)
    assert [variant.replicate for variant in found] == [0] * 6
    bank = build_bank(task, base, [get_family("later-data(updates=2)")], learner)
    one, other = bank.stack.probabilities(task.rows("test"))
    assert np.abs(one - other).max() > 0.01, "rules that change with time change the model"


def test_it_says_why_it_cannot_happen() -> None:
    family = get_family("later-data")
    table = own_task(applications(), name="applications", **MEANING)
    assert "is not split over time" in str(family.reason_against_task(table))
    assert family.reason_against_task(load_task("heloc")) == (
        "heloc has no times; name the column that says when"
    )
    assert family.reason_against_task(table.over_time()) is None
    with pytest.raises(InputError, match="heloc has no times"):
        described(load_task("heloc"), "later-data")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("updates=0", "updates should be greater than 0; got 0"),
        ("replicates=0", "replicates should be greater than 0"),
        ("window='sliding'", "window should be 'growing' or 'rolling'; got 'sliding'"),
    ],
)
def test_wrong_settings_are_refused(settings: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_family(f"later-data({settings})")
