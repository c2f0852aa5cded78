"""Methods that search among the rows that people may be told."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from changeproof import Context, Factuals, Network
from changeproof.certificates.box import ParameterBox
from changeproof.methods.betarce import BetaRCE
from changeproof.methods.kdtree import NONE_LEFT, KDTree
from changeproof.methods.method import Counterfactuals, Method
from changeproof.methods.rnce import RNCE
from changeproof.methods.robx import RobXBalanced, RobXRobust
from changeproof.methods.search.straight_through import PATIENCE
from changeproof.methods.wachter import Wachter
from realisable import asked, loans_task, projecting
from worst_cases import worst_logits

METHODS: dict[str, Method] = {
    "kdtree": KDTree(),
    "rnce": RNCE(radius=0.01),
    "wachter": Wachter(),
    "robx-balanced": RobXBalanced(samples=100, shell_samples=200),
    "robx-robust": RobXRobust(samples=100, shell_samples=200),
    "betarce": BetaRCE(),
}
PEOPLE = 30


@cache
def people(most: int | None = None) -> tuple[Context, Factuals]:
    return asked(loans_task(most), PEOPLE)


def fresh(name: str) -> Method:
    return type(METHODS[name])(**METHODS[name].settings())


@cache
def answered(name: str, most: int | None = None) -> tuple[Method, Counterfactuals]:
    context, factuals = people(most)
    method = fresh(name).fit(context)
    return method, method.generate(factuals)


@pytest.fixture(params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("most", [None, 1])
def test_answers_are_realisable_as_they_come_and_no_fewer_are_valid(
    name: str, most: int | None
) -> None:
    context, factuals = people(most)
    _, answers = answered(name, most)
    assert context.actions is not None
    found = answers.found
    assert answers.base_valid.sum() > 20
    assert context.actions.realisable(answers.factuals[found], answers.rows[found]).all()
    assert answers.realisation is not None
    assert set(answers.realisation.raw_breach) == {""}
    distance = context.task.distances(answers.factuals, answers.rows)
    np.testing.assert_array_equal(answers.realisation.raw_distance, distance)
    afterwards = projecting(fresh(name)).fit(context).generate(factuals)
    assert afterwards.realisation is not None
    assert (afterwards.realisation.raw_breach != "").any()
    assert answers.base_valid.sum() >= afterwards.base_valid.sum()


def test_answers_do_not_depend_on_batch_or_order(name: str) -> None:
    context, factuals = people()
    method, together = answered(name)
    backwards = method.generate(factuals[np.arange(len(factuals))[::-1]]).rows
    np.testing.assert_array_equal(backwards[::-1], together.rows)
    alone = fresh(name).fit(context).generate(factuals[[7]])
    np.testing.assert_array_equal(alone.rows[0], together.rows[7])


def test_a_network_that_never_says_yes_is_told_with_a_reason(name: str) -> None:
    context, factuals = people()
    assert isinstance(context.model, Network)
    *biases, last = context.model.biases
    never = Network(context.model.weights, (*biases, last - np.float32(100)))
    answers = fresh(name).fit(replace(context, model=never)).generate(factuals[:3])
    assert not answers.base_valid.any()
    assert all(answers.outcomes)


def test_kdtree_is_the_nearest_of_all_training_rows_put_back_to_what_may_change() -> None:
    context, factuals = people()
    _, answers = answered("kdtree")
    mended = projecting(KDTree()).fit(context).generate(factuals)
    task, model, actions = context.task, context.model, context.task.actions
    train = task.rows("train")
    favourable = train[model.favourable(train)]
    likely = np.where(mended.base_valid, model.probabilities(mended.rows), 0.0)
    for i, factual in enumerate(factuals.rows):
        own = np.repeat(factual[None], len(favourable), axis=0)
        told = actions.project(own, favourable)
        kept = model.favourable(told) & (model.probabilities(told) >= likely[i])
        told = told[kept]
        if mended.base_valid[i]:
            told = np.concatenate([told, mended.rows[[i]]])
        distances = task.distances(np.repeat(factual[None], len(told), axis=0), told)
        distance = task.distances(factual[None], answers.rows[[i]])[0]
        assert distance == pytest.approx(distances.min(), rel=1e-12)
        assert (told == answers.rows[i]).all(axis=1).any()


@pytest.mark.parametrize("name", ["kdtree", "wachter"])
def test_nobody_gets_a_longer_or_less_likely_answer_than_by_projecting(name: str) -> None:
    context, factuals = people()
    _, answers = answered(name)
    mended = projecting(fresh(name)).fit(context).generate(factuals)
    both = answers.base_valid & mended.base_valid
    assert both.sum() > 10
    assert answers.base_valid[mended.base_valid].all()
    likely = [context.model.probabilities(each.rows[both]) for each in (answers, mended)]
    assert (likely[0] >= likely[1]).all()
    lengths = [context.task.distances(factuals.rows[both], e.rows[both]) for e in (answers, mended)]
    assert (lengths[0] <= lengths[1] + 1e-12).all()


def test_kdtree_says_so_when_nothing_is_left() -> None:
    """Nothing but membership counts, and that may not change."""
    context, factuals = people()
    task = context.task
    member = task.features[[feature.name for feature in task.features].index("member")]
    weight = np.zeros((1, task.n_features), np.float32)
    weight[0, member.columns[0]] = 1.0
    members_only = Network((weight,), (np.zeros(1, np.float32),))
    adverse = factuals[~members_only.favourable(factuals.rows)]
    assert len(adverse)
    answers = KDTree().fit(replace(context, model=members_only)).generate(adverse)
    assert set(answers.outcomes) == {NONE_LEFT}


def test_rnce_answers_are_certified_as_they_are_told() -> None:
    context, _ = people()
    _, answers = answered("rnce")
    assert isinstance(context.model, Network)
    certified = answers.diagnostics["certified"].astype(bool)
    np.testing.assert_array_equal(certified, answers.found)
    worst = worst_logits(ParameterBox(context.model, 0.01), answers.rows[certified])
    assert (worst.lower > 0).all()
    train = context.task.rows("train")
    changed = [not (train == row).all(axis=1).any() for row in answers.rows[certified]]
    assert any(changed)


@pytest.mark.parametrize("name", ["robx-balanced", "robx-robust"])
def test_robx_answers_are_stable_where_it_says_so(name: str) -> None:
    method, answers = answered(name)
    assert isinstance(method, RobXBalanced)
    stable = answers.diagnostics["stable"].astype(bool)
    assert stable.sum() > 10
    found = answers.found
    above = method.stability(answers.rows[found]) > method.threshold
    np.testing.assert_array_equal(stable[found], above)


def test_who_can_be_told_of_no_stable_row_gets_a_more_stable_one_than_the_start() -> None:
    context, factuals = people()
    strict = RobXBalanced(samples=100, shell_samples=200, quantile=0.999).fit(context)
    answers = strict.generate(factuals)
    unstable = ~answers.diagnostics["stable"].astype(bool)
    assert unstable.any()
    assert answers.base_valid[unstable].all()
    loose = RobXBalanced(samples=100, shell_samples=200, quantile=0.0).fit(context)
    starts = loose.generate(factuals).rows[unstable]
    scores = strict.stability(answers.rows[unstable])
    assert (scores >= strict.stability(starts)).all()
    assert (scores > strict.stability(starts)).any()


def test_the_whole_ensemble_accepts_betarce_answers_if_they_may_be_farther() -> None:
    context, factuals = people()
    method = BetaRCE(farther=True).fit(context)
    answers = method.generate(factuals)
    found = answers.found
    assert (method.bounds(answers.rows[found]) > 0.9).all()
    assert (answers.diagnostics["second_shells"] > 0).any()


@pytest.mark.parametrize("name", ["robx-balanced", "robx-robust", "betarce"])
def test_nobody_is_sent_farther_than_by_projecting_unless_that_is_asked_for(name: str) -> None:
    context, factuals = people()
    method, answers = answered(name)
    own = {"betarce": "_robust"}.get(name, "_stable")
    mended = projecting(fresh(name)).fit(context).generate(factuals)
    both = np.flatnonzero(mended.base_valid)
    assert len(both) > 10
    assert answers.base_valid[both].all()
    farther = type(method)(**{**method.settings(), "farther": True}).fit(context)
    robust = farther.generate(factuals)
    length, longest, most = (
        context.task.distances(factuals.rows[both], each.rows[both])
        for each in (answers, mended, robust)
    )
    assert (length <= longest + 1e-12).all()
    # Where the robust answer is as near, it is the answer; elsewhere the surest that is near.
    same = most <= longest
    np.testing.assert_array_equal(answers.rows[both[same]], robust.rows[both[same]])
    other = both[~same]
    assert len(other)
    likely = context.model.probabilities
    assert (likely(answers.rows[other]) >= likely(mended.rows[other])).all()
    passes = getattr(method, own)
    assert passes(robust.rows[both]).sum() > passes(answers.rows[both]).sum()


def test_wachter_reaches_its_target_and_gives_up_when_nothing_better_comes() -> None:
    context, factuals = people()
    _, answers = answered("wachter")
    steps = answers.diagnostics["steps"]
    reached = context.model.probabilities(answers.rows[answers.found]) >= 0.501
    np.testing.assert_array_equal(reached, (steps < PATIENCE)[answers.found])
    assert reached.any()
    assert isinstance(context.model, Network)
    *biases, last = context.model.biases
    never = Network(context.model.weights, (*biases, last - np.float32(100)))
    lost = Wachter().fit(replace(context, model=never)).generate(factuals[:5])
    assert lost.diagnostics["steps"].max() < 20_000
