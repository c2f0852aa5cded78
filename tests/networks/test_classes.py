"""Networks with an output for each of several classes, beside plain NumPy."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from changeproof import InputError, Network, TrainingData, TrainingRecipe, train
from changeproof.networks import kernels, training
from changeproof.networks.layout import training_tiles
from changeproof.networks.network import Sides
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import bootstrap_weights, update

Arrays = list[np.ndarray]
THREE = Sides(2, 3)


def data_of(
    sides: Sides = THREE, n_rows: int = 300, n_features: int = 5, n_pool: int = 0
) -> TrainingData:
    """Return rows of which the first feature says most about the class."""
    generator = np.random.default_rng(sides.outputs)
    rows = generator.normal(size=(n_rows + n_pool + 100, n_features)).astype(np.float32)
    noisy = rows[:, 0] + 0.5 * rows[:, 1] ** 2 + generator.normal(0, 0.4, len(rows))
    cuts = np.quantile(noisy, np.arange(1, sides.outputs) / sides.outputs)
    shares = np.eye(sides.outputs, dtype=np.float32)[np.searchsorted(cuts, noisy)]
    known = n_rows + n_pool
    return TrainingData(rows[:known], shares[:known], n_rows, rows[known:], shares[known:], sides)


def layers_of(network: Network) -> Arrays:
    pairs = zip(network.weights, network.biases, strict=True)
    return [array.astype(np.float64) for pair in pairs for array in pair]


def outputs_of(layers: Arrays, rows: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the outputs [rows, classes], and what goes into every layer."""
    inputs = [np.asarray(rows, np.float64)]
    for place in range(0, len(layers), 2):
        found = inputs[-1] @ layers[place].T + layers[place + 1]
        inputs.append(np.maximum(found, 0.0) if place < len(layers) - 2 else found)
    return inputs.pop(), inputs


def log_shares(outputs: np.ndarray) -> np.ndarray:
    away = outputs - outputs.max(axis=1, keepdims=True)
    return np.asarray(away - np.log(np.exp(away).sum(axis=1, keepdims=True)))


def loss_of(layers: Arrays, rows: np.ndarray, shares: np.ndarray, weights: np.ndarray) -> float:
    lost = -(shares * log_shares(outputs_of(layers, rows)[0])).sum(axis=1)
    return float((weights * lost).sum() / weights.sum())


def gradient_of(
    layers: Arrays, rows: np.ndarray, shares: np.ndarray, weights: np.ndarray
) -> Arrays:
    outputs, inputs = outputs_of(layers, rows)
    delta = (np.exp(log_shares(outputs)) - shares) * (weights / weights.sum())[:, None]
    found: Arrays = []
    for place in range(len(layers) - 2, -1, -2):
        seen = inputs[place // 2]
        found = [delta.T @ seen, delta.sum(axis=0), *found]
        delta = (delta @ layers[place]) * (seen > 0)
    return found


class Adam:
    """As PyTorch has it."""

    def __init__(self, layers: Arrays, rate: float = 1e-3) -> None:
        self.layers, self.rate, self.steps = layers, rate, 0
        self.mean, self.square = ([np.zeros_like(each) for each in layers] for _ in range(2))

    def step(self, gradient: Arrays) -> None:
        self.steps += 1
        for place, g in enumerate(gradient):
            self.mean[place] = 0.9 * self.mean[place] + 0.1 * g
            self.square[place] = 0.999 * self.square[place] + 0.001 * g**2
            size = np.sqrt(self.square[place] / (1 - 0.999**self.steps)) + 1e-8
            moved = self.mean[place] / (1 - 0.9**self.steps) / size
            self.layers[place] = self.layers[place] - self.rate * moved


class Momentum(Adam):
    def step(self, gradient: Arrays) -> None:
        for place, g in enumerate(gradient):
            self.mean[place] = 0.9 * self.mean[place] + g
            self.layers[place] = self.layers[place] - self.rate * self.mean[place]


def plain_training(recipe: TrainingRecipe, data: TrainingData) -> tuple[Arrays, int]:
    """Train as the protocol says, in double precision; return the best layers and their epoch."""
    hidden = (32, 32) if recipe.hidden is None else recipe.hidden
    start = Network.initialised(data.rows.shape[1], hidden, recipe.initialisation_seed, data.sides)
    layers = layers_of(start if recipe.start is None else recipe.start)  # type: ignore[arg-type]
    weights = recipe.row_weights
    if weights is None:
        weights = np.r_[np.ones(data.n_train), np.zeros(len(data.rows) - data.n_train)]
    shares = data.labels if recipe.labels is None else recipe.labels
    held_out = data.validation_rows, data.validation_labels, np.ones(len(data.validation_rows))
    kind = Adam if recipe.optimiser == "adam" else Momentum
    optimiser = kind(layers, recipe.learning_rate)
    best, best_epoch, least = list(layers), 0, np.inf
    for epoch in range(1, recipe.max_epochs + 1):
        slopes = gradient_of(layers, data.rows, shares, weights)
        decayed = zip(slopes, layers, strict=True)
        optimiser.step([slope + recipe.weight_decay * values for slope, values in decayed])
        if (loss := loss_of(layers, *held_out)) < least - 1e-6:
            best, best_epoch, least = list(layers), epoch, loss
        elif epoch - best_epoch >= recipe.patience:
            break
    return best, best_epoch


@pytest.mark.parametrize("sides", [THREE, Sides(1, 3), Sides(3, 9)], ids=str)
@pytest.mark.parametrize("hidden", [(32, 32), (5,), (), (3, 7, 2)], ids=str)
def test_a_network_says_what_plain_numpy_says(sides: Sides, hidden: tuple[int, ...]) -> None:
    network = Network.initialised(6, hidden, 4, sides)
    rows = 3.0 * np.random.default_rng(1).normal(size=(1000, 6))
    outputs, _ = outputs_of(layers_of(network), rows)
    np.testing.assert_allclose(network.outputs(rows).T, outputs, atol=1e-12)
    best = outputs[:, sides.adverse :].max(axis=1) - outputs[:, : sides.adverse].max(axis=1)
    logits = network.logits(rows)
    np.testing.assert_allclose(logits, best, atol=1e-12)
    np.testing.assert_array_equal(logits, sides.leads(network.outputs(rows).T))
    predicted = outputs.argmax(axis=1)
    np.testing.assert_array_equal(network.favourable(rows), predicted >= sides.adverse)
    shares = np.exp(log_shares(outputs))
    np.testing.assert_allclose(network.class_probabilities(rows), shares, atol=1e-12)
    favourable, other = shares[:, sides.adverse :].max(axis=1), shares[:, : sides.adverse].max(1)
    expected = favourable / (favourable + other)
    np.testing.assert_allclose(network.probabilities(rows), expected, atol=1e-12)
    each = np.array([network.logits(row[None])[0] for row in rows[:40]])
    np.testing.assert_array_equal(each, logits[:40])


@pytest.mark.parametrize("sides", [THREE, Sides(1, 3), Sides(4, 6)], ids=str)
@pytest.mark.parametrize("hidden", [(32, 32), (5,), ()], ids=str)
def test_gradients_are_those_of_finite_differences(sides: Sides, hidden: tuple[int, ...]) -> None:
    network = Network.initialised(4, hidden, 2, sides)
    rows = np.random.default_rng(0).normal(size=(300, 4))
    logits, gradients = network.logits_and_gradients(rows)
    np.testing.assert_array_equal(logits, network.logits(rows))
    steps = 1e-7 * np.eye(4)
    differences = np.stack(
        [(network.logits(rows + s) - network.logits(rows - s)) / 2e-7 for s in steps], axis=1
    )
    # But for rows at a kink, or where two classes are equally good.
    away = np.abs(differences - gradients).max(axis=1)
    assert np.sort(away)[-4] < 1e-6


def test_several_networks_of_any_kind_are_a_stack() -> None:
    rows = np.random.default_rng(3).normal(size=(500, 4))
    networks = [
        Network.initialised(4, hidden, seed, sides)
        for seed, (hidden, sides) in enumerate(
            [((8,), THREE), ((8,), Sides()), ((8,), Sides(1, 3)), ((6, 5), THREE), ((8,), THREE)]
        )
    ]
    stack = NetworkStack.of(networks)
    assert len(stack.groups) == 4
    alone = np.array([network.logits(rows) for network in networks])
    np.testing.assert_array_equal(stack.logits(rows), alone)
    logits, gradients = stack.logits_and_gradients(rows)
    np.testing.assert_array_equal(logits, alone)
    np.testing.assert_array_equal(gradients[:, 3], networks[3].logits_and_gradients(rows)[1])
    again = NetworkStack.from_tensors(stack.to_tensors())
    assert [network.sides for network in again] == [network.sides for network in networks]
    np.testing.assert_array_equal(again.logits(rows), alone)


def test_one_output_is_stored_as_ever() -> None:
    one = NetworkStack.of([Network.initialised(4, (8,), 0)])
    layers = ["bias.0", "bias.1", "positions", "weight.0", "weight.1"]
    assert sorted(one.to_tensors()) == [f"0.{each}" for each in layers]
    damaged = NetworkStack.of([Network.initialised(4, (8,), 0, THREE)]).to_tensors()
    del damaged["0.adverse"]
    with pytest.raises(InputError, match="one per class with some of them adverse; got 0 adverse"):
        NetworkStack.from_tensors(damaged)
    with pytest.raises(InputError, match="got 3 adverse of 3 outputs"):
        replace(Network.initialised(4, (8,), 0, THREE), n_adverse=3)


@pytest.mark.parametrize("outputs", [3, 4, 7])
def test_the_gradient_of_the_loss_is_that_of_finite_differences(outputs: int) -> None:
    data = data_of(Sides(1, outputs), n_rows=90)
    generator = np.random.default_rng(5)
    shares = generator.dirichlet(np.ones(outputs), len(data.rows)).astype(np.float32)
    weights = generator.integers(0, 3, len(data.rows)).astype(np.float32)
    network = Network.initialised(5, (6, 4), 1, data.sides)
    (parameters,), sizes = network.packed(np.float32)
    tiles = training_tiles(data.rows, shares, weights, 32)
    space = kernels.workspace(parameters, sizes, 32)
    sums, found = kernels.lane_sums(parameters), np.zeros_like(parameters)
    powers = kernels.room_for_powers(parameters, sizes, 32)
    per_weight = np.float32(1.0 / weights.sum())
    for tile in range(len(tiles.rows)):
        kernels.add_gradient(parameters, sizes, tiles, tile, per_weight, space, powers, sums)
    kernels.add_lanes(sums, found)
    ours = layers_of(network.with_packed(found[None]))
    layers = layers_of(network)
    arguments = data.rows, shares, weights
    for mine, theirs in zip(ours, gradient_of(layers, *arguments), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    for layer, values in enumerate(layers):
        for place in np.ndindex(values.shape):
            moved = [[each.copy() for each in layers] for _ in range(2)]
            moved[0][layer][place] += 1e-6
            moved[1][layer][place] -= 1e-6
            higher, lower = (loss_of(each, *arguments) for each in moved)
            assert ours[layer][place] == pytest.approx((higher - lower) / 2e-6, abs=2e-6)


def largest_difference(network: Network, layers: Arrays) -> float:
    pairs = zip(layers_of(network), layers, strict=True)
    return max(float(np.abs(mine - theirs).max()) for mine, theirs in pairs)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hidden": (8,)},
        {"hidden": (5, 7, 3)},
        {"hidden": ()},
        {"optimiser": "sgd", "learning_rate": 0.03, "weight_decay": 1e-3},
        {"learning_rate": 4e-3, "weight_decay": 1e-3},
        {"patience": 3, "learning_rate": 0.05},
    ],
    ids=str,
)
@pytest.mark.parametrize("sides", [THREE, Sides(2, 6)], ids=str)
def test_training_is_that_of_plain_numpy(sides: Sides, settings: dict[str, Any]) -> None:
    data = data_of(sides)
    # Of some seeds, a row at a kink tells single from double precision.
    recipe = TrainingRecipe(initialisation_seed=1, **{"max_epochs": 50, **settings})
    ours = train([recipe], data)
    theirs, best_epoch = plain_training(recipe, data)
    assert ours.best_epochs[0] == best_epoch
    assert largest_difference(ours.stack[0], theirs) < 1e-5
    lost = loss_of(theirs, data.validation_rows, data.validation_labels, np.ones(100))
    assert ours.validation_losses[0] == pytest.approx(lost, abs=1e-5)


def test_weights_shares_and_starts_are_those_of_plain_numpy() -> None:
    data = data_of(n_pool=60)
    generator = np.random.default_rng(0)
    start = Network.initialised(5, (7, 6), 9, THREE)
    recipe = TrainingRecipe(
        initialisation_seed=4,
        max_epochs=50,
        row_weights=generator.integers(0, 3, len(data.rows)),
        labels=generator.dirichlet(np.ones(3), len(data.rows)),
        start=start,
    )
    ours, (theirs, best_epoch) = train([recipe], data), plain_training(recipe, data)
    assert ours.best_epochs[0] == best_epoch
    assert largest_difference(ours.stack[0], theirs) < 1e-5


def test_a_pass_over_batches_is_that_of_plain_numpy() -> None:
    data = data_of(n_rows=61)
    network = Network.initialised(5, (7,), 2, THREE)
    updated = update(network, data.rows, data.labels, learning_rate=1e-3, batch=8)
    optimiser = Adam(layers_of(network))
    for begin in range(0, 61, 8):
        rows, shares = data.rows[begin : begin + 8], data.labels[begin : begin + 8]
        optimiser.step(gradient_of(optimiser.layers, rows, shares, np.ones(len(rows))))
    assert largest_difference(updated, optimiser.layers) < 2e-6


def test_results_do_not_depend_on_company_order_or_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = [
        TrainingRecipe(initialisation_seed=seed, hidden=hidden, max_epochs=40)
        for seed, hidden in enumerate([(32, 32), (8,), (16, 16, 8), (32, 32)])
    ]

    def trained(several: list[TrainingRecipe]) -> list[bytes]:
        return [network.parameters.tobytes() for network in train(several, data_of()).stack]

    together = trained(recipes)
    assert trained(recipes[::-1])[::-1] == together
    assert [trained([recipe])[0] for recipe in recipes] == together
    for length in (32, 96):
        monkeypatch.setattr(training, "LARGEST_TILE", length)
        assert trained(recipes) == together


def test_long_tables_are_gone_through_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LARGEST_BATCH", 100)
    data = data_of(n_rows=350)
    weights = bootstrap_weights(350, 5)
    recipe = TrainingRecipe(
        initialisation_seed=3, hidden=(8,), max_epochs=6, row_weights=weights, keep="last"
    )
    trained = train([recipe], data)
    order = np.array([row for row in data.order if weights[row] > 0])
    assert trained.epochs[0] == np.ceil(6 * len(order) / 100)
    optimiser = Adam(layers_of(Network.initialised(5, (8,), 3, THREE)))
    for step in range(int(trained.epochs[0])):
        batch = order[np.arange(step * 100, (step + 1) * 100) % len(order)]
        part = data.rows[batch], data.labels[batch], weights[batch]
        optimiser.step(gradient_of(optimiser.layers, *part))
    assert largest_difference(trained.stack[0], optimiser.layers) < 1e-5


def test_what_does_not_fit_the_classes_is_refused() -> None:
    data = data_of()
    rows = len(data.rows)
    one = TrainingRecipe(initialisation_seed=0)
    bad = {
        r"labels of shape \(300, 2\); expected \(300,\) or \(300, 3\)": np.ones((rows, 2)) / 2,
        "shares of classes and do not add up to 1": np.ones((rows, 3)),
        "one label per row; expected shares of 3 classes": np.ones(rows),
    }
    for message, labels in bad.items():
        with pytest.raises(InputError, match=message):
            train([replace(one, labels=labels)], data)
    start = Network.initialised(5, (8,), 0)
    with pytest.raises(InputError, match="a network with 0 adverse of 1 outputs; expected 2 adve"):
        train([replace(one, start=start)], data)
    diverging = replace(one, optimiser="sgd", learning_rate=1e30)
    with pytest.raises(InputError, match="training diverged"):
        train([diverging], data)


def test_networks_with_one_output_are_what_they_were() -> None:
    """The digest was taken before there were several outputs; rows are whole, so it holds."""
    generator = np.random.default_rng(11)
    rows = generator.integers(-3, 4, (250, 6)).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0).astype(np.float32)
    data = TrainingData(rows[:200], labels[:200], 180, rows[200:], labels[200:])
    recipes = [
        TrainingRecipe(initialisation_seed=1),
        TrainingRecipe(initialisation_seed=2, hidden=(8,), optimiser="sgd", learning_rate=0.03),
    ]
    stack = train(recipes, data).stack
    logits, gradients = stack.logits_and_gradients(rows.astype(np.float64))
    parts = [*(network.parameters for network in stack), logits, gradients]
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    assert digest == "34e43b1bc2e29b4f6cca7fe2ef091e46384d0ccc21b8fabde6845c1fc5ca8cf8"
