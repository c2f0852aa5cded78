"""Which methods move numbers just across splits, and what that does to their answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Factuals, Task, own_task
from changeproof.methods.betarce import BetaRCE
from changeproof.methods.kdtree import KDTree
from changeproof.methods.method import Method
from changeproof.methods.quorum.method import Quorum
from changeproof.methods.rbr import RBR
from changeproof.methods.robx import RobXBalanced
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe
from loans import loans


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(loans(600).drop(columns="applicant"), target="approved", favourable="yes")


@pytest.fixture(scope="module")
def context(task: Task) -> Context:
    learner = EstimatorLearner(GradientBoostingClassifier(n_estimators=30))
    model = learner.train([TrainingRecipe(initialisation_seed=0)], task)[0]
    return Context(task, model, 0, PrivateLearner(learner), task.actions)


def asked(context: Context) -> Factuals:
    rows, ids = context.task.rows("test"), context.task.row_ids("test")
    adverse = np.flatnonzero(~context.model.favourable(rows))
    return Factuals(ids[adverse], rows[adverse])


def test_splits_count_where_nothing_else_does(context: Context, task: Task) -> None:
    kdtree, betarce = KDTree().fit(context), BetaRCE(ensemble_size=20).fit(context)
    own, pool = kdtree._crossings(task.actions), betarce._crossings(task.actions)
    assert own is not None and pool is not None
    # Of all models that a row has to pass, the base model among them.
    assert len(pool.at) > 2 * len(own.at) > 0
    assert np.isin(own.below, pool.below).all()
    for method in (RBR().fit(context), RobXBalanced().fit(context)):
        assert method._crossings(task.actions) is None
    assert Quorum()._deciding_models() == ()


def test_a_model_without_splits_has_no_crossings(task: Task) -> None:
    learner = EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=0)], task)[0]
    assert (
        KDTree().fit(Context(task, model, 0, actions=task.actions))._crossings(task.actions) is None
    )


@pytest.mark.parametrize("method", [KDTree, lambda: BetaRCE(ensemble_size=20)])
def test_answers_pass_the_methods_own_test_and_are_nearer_than_without_splits(
    method: type[Method], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, fitted = asked(context), method().fit(context)
    found = fitted.generate(people)
    monkeypatch.setattr(fitted, "_deciding_models", lambda: ())
    without = fitted.generate(people)
    there = np.isfinite(found.rows).all(axis=1)
    np.testing.assert_array_equal(there, np.isfinite(without.rows).all(axis=1))
    assert there.sum() > 20
    np.testing.assert_array_equal(found.base_valid, without.base_valid)
    if isinstance(fitted, BetaRCE):
        assert fitted._robust(found.rows[there]).all()
    distances = context.task.distances
    far, before = (distances(people.rows, each.rows)[there] for each in (found, without))
    assert far.mean() < before.mean()
    assert (far < before - 1e-9).sum() > 2 * (far > before + 1e-9).sum()


def test_answers_across_splits_do_not_depend_on_the_batch(context: Context) -> None:
    people, method = asked(context), KDTree().fit(context)
    rows = method.generate(people).rows
    alone = [method.generate(people[slice(k, k + 1)]).rows[0] for k in range(10)]
    np.testing.assert_array_equal(rows[:10], alone)
