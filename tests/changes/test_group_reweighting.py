from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from changeproof import (
    BaseModel,
    EstimatorLearner,
    InputError,
    Learner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    get_family,
    own_task,
)
from changeproof.changes.reweighting import groups_of, reweighing
from loans import loans


@pytest.fixture(scope="module")
def task() -> Task:
    table = loans(200)
    table["region"] = np.where(np.arange(200) % 3 == 0, "north", "south")
    given = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    return own_task(table, **given, beside=["region"], drop=["region"])  # type: ignore[arg-type]


def described(reference: str, task: Task, learner: Learner) -> dict[str, list[np.ndarray]]:
    base = BaseModel(2026, learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0])
    found: dict[str, list[np.ndarray]] = {}
    for variant in get_family(reference).variants(task, base, learner):
        weights: Any = variant.change.row_weights  # type: ignore[union-attr]
        assert not weights[len(task.split.train) :].any()
        found.setdefault(variant.level, []).append(weights[: len(task.split.train)])
    return found


def test_groups_are_favourable_equally_often(task: Task) -> None:
    found = described("group-reweighting", task, NetworkLearner((4,)))
    assert set(found) == {"income", "debts", "purpose", "owner", "member"}
    labels, values = task.labels_of("train"), task.decoded(task.rows("train"))
    for name, (weights, *_) in found.items():
        groups = groups_of(values[name])
        assert len(set(groups)) == (3 if name == "purpose" else 2)
        rates = [np.average(labels[groups == g], weights=weights[groups == g]) for g in set(groups)]
        np.testing.assert_allclose(rates, labels.mean(), rtol=1e-5)
        sizes = [weights[groups == g].sum() for g in set(groups)]
        np.testing.assert_allclose(sizes, np.bincount(groups), rtol=1e-5)


def test_further_replicates_are_drawn_in_proportion(task: Task) -> None:
    (levels,) = described(
        "group-reweighting(replicates=60, by='region')", task, NetworkLearner((4,))
    ).values()
    assert len({weights.tobytes() for weights in levels}) == 60
    exact, drawn = levels[0], np.array(levels[1:])
    assert (drawn == np.rint(drawn)).all()
    assert (drawn.sum(axis=1) == len(exact)).all()
    assert np.abs(drawn.mean(axis=0) - exact).max() < 0.7
    assert np.abs((drawn.mean(axis=0) - exact).mean()) < 1e-5


def test_models_that_cannot_weigh_rows_are_given_rows_more_often(task: Task) -> None:
    weighs, counts = (
        described("group-reweighting(replicates=5)", task, EstimatorLearner(estimator))
        for estimator in (LogisticRegression(), KNeighborsClassifier())
    )
    for name, (exact,) in weighs.items():
        assert (exact != np.rint(exact)).any()
        (drawn,) = counts[name]
        assert (drawn == np.rint(drawn)).all()
        assert drawn.sum() == len(drawn)


def test_values_make_groups() -> None:
    def of(*values: Any) -> list[int]:
        return groups_of(pd.Series(list(values))).tolist()

    assert of(1, 2, 3, 4) == [0, 0, 1, 1]
    assert of(0, 0, 0, 7) == [0, 0, 0, 1]
    assert of("b", "a", "b", "c") == [1, 0, 1, 2]
    assert of(True, False, True) == [1, 0, 1]
    assert len(set(of(1.0, None, 3.0, 3.0))) == 3
    assert reweighing(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1], np.int8)).tolist() == [1.0] * 4


def test_groups_that_are_not_there(task: Task, small_task: Task, small_network: Network) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    with pytest.raises(InputError, match="unknown group 'sex'; expected one of: a, b, c, d, e"):
        get_family("group-reweighting(by='sex')").variants(small_task, base, learner)
    alike = Task("alike", pd.DataFrame({"x": np.ones(60)}), np.arange(60) % 2)
    family = get_family("group-reweighting")
    reason = "the features make no groups of alike that differ in how often they are favourable"
    assert family.reason_against_task(alike) == reason
    assert family.reason_against_task(small_task) is None
    assert get_family("group-reweighting(by='region')").reason_against_task(task) is None
