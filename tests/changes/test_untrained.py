"""The families that train nothing, on every kind of model that can have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from torch import nn

from changeproof import (
    BaseModel,
    InputError,
    Learner,
    ModuleLearner,
    Network,
    NetworkLearner,
    NetworkStack,
    Task,
    TrainingRecipe,
    Variant,
    build_bank,
    change_magnitudes,
    get_family,
    own_task,
)
from changeproof.changes.bank import checked_variants
from changeproof.changes.features import measured
from changeproof.changes.outputs import isotonic, platt
from changeproof.changes.weights import pruned, rounded
from changeproof.models.estimator import EstimatorLearner
from loans import loans

SEED = 2027
EVERYWHERE = ("decision-threshold", "recalibration", "measurement-error")
WEIGHTS = ("weight-rounding", "magnitude-pruning")


def build(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 4), nn.Tanh(), nn.Linear(4, 1))


def fit(module: nn.Module, X: Any, y: Any, sample_weight: Any) -> None:
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    for _ in range(40):
        optimiser.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], y, sample_weight)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


LEARNERS: dict[str, Learner] = {
    "network": NetworkLearner((8,)),
    "forest": EstimatorLearner(RandomForestClassifier(n_estimators=12)),
    "linear": EstimatorLearner(LogisticRegression()),
    "module": ModuleLearner(build, fit, name="tanh"),
}
Trained = Callable[[str], tuple[Learner, BaseModel]]


@pytest.fixture(scope="module")
def trained(small_task: Task) -> Trained:
    @cache
    def trained(kind: str) -> tuple[Learner, BaseModel]:
        learner = LEARNERS[kind]
        model = learner.train([TrainingRecipe(initialisation_seed=SEED)], small_task)[0]
        return learner, BaseModel(SEED, model)

    return trained


def described(family: str, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
    return checked_variants(get_family(family), task, base, learner)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("family", EVERYWHERE + WEIGHTS)
def test_changed_models_of_every_kind(
    family: str, kind: str, small_task: Task, trained: Trained
) -> None:
    learner, base = trained(kind)
    if reason := get_family(family).left_out(learner, [small_task]):
        assert kind == "forest"
        assert family in WEIGHTS
        assert reason == (
            "needs weights, as networks and linear models have; this is RandomForestClassifier"
        )
        return
    bank = build_bank(small_task, base, [get_family(family)], learner)
    assert not bank.table.duplicated(["level", "replicate"]).any()
    table = change_magnitudes(small_task, base.model, bank.stack)
    assert np.isfinite(table.to_numpy()).all()
    assert (table["probability_mae"] > 0).all(), "every model is another one"
    rows = small_task.rows("test")
    probabilities = bank.stack.probabilities(rows)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert len({tuple(each) for each in probabilities}) == len(bank)
    # Asked again, and of the rows in another order: the same numbers.
    again = build_bank(small_task, base, [get_family(family)], learner)
    backwards = again.stack.probabilities(rows[::-1].copy())[:, ::-1]
    np.testing.assert_array_equal(backwards >= 0.5, probabilities >= 0.5)
    np.testing.assert_allclose(backwards, probabilities, rtol=1e-12)


@pytest.mark.parametrize("family", EVERYWHERE + WEIGHTS)
def test_networks_stay_networks(family: str, small_task: Task, trained: Trained) -> None:
    learner, base = trained("network")
    bank = build_bank(small_task, base, [get_family(family)], learner)
    if family != "recalibration":
        assert isinstance(bank.stack, NetworkStack)
        return
    places = bank.table["level"] == "Platt"
    kept = [isinstance(bank.stack[place], Network) for place in range(len(bank))]
    assert kept == places.tolist()


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_threshold_flips_exactly_the_scores_between(
    kind: str, small_task: Task, trained: Trained
) -> None:
    learner, base = trained(kind)
    rows = np.concatenate([small_task.rows(part) for part in ("train", "validation", "test")])
    said, before = base.model.probabilities(rows), base.model.favourable(rows)
    variants = described("decision-threshold", small_task, base, learner)
    assert [variant.level for variant in variants] == ["0.48", "0.52", "0.45", "0.55"]
    flips = 0
    for variant in variants:
        threshold = float(variant.level)
        low, high = min(threshold, 0.5), max(threshold, 0.5)
        between = (said >= low) & (said < high)
        flipped = variant.change.favourable(rows) != before  # type: ignore[union-attr]
        np.testing.assert_array_equal(flipped, between)
        flips += int(between.sum())
    assert flips > 0, "there was something to flip"


@pytest.mark.parametrize("kind", LEARNERS)
def test_recalibration_is_fitted_on_validation_rows(
    kind: str, small_task: Task, trained: Trained
) -> None:
    learner, base = trained(kind)
    variants = described("recalibration", small_task, base, learner)
    assert [v.level for v in variants] == ["Platt"] * 13 + ["isotonic"] * 12
    rows, labels = small_task.rows("validation"), small_task.labels_of("validation")
    said, asked = base.model.probabilities(rows), small_task.rows("test")
    odds, now = (_odds(base.model, some) for some in (rows, asked))
    first = platt(odds, labels)
    expected = expit(first.slope * now + first.shift)
    found = variants[0].change.probabilities(asked)  # type: ignore[union-attr]
    np.testing.assert_allclose(found, expected, atol=1e-6 if kind == "network" else 1e-9)
    steps = isotonic(said, labels).probabilities(base.model, asked)
    np.testing.assert_array_equal(variants[13].change.probabilities(asked), steps)  # type: ignore[union-attr]
    order = np.argsort(base.model.probabilities(asked), kind="stable")
    for variant in variants:
        calibrated = variant.change.probabilities(asked)[order]  # type: ignore[union-attr]
        assert (np.diff(calibrated) >= -1e-6).all(), "the order of people stays"


def _odds(model: Any, rows: np.ndarray) -> Any:
    if hasattr(model, "logits"):
        return model.logits(rows)
    return logit(np.clip(model.probabilities(rows), 1e-3, 1 - 1e-3))


def test_rounding_is_off_by_half_a_step_at_most(small_task: Task, trained: Trained) -> None:
    learner, base = trained("network")
    before = learner.weights(base.model)
    variants = {v.level: v.change for v in described("weight-rounding", small_task, base, learner)}
    assert list(variants) == [f"int{b}, by {s}" for b in (8, 4) for s in ("layer", "output")]
    for level, changed in variants.items():
        assert isinstance(changed, Network)
        largest = 127 if "int8" in level else 7
        for weight, other in zip(before, learner.weights(changed), strict=True):
            axis = None if "layer" in level else 1
            step = np.abs(weight).max(axis=axis, keepdims=True) / largest
            assert (np.abs(other - weight) <= 0.5 * step * (1 + 1e-5)).all()
            multiples = other / step
            np.testing.assert_allclose(multiples, np.rint(multiples), atol=1e-4)
            assert np.abs(multiples).max() == pytest.approx(largest)
        for bias, other in zip(base.model.biases, changed.biases, strict=True):  # type: ignore[attr-defined]
            np.testing.assert_array_equal(bias, other)


def test_rounding_a_known_weight() -> None:
    weight = np.array([[0.7, -0.34, 0.04, 0.0]])
    np.testing.assert_allclose(rounded(weight, 4), [[0.7, -0.3, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_array_equal(rounded(np.zeros((2, 2)), 4), np.zeros((2, 2)))


def test_pruning_takes_the_smallest(small_task: Task, trained: Trained) -> None:
    learner, base = trained("network")
    before = learner.weights(base.model)
    for weight in before:
        np.testing.assert_array_equal(pruned(weight, 0.0), weight)
    for variant in described("magnitude-pruning", small_task, base, learner):
        after = learner.weights(variant.change)  # type: ignore[arg-type]
        share, _, scope = variant.level.partition("%, ")
        groups = [(w.ravel(), a.ravel()) for w, a in zip(before, after, strict=True)]
        if scope == "of all":
            groups = [tuple(map(np.concatenate, zip(*groups, strict=True)))]  # type: ignore[arg-type]
        for weight, other in groups:
            gone = other == 0
            assert gone.sum() == max(1, round(int(share) / 100 * len(weight)))
            assert np.abs(weight[gone]).max() <= np.abs(weight[~gone]).min()
            np.testing.assert_array_equal(weight[~gone], other[~gone])


def test_what_is_the_same_is_described_once(small_task: Task, trained: Trained) -> None:
    """A linear model has one layer with one output: by layer, by output and of all are one."""
    learner, base = trained("linear")
    levels = [v.level for v in described("weight-rounding", small_task, base, learner)]
    assert levels == ["int8, by layer", "int4, by layer"]
    levels = [v.level for v in described("magnitude-pruning", small_task, base, learner)]
    assert levels == ["10%, by layer", "30%, by layer"], "of five weights: one, two, two"


def test_measurement_error_of_a_linear_model(small_task: Task, trained: Trained) -> None:
    learner, base = trained("linear")
    rows, estimator = small_task.rows("test"), base.model.estimator  # type: ignore[attr-defined]
    variants = described("measurement-error", small_task, base, learner)
    assert [v.level for v in variants] == ["1%"] * 9 + ["5%"] * 8 + ["10%"] * 8
    coefficients, intercept = estimator.coef_[0], estimator.intercept_[0]
    for variant in variants:
        model: Any = variant.change
        gains, offsets = model.rewrite.keywords["gains"], model.rewrite.keywords["offsets"]
        share = float(variant.level[:-1]) / 100
        assert 0 < np.abs(gains - 1).max() <= share
        assert 0 < np.abs(offsets).max() <= share
        # Weights are multiplied by the gains, and the intercept takes up the offsets.
        moved = rows @ (coefficients * gains) + intercept + coefficients @ offsets
        np.testing.assert_allclose(model.probabilities(rows), expit(moved), atol=1e-12)


def test_categories_are_not_measured() -> None:
    table = loans().drop(columns="applicant").assign(children=np.arange(120) % 2)
    task = own_task(table, target="approved", favourable="yes")
    names = [name for name, there in zip(task.feature_names, measured(task), strict=True) if there]
    assert names == ["income", "debts"]
    learner = NetworkLearner((4,))
    base = BaseModel(SEED, Network.initialised(task.n_features, (4,), 1))
    for variant in described("measurement-error", task, base, learner):
        same = ~measured(task)
        changed: Any = variant.change
        before = base.model.weights[0]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(changed.weights[0][:, same], before[:, same])
        assert (changed.weights[0][:, ~same] != before[:, ~same]).all()
    words = own_task(table[["purpose", "owner", "approved"]], target="approved", favourable="yes")
    reason = get_family("measurement-error").reason_against_task(words)
    assert reason == f"{words.name} has no numeric features"
    assert get_family("measurement-error").reason_against_task(task) is None


def test_other_base_models_are_measured_otherwise(small_task: Task, trained: Trained) -> None:
    learner, base = trained("linear")
    for family in ("measurement-error", "recalibration"):
        mine, others = (
            described(family, small_task, BaseModel(seed, base.model), learner)
            for seed in (SEED, SEED + 1)
        )
        rows = small_task.rows("test")
        pairs = zip(mine, others, strict=True)
        same = [
            (one.change.probabilities(rows) == other.change.probabilities(rows)).all()  # type: ignore[union-attr]
            for one, other in pairs
        ]
        # Only what is fitted on the validation rows themselves has no draw in it.
        assert sum(same) == (2 if family == "recalibration" else 0)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("decision-threshold(points=2)", "points should be an instance of Sequence; got 2"),
        ("decision-threshold(points=(60,))", "should be less than 50; got"),
        ("decision-threshold(points=())", "points: value should have at least 1 item"),
        ("weight-rounding(bits=(4.5,))", "bits\\[0\\] should be a valid integer"),
        ("magnitude-pruning(shares=(0.1, 0.1))", "shares should have no value twice"),
        ("measurement-error(shares='10%')", "shares: 'str' instances are not allowed"),
        ("measurement-error(shares=(True,))", "shares\\[0\\] should be a valid number"),
        ("recalibration(replicates=0)", "replicates should be greater than 0"),
    ],
)
def test_settings_that_make_no_sense(reference: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_family(reference)


def test_summaries_say_the_settings() -> None:
    assert "0.48, 0.52, 0.45 or 0.55" in get_family("decision-threshold").summary
    assert "0.4 or 0.6 instead" in get_family("decision-threshold(points=[10])").summary
    assert "to 2 bits" in get_family("weight-rounding(bits=[2])").summary
    assert get_family("magnitude-pruning(shares=[0.07, 0.2])").summary.startswith("7 or 20 % of")
    assert "up to 0.5 % of" in get_family("measurement-error(shares=[0.005])").summary
