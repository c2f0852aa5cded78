"""Wide tables: few features are searched, and what is asked of a model is bounded."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from changeproof import Context, Factuals, Network, Task, load_task, own_task
from changeproof.datasets import dataset_names
from changeproof.feasible.wide_tables import (
    SEARCHED,
    SEARCHED_COLUMNS,
    WIDE,
    affordable,
    searched_features,
)
from changeproof.methods import make_method
from changeproof.methods.robx import Shaken
from changeproof.model import Integers
from changeproof.networks import network as networks

FEATURES = 230
STRONG = (3, 77, 150, 228)


@cache
def wide_task(most_changes: int | None = None) -> Task:
    """60 rows of many numbers, and one feature of several categories."""
    generator = np.random.default_rng(5)
    numbers = generator.normal(size=(60, FEATURES)).round(2)
    frame = pd.DataFrame(numbers, columns=[f"f{place}" for place in range(FEATURES)])
    frame["colour"] = [("red", "green", "blue")[place % 3] for place in range(60)]
    frame["ok"] = np.where(numbers[:, 3] > 0.0, "yes", "no")
    return own_task(
        frame, target="ok", favourable="yes", most_changes=most_changes, allow_leak=["f3"]
    )


@cache
def wide_network() -> Network:
    """A network that every column moves a little, and some much."""
    generator = np.random.default_rng(6)
    first = generator.normal(scale=0.02, size=(6, FEATURES + 3))
    first[:, STRONG] = generator.normal(size=(6, len(STRONG)))
    last = generator.normal(size=(1, 6))
    weights = tuple(weight.astype(np.float32) for weight in (first, np.eye(6), last))
    return Network(weights, tuple(np.full(len(w), 0.1, np.float32) for w in weights))


def adverse(people: int) -> Factuals:
    task = wide_task()
    rows, ids = task.rows("train"), task.row_ids("train")
    some = np.flatnonzero(~wide_network().favourable(rows))[:people]
    assert len(some) == people
    return Factuals(ids[some], rows[some])


def searched(task: Task, network: Network) -> Integers | None:
    return searched_features(task.actions, network, network.logits, task.rows("train"))


def test_what_moves_the_model_most_is_searched() -> None:
    found = searched(wide_task(), wide_network())
    assert found is not None
    assert len(found) == SEARCHED
    assert set(STRONG) <= set(found.tolist())
    assert any(str(FEATURES + 3) in note for note in wide_task().notes)


def test_what_may_not_change_is_not_searched() -> None:
    task = wide_task()
    frozen = Task(
        "frozen",
        task.frame,
        task.labels,
        features=task.features,
        actions={"f3": {"change": "none"}, "f77": {"change": "none"}},
    )
    found = searched(frozen, wide_network())
    assert found is not None
    assert not {3, 77} & set(found.tolist()) and {150, 228} <= set(found.tolist())


def test_features_of_many_categories_are_fewer() -> None:
    generator = np.random.default_rng(1)
    texts = {f"t{k}": generator.choice([f"c{i:02d}" for i in range(30)], 120) for k in range(9)}
    frame = pd.DataFrame(texts).assign(ok=np.where(np.arange(120) % 2, "yes", "no"))
    task = own_task(frame, target="ok", favourable="yes")
    found = searched(task, Network.initialised(task.n_features, (4,), 1))
    assert task.n_features > WIDE and found is not None
    assert 0 < sum(len(task.features[place].columns) for place in found) <= SEARCHED_COLUMNS


def test_tables_that_are_not_wide_are_left_alone() -> None:
    task = wide_task()
    narrow = Task("narrow", task.frame.iloc[:, :WIDE], task.labels)
    assert searched(narrow, Network.initialised(WIDE, (4,), 1)) is None
    assert affordable(1_000, WIDE) == 1_000
    assert affordable(1_000, 2_000) == 100
    assert affordable(3, 10**6) == 1


SETTINGS = {
    "apds": "apds(replicas=2, last_margin=0.5)",
    "betarce": "betarce(ensemble_size=24, robustness=0.5, first_shells=60, second_shells=5)",
    "entropic-risk": "entropic-risk(ensemble_size=4)",
    "kdtree": "kdtree",
    "probe": "probe",
    "rbr": "rbr(n_samples=20, n_steps=10, max_iterations=5)",
    "roar-lime": "roar-lime(n_samples=1500, max_steps=50)",
    "robx-balanced": "robx-balanced(samples=50, max_shells=60, max_steps=20)",
    "sns": "sns(steps=20, points=5)",
    "trex": "trex(samples=50, max_steps=20)",
    "trex-nearest": "trex-nearest(samples=50)",
    "wachter": "wachter(learning_rate=0.05, max_steps=200)",
}


@pytest.mark.parametrize("method", SETTINGS)
def test_advice_changes_what_is_searched_and_asks_a_bounded_number_of_times(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, people = [0], adverse(2)
    evaluate = networks.evaluate

    def counted(
        parameters: np.ndarray, sizes: np.ndarray, targets: np.ndarray, rows: np.ndarray, n: int
    ) -> np.ndarray:
        numbers[0] += len(parameters) * rows.size
        return evaluate(parameters, sizes, targets, rows, n)

    monkeypatch.setattr(networks, "evaluate", counted)
    context = Context(wide_task(), wide_network(), 1, actions=wide_task().actions)
    answers = make_method(SETTINGS[method]).fit(context).generate(people)
    assert answers.base_valid.any()
    found = answers.found
    actions = wide_task().actions
    assert actions.feasible(people.rows[found], answers.rows[found]).all()
    changed = np.flatnonzero(actions.changed(people.rows[found], answers.rows[found]).any(axis=0))
    allowed = searched(wide_task(), wide_network())
    assert allowed is not None and set(changed) <= set(allowed)
    # One round of a climb of one person, with all features searched, asks about 640,000 numbers.
    assert 0 < numbers[0] < 30_000_000


def test_draws_around_a_point_are_judged_by_the_layers_behind_the_first() -> None:
    network, points = wide_network(), adverse(3).rows
    draws = np.random.default_rng(4).normal(scale=0.1, size=(20, points.shape[1]))
    around = (points[:, None] + draws).reshape(-1, points.shape[1])
    expected = network.probabilities(around).reshape(3, 20)
    np.testing.assert_allclose(Shaken(network, draws).probabilities(points), expected)
    single = Network(network.weights[-1:], network.biases[-1:])
    flat = Shaken(single, draws[:, :6]).probabilities(points[:, :6])
    np.testing.assert_allclose(flat[1, 5], single.probabilities(points[1:2, :6] + draws[5, :6]))


def test_no_embedded_dataset_is_wide() -> None:
    assert max(load_task(name).n_features for name in dataset_names()) <= WIDE
