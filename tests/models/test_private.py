"""The learner that methods see refuses what methods are evaluated on, however it is spelled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import BaseModel, InputError, Network, NetworkLearner, Task, get_family
from changeproof.changes.bank import reserved_recipes
from changeproof.changes.published import perturbation_seed
from changeproof.models.private import FAR_AWAY, SEEDS, PrivateLearner
from changeproof.models.recipes import normalised
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import TrainingRecipe

FAMILIES = ("new-initialization", "label-update", "architecture", "parameter-perturbation")
SEED = 2026


@pytest.fixture(scope="module")
def base(small_network: Network) -> BaseModel:
    return BaseModel(SEED, small_network)


@pytest.fixture(scope="module")
def private(small_task: Task, base: BaseModel) -> PrivateLearner:
    families = [get_family(f"{name}(replicates=5)") for name in FAMILIES]
    reserved = frozenset(reserved_recipes(small_task, base, NetworkLearner(), families))
    return PrivateLearner(NetworkLearner(), lambda: reserved)


def spelled_out(recipe: TrainingRecipe, task: Task) -> dict[str, Any]:
    """Settings that change nothing of what is trained, or how long at most."""
    n_train, n_pool = len(task.split.train), len(task.split.update)
    own = np.concatenate([task.labels_of("train"), task.labels_of("update")])
    labels = own if recipe.labels is None else np.asarray(recipe.labels)
    # Nobody looks at the labels of rows that do not count.
    labels = np.r_[labels[:n_train], 1 - labels[n_train:]]
    return {
        "row_weights": np.r_[np.ones(n_train), np.zeros(n_pool)],
        "labels": labels,
        "hidden": recipe.hidden or (32, 32),
        "patience": recipe.patience + 1,
        "max_epochs": recipe.max_epochs + 1,
    }


@settings(max_examples=30)
@given(
    chosen=st.sets(st.sampled_from(["row_weights", "labels", "hidden", "patience", "max_epochs"])),
    family=st.sampled_from(["new-initialization", "label-update", "architecture"]),
)
def test_a_recipe_of_the_bank_is_refused_however_it_is_spelled(
    private: PrivateLearner, small_task: Task, base: BaseModel, chosen: set[str], family: str
) -> None:
    variant = get_family(f"{family}(replicates=5)").variants(small_task, base, NetworkLearner())[1]
    assert isinstance(variant.change, TrainingRecipe)
    told = spelled_out(variant.change, small_task)
    recipe = replace(variant.change, **{name: told[name] for name in chosen})
    with pytest.raises(InputError, match="recipe 0 is that of a changed model of the evaluation"):
        private.train([recipe], small_task)


def test_what_is_spelled_plainly_is_trained_to_the_same_bytes(small_task: Task) -> None:
    recipe = TrainingRecipe(initialisation_seed=5, max_epochs=20)
    told = spelled_out(recipe, small_task)
    same = replace(recipe, **{name: told[name] for name in ("row_weights", "labels", "hidden")})
    one, other = NetworkLearner().train([recipe, same], small_task)
    np.testing.assert_array_equal(one.parameters, other.parameters)
    plain = normalised(same, small_task)
    assert plain.row_weights is None
    assert plain.labels is None


def test_a_model_of_the_bank_cannot_be_moved_to(
    private: PrivateLearner, small_network: Network
) -> None:
    """Adding the distance between seeds is undone by taking it away beforehand."""
    for radius in (0.001, 0.05):
        theirs = perturbation_seed(SEED, radius, 0)
        for seed in (theirs - FAR_AWAY, theirs + FAR_AWAY, theirs - FAR_AWAY + 5 * SEEDS):
            with pytest.raises(InputError, match="moves the model to a changed model"):
                private.perturbed(small_network, radius, seed)
        moved = private.perturbed(small_network, radius, theirs)
        assert isinstance(moved, Network)
        assert moved.hidden == small_network.hidden


def test_seeds_of_ones_own_are_trained(private: PrivateLearner, small_task: Task) -> None:
    mine = TrainingRecipe(initialisation_seed=SEED + 100_000, max_epochs=1)
    assert len(private.train([mine], small_task)) == 1


def test_thresholds_hide_nothing_from_the_guard(small_task: Task, base: BaseModel) -> None:
    learner = at_threshold(NetworkLearner((64,)), "0.6")
    families = [get_family("new-initialization(replicates=3)")]
    reserved = frozenset(reserved_recipes(small_task, base, learner, families))
    private = PrivateLearner(learner, lambda: reserved)
    recipe = families[0].variants(small_task, base, learner)[0].change
    assert isinstance(recipe, TrainingRecipe)
    with pytest.raises(InputError, match="is that of a changed model"):
        private.train([replace(recipe, hidden=(64,))], small_task)
