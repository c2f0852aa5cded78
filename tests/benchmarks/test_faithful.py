"""The settings of other papers: scaling, training and units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.faithful import PROPLACE, SNS, ZeroToOne, outliers, torch_trained
from benchmarks.rivals import tuned
from changeproof import Context, Network, make_method
from changeproof.methods import builtin_method_names


@pytest.fixture(scope="module")
def task() -> ZeroToOne:
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(draw.normal(50.0, [1.0, 10.0, 100.0], size=(200, 3)), columns=list("abc"))
    return ZeroToOne("toy", frame, (frame["a"] + draw.normal(size=200) > 50).to_numpy(np.int8))


def test_features_are_between_nought_and_one(task: ZeroToOne) -> None:
    rows = task.standardise(task.frame)
    np.testing.assert_allclose(rows.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows.max(axis=0), 1.0)
    np.testing.assert_allclose(task.original(rows), task.frame)


def test_networks_learn(task: ZeroToOne) -> None:
    rows, labels = task.rows("train"), task.labels_of("train")
    network = torch_trained(rows, labels, 1)
    assert network.hidden == (20, 20)
    assert (network.favourable(rows) == labels).mean() > 0.7
    other = torch_trained(rows, labels, 2)
    assert (network.weights[0] != other.weights[0]).any()


def test_a_row_far_from_all_is_an_outlier() -> None:
    among = np.random.default_rng(6).random((100, 2))
    inliers, factor = outliers(np.array([[0.5, 0.5]]), among)
    assert inliers == 100.0 and 0.8 < factor < 1.5
    inliers, factor = outliers(np.array([[9.0, 9.0], [9.0, 9.1]]), among)
    # Each alone: two answers beside each other are as far from everybody.
    assert inliers == 0.0 and factor > 5.0


@pytest.mark.parametrize("known", [*PROPLACE, *SNS], ids=lambda known: known.method)
def test_settings_are_those_of_our_methods(known: object) -> None:
    name = known.ours.partition("(")[0]  # type: ignore[attr-defined]
    if name in builtin_method_names():
        assert repr(make_method(known.ours))  # type: ignore[attr-defined]


def test_stated_settings_are_not_tuned(task: ZeroToOne) -> None:
    context = Context(task, Network.initialised(3, (4,), 1), 1)
    assert tuned("robx-balanced(quantile=0.0)", context).settings()["quantile"] == 0.0
