"""A chain of updates: each from the last, and of length one the single change."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import (
    BaseModel,
    EstimatorLearner,
    InputError,
    Learner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    Variant,
    build_bank,
    get_family,
)
from changeproof.models.chains import STEPS
from changeproof.models.find import with_alternatives
from changeproof.models.recipes import recipe_identity
from changeproof.networks.training import bootstrap_weights
from changeproof.randomness import stream

SEED = 2028
LEARNER = NetworkLearner()


@pytest.fixture(scope="module")
def base(small_network: Network) -> BaseModel:
    return BaseModel(SEED, small_network)


def chain(
    task: Task, base: BaseModel, learner: Learner = LEARNER, **given: object
) -> list[Variant]:
    family = type(get_family("updates"))(**given)  # type: ignore[arg-type]
    return list(family.variants(task, base, learner))


def recipes(variants: list[Variant]) -> list[TrainingRecipe]:
    return [v.change for v in variants]  # type: ignore[misc]


def identities(variants: list[Variant]) -> list[str]:
    pairs = zip(variants, recipes(variants), strict=True)
    return [recipe_identity(recipe, variant.level) for variant, recipe in pairs]


def test_by_default_there_are_25_futures_of_12_updates(small_task: Task, base: BaseModel) -> None:
    found = chain(small_task, base)
    assert [(v.level, v.replicate) for v in found] == [
        (f"update {number}", future) for future in range(25) for number in range(1, 13)
    ]
    assert len(set(identities(found))) == 300
    assert identities(found) == identities(chain(small_task, base))
    other = chain(small_task, BaseModel(SEED + 1, base.model))
    assert not set(identities(found)) & set(identities(other))


def test_rows_arrive_once_and_are_drawn_again_when_all_have(
    small_task: Task, base: BaseModel
) -> None:
    """200 training rows and a pool of 40: ten a time last for four updates."""
    n_train = len(small_task.split.train)
    steps = ("data-addition",)
    found = recipes(chain(small_task, base, length=6, replicates=2, steps=steps))
    pools = np.array([r.row_weights[n_train:] for r in found])  # type: ignore[index]
    assert all((r.row_weights[:n_train] == 1).all() for r in found)  # type: ignore[index]
    assert pools.sum(axis=1).tolist() == [10, 20, 30, 40, 50, 60] * 2
    assert (pools[:4] <= 1).all() and (pools[3] == 1).all()
    assert pools[5].max() > 1
    assert (np.diff(pools[:6], axis=0) >= 0).all(), "each update starts from the last"
    assert (pools[0] != pools[6]).any(), "another future, other arrivals"


def test_rows_leave_and_do_not_come_back(small_task: Task, base: BaseModel) -> None:
    found = recipes(
        chain(small_task, base, length=5, replicates=1, leaving=0.1, steps="data-deletion")
    )
    weights = np.array([r.row_weights for r in found])
    assert weights.sum(axis=1).tolist() == [180, 162, 146, 131, 118]
    assert (np.diff(weights, axis=0) <= 0).all()
    assert (weights[:, len(small_task.split.train) :] == 0).all()


@settings(max_examples=25)
@given(
    st.floats(0, 0.99), st.floats(0, 0.99), st.integers(1, 4), st.integers(1, 3), st.integers(0, 9)
)
def test_every_chain_can_be_trained(
    small_task: Task, arriving: float, leaving: float, length: int, every: int, seed: int
) -> None:
    base = BaseModel(seed, None)  # type: ignore[arg-type]
    family = {"arriving": arriving, "leaving": leaving, "length": length, "every": every}
    for recipe in recipes(chain(small_task, base, replicates=2, **family)):
        weights = recipe.row_weights
        assert weights is not None and (weights >= 0).all() and weights.sum() >= 1
        assert (weights == np.rint(weights)).all()


def test_longer_chains_and_more_futures_keep_what_was_there(
    small_task: Task, base: BaseModel
) -> None:
    short = chain(small_task, base, length=3, replicates=2)
    long = chain(small_task, base, length=7, replicates=4)
    kept = [v for v in long if v.replicate < 2 and v.level in {"update 1", "update 2", "update 3"}]
    assert identities(kept) == identities(short)


def test_now_and_then_there_is_another_configuration_which_stays(
    small_task: Task, base: BaseModel
) -> None:
    found = recipes(chain(small_task, base, length=40, replicates=25))
    plain = [(r.hidden, r.optimiser, r.learning_rate, r.weight_decay) for r in found]
    changed = [one != other for n, (one, other) in enumerate(pairwise(plain)) if (n + 1) % 40]
    # A draw may be what was there already.
    assert 0.20 < np.mean(changed) < 0.26
    always = recipes(chain(small_task, base, length=6, replicates=2, every=1, steps="architecture"))
    assert len({r.hidden for r in always}) > 5
    assert {r.optimiser for r in always} == {"adam"}
    assert len({r.initialisation_seed for r in always}) == 1


def trained(task: Task, base: BaseModel, steps: str) -> Network:
    family = get_family(f"updates(length=1, replicates=1, every=1, steps={steps!r})")
    model = build_bank(task, base, [family]).stack[0]
    assert isinstance(model, Network)
    return model


def test_of_length_one_it_is_the_single_change(small_task: Task, base: BaseModel) -> None:
    n_train, n_pool = len(small_task.split.train), len(small_task.split.update)
    plain = TrainingRecipe(initialisation_seed=SEED)

    def drawn() -> np.random.Generator:
        return stream("updates", SEED, 0, 1)

    present = np.arange(n_train)
    resampled = np.bincount(drawn().choice(present, n_train), minlength=n_train + n_pool)
    kept = np.repeat([1.0, 0.0], [n_train, n_pool])
    kept[drawn().choice(present, 10, replace=False)] = 0.0
    added = np.repeat([1.0, 0.0], [n_train, n_pool])
    added[n_train + stream("updates", SEED, 0, "arrivals").permutation(n_pool)[:10]] = 1.0
    singles = {
        "new-initialization": TrainingRecipe(initialisation_seed=SEED + 300_001),
        "bootstrap": replace(plain, row_weights=resampled.astype(np.float32)),
        "data-deletion": replace(plain, row_weights=kept.astype(np.float32)),
        "data-addition": replace(plain, row_weights=added.astype(np.float32)),
    }
    for steps, recipe in singles.items():
        expected = LEARNER.train([recipe], small_task)[0]
        model = trained(small_task, base, steps)
        for mine, theirs in zip(model.weights, expected.weights, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert bootstrap_weights(n_train, 1).sum() == resampled.sum() == n_train


def test_of_length_one_a_configuration_is_one_of_that_family(
    small_task: Task, base: BaseModel
) -> None:
    for name in ("training-configuration", "architecture"):
        known = [v.change for v in get_family(name).variants(small_task, base, LEARNER)]
        (found,) = recipes(chain(small_task, base, length=1, replicates=1, every=1, steps=name))
        alike = replace(found, row_weights=None)
        marks = [recipe_identity(r) for r in known if isinstance(r, TrainingRecipe)]
        assert recipe_identity(alike) in marks
        expected = LEARNER.train([alike], small_task)[0]
        model = trained(small_task, base, name)
        np.testing.assert_array_equal(model.weights[0], expected.weights[0])


def test_other_models_get_what_they_can_follow(small_task: Task) -> None:
    plain = EstimatorLearner(LogisticRegression())
    learner = with_alternatives(
        plain, {"C": [0.1, 1.0]}, ["sklearn:RandomForestClassifier(n_estimators=3)"]
    )
    base = BaseModel(SEED, learner.train([TrainingRecipe(initialisation_seed=SEED)], small_task)[0])
    found = chain(small_task, base, learner, length=8, replicates=3, every=2)
    kinds = {None if v.learner is None else v.learner.name for v in found}
    assert len(kinds) > 2
    assert {r.optimiser for r in recipes(found)} == {"adam"}
    family = get_family("updates(length=2, replicates=2, every=1)")
    bank = build_bank(small_task, base, [family], learner)
    assert len(bank) == 4
    bare = EstimatorLearner(LogisticRegression())
    anew = get_family("updates(steps='architecture')")
    assert anew.reason_against(bare) == f"none of architecture can happen to {bare.name}"
    assert anew.reason_against(EstimatorLearner(RandomForestClassifier())) is not None
    assert get_family("updates").reason_against(bare) is None
    assert anew.reason_against(LEARNER) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("length=0", "length should be greater than or equal to 1; got 0"),
        ("length=1001", "length should be less than or equal to 1000; got 1001"),
        ("leaving=1.0", "leaving should be less than 1; got 1.0"),
        ("arriving=-0.1", "arriving should be greater than or equal to 0"),
        ("steps='magic'", "unknown step of an update 'magic'; expected one of: data-addition"),
    ],
)
def test_wrong_settings_are_refused(given: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_family(f"updates({given})")


def test_steps_have_the_names_of_families() -> None:
    for step in (*STEPS, "bootstrap"):
        assert get_family(step).name == step
