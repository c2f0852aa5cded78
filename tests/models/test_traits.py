"""What a learner can do is one record: every wrapper carries it, and families can rely on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import shipped
from changeproof import InputError, Learner, NetworkLearner, Task, Traits, own_task
from changeproof.changes import builtin_family_names, get_family
from changeproof.changes.bank import build_bank
from changeproof.changes.family import BaseModel, Family
from changeproof.model import Stack, without_votes
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import shipped_learner
from changeproof.models.learner import FunctionLearner
from changeproof.models.private import PrivateLearner
from changeproof.models.shipped import BASE_SEED
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import TrainingRecipe

BASE = TrainingRecipe(initialisation_seed=BASE_SEED)
NUMBERS = ["income", "debts"]


def mixed(frame: pd.DataFrame) -> Any:
    return shipped.pipeline().fit(frame[shipped.FEATURES][:150], frame["approved"][:150])


def neighbours(frame: pd.DataFrame) -> Any:
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    return model.fit(frame[NUMBERS][:150], frame["approved"][:150])


def forest(frame: pd.DataFrame) -> Any:
    model = RandomForestClassifier(5, random_state=3)
    return model.fit(frame[NUMBERS][:150], frame["approved"][:150])


def small(name: str) -> Family:
    family: Any = get_family(name)
    for setting, value in (("replicates", 2), ("length", 1)):
        if hasattr(family, setting):
            setattr(family, setting, value)
    assert isinstance(family, Family)
    return family


@pytest.mark.parametrize("fitted", [mixed, neighbours, forest])
def test_no_changed_model_of_a_fitted_model_is_the_model_itself(
    frame: pd.DataFrame, task: Task, fitted: Callable[[pd.DataFrame], Any]
) -> None:
    learner = shipped_learner(fitted(frame), task)
    base = BaseModel(BASE_SEED, learner.train([BASE], task)[0])
    rows = np.concatenate([task.rows(part) for part in ("train", "update", "validation", "test")])
    before = base.model.probabilities(rows)
    happened = []
    for name in builtin_family_names():
        family = small(name)
        if family.left_out(learner, [task]):
            continue
        bank = build_bank(task, base, [family], learner)
        assert len(bank)
        for model, level in zip(bank.stack, bank.table["level"], strict=True):
            assert (model.probabilities(rows) != before).any(), (name, level)
        happened.append(name)
    assert {"feature-change", "covariate-shift", "bootstrap", "measurement-error"} <= {*happened}
    assert ("weight-rounding" in happened) == (fitted is mixed)


def test_a_fitted_model_is_fitted_again_without_a_feature(frame: pd.DataFrame, task: Task) -> None:
    learner = shipped_learner(mixed(frame), task)
    base = BaseModel(BASE_SEED, learner.train([BASE], task)[0])
    bank = build_bank(task, base, [get_family("feature-change")], learner)
    assert sorted(bank.table["level"]) == sorted(f"without {f.name}" for f in task.features)
    rows = task.rows("test")
    for model, level in zip(bank.stack, bank.table["level"], strict=True):
        (feature,) = (f for f in task.features if level == f"without {f.name}")
        other = rows.copy()
        columns = list(feature.columns)
        other[:, columns] = rows[::-1][:, columns]
        np.testing.assert_array_equal(model.probabilities(rows), model.probabilities(other))


def test_weights_of_a_fitted_model_keep_its_outcomes_apart(frame: pd.DataFrame) -> None:
    """The favourable class is the first here; copies with other weights have it there, too."""
    outcomes = frame["approved"].map({"yes": "accepted", "no": "rejected"})
    told = frame.drop(columns=["purpose", "owner"]).assign(approved=outcomes)
    task = own_task(told, **shipped.DATA | {"favourable": "accepted"})
    fitted = LogisticRegression(max_iter=1000).fit(told[NUMBERS], outcomes)
    assert list(fitted.classes_) == ["accepted", "rejected"]
    learner = shipped_learner(fitted, task, threshold="0.6")
    model, rows = learner.train([BASE], task)[0], task.rows("test")
    assert learner.traits.has_weights
    same = learner.with_weights(model, learner.weights(model))
    np.testing.assert_array_equal(same.probabilities(rows), model.probabilities(rows))
    halved = learner.with_weights(model, [weight / 2 for weight in learner.weights(model)])
    assert (halved.probabilities(rows) != model.probabilities(rows)).all()


def test_a_recipe_that_is_spelled_out_is_the_base_model_too(
    frame: pd.DataFrame, task: Task
) -> None:
    learner = shipped_learner(mixed(frame), task)
    n_train, n_pool = len(task.split.train), len(task.split.update)
    own = np.concatenate([task.labels_of("train"), task.labels_of("update")])
    told = TrainingRecipe(
        initialisation_seed=BASE_SEED,
        row_weights=np.r_[np.ones(n_train), np.zeros(n_pool)],
        labels=own,
    )
    rows = task.rows("test")
    one, other = learner.train([BASE, told], task)
    np.testing.assert_array_equal(one.probabilities(rows), other.probabilities(rows))


def learners(frame: pd.DataFrame, task: Task) -> list[Learner]:
    numbers = own_task(frame.drop(columns=["purpose", "owner"]), **shipped.DATA)
    machine = LinearSVC(dual=False).fit(frame[NUMBERS], frame["approved"])
    return [
        NetworkLearner((4,)),
        EstimatorLearner(LogisticRegression()),
        EstimatorLearner(KNeighborsClassifier()),
        EstimatorLearner(shipped.pipeline()),
        FunctionLearner(lambda X, y, sample_weight, seed: None, name="nothing"),
        *(shipped_learner(fitted(frame), task) for fitted in (mixed, neighbours, forest)),
        shipped_learner(machine, numbers, threshold="0.0"),
    ]


def test_wrappers_carry_every_trait_on(frame: pd.DataFrame, task: Task) -> None:
    for inner in learners(frame, task):
        decided = at_threshold(inner, "0.6")
        # Votes are a majority's, at a half.
        offers = without_votes(inner.traits.offers)
        assert decided.traits == replace(inner.traits, decides_at_half=False, offers=offers)
        assert decided.stores_models == inner.stores_models
        assert PrivateLearner(decided).traits == decided.traits


def test_a_fitted_model_has_the_traits_of_its_clones(frame: pd.DataFrame, task: Task) -> None:
    for fitted in (mixed, neighbours, forest):
        learner = shipped_learner(fitted(frame), task)
        clones = EstimatorLearner(fitted(frame)).sized(len(task.split.train)).traits
        expected = replace(clones, only_seed=BASE_SEED, original=True)
        assert learner.traits == expected
    assert not shipped_learner(neighbours(frame), task).traits.weighs_rows
    assert shipped_learner(mixed(frame), task).traits.has_weights


def test_traits_are_one_record_and_nothing_beside_it() -> None:
    """Whoever sets one by itself would be right until somebody wraps the learner."""
    for field in fields(Traits):
        with pytest.raises(InputError, match=rf"expected traits = Traits\({field.name}=\.\.\.\)"):
            type("Own", (Learner,), {field.name: True})


class Coin(Learner):
    """A learner as somebody else writes one."""

    name = "coin"
    traits = Traits(has_seeds=False, weighs_rows=False)

    def train(self, recipes: Any, task: Task) -> Stack:
        return NetworkLearner((2,)).train(recipes, task)


def test_a_learner_of_ones_own_says_what_it_can_do(task: Task) -> None:
    assert "the same whatever its seed" in get_family("new-initialization").left_out(Coin(), [task])
    assert not get_family("bootstrap").left_out(Coin(), [task])
    assert not at_threshold(Coin(), "0.6").traits.weighs_rows
