from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.plain.training import largest_difference, plain_network, plain_training
from changeproof import (
    InputError,
    Network,
    NetworkLearner,
    Task,
    TrainingData,
    TrainingRecipe,
    load_task,
    train,
)
from changeproof.networks import training
from changeproof.networks.training import (
    HIDDEN,
    LARGEST_BATCH,
    bootstrap_weights,
    steps_of,
    update,
)

NAMES = ("breast-cancer", "diabetes", "wine-quality", "heloc")
# Of tests on long tables.
BATCH = 100


def plain(task: Task, rows: np.ndarray, labels: np.ndarray, **settings: Any) -> Any:
    validation = task.rows("validation"), task.labels_of("validation")
    return plain_training(rows, labels, *validation, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_fifty_epochs_are_those_of_a_plain_loop(name: str) -> None:
    task = load_task(name)
    recipe = TrainingRecipe(initialisation_seed=2026, max_epochs=50)
    ours = train([recipe], TrainingData.of(task))
    theirs, best_epoch = plain(
        task, task.rows("train"), task.labels_of("train"), seed=2026, max_epochs=50
    )
    assert ours.best_epochs[0] == best_epoch
    assert largest_difference(ours.stack[0], theirs) < 1e-4


@pytest.mark.parametrize("name", ["breast-cancer", "diabetes", "heloc"])
def test_early_stopping_is_that_of_a_plain_loop(name: str) -> None:
    task = load_task(name)
    for seed in (2026, 2028):
        ours = train([TrainingRecipe(initialisation_seed=seed)], TrainingData.of(task))
        _, best_epoch = plain(task, task.rows("train"), task.labels_of("train"), seed=seed)
        assert abs(int(ours.best_epochs[0]) - best_epoch) <= 2
        assert ours.epochs[0] == min(300, ours.best_epochs[0] + 30)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": (8,)},
        {"hidden": (5, 7, 3)},
        {"hidden": ()},
        {"hidden": (128, 64), "max_epochs": 20},
        {"optimiser": "sgd", "learning_rate": 0.03},
        {"optimiser": "sgd", "learning_rate": 0.01, "weight_decay": 1e-3},
        {"learning_rate": 4e-3, "weight_decay": 1e-3},
        {"patience": 3, "learning_rate": 0.05},
    ],
    ids=str,
)
def test_every_setting_means_what_pytorch_means(cancer: Task, settings: dict[str, Any]) -> None:
    settings = {"max_epochs": 50, **settings}
    recipe = TrainingRecipe(initialisation_seed=3, **settings)
    ours = train([recipe], TrainingData.of(cancer))
    theirs, best_epoch = plain(
        cancer, cancer.rows("train"), cancer.labels_of("train"), seed=3, **settings
    )
    assert ours.best_epochs[0] == best_epoch
    assert largest_difference(ours.stack[0], theirs) < 1e-4


def test_row_weights_are_repeated_rows_and_labels_are_labels(cancer: Task) -> None:
    n_train, n_pool = len(cancer.split.train), len(cancer.split.update)
    generator = np.random.default_rng(0)
    counts = generator.integers(0, 3, n_train + n_pool)
    rows = np.concatenate([cancer.rows("train"), cancer.rows("update")])
    labels = np.concatenate([cancer.labels_of("train"), cancer.labels_of("update")])
    flipped = np.where(generator.random(len(labels)) < 0.1, 1 - labels, labels)
    recipe = TrainingRecipe(
        initialisation_seed=4, row_weights=counts, labels=flipped, max_epochs=50
    )
    ours = train([recipe], TrainingData.of(cancer))
    theirs, _ = plain(
        cancer, np.repeat(rows, counts, axis=0), np.repeat(flipped, counts), seed=4, max_epochs=50
    )
    assert largest_difference(ours.stack[0], theirs) < 1e-4


def test_bootstrap_weights_count_the_protocols_draws() -> None:
    drawn = np.random.default_rng(77).integers(0, 50, 50)
    weights = bootstrap_weights(50, 77)
    assert weights.sum() == 50
    assert [weights[i] for i in range(50)] == [(drawn == i).sum() for i in range(50)]


def test_results_do_not_depend_on_company_or_order(cancer: Task) -> None:
    data = TrainingData.of(cancer)
    recipes = [
        TrainingRecipe(initialisation_seed=seed, hidden=hidden, max_epochs=40)
        for seed, hidden in enumerate([(32, 32), (8,), (16, 16, 8), (32, 32), (64,), (32, 32)])
    ]
    rows = cancer.rows("test")
    alone = np.array([train([recipe], data).stack[0].logits(rows) for recipe in recipes])
    together = train(recipes, data)
    np.testing.assert_array_equal(together.stack.logits(rows), alone)
    backwards = train(recipes[::-1], data)
    np.testing.assert_array_equal(backwards.stack.logits(rows)[::-1], alone)
    np.testing.assert_array_equal(backwards.best_epochs[::-1], together.best_epochs)


def test_published_accuracy_and_counts_of_the_small_base_networks() -> None:
    published = {
        "breast-cancer": ((0.967, 0.973, 0.988), (312, 60, 64)),
        "diabetes": ((0.712, 0.721, 0.736), (281, 50, 61)),
    }
    for name, (accuracies, counts) in published.items():
        task = load_task(name)
        recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(2026, 2031)]
        predicted = train(recipes, TrainingData.of(task)).stack.favourable(task.rows("test"))
        labels = task.labels_of("test")
        recalls = [(predicted[:, labels == c] == c).mean(axis=1) for c in (0, 1)]
        balanced = np.mean(recalls, axis=0)
        ours = (balanced.min(), balanced.mean(), balanced.max())
        assert ours == pytest.approx(accuracies, abs=0.001)
        adverse = (~predicted).sum(axis=1)
        assert (adverse.sum(), adverse.min(), adverse.max()) == counts


def test_bad_recipes_are_refused(cancer: Task) -> None:
    data = TrainingData.of(cancer)
    rows = len(data.rows)
    bad: dict[str, dict[str, Any]] = {
        r"row_weights of shape \(3,\); expected \(341,\)": {"row_weights": np.ones(3)},
        r"a recipe has labels of shape": {"labels": np.ones(284)},
        "a recipe has row_weights that are not finite, negative or all zero": {
            "row_weights": np.zeros(rows)
        },
        "negative": {"row_weights": np.full(rows, -1.0)},
        "at least one unit": {"hidden": (32, 0)},
        "'adam' or 'sgd'; got 'lion'": {"optimiser": "lion"},
        "max_epochs and patience": {"patience": 0},
    }
    for message, settings in bad.items():
        with pytest.raises(InputError, match=message):
            train([TrainingRecipe(initialisation_seed=0, **settings)], data)


def test_divergence_is_an_error_and_not_a_network(cancer: Task) -> None:
    recipe = TrainingRecipe(initialisation_seed=0, optimiser="sgd", learning_rate=1e30)
    with pytest.raises(InputError, match="training diverged"):
        train([recipe], TrainingData.of(cancer))


def test_a_label_between_is_a_share_of_favourable_people(cancer: Task) -> None:
    """A row of label p is p of a favourable row and 1 - p of an adverse one."""
    data = TrainingData.of(cancer)
    shares = np.random.default_rng(4).random(len(data.rows)).astype(np.float32)
    recipe = TrainingRecipe(initialisation_seed=3, max_epochs=40, labels=shares)
    twice = TrainingData(
        np.concatenate([data.rows, data.rows]),
        np.concatenate([np.ones_like(shares), np.zeros_like(shares)]),
        0,
        data.validation_rows,
        data.validation_labels,
    )
    counted = (np.arange(len(shares)) < data.n_train).astype(np.float32)
    weights = np.concatenate([counted * shares, counted * (1 - shares)])
    split = TrainingRecipe(initialisation_seed=3, max_epochs=40, row_weights=weights)
    one, other = train([recipe], data), train([split], twice)
    assert one.best_epochs[0] == other.best_epochs[0]
    np.testing.assert_allclose(one.stack[0].parameters, other.stack[0].parameters, atol=1e-4)


def test_the_last_epoch_is_kept_on_request(cancer: Task) -> None:
    data = TrainingData.of(cancer)
    recipe = TrainingRecipe(initialisation_seed=3, learning_rate=0.05, patience=2, keep="last")
    trained = train([recipe], data)
    assert (trained.epochs[0], trained.best_epochs[0]) == (300, 300)
    with pytest.raises(InputError, match="keep must be 'best' or 'last'; got 'first'"):
        train([replace(recipe, keep="first")], data)  # type: ignore[arg-type]


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


def by_pytorch(network: Network, rows: np.ndarray, labels: np.ndarray, batch: int) -> list:
    """The same pass, written with autograd."""
    module = network.to_torch()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    inputs = torch.tensor(rows, dtype=torch.float32)
    targets = torch.tensor(labels, dtype=torch.float32)
    for first in range(0, len(rows), batch):
        part = slice(first, first + batch)
        optimiser.zero_grad()
        torch.nn.BCELoss()(module(inputs[part])[:, 0], targets[part]).backward()
        optimiser.step()
    return [parameter.detach().numpy() for parameter in module.parameters()]


@pytest.mark.parametrize(("batch", "n_rows"), [(8, 64), (8, 61), (1, 5), (100, 30)])
def test_a_pass_is_that_of_pytorch(
    small_task: Task, small_network: Network, batch: int, n_rows: int
) -> None:
    rows, labels = small_task.rows("update")[:n_rows], small_task.labels_of("update")[:n_rows]
    before = [array.copy() for array in (*small_network.weights, *small_network.biases)]
    updated = update(small_network, rows, labels, learning_rate=1e-3, batch=batch)
    pairs = zip(updated.weights, updated.biases, strict=True)
    ours = [array for pair in pairs for array in pair]
    for mine, theirs in zip(ours, by_pytorch(small_network, rows, labels, batch), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-6)
    assert any(not np.array_equal(a, b) for a, b in zip(ours[0::2], before, strict=False))
    after = (*small_network.weights, *small_network.biases)
    assert all(np.array_equal(a, b) for a, b in zip(after, before, strict=True))
