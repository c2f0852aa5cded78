"""Our networks where an outcome has several classes: labels, families, methods, whole runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import changeproof as cp
from changeproof import InputError, Network, Task, TrainingRecipe, own_task
from changeproof.certificates.box import ParameterBox
from changeproof.changes import get_family
from changeproof.changes.bank import build_bank, models_of
from changeproof.changes.family import BaseModel
from changeproof.changes.outputs import with_moved_threshold
from changeproof.datasets.altered import with_rows
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.methods.robx import Shaken
from changeproof.methods.shared.estimates import Estimates, tiled_moves
from changeproof.model import Access
from changeproof.models.altered import AlteredModel, rescaled
from changeproof.models.find import shipped_learner
from changeproof.models.learner import CountedRows
from changeproof.models.network import NetworkLearner
from changeproof.models.recipes import (
    class_shares,
    label_flip_recipe,
    own_labels,
    recipe_identity,
)
from changeproof.models.thresholds import at_threshold
from changeproof.networks.network import Sides
from models_people_have import check_on_the_model

FAVOURABLE = ["fair", "good"]
BASE = TrainingRecipe(initialisation_seed=2026)


def graded(n_rows: int = 500) -> pd.DataFrame:
    """Return four grades by a score of three columns, one of them text."""
    generator = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "income": generator.normal(3000, 800, n_rows).round(),
            "debts": generator.integers(0, 6, n_rows),
            "purpose": generator.choice(["car", "house", "study"], n_rows),
        }
    )
    score = frame["income"] / 800 - 0.6 * frame["debts"] - 0.5 * (frame["purpose"] == "car")
    noisy = score + generator.normal(0, 0.7, n_rows)
    frame["grade"] = np.select(
        [noisy > 3.2, noisy > 2.3, noisy > 1.6], ["good", "fair", "poor"], "bad"
    )
    return frame


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(graded(), target="grade", favourable=FAVOURABLE)


@pytest.fixture(scope="module")
def network(task: Task) -> Network:
    return NetworkLearner().train([BASE], task)[0]


def classes_of(network: Network, rows: np.ndarray) -> np.ndarray:
    """Return the predicted classes, by plain NumPy."""
    values = rows
    for weight, bias in zip(network.weights, network.biases, strict=True):
        last = weight is network.weights[-1]
        values = values @ weight.T.astype(np.float64) + bias
        values = values if last else np.maximum(values, 0.0)
    return np.asarray(values.argmax(axis=1))


def test_a_task_knows_its_classes_adverse_ones_first(task: Task) -> None:
    classes = task.classes
    assert classes is not None and classes.outcomes == ("bad", "poor", "fair", "good")
    assert classes.n_adverse == 2
    np.testing.assert_array_equal(classes.numbers >= 2, task.labels == 1)
    assert task.outcomes is not None
    np.testing.assert_array_equal(np.array(classes.outcomes)[classes.numbers], task.outcomes)
    again = task_from_bytes(task_to_bytes(task)).classes
    assert again is not None and again.outcomes == classes.outcomes
    assert task.replaced(outcomes=None).classes is None
    frame = graded()
    frame["grade"] = np.where(frame["grade"] == "good", "good", "bad")
    assert own_task(frame, target="grade", favourable="good").classes is None
    frame["grade"] = frame["income"] - 100 * frame["debts"]
    assert own_task(frame, target="grade", favourable=">=3000").classes is None
    frame["grade"] = pd.Series(graded()["grade"]).map({"bad": 10, "poor": 2, "fair": 1, "good": 7})
    numbers = own_task(frame, target="grade", favourable=[1, 7]).classes
    assert numbers is not None and numbers.outcomes == (10, 2, 1, 7)


def test_a_network_predicts_the_best_class(task: Task, network: Network) -> None:
    assert network.sides == Sides(2, 4) and "2 adverse of 4 outputs" in repr(network)
    rows = task.standardise(task.frame)
    predicted = classes_of(network, rows)
    np.testing.assert_array_equal(network.favourable(rows), predicted >= 2)
    np.testing.assert_array_equal(network.probabilities(rows) >= 0.5, predicted >= 2)
    assert task.classes is not None
    assert (predicted == task.classes.numbers).mean() > 0.6
    # It is one of the favourable classes that is best, and seldom likelier than not.
    shares = network.class_probabilities(rows)
    assert (shares.max(axis=1)[predicted >= 2] < 0.5).any()


def test_networks_of_classes_offer_gradients(task: Task, network: Network) -> None:
    learner = NetworkLearner()
    assert learner.offers_on(task) is network.offers is Access.GRADIENTS
    assert learner.offers_on(task.replaced(outcomes=None)) is Access.RELU_PARAMETERS
    with pytest.raises(InputError, match="certificates are for one output; got Network"):
        ParameterBox(network, 0.01)
    for method in ("rnce", "apds"):
        with pytest.raises(InputError, match=f"'{method}' needs relu parameters of a model"):
            cp.get_method(method)().fit(cp.Context(task, network, 2026))


def test_at_a_threshold_networks_learn_favourable_or_not(task: Task) -> None:
    learner, two = at_threshold(NetworkLearner(), "0.6"), task.replaced(outcomes=None)
    flipped = label_flip_recipe(task, 0.1, 2026, 5)
    assert flipped.labels is not None
    sides = flipped.labels[:, 2:].sum(axis=1)
    found = learner.train([BASE, flipped], task)
    expected = learner.train([BASE, replace(flipped, labels=sides)], two)
    for one, other in zip(found, expected, strict=True):  # type: ignore[call-overload]
        assert one.sides == Sides() and one.parameters.tobytes() == other.parameters.tobytes()
    assert learner.offers_on(task) is Access.RELU_PARAMETERS


def test_labels_of_a_side_stand_for_its_usual_class(task: Task) -> None:
    classes, own = task.classes, own_labels(task)
    assert classes is not None
    rows = np.concatenate([task.split.train, task.split.update])
    np.testing.assert_array_equal(class_shares(task, classes, own), classes.shares(rows))
    changed = own.astype(np.float64)
    changed[:30] = 1 - changed[:30]
    changed[30:50] = 0.25
    shares = class_shares(task, classes, changed)
    np.testing.assert_array_equal(shares[50:], classes.shares(rows)[50:])
    usual = [classes.number_of(task.usual_outcome(side)) for side in (0, 1)]
    np.testing.assert_array_equal(shares[:30].argmax(axis=1), np.array(usual)[1 - own[:30]])
    expected = np.zeros(4)
    expected[usual] = 0.75, 0.25
    np.testing.assert_array_equal(shares[30:50], np.tile(expected, (20, 1)))
    # However they are spelled, such labels are the same recipe, and train the same network.
    learner = NetworkLearner()
    spelled = [replace(BASE, labels=labels, max_epochs=9) for labels in (changed, shares)]
    one, other = (learner.normalised(recipe, task) for recipe in spelled)
    assert recipe_identity(one) == recipe_identity(other)
    assert learner.normalised(replace(BASE, labels=own), task).labels is None
    assert learner.normalised(replace(BASE, labels=classes.shares(rows)), task).labels is None
    first, second = learner.train(spelled, task)
    assert first.parameters.tobytes() == second.parameters.tobytes()
    with pytest.raises(InputError, match=r"labels of shape \(3,\)"):
        learner.train([replace(BASE, labels=np.ones(3))], task)


def test_a_label_update_moves_to_another_class_at_random(task: Task) -> None:
    classes = task.classes
    assert classes is not None
    own = np.concatenate([classes.numbers[task.split.train], classes.numbers[task.split.update]])
    counts = np.zeros((4, 4), dtype=int)
    for sampling in range(60):
        labels = label_flip_recipe(task, 0.1, 2026, sampling).labels
        assert labels is not None and labels.shape == (len(own), 4)
        assert set(np.unique(labels)) == {0.0, 1.0} and (labels.sum(axis=1) == 1.0).all()
        after = labels.argmax(axis=1)
        moved = np.flatnonzero(after != own)
        assert len(moved) == round(0.1 * len(task.split.train))
        assert moved.max() < len(task.split.train)
        np.add.at(counts, (own[moved], after[moved]), 1)
    assert (np.diag(counts) == 0).all()
    for start, row in enumerate(counts):
        others = np.delete(row, start)
        # Of a hundred and more, a third each but for four standard deviations.
        assert (np.abs(others - others.mean()) < 4 * np.sqrt(others.sum() * 2 / 9)).all()
    again = label_flip_recipe(task, 0.1, 2026, 7).labels
    np.testing.assert_array_equal(again, label_flip_recipe(task, 0.1, 2026, 7).labels)


def test_refits_of_fitted_models_hear_of_the_same_classes(task: Task) -> None:
    flipped = label_flip_recipe(task, 0.1, 2026, 3)
    assert flipped.labels is not None and task.classes is not None
    data = CountedRows.of(flipped, task)
    n_train = len(task.split.train)
    numbers = flipped.labels.argmax(axis=1)[:n_train]
    assert data.outcomes.tolist() == [task.classes.outcomes[number] for number in numbers]
    np.testing.assert_array_equal(data.labels, numbers >= 2)
    rows = graded()[["income", "debts"]]
    model = LogisticRegression(max_iter=3000).fit(rows, graded()["grade"])
    narrow = own_task(graded(), target="grade", favourable=FAVOURABLE, taken=["income", "debts"])
    learner = shipped_learner(model, narrow)
    refit = learner.train([label_flip_recipe(narrow, 0.1, 2026, 3)], narrow)[0]
    assert sorted(refit.estimator.classes_) == ["bad", "fair", "good", "poor"]  # type: ignore[attr-defined]
    assert "decide at 0.5" in get_family("recalibration").left_out(learner, [narrow])


FAMILIES = [
    "new-initialization(replicates=1)",
    "bootstrap(replicates=1)",
    "data-deletion(replicates=1)",
    "data-addition(replicates=2)",
    "label-update(replicates=3)",
    "training-configuration(replicates=1)",
    "architecture(replicates=2)",
    "parameter-perturbation(replicates=2)",
    "decision-threshold",
    "weight-rounding",
    "magnitude-pruning",
    "measurement-error(replicates=2)",
    "distillation(replicates=2)",
    "fine-tuning(replicates=2)",
    "influential-deletion(replicates=2)",
    "group-reweighting(replicates=1)",
    "feature-change(replicates=4)",
    "covariate-shift(replicates=2)",
    "followed-advice(replicates=1, updates=1)",
    "updates(length=2, replicates=1)",
]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_changes_networks_of_classes(name: str, task: Task, network: Network) -> None:
    family = get_family(name)
    assert family.left_out(NetworkLearner(), [task]) == ""
    bank = build_bank(task, BaseModel(2026, network), [family])
    rows = task.rows("test")
    favourable = bank.stack.favourable(rows)
    for place in range(len(bank)):
        model = bank.stack[place]
        if isinstance(model, AlteredModel):
            assert name.startswith("feature-change") and model.rewrite is not None
            seen, inner = model.rewrite(rows), model.model
        else:
            seen, inner = rows, model
        assert isinstance(inner, Network) and inner.sides == network.sides
        assert inner.parameters.tobytes() != network.parameters.tobytes()
        np.testing.assert_array_equal(favourable[place], classes_of(inner, seen) >= 2)
        assert (favourable[place] == task.labels_of("test")).mean() > 0.6


def test_calibration_would_ask_for_more_than_the_best_class(task: Task) -> None:
    family, learner = get_family("recalibration"), NetworkLearner()
    reason = family.left_out(learner, [task])
    assert reason.endswith("and mlp at another threshold or between several classes")
    assert family.left_out(learner, [task.replaced(outcomes=None)]) == ""


def test_the_lead_is_what_is_rescaled(task: Task, network: Network) -> None:
    rows, logits = task.rows("test"), network.logits(task.rows("test"))
    found = rescaled(network, 0.5, -0.75)
    np.testing.assert_allclose(found.logits(rows), 0.5 * logits - 0.75, atol=1e-5)
    moved = with_moved_threshold(network, 0.6)
    clear = np.abs(network.probabilities(rows) - 0.6) > 1e-5
    expected = network.probabilities(rows) >= 0.6
    np.testing.assert_array_equal(moved.favourable(rows)[clear], expected[clear])


def test_students_hear_the_probabilities_of_all_classes(task: Task, network: Network) -> None:
    base = BaseModel(2026, network)
    (variant, *_) = get_family("distillation(replicates=1)").variants(task, base, NetworkLearner())
    assert isinstance(variant.change, TrainingRecipe) and variant.change.labels is not None
    rows = np.concatenate([task.rows("train"), task.rows("update")])
    outputs = network.outputs(rows)
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=0)
    np.testing.assert_allclose(variant.change.labels, shares.T, atol=1e-6)
    (student,) = models_of([variant], task, NetworkLearner())
    agree = student.favourable(task.rows("test")) == network.favourable(task.rows("test"))
    assert agree.mean() > 0.9


def test_people_who_followed_advice_are_of_the_usual_class(task: Task) -> None:
    more = with_rows(task, task.rows("test")[:5], 1)
    assert more.classes is not None and task.classes is not None
    assert more.classes.outcomes == task.classes.outcomes
    usual = task.classes.number_of(task.usual_outcome(1))
    assert more.classes.numbers[-5:].tolist() == [usual] * 5


def test_estimates_of_the_lead_rule_nothing_out_that_could_be(network: Network) -> None:
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(40, network.n_features))
    noise = generator.normal(0, 0.3, (200, network.n_features))
    estimates, moves = Estimates(network), tiled_moves([noise])
    found, possible = estimates.first_possible(centres, moves, np.zeros(40, np.int64))
    there = (centres[:, None] + noise).reshape(-1, network.n_features)
    favourable = network.favourable(there).reshape(40, 200)
    assert (possible[found == 0] >= favourable[found == 0]).all()
    assert not favourable[found > 0].any() and (found > 0).any() and (found == 0).any()
    assert (possible & ~favourable)[found == 0].sum() < 5
    # In single precision, the lead is off by no more than the bound.
    single = there.astype(np.float32)
    for place, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        single = single @ weight.T + bias
        single = np.maximum(single, 0) if place < 2 else single
    off = np.abs(network.sides.leads(single) - network.logits(there)).max()
    assert 0.0 < off <= estimates.error(centres, moves) < 1e-3
    likely = network.probabilities(there).reshape(40, 200)
    stability = likely.mean(axis=1) - likely.std(axis=1)
    for threshold in (0.2, 0.5, 0.7):
        kept = estimates.may_be_stable(centres, moves, threshold)
        assert kept[stability > threshold].all() and not kept[stability < threshold - 0.01].any()


@pytest.mark.parametrize("hidden", [(8, 8), ()])
def test_shaken_points_have_the_probabilities_of_moved_ones(hidden: tuple[int, ...]) -> None:
    network = Network.initialised(6, hidden, 3, Sides(1, 3))
    generator = np.random.default_rng(2)
    points, draws = generator.normal(size=(7, 6)), generator.normal(0, 0.2, (50, 6))
    moved = (points[:, None] + draws).reshape(-1, 6)
    expected = network.probabilities(moved).reshape(7, 50)
    np.testing.assert_allclose(Shaken(network, draws).probabilities(points), expected, atol=1e-12)


SMALL: dict[str, Any] = {
    "families": [
        "bootstrap(replicates=2)",
        "label-update(replicates=2)",
        "architecture(replicates=2)",
    ],
    "target": "grade",
    "favourable": FAVOURABLE,
    "factuals": 8,
}


def test_a_whole_audit_tells_rows_that_the_network_predicts_favourable(tmp_path: Path) -> None:
    """Told rows are judged by a forward pass of our own; methods for two classes are left out."""
    frame = graded()
    methods = [
        *("kdtree", "wachter", "roar-lime(penalty=0.1)", "rbr", "robx-balanced", "betarce"),
        *("quorum(members=8, judges=8)", "rnce", "apds"),
    ]
    results = cp.evaluate(frame, "mlp:16,8", methods, limit=True, jobs=1, out=tmp_path, **SMALL)
    for method in ("rnce", "apds"):
        assert results.plan.left_out[method] == "is for two classes; the outcome of data has more"
    (dataset,) = results.shown.datasets
    task, network = results.task(dataset), cp.Results(tmp_path).base_network(dataset, 2026)
    assert network.sides == Sides(2, 4) and network.hidden == (16, 8)

    def predict(rows: pd.DataFrame) -> np.ndarray:
        assert task.classes is not None
        return np.array(task.classes.outcomes)[classes_of(network, task.encoded(rows))]

    checked = check_on_the_model(results, frame, predict, FAVOURABLE)
    assert checked >= 0.9 * 8 * len(results.shown.methods)
    survived = results.bank(dataset, 2026)
    assert all(model.sides == network.sides for model in survived.stack)  # type: ignore[attr-defined]
    assert results.table("model")["threshold"].tolist() == ["its own decision"]
    far = results.table("limit")
    assert len(far) and far.select_dtypes("number").notna().any().any()


def test_workers_change_nothing() -> None:
    one, two = (
        cp.evaluate(graded(300), "mlp", ["kdtree", "wachter"], jobs=jobs, **SMALL)
        for jobs in (1, 2)
    )
    for name in ("full_results", "people", "change_magnitude"):
        columns = [c for c in one.table(name).columns if "seconds" not in c]
        pd.testing.assert_frame_equal(one.table(name)[columns], two.table(name)[columns])


def test_gradients_lead_wachter_across_a_boundary_between_classes(
    task: Task, network: Network
) -> None:
    rows = task.rows("test")
    adverse = np.flatnonzero(~network.favourable(rows))[:10]
    method = cp.get_method("wachter")(penalty=0.1).fit(cp.Context(task, network, 2026))
    answers = method.generate(cp.Factuals(task.row_ids("test")[adverse], rows[adverse]))
    assert answers.base_valid.all() and (classes_of(network, answers.rows) >= 2).all()
    # Along the way, the score is that of the best classes at each point.
    for before, after in pairwise(np.linspace(0, 1, 5)):
        there = rows[adverse] + after * (answers.rows - rows[adverse])
        here = rows[adverse] + before * (answers.rows - rows[adverse])
        assert (network.logits(there) > network.logits(here)).mean() > 0.8
