"""The limit: exact where there is a closed form, and everywhere what it says it is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.ensemble import GradientBoostingClassifier

from benchmarks.exact_rows import choices, nearest_of_forests
from changeproof import (
    Network,
    NetworkStack,
    Task,
    TrainingData,
    TrainingRecipe,
    load_task,
    train,
)
from changeproof.evaluation.limit import (
    PERCENTS,
    find_future_limit,
    find_limit,
    may_break,
    may_fail,
    rejected,
)
from changeproof.feasible.kernels import lengths
from changeproof.model import Floats, Stack
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import find_learner
from changeproof.models.learner import FittedModel, ModelStack, splits_of
from changeproof.models.recipes import bootstrap_recipe
from constrained import asked, loans_task

Case = tuple[Task, Network, NetworkStack, Floats]


def linear(weights: Floats, bias: float) -> Network:
    return Network((weights[None].astype(np.float32),), (np.array([bias], np.float32),))


def exact(task: Task, networks: list[Network], person: Floats) -> float:
    """Return how far the nearest point is that linear networks accept: a linear programme."""
    units = np.eye(len(person))
    weights = task.distances(np.zeros_like(units), units)
    low, high = task.training_range
    slopes = np.array([network.weights[0][0] for network in networks], dtype=float)
    logits = np.array([network.logits(person[None])[0] for network in networks])
    up, down = np.maximum(high - person, 0.0), np.maximum(person - low, 0.0)
    done = linprog(
        np.tile(weights, 2),
        A_ub=np.hstack([-slopes, slopes]),
        b_ub=logits,
        bounds=[(0.0, room) for room in (*up, *down)],
    )
    return float(done.fun) if done.status == 0 else np.nan


@pytest.fixture(scope="module")
def straight(small_task: Task) -> Case:
    """A linear base network, 20 that differ from it a little, and people."""
    generator = np.random.default_rng(3)
    centre = np.array([1.0, 0.5, -1.0, 0.2, 0.7])
    changed = [
        linear(centre + generator.normal(size=5) / 2, -generator.uniform()) for _ in range(20)
    ]
    base, rows = linear(centre, -0.5), small_task.rows("test")
    people = rows[rejected(base, rows)][:12]
    return small_task, base, NetworkStack.of(changed), people


@pytest.fixture(scope="module")
def curved(small_task: Task, small_network: Network) -> Case:
    """The small base network, two families of 25 networks trained anew, and people."""
    recipes = [TrainingRecipe(initialisation_seed=seed, max_epochs=30) for seed in range(50)]
    rows = small_task.rows("test")
    people = rows[rejected(small_network, rows)][:8]
    return small_task, small_network, train(recipes, TrainingData.of(small_task)).stack, people


def limit_of(case: Case) -> Floats:
    task, base, bank, people = case
    return find_limit(task, base, bank, [len(bank) // 2] * 2, people)


def distances(case: Case, rows: Floats) -> Floats:
    task, *_, people = case
    return np.array([[task.distances(people, each) for each in some] for some in rows])


def test_shares_are_rounded_to_what_may_fail() -> None:
    assert [may_fail(percent, 25) for percent in PERCENTS] == [0, 0, 1]
    assert [may_fail(percent, 200) for percent in PERCENTS] == [0, 2, 10]


def test_all_linear_networks_is_a_linear_programme(straight: Case) -> None:
    task, base, bank, people = straight
    found = distances(straight, limit_of(straight))
    for i, person in enumerate(people):
        expected = exact(task, [base, *bank], person)
        assert found[0, 0, i] == pytest.approx(expected, rel=1e-5, nan_ok=True)
        for family, part in enumerate((list(bank)[:10], list(bank)[10:])):
            expected = exact(task, [base, *part], person)
            assert found[1 + family, 0, i] == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_one_that_may_fail_is_never_the_base_network(straight: Case) -> None:
    task, base, bank, people = straight
    found = distances(straight, limit_of(straight))[0]
    for person, all_of_them, most in zip(people[:4], found[0], found[2], strict=False):
        without = [list(some) for some in combinations(bank, len(bank) - 1)]
        best = min(exact(task, [base, *some], person) for some in without)
        # Which network to leave is guessed from step to step; no guess can beat the best.
        assert best * (1 - 1e-5) <= most <= all_of_them + 1e-9
    # A base network so strict that leaving it out would be best.
    strict = linear(base.weights[0][0].astype(float), -1.5)
    rows = find_limit(task, strict, bank, [10, 10], people)
    there = np.isfinite(rows).all(axis=3)
    assert there.any() and strict.favourable(rows[there]).all()


@pytest.mark.parametrize("name", ["straight", "curved"])
def test_it_survives_what_it_says_and_is_shorter_for_less(
    name: str, request: pytest.FixtureRequest
) -> None:
    case: Case = request.getfixturevalue(name)
    task, base, bank, people = case
    rows, half = limit_of(case), len(bank) // 2
    low, high = task.training_range
    parts = [slice(0, 2 * half), slice(0, half), slice(half, 2 * half)]
    for some, part in zip(rows, parts, strict=True):
        for percent, each in zip(PERCENTS, some, strict=True):
            there = np.isfinite(each).all(axis=1)
            assert there.mean() > 0.8
            assert base.favourable(each[there]).all()
            accepted = bank.favourable(each[there])[part]
            assert ((~accepted).sum(axis=0) <= may_fail(percent, len(accepted))).all()
            assert (each[there] >= np.minimum(low, people[there]) - 1e-9).all()
            assert (each[there] <= np.maximum(high, people[there]) + 1e-9).all()
    far = distances(case, rows)
    ends = np.where(np.isnan(far), np.inf, far)
    assert (ends[:, 1:] <= ends[:, :-1] + 1e-9).all()
    assert (ends[1:, 0] <= ends[0, 0] + 1e-9).all()


def test_people_do_not_see_each_other(curved: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    task, base, bank, people = curved
    together = limit_of(curved)
    backwards = limit_of((task, base, bank, people[::-1]))
    np.testing.assert_array_equal(backwards[:, :, ::-1], together)
    monkeypatch.setattr("changeproof.evaluation.limit.PEOPLE_AT_ONCE", 3)
    np.testing.assert_array_equal(limit_of(curved), together)


def test_only_who_is_rejected_has_a_limit(small_task: Task, small_network: Network) -> None:
    rows = small_task.rows("test")[:30].copy()
    rows[0] = np.nan
    expected = ~small_network.favourable(rows[1:])
    np.testing.assert_array_equal(rejected(small_network, rows), [False, *expected])


def test_without_gradients_it_is_not_far_from_the_linear_programme(straight: Case) -> None:
    task, base, bank, people = straight
    models = ModelStack(bank)
    rows = find_limit(task, base, models, [20], people)
    far = distances(straight, rows)
    for i, person in enumerate(people):
        least = exact(task, [base, *bank], person)
        assert np.isnan(least) or least <= far[0, 0, i] <= 1.5 * least + 0.02
    there = np.isfinite(rows[0, 0]).all(axis=1)
    assert bank.favourable(rows[0, 0, there]).all()


def test_feasible_runs_have_feasible_limits() -> None:
    task = loans_task(most_changes=2)
    context, people = asked(task, 6)
    learner = find_learner("mlp")
    bank = learner.train([TrainingRecipe(initialisation_seed=seed) for seed in range(20)], task)
    rows = find_limit(task, context.model, bank, [20], people.rows, task.actions)
    free = find_limit(task, context.model, bank, [20], people.rows)
    found = np.isfinite(rows).all(axis=3)
    assert found.any(axis=(0, 1)).sum() >= 4
    for place, percent in enumerate(PERCENTS):
        some, each = found[0, place], rows[0, place]
        assert task.actions.feasible(people.rows[some], each[some]).all()
        assert context.model.favourable(each[some]).all()
        rejected = (~bank.favourable(each[some])).sum(axis=0)
        assert (rejected <= may_fail(percent, 20)).all()
        longer = task.distances(people.rows, each) >= task.distances(people.rows, free[0, place])
        assert longer[some].all()


def test_an_estimator_has_a_limit(small_task: Task) -> None:
    learner = find_learner("sklearn:LogisticRegression")
    weights = np.random.default_rng(0).integers(0, 3, (6, len(small_task.split.train) + 40))
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(1)]
    base = learner.train(recipes, small_task)[0]
    bank = learner.train(
        [
            TrainingRecipe(initialisation_seed=0, row_weights=tuple(each.tolist()))
            for each in weights
        ],
        small_task,
    )
    test = small_task.rows("test")
    people = test[rejected(base, test)][:5]
    rows = find_limit(small_task, base, bank, [3, 3], people)
    assert np.isfinite(rows).all()
    assert bank.favourable(rows[0, 0]).all() and base.favourable(rows[0, 0]).all()
    one = find_limit(small_task, base, bank, [3, 3], people[2:3])
    np.testing.assert_array_equal(one[:, :, 0], rows[:, :, 2])


def broken(accepted: list[bool], futures: list[int]) -> int:
    """Return in how many futures any model rejects."""
    return len({future for future, holds in zip(futures, accepted, strict=True) if not holds})


def test_the_limit_of_forests_is_nearly_exact() -> None:
    task = loans_task()
    recipes = [bootstrap_recipe(task, seed, seed) for seed in range(6)]
    learner = EstimatorLearner(GradientBoostingClassifier(n_estimators=8))
    base, *bank = learner.train([TrainingRecipe(initialisation_seed=0), *recipes], task)
    rows = task.rows("test")
    people, weights = rows[rejected(base, rows)][:8], 1.0 / task.distance_scale
    found = find_limit(task, base, ModelStack(bank), [3, 3], people, task.actions)
    for place, models in enumerate((bank, bank[:3], bank[3:])):
        splits = splits_of([base, *models])
        views = [model.as_forest for model in (base, *models) if isinstance(model, FittedModel)]
        assert splits is not None and len(views) == 1 + len(models)
        shortest = np.array(
            [
                nearest_of_forests(
                    [view for view in views if view is not None],
                    task.actions,
                    person,
                    choices(task.actions, person, splits, weights),
                )
                for person in people
            ]
        )
        far = lengths(people, found[place, 0][:, None], weights)[:, 0]
        assert (far >= shortest - 1e-9).all()
        assert far.sum() <= 1.02 * shortest.sum()


def test_how_many_futures_may_break_is_said_once() -> None:
    assert [may_break(futures) for futures in (1, 2, 10, 25, 39, 40, 100)] == [
        (0,), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1, 2), (0, 1, 5),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["straight", "curved"])
def test_one_model_per_future_is_the_limit_of_models(
    name: str, request: pytest.FixtureRequest
) -> None:
    task, base, bank, people = request.getfixturevalue(name)
    some = bank.part(0, 20)
    limit = find_limit(task, base, some, [20], people)[0]
    for models in (some, some.part(0, 1)):
        of_futures = find_future_limit(task, base, models, range(len(models)), people)
        if len(models) > 1:
            np.testing.assert_array_equal(of_futures, limit[[0, 2]])
        else:
            one = find_limit(task, base, models, [1], people)[0]
            np.testing.assert_array_equal(of_futures, one[:1])


def test_the_best_future_to_lose_is_nearly_found(straight: Case) -> None:
    """Against all ways to choose the future that breaks, with a linear programme for each."""
    task, base, bank, people = straight
    futures = np.arange(20) % 5
    rows = find_future_limit(task, base, bank, futures.tolist(), people)
    everyone, most = (task.distances(people, each) for each in rows)
    best = []
    for person in people:
        left = [[n for n, own in zip(bank, futures, strict=True) if own != f] for f in range(5)]
        best.append(np.nanmin([exact(task, [base, *some], person) for some in left]))
    all_of_them = [exact(task, [base, *bank], person) for person in people]
    np.testing.assert_allclose(everyone, all_of_them, rtol=1e-5)
    there = np.isfinite(best)
    assert (most[there] >= np.array(best)[there] * (1 - 1e-5)).all()
    assert most[there].mean() <= 1.02 * np.mean(np.array(best)[there])


@settings(max_examples=15, deadline=None)
@given(futures=st.lists(st.integers(0, 4), min_size=12, max_size=12), asked_only=st.booleans())
def test_as_many_futures_hold_as_is_said_and_more_that_may_break_are_nearer(
    curved: Case, futures: list[int], asked_only: bool
) -> None:
    task, base, bank, people = curved
    some = bank.part(0, 12)
    models: Stack = ModelStack(some) if asked_only else some
    rows = find_future_limit(task, base, models, futures, people[:3])
    allowed = may_break(len(set(futures)))
    assert len(rows) == len(allowed)
    for each, failures in zip(rows, allowed, strict=True):
        there = np.isfinite(each).all(axis=1)
        assert base.favourable(each[there]).all()
        accepted = some.favourable(each[there])
        assert all(broken(own, futures) <= failures for own in accepted.T.tolist())
    far = np.array([task.distances(people[:3], each) for each in rows])
    ends = np.where(np.isnan(far), np.inf, far)
    assert (ends[1:] <= ends[:-1] + 1e-9).all()


def every_row(task: Task, person: Floats) -> Floats:
    """Return all rows that somebody of the table "employment" may be told: 72 at most."""
    columns = {feature.name: list(feature.columns) for feature in task.actions.features}
    own = person * task.scale + task.mean
    rows = []
    options = (range(3), columns["education"], columns["home_a_year_ago"])
    for years, education, home in product(*options):
        row = own.copy()
        row[columns["age"]] += years
        for name, column in (("education", education), ("home_a_year_ago", home)):
            row[columns[name]] = 0.0
            row[column] = 1.0
        rows.append((row - task.mean) / task.scale)
    found = np.array(rows)
    return found[task.actions.feasible(np.repeat(person[None], len(found), axis=0), found)]


def test_feasible_limits_are_exact_where_all_rows_can_be_tried() -> None:
    task, generator = load_task("employment"), np.random.default_rng(8)
    centre = generator.normal(size=task.n_features) / 3
    futures = np.repeat([0, 1, 2, 3, 4], 3)
    bank = NetworkStack.of(
        [linear(centre + generator.normal(size=task.n_features) / 10, -0.1) for _ in futures]
    )
    base, test = linear(centre, 0.0), task.rows("test")
    people = test[rejected(base, test)][:150]
    rows = find_future_limit(task, base, bank, futures.tolist(), people, task.actions)
    expected = np.full((2, len(people)), np.nan)
    for i, person in enumerate(people):
        tried = every_row(task, person)
        far = task.distances(np.repeat(person[None], len(tried), axis=0), tried)
        lost = np.array(
            [broken(own, futures.tolist()) for own in bank.favourable(tried).T.tolist()]
        )
        for failures in (0, 1):
            good = far[base.favourable(tried) & (lost <= failures)]
            expected[failures, i] = good.min() if len(good) else np.nan
    assert 5 < np.isfinite(expected[0]).sum() < np.isfinite(expected[1]).sum() < len(people)
    assert (expected[1] < expected[0]).any()
    for each, best in zip(rows, expected, strict=True):
        np.testing.assert_allclose(task.distances(people, each), best)


def test_an_update_that_rejects_everybody_breaks_one_future(curved: Case) -> None:
    task, base, bank, people = curved
    never = linear(np.zeros(task.n_features), -1.0)
    models = NetworkStack.of([*bank.part(0, 11), never])
    futures = np.repeat([0, 1, 2, 3], 3).tolist()
    rows = find_future_limit(task, base, models, futures, people)
    assert np.isnan(rows[0]).all() and np.isfinite(rows[1]).all()
    without = find_future_limit(
        task, base, bank.part(0, 9), np.repeat([0, 1, 2], 3).tolist(), people
    )
    far = task.distances(people, rows[1])
    assert far == pytest.approx(task.distances(people, without[0]), rel=0.02)
