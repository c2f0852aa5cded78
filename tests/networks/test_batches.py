"""Training on long tables: batches, and nothing else than before where rows are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.plain.training import largest_difference, plain_network
from changeproof import NetworkLearner, Task, TrainingData, TrainingRecipe, train
from changeproof.networks import training
from changeproof.networks.training import HIDDEN, LARGEST_BATCH, bootstrap_weights, steps_of

BATCH = 100


@pytest.fixture
def short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LARGEST_BATCH", BATCH)


def plain_batches(recipe: TrainingRecipe, data: TrainingData, order: np.ndarray) -> Any:
    """Go through the rows in an order, in batches, as an ordinary PyTorch loop."""
    network = plain_network(data.rows.shape[1], HIDDEN, recipe.initialisation_seed)
    step = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate)
    weights = np.ones(len(data.rows)) if recipe.row_weights is None else recipe.row_weights
    rows, labels, counts = (
        torch.as_tensor(np.asarray(each), dtype=torch.float32)
        for each in (data.rows, data.labels, weights)
    )
    for number in range(int(np.ceil(recipe.max_epochs * len(order) / BATCH))):
        places = torch.as_tensor(np.arange(number * BATCH, (number + 1) * BATCH) % len(order))
        batch = torch.as_tensor(order)[places]
        step.zero_grad()
        loss = torch.nn.BCELoss(weight=counts[batch], reduction="sum")
        (loss(network(rows[batch])[:, 0], labels[batch]) / counts[batch].sum()).backward()
        step.step()
    return network


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("bootstrapped", [False, True])
def test_batches_are_those_of_a_plain_loop(cancer: Task, bootstrapped: bool) -> None:
    data = TrainingData.of(cancer)
    weights = np.r_[np.ones(data.n_train), np.zeros(len(data.rows) - data.n_train)]
    if bootstrapped:
        weights[: data.n_train] = bootstrap_weights(data.n_train, 5)
    recipe = TrainingRecipe(
        initialisation_seed=3,
        max_epochs=20,
        row_weights=weights if bootstrapped else None,
        keep="last",
    )
    trained = train([recipe], data)
    counted = np.array([row for row in data.order if weights[row] > 0])
    assert trained.epochs[0] == np.ceil(20 * len(counted) / BATCH)
    assert largest_difference(trained.stack[0], plain_batches(recipe, data, counted)) < 1e-4


@pytest.mark.usefixtures("short_batches")
def test_the_best_step_is_kept_and_company_does_not_matter(cancer: Task) -> None:
    data = TrainingData.of(cancer)
    recipes = [
        TrainingRecipe(initialisation_seed=s, patience=3, learning_rate=0.02) for s in (1, 2)
    ]
    trained = train(recipes, data)
    assert (trained.epochs == trained.best_epochs + 3).all()
    again = train(recipes[::-1], data)
    assert [n.parameters.tobytes() for n in again.stack][::-1] == [
        n.parameters.tobytes() for n in trained.stack
    ]


def test_few_rows_are_one_batch_however_large_it_may_be(
    cancer: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = TrainingRecipe(initialisation_seed=3)
    whole = train([recipe], TrainingData.of(cancer))
    monkeypatch.setattr(training, "LARGEST_BATCH", len(cancer.split.train))
    same = train([recipe], TrainingData.of(cancer))
    assert same.stack[0].parameters.tobytes() == whole.stack[0].parameters.tobytes()
    monkeypatch.setattr(training, "LARGEST_BATCH", len(cancer.split.train) - 1)
    other = train([recipe], TrainingData.of(cancer))
    assert other.stack[0].parameters.tobytes() != whole.stack[0].parameters.tobytes()
    # One row less in a step is next to nothing.
    np.testing.assert_allclose(
        other.stack[0].probabilities(cancer.rows("test")),
        whole.stack[0].probabilities(cancer.rows("test")),
        atol=0.02,
    )


def test_epochs_are_passes_over_the_rows() -> None:
    recipe = TrainingRecipe(initialisation_seed=0)
    assert [steps_of(recipe, n) for n in (0, 100, LARGEST_BATCH)] == [300, 300, 300]
    assert steps_of(recipe, LARGEST_BATCH + 1) == 301
    assert steps_of(recipe, 25 * LARGEST_BATCH) == 25 * 300


def test_validation_is_on_so_many_rows_at_most(
    cancer: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = TrainingData.of(cancer)
    assert data.validation_tiles.weights.sum() == len(data.validation_rows)
    monkeypatch.setattr(training, "LARGEST_BATCH", 20)
    some = TrainingData.of(cancer).validation_tiles
    assert some.weights.sum() == 20
    shown = {tuple(row) for row in data.validation_rows}
    rows = some.rows.transpose(0, 2, 1).reshape(-1, some.rows.shape[1])[:20, : cancer.n_features]
    assert len({tuple(row) for row in rows} & shown) == 20


@pytest.mark.usefixtures("short_batches")
def test_a_learner_trains_in_batches_as_well(cancer: Task) -> None:
    network = NetworkLearner().train([TrainingRecipe(initialisation_seed=1)], cancer)[0]
    predicted = network.favourable(cancer.rows("test"))
    assert (predicted == cancer.labels_of("test")).mean() > 0.93
