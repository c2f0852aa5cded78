"""Private pools have nothing of the bank, whatever they expect."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import (
    Context,
    InputError,
    Network,
    TrainingRecipe,
    get_family,
    published_family_names,
)
from changeproof.changes.bank import checked_variants, reserved_recipes
from changeproof.changes.family import BaseModel
from changeproof.methods.quorum.pool import (
    KINDS,
    Member,
    Sizes,
    Witnesses,
    expected_members,
    private_seed,
    supported_kinds,
)
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import Learner, stacked
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.models.recipes import (
    FLIPPED_SHARES,
    HIDDEN_LAYERS,
    bootstrap_recipe,
    recipe_identity,
)
from constrained import loans_task

SEEDS = (0, 2026, 2**31 - 1)


def learners() -> dict[str, Learner]:
    seedless = EstimatorLearner(LogisticRegression(), grid={"C": (0.1, 10.0)})
    seedless.replacement_learners = (EstimatorLearner(LogisticRegression(C=2.0)),)
    return {
        "network": NetworkLearner(),
        "seedless": seedless,
        "boosting": EstimatorLearner(HistGradientBoostingClassifier(max_iter=3, random_state=0)),
    }


def identities(changes: list[tuple[object, Any]]) -> set[tuple[str, str]]:
    found = set()
    for change, learner in changes:
        who = "" if learner is None else learner.name
        if isinstance(change, TrainingRecipe):
            found.add((who, recipe_identity(change)))
        else:
            assert isinstance(change, Network)
            found.add((who, change.parameters.tobytes().hex()))
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", learners())
def test_no_member_is_a_changed_model(kind: str, seed: int) -> None:
    task, learner = loans_task(None), learners()[kind]
    network = Network.initialised(task.n_features, (4,), 1)
    bank = []
    for name in published_family_names():
        family = get_family(name)
        if not family.left_out(learner, [task]):
            variants = checked_variants(family, task, BaseModel(seed, network), learner)
            bank += [(variant.change, variant.learner) for variant in variants]
    private = PrivateLearner(learner)
    kinds = supported_kinds(private)
    # Every kind alone, and all of them, each with judges and witnesses behind the pool.
    for expect in [*((one,) for one in kinds), kinds]:
        pools = expected_members(Context(task, network, seed, private), expect, Sizes(30, 30, 20))
        private_ones = [identities([(m.change, m.learner) for m in pool]) for pool in pools]
        assert [len(each) for each in private_ones] == [30, 30, 20]
        assert len(set().union(*private_ones)) == 80
        assert not set().union(*private_ones) & identities(bank)


@settings(max_examples=50, deadline=None)
@given(base=st.integers(0, 2**31 - 1), number=st.integers(0, 2**20), of_bank=st.integers(0, 2**20))
def test_private_seeds_are_far_from_those_of_a_bank(base: int, number: int, of_bank: int) -> None:
    seed = private_seed(base, number)
    assert 0 <= seed < 2**31
    assert seed != (base + of_bank) % 2**31


def test_kinds_are_those_of_the_families_and_numbers_have_a_limit() -> None:
    assert tuple(KINDS) == published_family_names()
    assert supported_kinds(PrivateLearner(NetworkLearner())) == published_family_names()
    with pytest.raises(InputError, match="private seed"):
        private_seed(0, 2**30)


def test_new_settings_lie_between_those_of_the_bank() -> None:
    task, learner = loans_task(None), PrivateLearner(NetworkLearner())
    network = Network.initialised(task.n_features, (4,), 1)
    context = Context(task, network, 2026, learner)
    pools = expected_members(context, ("training-configuration",), Sizes(25, 25, 25))
    rates = {"adam": (2.5e-4, 4e-3), "sgd": (0.01, 0.03)}
    for recipe in [member.change for pool in pools for member in pool]:
        assert isinstance(recipe, TrainingRecipe)
        low, high = rates[recipe.optimiser]
        assert low <= recipe.learning_rate <= high


def test_pools_have_far_reaching_kinds_and_judges_have_all() -> None:
    task, learner = loans_task(None), PrivateLearner(NetworkLearner())
    network = Network.initialised(task.n_features, (4,), 1)
    kinds = supported_kinds(learner)
    context = Context(task, network, 2026, learner)
    members, judges, witnesses = expected_members(context, kinds, Sizes(48, 28, 24))
    far = {"bootstrap": 15, "architecture": 12, "label-update": 12, "new-initialization": 9}
    assert Counter(member.kind for member in members) == far
    assert {member.kind for member in judges[:8]} == set(kinds)
    assert {m.strength for m in members if m.kind == "label-update"} == {0.10}
    flipped = Counter(m.strength for m in judges if m.kind == "label-update")
    assert flipped == {0.10: 3, 0.05: 2, 0.01: 1}
    # Of the shapes, two are of the small third, two of the middling and two of the large.
    sizes = sorted(
        sum(m.change.hidden or ())
        for m in judges
        if m.kind == "architecture" and isinstance(m.change, TrainingRecipe)
    )
    assert len(sizes) == 6
    assert sizes[1] <= 32 < sizes[2] <= sizes[3] <= 80 <= sizes[4]
    # Witnesses are of all kinds alike, and drawn like changed models.
    assert Counter(member.kind for member in witnesses) == dict.fromkeys(kinds, 3)
    # Where nothing far-reaching is expected, the pool has what is.
    mild = ("data-deletion", "data-addition")
    for pool in expected_members(context, mild, Sizes(4, 4, 4)):
        assert Counter(member.kind for member in pool) == dict.fromkeys(mild, 2)


def test_moved_models_have_private_seeds() -> None:
    task = loans_task(None)
    network = Network.initialised(task.n_features, (4,), 1)
    private = PrivateLearner(NetworkLearner())
    kinds = ("parameter-perturbation",)
    sizes = Sizes(2, 2, 0)
    members, judges, _ = expected_members(Context(task, network, 2026, private), kinds, sizes)
    for number, member in enumerate([*members, *judges]):
        radius = (0.001, 0.005)[number % 2]
        expected = NetworkLearner().perturbed(network, radius, private_seed(2026, number))
        assert isinstance(member.change, Network)
        np.testing.assert_array_equal(member.change.parameters, expected.parameters)


def test_another_kind_of_model_refuses_what_the_bank_has() -> None:
    task, learner = loans_task(None), learners()["seedless"]
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    families = [get_family(name) for name in ("training-configuration", "architecture")]
    reserved = frozenset(reserved_recipes(task, BaseModel(2026, model), learner, families))
    private = PrivateLearner(learner, lambda: reserved)
    for other in [*private.configurations(), *private.replacements()]:
        with pytest.raises(InputError, match="that of a changed model"):
            other.train([TrainingRecipe(initialisation_seed=2026)], task)
        assert len(other.train([bootstrap_recipe(task, 2026, 5)], task)) == 1


@pytest.mark.parametrize("kind", ["architecture", "training-configuration"])
def test_judges_without_seeds_know_nearly_all_rows_as_changed_models_do(kind: str) -> None:
    """A sample of the rows would make another model of them than the change itself does."""
    task, learner = loans_task(None), learners()["seedless"]
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    context = Context(task, model, 2026, PrivateLearner(learner))
    pools = expected_members(context, (kind,), Sizes(3, 6, 6))
    n_rows = len(task.split.train)
    known = [
        [each.change.row_weights[:n_rows] for each in pool]  # type: ignore[union-attr,index]
        for pool in pools
    ]
    for weights in known[0]:
        assert weights.max() > 1.0
    for weights in [*known[1], *known[2]]:
        assert set(weights) == {0.0, 1.0}
        assert weights.sum() == round(0.95 * n_rows)
    assert len(identities([(each.change, each.learner) for pool in pools for each in pool])) == 15


def test_each_witness_is_drawn_by_itself_as_changed_models_are() -> None:
    task, learner = loans_task(None), PrivateLearner(NetworkLearner())
    network = Network.initialised(task.n_features, (4,), 1)

    def witnesses(count: int, kind: str, seed: int = 2026) -> list[Member]:
        context = Context(task, network, seed, learner)
        return expected_members(context, (kind,), Sizes(1, 1, count)).witnesses

    # Shares of flipped labels are even, not by turns.
    shares = [each.strength for each in witnesses(300, "label-update")]
    assert chisquare([shares.count(share) for share in FLIPPED_SHARES]).pvalue > 1e-3
    assert shares[:3] != shares[3:6] or shares[6:9] != shares[9:12]
    # So are shapes, large and small.
    recipes = [member.change for member in witnesses(500, "architecture")]
    shapes = [recipe.hidden for recipe in recipes if isinstance(recipe, TrainingRecipe)]
    assert chisquare([shapes.count(shape) for shape in HIDDEN_LAYERS]).pvalue > 1e-3
    # What one is does not depend on how many there are.
    few, many = (identities([(m.change, None) for m in witnesses(n, "bootstrap")]) for n in (2, 9))
    assert few < many


def test_witnesses_who_all_accept_bound_the_share_of_all_models() -> None:
    """Models that accept a row with a known chance: the bound is above it in 5 % at most."""
    generator, chance, broken = np.random.default_rng(0), 0.9, 0
    row = np.zeros((1, 2))
    for _ in range(300):
        biases = np.where(generator.random(16) < chance, 1.0, -1.0)
        models = [
            Network((np.ones((1, 2), np.float32),), (np.array([bias], np.float32),))
            for bias in biases
        ]
        witnesses = Witnesses(stacked(models))
        accepted = witnesses.accepted(row)
        assert accepted == [(biases > 0).sum()]
        broken += int(witnesses.at_least(accepted)[0] > chance)
    assert broken <= binom.ppf(0.999, 300, 0.05)
