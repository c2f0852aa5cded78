from __future__ import annotations

import numpy as np
import pytest
import torch

from changeproof import (
    BaseModel,
    InputError,
    Network,
    NetworkLearner,
    NetworkStack,
    Task,
    TrainingRecipe,
    Variant,
    build_bank,
    get_family,
    published_family_names,
)

SEED = 2028


@pytest.fixture(scope="module")
def start(cancer: Task) -> Network:
    return Network.initialised(cancer.n_features, (32, 32), SEED)


@pytest.fixture(scope="module")
def base(start: Network) -> BaseModel:
    return BaseModel(SEED, start)


def variants(task: Task, base: BaseModel, family: str) -> list[Variant]:
    return list(get_family(family).variants(task, base, NetworkLearner()))


def recipes(task: Task, base: BaseModel, family: str) -> list[TrainingRecipe]:
    found = [variant.change for variant in variants(task, base, family)]
    assert all(isinstance(change, TrainingRecipe) for change in found)
    return found  # type: ignore[return-value]


def described(variant: Variant) -> list[object]:
    change = variant.change
    fields = list(vars(change).values())
    return [
        variant.level,
        variant.replicate,
        None if variant.task is None else variant.task.fingerprint,
        *(np.asarray(f).tolist() if isinstance(f, np.ndarray) else str(f) for f in fields),
    ]


TRAINED = (
    *published_family_names(),
    "distillation",
    "fine-tuning",
    "influential-deletion",
    "group-reweighting",
    "feature-change",
    "covariate-shift",
    "followed-advice",
)
# Eight futures of three rounds each.
FIRST_ROUND = {"followed-advice": 8}
OTHER_INITIALISATIONS = ("new-initialization", "distillation")


@pytest.mark.parametrize("family", TRAINED)
def test_contract(family: str, cancer: Task, cancer_network: Network) -> None:
    base = BaseModel(SEED, cancer_network)
    first, second = (variants(cancer, base, family) for _ in range(2))
    count = FIRST_ROUND.get(family, 25)
    assert len(first) == count
    assert [described(v) for v in first] == [described(v) for v in second]
    assert len({(v.level, v.replicate) for v in first}) == count
    assert len({str(described(v)[2:]) for v in first}) == count, "every variant is another change"
    other = variants(cancer, BaseModel(SEED + 1, base.model), family)
    assert [str(described(v)[2:]) for v in other] != [str(described(v)[2:]) for v in first]
    for variant in first:
        if isinstance(variant.change, TrainingRecipe) and family not in OTHER_INITIALISATIONS:
            assert variant.change.initialisation_seed == SEED
    assert get_family(family).summary


def test_new_initialization_takes_the_seeds_that_follow(cancer: Task, base: BaseModel) -> None:
    seeds = [r.initialisation_seed for r in recipes(cancer, base, "new-initialization")]
    assert seeds == list(range(2029, 2054))


def test_bootstrap_draws_as_many_rows_with_replacement(cancer: Task, base: BaseModel) -> None:
    for r, recipe in enumerate(recipes(cancer, base, "bootstrap")):
        drawn = np.random.default_rng(SEED + 10_000 + r).integers(0, 284, 284)
        expected = [(drawn == i).sum() for i in range(284)] + [0] * 57
        assert recipe.row_weights is not None
        assert recipe.row_weights.tolist() == expected


def test_deletion_keeps_the_stated_share(cancer: Task, base: BaseModel) -> None:
    found = recipes(cancer, base, "data-deletion")
    counts = [int(r.row_weights.sum()) for r in found]  # type: ignore[union-attr]
    assert counts == [281] * 9 + [270] * 8 + [256] * 8
    kept = np.random.default_rng(SEED + 20_000 + 50 + 3).choice(284, 270, replace=False)
    assert set(np.nonzero(found[12].row_weights)[0]) == set(kept)


def test_addition_adds_the_stated_share_of_the_pool(cancer: Task, base: BaseModel) -> None:
    found = recipes(cancer, base, "data-addition")
    weights = np.array([r.row_weights for r in found])
    assert (weights[:, :284] == 1).all()
    assert weights[:, 284:].sum(axis=1).tolist() == [14] * 8 + [28] * 8 + [43] * 8 + [57]
    added = np.random.default_rng(SEED + 30_000 + 750 + 2).choice(57, 43, replace=False)
    assert set(np.nonzero(weights[18, 284:])[0]) == set(added)


def test_label_update_flips_the_stated_share(cancer: Task, base: BaseModel) -> None:
    original = np.concatenate([cancer.labels_of("train"), cancer.labels_of("update")])
    found = recipes(cancer, base, "label-update")
    flips = [np.nonzero(r.labels != original)[0] for r in found]
    assert [len(f) for f in flips] == [3] * 9 + [14] * 8 + [28] * 8
    drawn = np.random.default_rng(SEED + 40_000 + 100 + 7).choice(284, 28, replace=False)
    assert set(flips[24]) == set(drawn)


def test_training_configurations(cancer: Task, base: BaseModel) -> None:
    found = recipes(cancer, base, "training-configuration")
    settings = {(r.optimiser, r.learning_rate, r.weight_decay) for r in found}
    adam = {(lr, wd) for o, lr, wd in settings if o == "adam"}
    assert len(adam) == 19
    assert (1e-3, 0.0) not in adam
    assert {(lr, wd) for o, lr, wd in settings if o == "sgd"} == {
        (lr, wd) for lr in (0.01, 0.03) for wd in (0.0, 1e-4, 1e-3)
    }


def test_architectures_are_25_others(cancer: Task, base: BaseModel) -> None:
    hidden = [r.hidden for r in recipes(cancer, base, "architecture")]
    assert len(set(hidden)) == 25
    assert (32, 32) not in hidden
    assert {len(h) for h in hidden} == {1, 2, 3}


@pytest.mark.parametrize("own", [(64,), (32, 16), (32, 32)])
def test_the_base_network_is_none_of_the_architectures(
    small_task: Task, own: tuple[int, ...]
) -> None:
    learner = NetworkLearner(own)
    network = learner.train([TrainingRecipe(initialisation_seed=SEED)], small_task)[0]
    assert network.hidden == own
    bank = build_bank(small_task, BaseModel(SEED, network), [get_family("architecture")], learner)
    assert len(bank) == 25
    assert len(set(bank.table["level"])) == (25 if own == (32, 32) else 24)
    for model in bank.stack:
        assert isinstance(model, Network)
        assert model.hidden != own


def test_hidden_layers_that_are_not_said_are_the_base_networks(small_task: Task) -> None:
    assert TrainingRecipe(initialisation_seed=1).hidden is None
    said = TrainingRecipe(initialisation_seed=1, hidden=(32, 32), max_epochs=1)
    assert NetworkLearner((64,)).train([said], small_task)[0].hidden == (32, 32)


def test_perturbations_reach_their_radius_and_no_further(
    cancer: Task, base: BaseModel, start: Network
) -> None:
    for variant in variants(cancer, base, "parameter-perturbation"):
        network = variant.change
        assert isinstance(network, Network)
        moves = np.concatenate(
            [
                (moved - original).ravel()
                for moved, original in zip(
                    (*network.weights, *network.biases),
                    (*start.weights, *start.biases),
                    strict=True,
                )
            ]
        )
        assert np.abs(moves).max() == pytest.approx(float(variant.level), rel=1e-3)
        assert abs(moves.mean()) < 0.1 * float(variant.level)
        assert moves.std() == pytest.approx(float(variant.level) / np.sqrt(3), rel=0.05)


def test_perturbation_is_one_draw_over_all_parameters(
    cancer: Task, base: BaseModel, start: Network
) -> None:
    network = variants(cancer, base, "parameter-perturbation")[7].change
    assert isinstance(network, Network)
    generator = torch.Generator().manual_seed(SEED + 80_000 + 5_000 + 2)
    draw = torch.rand(30 * 32 + 32 + 32 * 32 + 32 + 32 + 1, generator=generator) * 2 - 1
    noise = (draw * 0.005 / draw.abs().max()).numpy()
    first = (network.weights[0] - start.weights[0]).ravel()
    np.testing.assert_allclose(first, noise[: 30 * 32], atol=1e-7)
    np.testing.assert_allclose(network.biases[-1] - start.biases[-1], noise[-1], atol=1e-7)


def test_bank_holds_what_the_families_describe(small_task: Task, small_network: Network) -> None:
    base = BaseModel(2026, small_network)
    names = ["parameter-perturbation", "architecture"]
    bank = build_bank(small_task, base, [get_family(name) for name in names])
    assert len(bank) == 50
    assert bank.table["family"].tolist() == [name for name in names for _ in range(25)]
    assert isinstance(bank.stack, NetworkStack)
    layers = ["-".join(map(str, bank.stack[i].hidden)) for i in range(25, 50)]
    assert bank.table["level"][25:].tolist() == layers
    described_first = get_family(names[0]).variants(small_task, base, NetworkLearner())[3].change
    assert isinstance(described_first, Network)
    np.testing.assert_array_equal(bank.stack[3].weights[0], described_first.weights[0])


def test_unknown_family_is_refused() -> None:
    with pytest.raises(InputError, match="unknown family 'retraining'; expected one of: new-init"):
        get_family("retraining")
