"""Advice that is to last: private chains, whole futures as judges, and what is promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from changeproof import (
    Context,
    Counterfactuals,
    Factuals,
    InputError,
    Network,
    Quorum,
    TrainingRecipe,
    get_family,
)
from changeproof.arithmetic.votes import least_share
from changeproof.changes.bank import checked_variants
from changeproof.changes.family import BaseModel
from changeproof.methods.quorum.calibration import people_needed, smallest_threshold
from changeproof.methods.quorum.chains import (
    Assent,
    FutureJudges,
    Futures,
    deployed,
    lasting_members,
)
from changeproof.methods.quorum.pool import Sizes
from changeproof.model import Booleans, Floats
from changeproof.models.chains import STEPS
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import Learner
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.models.recipes import recipe_identity
from constrained import asked, loans_task
from plain_searches import alike


def learners() -> dict[str, Learner]:
    seedless = EstimatorLearner(LogisticRegression(), grid={"C": (0.1, 10.0)})
    seedless.replacement_learners = (EstimatorLearner(LogisticRegression(C=2.0)),)
    return {
        "network": NetworkLearner(),
        "seedless": seedless,
        "boosting": EstimatorLearner(HistGradientBoostingClassifier(max_iter=3, random_state=0)),
    }


def identities(changes: list[tuple[Any, Any]]) -> list[tuple[str, str]]:
    return [
        ("" if learner is None else learner.name, recipe_identity(change))
        for change, learner in changes
    ]


def described(kind: str, seed: int, sizes: Sizes, updates: int = 5) -> list[list[tuple[str, str]]]:
    task, learner = loans_task(None), learners()[kind]
    network = Network.initialised(task.n_features, (4,), 1)
    context = Context(task, network, seed, PrivateLearner(learner))
    models = lasting_members(context, updates, (), sizes)
    return [identities([(each.change, each.learner) for each in some]) for some in models]


@pytest.mark.parametrize("seed", [0, 2026, 2**31 - 1])
@pytest.mark.parametrize("kind", learners())
def test_no_private_state_is_a_changed_model(kind: str, seed: int) -> None:
    task, learner = loans_task(None), learners()[kind]
    base = BaseModel(seed, Network.initialised(task.n_features, (4,), 1))
    variants = checked_variants(get_family("updates"), task, base, learner)
    bank = identities([(variant.change, variant.learner) for variant in variants])
    members, judges, witnesses = described(kind, seed, Sizes(20, 6, 4))
    assert [len(each) for each in (members, judges, witnesses)] == [20, 30, 20]
    private = {*members, *judges, *witnesses}
    assert len(private) == 70
    assert not private & set(bank)


def test_more_of_one_role_leave_the_others_as_they_are() -> None:
    few, many = (described("network", 7, sizes) for sizes in (Sizes(4, 2, 1), Sizes(6, 3, 2)))
    assert all(more[: len(less)] == less for less, more in zip(few, many, strict=True))
    shorter = described("network", 7, Sizes(0, 1, 0), updates=3)[1]
    assert described("network", 7, Sizes(0, 1, 0), updates=5)[1][:3] == shorter


def test_a_future_of_identical_models_is_that_model() -> None:
    task = loans_task(None)
    rows, (first, second, *_) = task.rows("test"), alike(task.n_features, 4)
    context = Context(task, first, 2026)
    futures = Futures.of(context, [first] * 3 + [second] * 3, 3, None)
    assert len(futures) == 2
    np.testing.assert_array_equal(
        futures.favourable(rows), [first.favourable(rows), second.favourable(rows)]
    )
    # An update that is not deployed leaves the one before it in place.
    mixed = Futures(futures.stack, 2, np.array([True, True, True, False, True, True]))
    both = first.favourable(rows) & second.favourable(rows)
    assert (both != first.favourable(rows)).any()
    np.testing.assert_array_equal(
        mixed.favourable(rows),
        [first.favourable(rows), first.favourable(rows), second.favourable(rows)],
    )
    np.testing.assert_array_equal(
        replace(mixed, deployed=np.ones(6, np.bool_)).favourable(rows)[1], both
    )


@pytest.mark.parametrize("gate", [None, 0.0, 0.02, 0.3])
def test_what_is_deployed_is_hardly_worse_than_the_base_model(gate: float | None) -> None:
    task = loans_task(None)
    base = NetworkLearner().train([TrainingRecipe(initialisation_seed=3)], task)[0]
    models = [base, *alike(task.n_features, 6)]
    rows, labels = task.rows("validation"), task.labels_of("validation")
    accuracy = [balanced_accuracy_score(labels, model.favourable(rows)) for model in models]
    expected = [gate is None or each >= accuracy[0] - gate - 1e-12 for each in accuracy]
    assert deployed(Context(task, base, 3), models, gate).tolist() == expected
    assert not len(deployed(Context(task, base, 3), [], gate))


@dataclass(frozen=True)
class Planted:
    """Futures that break advice of less than their strength; a row is what the advice reaches."""

    strengths: Floats

    def __len__(self) -> int:
        return len(self.strengths)

    def favourable(self, rows: Floats) -> Booleans:
        return np.asarray(rows[:, 0] >= self.strengths[:, None])


def test_what_was_broken_stays_broken_and_the_next_future_breaks_everything() -> None:
    judges = FutureJudges(Planted(np.arange(99.0)), 0.8)
    assert judges.taken == 0.01
    assert judges.promised_less == 0.0
    found = np.array([[98.0], [90.0], [np.nan]])
    np.testing.assert_allclose(judges.lost(found, 0), [0.01, 0.09, 0.01])
    # One that comes nearer than before has lost what it lost; others are not mixed up with it.
    np.testing.assert_allclose(
        judges.lost(np.array([[80.0], [95.0], [98.0]]), 0), [0.19, 0.09, 0.01]
    )
    np.testing.assert_allclose(judges.lost(np.array([[97.0]]), 64), [0.02])
    # With too few futures, the next is not counted, and less is promised.
    few = FutureJudges(Planted(np.arange(9.0)), 0.95)
    assert (few.taken, few.promised_less) == (0.0, 0.1)
    np.testing.assert_allclose(few.lost(np.array([[6.0]]), 0), [0.2])
    assert people_needed(0.95, judges.one) == 66
    assert people_needed(0.95, 0.03) == np.inf


def test_the_next_person_is_broken_in_the_next_future_no_more_often_than_promised() -> None:
    """People and futures are drawn anew each time; whether advice breaks depends on both."""
    generator, allowed, people, futures = np.random.default_rng(11), 0.2, 30, 59
    thresholds = np.linspace(6.0, -2.0, 33).tolist()
    lost = []
    for _ in range(1500):
        own, theirs = generator.normal(size=people + 1), generator.standard_t(3, size=futures + 1)
        judges = FutureJudges(Planted(theirs[:-1]), 1.0 - allowed)

        def losses(
            threshold: float, some: slice, own: Floats = own, judges: FutureJudges = judges
        ) -> tuple[Floats, Floats]:
            found = judges.lost((own[:people][some] + threshold)[:, None], some.start)
            return found, found

        counts = people, people, 1.0 - allowed, judges.one
        chosen = smallest_threshold(thresholds, losses, *counts)
        assert chosen.promised == 1.0 - allowed
        lost.append(own[-1] + chosen.threshold < theirs[-1])
    # By a little more than chance alone explains it would be wrong; far below, it would be useless.
    assert 0.4 * allowed < np.mean(lost) < allowed + 2.0 * np.sqrt(0.16 / 1500)


SMALL = {"lasts": 3, "members": 60, "judges": 12, "witnesses": 6, "people": 50, "target": 0.8}


@cache
def answered(feasible: bool) -> tuple[Context, Factuals, Quorum, Counterfactuals]:
    context, people = asked(loans_task(None), 30)
    if not feasible:
        context = replace(context, actions=None)
    method = Quorum(**SMALL).fit(context)
    return context, people, method, method.generate(people)


@pytest.mark.parametrize("feasible", [False, True])
def test_all_but_a_few_members_accept_with_the_margin(feasible: bool) -> None:
    context, people, method, answers = answered(feasible)
    assert answers.found.all()
    assert answers.base_valid.all()
    assent = method._agreement
    assert isinstance(assent, Assent)
    n_members = len(assent.jury.models) - 1
    assert 40 < n_members <= 60
    assert assent.dissent == 2
    agreement, threshold = (answers.diagnostics[name] for name in ("agreement", "threshold"))
    reached = agreement >= threshold
    assert reached.mean() > 0.5
    sure = assent.jury.log_odds(answers.rows)
    assert ((sure[1:] < agreement - 1e-9).sum(axis=0) <= 2).all()
    assert (sure[0] >= agreement - 1e-9).all()
    # Somebody is told what a member refuses.
    assert ((sure[1:] < agreement - 1e-9).sum(axis=0) > 0).any()
    diagnostics = {name: set(values.tolist()) for name, values in answers.diagnostics.items()}
    assert diagnostics["futures"] == {12}
    assert diagnostics["asked"] == {6}
    assert diagnostics["deployed"] == {method._futures.deployed.mean()}
    # So few futures that the next one is not counted.
    assert method.calibrated.promised == pytest.approx(0.8 - 1.0 / 13.0)
    held = method._witnesses.stack.favourable(answers.rows)
    assert held.shape == (6, 30)
    np.testing.assert_array_equal(answers.diagnostics["accepted"], held.sum(axis=0))
    bounds = [least_share(0.95, votes, 6) for votes in held.sum(axis=0)]
    np.testing.assert_array_equal(answers.diagnostics["at_least"], bounds)
    if feasible:
        assert context.actions is not None
        assert context.actions.feasible(people.rows, answers.rows).all()
    alone = method.generate(people[[4]])
    np.testing.assert_array_equal(alone.rows[0], answers.rows[4])


def test_models_without_gradients_last_too() -> None:
    task = loans_task(2)
    learner = EstimatorLearner(HistGradientBoostingClassifier(max_iter=10, random_state=0))
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    rows = task.rows("test")
    adverse = np.flatnonzero(~model.favourable(rows))[:8]
    people = Factuals(task.row_ids("test")[adverse], rows[adverse])
    context = Context(task, model, 2026, PrivateLearner(learner), task.actions)
    settings = {"members": 6, "judges": 5, "witnesses": 3, "people": 20, "target": 0.7}
    method = Quorum(lasts=2, **settings).fit(context)  # type: ignore[arg-type]
    answers = method.generate(people)
    assert answers.found.sum() > 4
    found = answers.rows[answers.found]
    assert task.actions.feasible(people.rows[answers.found], found).all()
    accepted = method._witnesses.stack.favourable(found).sum(axis=0)
    np.testing.assert_array_equal(answers.diagnostics["accepted"][answers.found], accepted)
    assert set(answers.diagnostics["futures"].tolist()) == {5}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lasts": -1}, "lasts should be greater than or equal to 0; got -1"),
        ({"lasts": 1001}, "lasts should be less than or equal to 1000; got 1001"),
        ({"lasts": 2, "gate": 1.0}, "gate should be less than 1; got 1.0"),
        ({"lasts": 2, "expect": "label-update"}, "unknown step of an update 'label-update'"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Quorum(**settings)


def test_what_is_expected_is_what_an_update_is_made_of() -> None:
    task = loans_task(None)
    network = Network.initialised(task.n_features, (4,), 1)
    context = Context(task, network, 5, PrivateLearner(NetworkLearner()))
    plain = lasting_members(context, 6, ("new-initialization",), Sizes(3, 2, 0))
    for member in [*plain.members, *plain.judges]:
        assert isinstance(member.change, TrainingRecipe)
        assert member.change.hidden is None
        usual = np.repeat([1.0, 0.0], [len(task.split.train), len(task.split.update)])
        np.testing.assert_array_equal(member.change.row_weights, usual)
    every = lasting_members(context, 6, STEPS, Sizes(3, 2, 0))
    default = lasting_members(context, 6, (), Sizes(3, 2, 0))
    told, usual_ones = (
        identities([(member.change, None) for member in some.judges]) for some in (every, default)
    )
    assert told == usual_ones


def test_what_it_promises_depends_on_how_long_it_is_to_last() -> None:
    lasting, single = Quorum(lasts=12).promised, Quorum().promised
    assert lasting is not None
    assert single is Quorum.promise
    assert (lasting.ground, lasting.updates) == ("updates", "lasts")
    assert "12 updates" in lasting.words.format(lasts=12, level=95.0)
