"""Votes of forests: how many are needed, who casts them, and what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import changeproof as cp
from changeproof import Context, Factuals, InputError, Task, evaluation_factuals
from changeproof.arithmetic.votes import needed_share
from changeproof.methods.forest_votes import ForestVotes, lower_bound, normal_quantile
from changeproof.model import Access, VotingModel
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import shipped_learner
from changeproof.models.shipped import BASE_SEED
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import TrainingRecipe


def forest(task: Task, seed: int = 2026, **settings: Any) -> Any:
    given = {"n_estimators": 100, "max_depth": 4} | settings
    learner = EstimatorLearner(RandomForestClassifier(**given))
    return learner.train([TrainingRecipe(initialisation_seed=seed)], task)[0]


@pytest.fixture(scope="module")
def context(small_task: Task) -> Context:
    return Context(small_task, forest(small_task), 2026)


@pytest.fixture(scope="module")
def people(context: Context) -> Factuals:
    return evaluation_factuals(context.task, context.model, 2026, 25)


@pytest.mark.parametrize(
    ("trees", "alpha", "expected"),
    [
        (20, 0.05, 0.698), (20, 0.01, 0.761), (20, 0.001, 0.823),
        (100, 0.05, 0.586), (100, 0.01, 0.619), (100, 0.001, 0.655),
        (500, 0.05, 0.538), (500, 0.01, 0.553), (500, 0.001, 0.570),
    ],
)  # fmt: skip
def test_needed_shares_are_those_of_the_paper(trees: int, alpha: float, expected: float) -> None:
    share = needed_share(1.0 - alpha, trees // 2 + 1, trees)
    assert abs(share - expected) < 0.0006
    # SciPy agrees that it is enough, and that less is not.
    assert binom.cdf(trees // 2, trees, share) <= alpha + 1e-12
    assert binom.cdf(trees // 2, trees, share - 1e-6) > alpha


def test_a_share_that_is_asked_for_is_a_chance() -> None:
    for chance, accepted in [(0.0, 3), (1.0, 3), (0.9, 0), (0.9, 6)]:
        with pytest.raises(ValueError, match="expected a chance between 0 and 1, and 1 to 5 votes"):
            needed_share(chance, accepted, 5)


@pytest.mark.parametrize("trees", [25, 100])
@pytest.mark.parametrize(("robustness", "confidence"), [(0.95, 0.95), (0.99, 0.9), (0.6, 0.99)])
def test_the_least_votes_are_those_of_a_plain_scan(
    trees: int, robustness: float, confidence: float, small_task: Task
) -> None:
    context = Context(small_task, forest(small_task, n_estimators=trees), 2026)
    needed = needed_share(robustness, trees // 2 + 1, trees)
    direct = ForestVotes(robustness=robustness).fit(context).needed_votes
    assert direct == min(k for k in range(trees + 1) if k / trees >= needed)
    given = {"robustness": robustness, "confidence": confidence}
    robust = ForestVotes(variant="robust", **given).fit(context).needed_votes
    shares = (np.arange(trees + 1) + 2) / (trees + 4)
    bounds = shares - norm.ppf(confidence) * np.sqrt(shares * (1 - shares) / trees)
    assert robust == np.flatnonzero(bounds >= needed)[0]
    assert robust > direct


def test_the_normal_quantile_is_that_of_scipy() -> None:
    for confidence in (0.51, 0.9, 0.95, 0.999):
        assert abs(normal_quantile(confidence) - norm.ppf(confidence)) < 1e-12
    assert lower_bound(50, 100, 0.95) < 0.5


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_votes_are_what_the_trees_of_scikit_learn_predict(kind: Any, small_task: Task) -> None:
    # Leaves are often tied, of which a tree predicts the first class.
    learner = EstimatorLearner(kind(n_estimators=12, max_depth=3, min_samples_leaf=2))
    model: Any = learner.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
    assert learner.traits.offers is learner.offers_on(small_task) is model.offers is Access.VOTES
    assert isinstance(model, VotingModel)
    rows = np.concatenate([small_task.rows("train"), small_task.rows("test")])
    theirs = sum(tree.predict(rows) for tree in model.estimator.estimators_)
    np.testing.assert_array_equal(model.votes(rows), theirs)
    assert model.n_voters == 12


def test_a_forest_as_shipped_votes_too(small_task: Task) -> None:
    named = np.array(["no", "yes"])[small_task.labels]
    task = small_task.replaced(outcomes=named, favourable_values=["yes"])
    train, rows = (task.frame.iloc[getattr(task.split, part)] for part in ("train", "test"))
    fitted = RandomForestClassifier(10, random_state=1).fit(train, named[task.split.train])
    learner = shipped_learner(fitted, task)
    model: Any = learner.train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]
    assert learner.traits.offers is learner.offers_on(task) is model.offers is Access.VOTES
    theirs = sum(tree.predict(rows.to_numpy()) for tree in fitted.estimators_)
    np.testing.assert_array_equal(model.votes(task.rows("test")), theirs)
    assert ForestVotes().fit(Context(task, model, 1)).needed_votes > 5


def test_what_does_not_decide_by_votes_does_not_offer_them(small_task: Task) -> None:
    for learner in (
        EstimatorLearner(GradientBoostingClassifier(n_estimators=5)),
        EstimatorLearner(RandomForestClassifier(n_estimators=1)),
        EstimatorLearner(DecisionTreeClassifier()),
        at_threshold(EstimatorLearner(RandomForestClassifier(n_estimators=5)), "0.7"),
    ):
        assert learner.traits.offers is Access.PREDICTIONS, learner
        assert learner.offers_on(small_task) is Access.PREDICTIONS, learner
        trained = learner.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
        assert trained.offers is Access.PREDICTIONS
        with pytest.raises(InputError, match="needs votes of trees of a model; this one offers"):
            ForestVotes().fit(Context(small_task, trained, 1))


@pytest.mark.parametrize("feasible", [False, True])
@pytest.mark.parametrize("variant", ["direct", "robust"])
def test_rows_have_the_votes_and_nothing_less_of_their_change_has(
    variant: Any, feasible: bool, context: Context, people: Factuals
) -> None:
    actions = context.task.actions if feasible else None
    seen = Context(context.task, context.model, 2026, actions=actions)
    method = ForestVotes(variant=variant).fit(seen)
    answers = method.generate(people)
    model: Any = context.model
    assert answers.found.all()
    votes = sum(tree.predict(answers.rows) for tree in model.estimator.estimators_)
    np.testing.assert_array_equal(votes, answers.diagnostics["votes"])
    assert (votes >= method.needed_votes).all()
    assert (answers.diagnostics["certified"] == True).all()  # noqa: E712
    # Who changes one feature could not do with less of it. Votes come and go on the way, so that a
    # bisection may have missed a gap of somebody.
    changed = answers.rows != people.rows
    alone = np.flatnonzero(changed.sum(axis=1) == 1)
    assert len(alone) > 5
    shares = np.arange(1, 100)[:, None, None] / 100
    less = people.rows[alone] + shares * (answers.rows[alone] - people.rows[alone])
    flat = less.reshape(-1, less.shape[2])
    enough = (model.votes(flat) >= method.needed_votes) & model.favourable(flat)
    assert enough.reshape(99, -1).any(axis=0).sum() <= 1
    far = cp.get_method("nearest-row")().fit(seen).generate(people)
    near, robust = (context.task.distances(people.rows, a.rows) for a in (far, answers))
    assert near.mean() < robust.mean()


def test_too_few_trees_say_so(small_task: Task, people: Factuals) -> None:
    context = Context(small_task, forest(small_task, n_estimators=3), 2026)
    method = ForestVotes(variant="robust", robustness=0.99, confidence=0.99).fit(context)
    asked = evaluation_factuals(small_task, context.model, 2026, 5)
    answers = method.generate(asked)
    expected = "a forest of 3 trees cannot show a chance of 0.99 with confidence 0.99"
    assert set(answers.outcomes) == {expected}


def test_forests_trained_anew_accept_as_often_as_promised(
    context: Context, people: Factuals
) -> None:
    """The attack: other seeds. A naive nearest row fails about every second of them."""
    others = [forest(context.task, seed=3000 + k) for k in range(20)]
    shares = {}
    for name in ("nearest-row", "forest-votes", 'forest-votes(variant="robust")'):
        answers = cp.make_method(name).fit(context).generate(people)
        shares[name] = np.mean([model.favourable(answers.rows).mean() for model in others])
    naive, direct, robust = shares.values()
    assert naive < 0.75 < 0.9 < direct <= robust


def test_the_words_of_the_promise_are_those_of_the_variant() -> None:
    direct, robust = ForestVotes().promised, ForestVotes(variant="robust").promised
    assert ForestVotes.promise is direct
    assert "as often as those at hand" in direct.words
    given = {"level": 95.0, "sure": 90.0, "unsure": 10.0}
    assert "at least 95 % by a forest" in robust.words.format(**given)
    assert "with 90 % confidence" in robust.words.format(**given)
    assert {direct.ground, robust.ground} == {"new-initialization"}
