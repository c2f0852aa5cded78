"""Wide tables: searches look at few features, and what they ask of a model is bounded."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from changeproof import Context, Factuals, Network, Task, load_task, own_task
from changeproof.datasets.builtin import dataset_names
from changeproof.datasets.few_columns import LOOKED_AT, LOOKED_AT_COLUMNS, WIDE, fewer
from changeproof.methods import make_method
from changeproof.methods.realising import realised
from changeproof.methods.search import straight_through
from changeproof.methods.search.agreed_points import AgreedPoints
from changeproof.methods.search.agreed_rows import AgreedRows
from changeproof.methods.search.few_features import FewFeatures, focused
from changeproof.methods.search.repair import Goal
from changeproof.methods.search.shaken import Shaken
from changeproof.methods.search.shortest import shortest
from changeproof.methods.search.undoing import HALVED, HALVINGS, TRIES, shortened, undone
from changeproof.model import Access
from changeproof.models.network import NetworkLearner
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


@cache
def wide_context() -> Context:
    return Context(wide_task(), wide_network(), 1, actions=wide_task().actions)


def adverse(people: int) -> Factuals:
    task = wide_task()
    rows, ids = task.rows("train"), task.row_ids("train")
    some = np.flatnonzero(~wide_network().favourable(rows))[:people]
    assert len(some) == people
    return Factuals(ids[some], rows[some])


class Opaque:
    """The same network, of which only predictions can be had."""

    offers = Access.PREDICTIONS

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        return wide_network().probabilities(rows)

    def favourable(self, rows: np.ndarray) -> np.ndarray:
        return wide_network().favourable(rows)


def test_what_moves_the_model_most_is_looked_at() -> None:
    actions = wide_context().actions
    assert actions is not None and actions.looked_at is not None
    assert len(actions.looked_at) == LOOKED_AT
    assert set(STRONG) <= set(actions.looked_at.tolist())
    assert wide_task().actions.looked_at is None
    assert any(str(FEATURES + 3) in note for note in wide_task().notes)


def test_what_may_not_change_is_not_looked_at() -> None:
    task = wide_task()
    frozen = Task(
        "frozen",
        task.frame,
        task.labels,
        features=task.features,
        actions={"f3": {"change": "none"}, "f77": {"change": "none"}},
    )
    found = focused(frozen.actions, wide_network(), frozen).looked_at
    assert found is not None
    assert not {3, 77} & set(found.tolist()) and {150, 228} <= set(found.tolist())


def test_features_of_many_categories_are_fewer() -> None:
    generator = np.random.default_rng(1)
    texts = {f"t{k}": generator.choice([f"c{i:02d}" for i in range(30)], 120) for k in range(9)}
    frame = pd.DataFrame(texts).assign(ok=np.where(np.arange(120) % 2, "yes", "no"))
    task = own_task(frame, target="ok", favourable="yes")
    network = Network.initialised(task.n_features, (4,), 1)
    looked_at = focused(task.actions, network, task).looked_at
    assert task.n_features > WIDE and looked_at is not None
    columns = sum(len(task.features[place].columns) for place in looked_at)
    assert 0 < columns <= LOOKED_AT_COLUMNS


@pytest.mark.parametrize("model", [wide_network(), Opaque()], ids=["network", "predictions"])
def test_the_search_sees_the_same_model(model: Network | Opaque) -> None:
    actions, own = wide_context().actions, adverse(4).rows
    assert actions is not None
    few = FewFeatures(actions, model, own)
    others = wide_task().rows("test")[:4]
    seen = few.rows(others)
    assert few.few and seen.shape[1] < 60
    whole = few.back(seen)
    columns = [c for place in actions.looked_at for c in actions.features[place].columns]
    np.testing.assert_array_equal(whole[:, columns], others[:, columns])
    rest = np.setdiff1d(np.arange(own.shape[1]), columns)
    np.testing.assert_array_equal(whole[:, rest], own[:, rest])
    np.testing.assert_allclose(few.model.probabilities(seen), model.probabilities(whole))
    np.testing.assert_allclose(few.sure(few.people), few_scores(model, own), atol=1e-12)
    # What may be told of the few features is what may be told of them among all.
    beyond = own + np.random.default_rng(2).normal(size=own.shape)
    told = few.back(few.actions.project(few.people, few.rows(beyond)))
    np.testing.assert_array_equal(told[:, columns], actions.project(own, beyond)[:, columns])
    seen[1, 0] = np.nan
    assert np.isnan(few.back(seen)).all(axis=1).tolist() == [False, True, False, False]


def few_scores(model: Network | Opaque, rows: np.ndarray) -> np.ndarray:
    return model.logits(rows) if isinstance(model, Network) else model.probabilities(rows)


def test_tables_that_are_not_wide_are_left_alone() -> None:
    task, network = wide_task(), wide_network()
    few = FewFeatures(task.actions, network, adverse(2).rows)
    assert (few.actions, few.model, few.few) == (task.actions, network, False)
    narrow = Task("narrow", task.frame.iloc[:, :WIDE], task.labels)
    model = Network.initialised(WIDE, (4,), 1)
    assert focused(narrow.actions, model, narrow) is narrow.actions
    assert fewer(1_000, WIDE) == 1_000 and fewer(1_000, 2_000) == 100 and fewer(3, 10**6) == 1


SETTINGS = {
    "apds": "apds(replicas=2, last_margin=0.5)",
    "betarce": "betarce(ensemble_size=24, robustness=0.5, first_shells=60, second_shells=5)",
    "rbr": "rbr(n_samples=20, n_steps=10, max_iterations=5)",
    "roar-lime": "roar-lime(n_samples=1500, max_steps=50)",
    "robx-balanced": "robx-balanced(samples=50, max_shells=60, max_steps=20)",
    "wachter": "wachter(learning_rate=0.05, max_steps=200)",
}


@pytest.mark.parametrize("method", SETTINGS)
def test_what_methods_ask_of_a_model_is_bounded(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, people = [0], adverse(2)
    evaluate = networks.evaluate

    def counted(parameters: np.ndarray, sizes: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
        asked[0] += len(parameters) * rows.size
        # One round of one person, with every feature looked at, has more than 600,000 numbers.
        assert asked[0] < 8_000_000
        return evaluate(parameters, sizes, rows, n)

    monkeypatch.setattr(networks, "evaluate", counted)
    context = replace(wide_context())
    answers = make_method(SETTINGS[method]).fit(context).generate(people)
    assert answers.base_valid.any()
    found = answers.outcomes == "found"
    assert wide_task().actions.realisable(people.rows[found], answers.rows[found]).all()
    assert asked[0] > 0


def test_rounding_the_other_way_keeps_to_the_most_changes() -> None:
    task = wide_task(most_changes=3)
    context = Context(task, wide_network(), 1, actions=task.actions)
    assert context.actions is not None
    own = adverse(3).rows
    raw = own + np.random.default_rng(3).normal(scale=0.3, size=own.shape)
    told = realised(context.actions, context.model, own, raw).rows
    assert (task.actions.changed(own, told).sum(axis=1) <= 3).all()


def test_very_many_changes_are_put_back_several_at_a_time() -> None:
    task, own = wide_task(), adverse(2).rows
    rows = task.actions.project(own, own + 1.0)
    needed = np.flatnonzero((rows > own + 0.5).all(axis=0))[0]
    asked: list[int] = []

    def accept(tried: np.ndarray, who: np.ndarray) -> np.ndarray:
        asked.append(len(tried))
        return np.asarray(tried[:, needed] > own[who, needed] + 0.3)

    result = undone(task.actions, own, rows, accept)
    assert len(asked) <= TRIES
    # What went together with the one that is needed stays; all others are put back.
    assert ((result != own).sum(axis=1) <= 3 + -(-FEATURES // TRIES)).all()
    assert (result[:, needed] > own[:, needed] + 0.3).all()
    asked.clear()
    stubborn = shortened(task.actions, own, rows, lambda tried, who: accept(tried, who) & False)
    np.testing.assert_array_equal(stubborn, rows)
    assert len(asked) <= TRIES + HALVED * HALVINGS


def test_draws_around_a_point_are_judged_by_the_layers_behind_the_first() -> None:
    network, points = wide_network(), adverse(3).rows
    draws = np.random.default_rng(4).normal(scale=0.1, size=(20, points.shape[1]))
    around = (points[:, None] + draws).reshape(-1, points.shape[1])
    expected = network.probabilities(around).reshape(3, 20)
    np.testing.assert_allclose(Shaken(network, draws).probabilities(points), expected)
    single = Network(network.weights[-1:], network.biases[-1:])
    flat = Shaken(single, draws[:, :6]).probabilities(points[:, :6])
    np.testing.assert_allclose(flat[1, 5], single.probabilities(points[1:2, :6] + draws[5, :6]))


def test_nobody_walks_no_step() -> None:
    def judge(told: np.ndarray, here: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, ...]:
        raise AssertionError("nobody asked")

    nobody = np.empty((0, wide_task().n_features))
    walk = straight_through.walk
    ended = walk(
        wide_task().actions, nobody, judge, target=0.0, learning_rate=0.1, max_steps=20_000
    )
    assert len(ended.rows) == len(ended.steps) == 0


def test_few_features_that_do_not_suffice_find_nothing() -> None:
    actions, own = wide_context().actions, adverse(2).rows
    assert actions is not None
    few = FewFeatures(actions, wide_network(), own)
    goal = Goal(lambda rows, _: few.sure(rows), 1e9, 1.0 / few.actions.scales.distance)
    found = shortest(few.actions, few.people, few.people, np.arange(2), goal, few.exchanges(10))
    assert np.isnan(few.back(found)).all()


def test_no_embedded_dataset_is_wide() -> None:
    assert max(load_task(name).n_features for name in dataset_names()) <= WIDE


def test_points_of_a_wide_table_are_told_as_rows() -> None:
    task, people = wide_task(), adverse(6)
    networks = (
        wide_network(),
        *(NetworkLearner().perturbed(wide_network(), 0.02, i) for i in (1, 2)),
    )
    rows = task.rows("train")
    points = AgreedPoints(networks, task, rows, 0.02)
    agreed = AgreedRows(networks, np.ones(3), task.actions, rows, points)
    told = agreed.search(people.rows, 0.05)
    found = np.isfinite(told).all(axis=1)
    assert found.mean() > 0.5
    assert task.actions.realisable(people.rows[found], told[found]).all()
    assert (points.jury.least(told[found], 0) >= 0.05).all()
    alone = agreed.search(people.rows[[3]], 0.05)
    np.testing.assert_array_equal(alone[0], told[3])
