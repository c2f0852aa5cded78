"""Methods where people may be told only certain rows: the nearest that passes their own test."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from changeproof import Context, Factuals, Network
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import proven_rows
from changeproof.certificates.sampled import ParameterSample
from changeproof.feasible.actions import Actions
from changeproof.methods.answers import NOTHING_FEASIBLE, Counterfactuals
from changeproof.methods.apds.method import APDS, CERTIFICATE_OFFSET
from changeproof.methods.betarce import BetaRCE
from changeproof.methods.kdtree import KDTree
from changeproof.methods.mce_r import MCER
from changeproof.methods.method import Candidates, Method, People, Proposals
from changeproof.methods.nearest_point import NearestPoint
from changeproof.methods.proplace import Proplace
from changeproof.methods.quorum.method import Quorum
from changeproof.methods.rbr import RBR
from changeproof.methods.rnce import RNCE
from changeproof.methods.roar_lime.method import RoarLime
from changeproof.methods.robx import RobXBalanced, RobXRobust
from changeproof.methods.wachter import Wachter
from changeproof.model import Booleans, Floats
from constrained import asked, loans_task
from plain_searches import plain_agreement

METHODS: dict[str, Method] = {
    "kdtree": KDTree(),
    "rnce": RNCE(radius=0.01),
    "nearest-point": NearestPoint(),
    "mce-r": MCER(radius=0.01),
    "proplace": Proplace(radius=0.01),
    "wachter": Wachter(),
    "robx-balanced": RobXBalanced(samples=100, shell_samples=200),
    "robx-robust": RobXRobust(samples=100, shell_samples=200),
    "betarce": BetaRCE(),
    "roar-lime": RoarLime(n_samples=2_000),
    "rbr": RBR(),
    "apds": APDS(),
    "quorum": Quorum(members=12, judges=8, people=20),
}
PEOPLE = 20


@cache
def people(most: int | None = None) -> tuple[Context, Factuals]:
    context, factuals = asked(loans_task(most), PEOPLE)
    return context, replace(factuals, places=np.arange(len(factuals)))


def fresh(name: str) -> Method:
    return type(METHODS[name])(**METHODS[name].settings())


@cache
def answered(name: str, most: int | None = None) -> tuple[Method, Counterfactuals]:
    context, factuals = people(most)
    method = fresh(name).fit(context)
    return method, method.generate(factuals)


@cache
def published(name: str) -> Floats:
    context, factuals = people()
    return fresh(name).fit(replace(context, actions=None)).generate(factuals).rows


@pytest.fixture(params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("most", [None, 1])
def test_answers_are_feasible_and_accepted(name: str, most: int | None) -> None:
    context, _ = people(most)
    _, answers = answered(name, most)
    assert context.actions is not None
    found = answers.found
    assert answers.base_valid.sum() > 15
    assert context.actions.feasible(answers.factuals[found], answers.rows[found]).all()
    assert (answers.base_valid == found).all()


def test_the_record_of_proposals_is_what_the_method_proposes(name: str) -> None:
    if name == "quorum":
        return  # searches inside the bounds of every person from the beginning
    context, _ = people()
    _, answers = answered(name)
    rows = published(name)
    there = np.isfinite(rows).all(axis=1)
    assert there.any()
    assert answers.realisation is not None and context.actions is not None
    distance = context.task.distances(answers.factuals, rows)
    np.testing.assert_array_equal(answers.realisation.raw_distance[there], distance[there])
    breaches = context.actions.breaches(answers.factuals[there], rows[there]).first
    np.testing.assert_array_equal(answers.realisation.raw_breach[there], breaches)


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
    assert not answers.found.any()
    assert all(answers.outcomes)


def test_nothing_nearer_by_a_single_feature_passes(name: str) -> None:
    """Put any one feature back, and the base model or the method's own test refuses."""
    context, factuals = people()
    method, answers = answered(name)
    search = method._acceptable(context.task.actions, proposals_of(method, factuals))
    everybody = np.arange(len(factuals))
    passing = search.passes(answers.rows, everybody)
    assert passing.mean() > 0.4
    for feature in context.task.features:
        tried = answers.rows.copy()
        tried[:, list(feature.columns)] = factuals.rows[:, list(feature.columns)]
        other = (tried != answers.rows).any(axis=1) & (tried != factuals.rows).any(axis=1)
        some = np.flatnonzero(passing & other)
        assert not search.passes(tried[some], some).any(), feature.name


def proposals_of(method: Method, factuals: Factuals) -> Proposals:
    """Return the proposals that the base class starts from."""
    seen: list[Proposals] = []
    search = method._nearest_accepted

    def watched(actions: Actions, proposals: Proposals) -> Floats:
        seen.append(proposals)
        return search(actions, proposals)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "_nearest_accepted", watched)
        method.generate(factuals)
    return seen[0]


@pytest.mark.parametrize("name", ["kdtree", "rbr", "roar-lime"])
def test_answers_are_as_good_as_the_methods_own_proposals(name: str) -> None:
    context, factuals = people()
    method, answers = answered(name)
    assert answers.base_valid.all()
    proposals = proposals_of(method, factuals)
    everybody = People(np.arange(len(factuals)), proposals)
    levels = method._score(proposals.wanted, everybody)
    np.testing.assert_array_equal(everybody.level, levels)
    good = method._score(answers.rows, everybody) >= levels
    assert good.mean() > 0.8
    # Whoever cannot be told as good a row is told one no farther than what was proposed.
    wanted, told = (
        context.task.distances(factuals.rows, rows) for rows in (proposals.wanted, answers.rows)
    )
    starts = context.task.distances(factuals.rows, proposals.rows)
    assert (told[~good] <= np.maximum(wanted, starts)[~good] + 1e-12).all()


@pytest.mark.parametrize("name", ["rnce", "mce-r", "proplace"])
def test_certified_answers_are_certified_as_they_are_told(name: str) -> None:
    context, _ = people()
    _, answers = answered(name)
    assert isinstance(context.model, Network)
    certified = answers.diagnostics["certified"].astype(bool)
    np.testing.assert_array_equal(certified, answers.found)
    assert proven_rows(ParameterBox(context.model, 0.01), answers.rows[certified]).all()
    train = context.task.rows("train")
    changed = [not (train == row).all(axis=1).any() for row in answers.rows[certified]]
    assert any(changed)


@pytest.mark.parametrize("name", ["robx-balanced", "robx-robust"])
def test_robx_answers_are_stable_where_it_says_so(name: str) -> None:
    method, answers = answered(name)
    assert isinstance(method, RobXBalanced)
    stable = answers.diagnostics["stable"].astype(bool)
    assert stable.sum() > 10
    above = method.stability(answers.rows) > method.threshold
    np.testing.assert_array_equal(stable, above)


def test_the_whole_ensemble_accepts_betarce_answers() -> None:
    method, answers = answered("betarce")
    assert isinstance(method, BetaRCE)
    certified = answers.diagnostics["certified"].astype(bool)
    assert certified.mean() > 0.8
    np.testing.assert_array_equal(method.bounds(answers.rows) > 0.9, certified)


def test_wachter_reaches_its_target() -> None:
    context, _ = people()
    _, answers = answered("wachter")
    assert (context.model.probabilities(answers.rows) >= 0.501 - 1e-12).all()


def test_what_apds_certifies_survives_both_samples() -> None:
    context, _ = people()
    assert isinstance(context.model, Network)
    method, answers = answered("apds")
    assert isinstance(method, APDS)
    certified = answers.diagnostics["certified"].astype(bool)
    assert certified.any()
    rows, margins = answers.rows[certified], answers.diagnostics["margin"][certified]
    np.testing.assert_array_equal(context.model.logits(rows), margins)
    assert method._sample.all_favourable(rows).all()
    for place, row in zip(np.flatnonzero(certified), rows, strict=True):
        seed = 2026 + CERTIFICATE_OFFSET + place
        drawn = ParameterSample.draw(method._box, method._samples, seed)
        assert drawn.all_favourable(row[None])[0]


def test_roar_lime_goes_beyond_the_boundary_of_the_model() -> None:
    """The larger the radius that a surrogate may move, the surer the model is of the advice."""
    context, factuals = people()
    assert isinstance(context.model, Network)
    logits = []
    for radius in (0.0, 0.2):
        method = RoarLime(penalty=0.01, radius=radius, n_samples=2_000)
        answers = method.fit(context).generate(factuals)
        assert answers.base_valid.all()
        logits.append(context.model.logits(answers.rows).mean())
    assert logits[1] > logits[0]


def test_the_pool_agrees_with_what_quorum_says() -> None:
    context, _ = people()
    method, answers = answered("quorum")
    assert isinstance(method, Quorum)
    models = method._agreement.models
    pool = [models[place] for place in range(1, len(models))]
    agreed = plain_agreement(pool, context.task.rows("train"), answers.rows)
    assert (agreed >= method.calibrated.threshold - 1e-9).mean() > 0.8


class TenLines(Method):
    """A stranger's method: far along a direction, and a test of its own."""

    name = "ten-lines"
    summary = "far away"

    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(self.context.task.rows("train")[[0] * len(factuals)])

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        assert len(people.factuals) == len(rows)
        return self.context.model.probabilities(rows) >= 0.9


def test_a_strangers_method_gets_the_same_for_nothing() -> None:
    context, factuals = people()
    answers = TenLines().fit(context).generate(factuals)
    assert answers.found.mean() > 0.8
    assert context.actions is not None
    assert context.actions.feasible(factuals.rows, answers.rows)[answers.found].all()
    sure = context.model.probabilities(answers.rows[answers.found])
    assert (sure >= 0.9).mean() > 0.8
    assert np.median(sure) < 0.95


class Never(TenLines):
    """A test that nothing passes."""

    name = "never"

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return np.zeros(len(rows), np.bool_)


def test_whom_nothing_passes_for_gets_the_surest_row_no_farther_than_proposed() -> None:
    context, factuals = people()
    method = Never().fit(context)
    answers = method.generate(factuals)
    proposals = proposals_of(method, factuals)
    assert answers.base_valid.all()
    told, starts = (context.model.probabilities(r) for r in (answers.rows, proposals.rows))
    assert (told >= starts).all()
    assert (told > starts).any()
    far, wanted, start = (
        context.task.distances(factuals.rows, rows)
        for rows in (answers.rows, proposals.wanted, proposals.rows)
    )
    assert (far <= np.maximum(wanted, start) + 1e-9).all()


def test_a_person_with_nothing_left_to_change_gets_a_reason() -> None:
    """Nothing but membership counts, and that may not change."""
    context, factuals = people()
    task = context.task
    member = next(feature for feature in task.features if feature.name == "member")
    weight = np.zeros((1, task.n_features), np.float32)
    weight[0, member.columns[0]] = 1.0
    members_only = Network((weight,), (np.zeros(1, np.float32),))
    adverse = factuals[~members_only.favourable(factuals.rows)]
    assert len(adverse)
    answers = KDTree().fit(replace(context, model=members_only)).generate(adverse)
    assert set(answers.outcomes) == {NOTHING_FEASIBLE}
