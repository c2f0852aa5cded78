from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from changeproof import (
    BaseModel,
    InputError,
    ModuleLearner,
    Network,
    NetworkLearner,
    Task,
    TrainingData,
    TrainingRecipe,
    build_bank,
    get_family,
    train,
)
from changeproof.models.recipes import recipe_identity


@pytest.fixture(scope="module")
def found(small_task: Task, small_network: Network) -> dict[str, list[TrainingRecipe]]:
    base = BaseModel(2026, small_network)
    recipes: dict[str, list[TrainingRecipe]] = {}
    for variant in get_family("fine-tuning").variants(small_task, base, NetworkLearner()):
        recipes.setdefault(variant.level, []).append(variant.change)  # type: ignore[arg-type]
    return recipes


def test_levels_are_rows_rates_and_epochs(
    found: dict[str, list[TrainingRecipe]], small_task: Task, small_network: Network
) -> None:
    assert list(found) == [
        f"{rows} lr={rate} epochs={epochs}"
        for rows in ("old and new rows", "new rows")
        for rate in ("0.001", "0.0001")
        for epochs in (10, 100)
    ]
    known = len(small_task.split.train)
    for level, recipes in found.items():
        assert all(recipe.start is small_network for recipe in recipes)
        for number, recipe in enumerate(recipes):
            weights = np.asarray(recipe.row_weights)
            assert (weights[:known] == (0 if level.startswith("new") else 1)).all()
            assert weights[known:].sum() == len(small_task.split.update)
            assert bool((weights[known:] == 1).all()) == (number == 0)


def test_no_parameter_moves_further_than_the_steps_of_adam(
    found: dict[str, list[TrainingRecipe]], small_task: Task, small_network: Network
) -> None:
    """A step of Adam is at most its rate, times a factor below 1 / sqrt(1 - 0.999) overall."""
    recipe = replace(found["new rows lr=0.0001 epochs=10"][0], max_epochs=1)
    tuned = train([recipe], TrainingData.of(small_task)).stack[0]
    moves = np.abs(tuned.parameters - small_network.parameters)
    assert moves.max() <= 1.001e-4
    assert np.median(moves) == pytest.approx(1e-4, rel=1e-2)


def test_training_goes_on_for_all_epochs(
    found: dict[str, list[TrainingRecipe]], small_task: Task
) -> None:
    recipe = replace(found["new rows lr=0.001 epochs=100"][0], learning_rate=0.01)
    trained = train([recipe], TrainingData.of(small_task))
    assert (trained.epochs[0], trained.best_epochs[0]) == (100, 100)
    best = train([replace(recipe, keep="best")], TrainingData.of(small_task))
    assert best.best_epochs[0] < 100
    assert best.validation_losses[0] < trained.validation_losses[0]


def test_a_start_that_is_the_initialisation_changes_no_byte(small_task: Task) -> None:
    data, plain = TrainingData.of(small_task), TrainingRecipe(initialisation_seed=5, max_epochs=20)
    start = Network.initialised(small_task.n_features, (32, 32), 5)
    one, other = train([plain, replace(plain, initialisation_seed=6, start=start)], data).stack
    assert one.parameters.tobytes() == other.parameters.tobytes()
    assert start.parameters.tobytes() != other.parameters.tobytes()


def test_the_start_is_part_of_what_a_recipe_is(small_task: Task, small_network: Network) -> None:
    recipe = TrainingRecipe(initialisation_seed=5, start=small_network)
    first = recipe_identity(recipe)
    small_network.probabilities(small_task.rows("test"))
    assert recipe_identity(recipe) == first
    moved = NetworkLearner().perturbed(small_network, 0.01, 1)
    assert recipe_identity(replace(recipe, start=moved)) != first
    assert recipe_identity(replace(recipe, start=None)) != first


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Network.initialised(3, (4,), 1), "cannot start from a network of 3 features; expected 5"),
        ("today", "training can start from one of our own networks; got an object of type str"),
    ],
)
def test_what_training_cannot_start_from(start: Any, message: str, small_task: Task) -> None:
    with pytest.raises(InputError, match=message):
        train([TrainingRecipe(initialisation_seed=1, start=start)], TrainingData.of(small_task))


def build(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 4), nn.Tanh(), nn.Linear(4, 1))


def fit(module: nn.Module, X: torch.Tensor, y: torch.Tensor, weights: torch.Tensor) -> None:
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(20):
        optimiser.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], y, weights)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def test_modules_are_trained_further_by_their_own_function(small_task: Task) -> None:
    learner = ModuleLearner(build, fit)
    model: Any = learner.train([TrainingRecipe(initialisation_seed=3)], small_task)[0]
    before = [parameter.detach().clone() for parameter in model.module.parameters()]
    family = get_family("fine-tuning(replicates=4)")
    bank = build_bank(small_task, BaseModel(3, model), [family], learner)
    assert bank.table["level"].tolist() == ["old and new rows"] * 2 + ["new rows"] * 2
    rows = small_task.rows("test")
    changed = bank.stack.probabilities(rows)
    assert len({each.tobytes() for each in changed}) == 4
    for parameter, kept in zip(model.module.parameters(), before, strict=True):
        assert torch.equal(parameter, kept)
    # By hand: the module as it is, in single precision, and the new rows.
    module = build(small_task.n_features)
    module.load_state_dict({k: v.float() for k, v in model.module.state_dict().items()})
    X = torch.from_numpy(small_task.rows("update").astype(np.float32))
    y = torch.from_numpy(small_task.labels_of("update").astype(np.float32))
    fit(module, X, y, torch.ones(len(X)))
    with torch.no_grad():
        logits = module.double()(torch.from_numpy(rows))[:, 0]
    np.testing.assert_allclose(changed[2], torch.sigmoid(logits).numpy(), atol=1e-6)
    with pytest.raises(InputError, match="expected a PyTorch model to train further"):
        recipe = TrainingRecipe(initialisation_seed=1, start=Network.initialised(5, (2,), 1))
        learner.train([recipe], small_task)
