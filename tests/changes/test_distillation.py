from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from changeproof import (
    BaseModel,
    EstimatorLearner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    get_family,
)
from changeproof.changes.inherited import STUDENTS
from changeproof.models.recipes import HIDDEN_LAYERS


def recipes(family: str, task: Task, base: BaseModel, learner: object) -> list[TrainingRecipe]:
    found = get_family(family).variants(task, base, learner)  # type: ignore[arg-type]
    return [variant.change for variant in found]  # type: ignore[misc]


def test_students_hear_the_probabilities(small_task: Task, small_network: Network) -> None:
    base = BaseModel(2026, small_network)
    rows = np.concatenate([small_task.rows("train"), small_task.rows("update")])
    found = recipes("distillation", small_task, base, NetworkLearner())
    for recipe in found:
        np.testing.assert_allclose(recipe.labels, small_network.probabilities(rows), atol=1e-6)
        assert (recipe.row_weights == 1.0).all()
    assert {recipe.hidden for recipe in found} == {None, *STUDENTS}
    assert set(STUDENTS) <= set(HIDDEN_LAYERS)
    assert len({recipe.initialisation_seed for recipe in found}) == 25


def test_a_student_is_nearer_to_its_teacher_than_another_network(
    small_task: Task, small_network: Network
) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    student, *_ = recipes("distillation", small_task, base, learner)
    another = TrainingRecipe(initialisation_seed=student.initialisation_seed)
    rows = small_task.rows("test")
    said = learner.train([student, another], small_task).probabilities(rows)
    near, far = np.abs(said - small_network.probabilities(rows)).mean(axis=1)
    assert near < far


def test_other_kinds_hear_the_decisions_and_so_do_their_replacements(small_task: Task) -> None:
    learner = copy(EstimatorLearner(KNeighborsClassifier()))
    learner.replacement_learners = (EstimatorLearner(LogisticRegression()), NetworkLearner())
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], small_task)[0]
    base = BaseModel(2026, model)
    rows = np.concatenate([small_task.rows("train"), small_task.rows("update")])
    found = get_family("distillation(replicates=6)").variants(small_task, base, learner)
    levels = ["the same kind", "LogisticRegression", "mlp"]
    assert [variant.level for variant in found] == [level for level in levels for _ in range(2)]
    decided, said = model.favourable(rows), model.probabilities(rows)
    for variant in found:
        assert isinstance(variant.change, TrainingRecipe)
        heard = said.astype(np.float32) if variant.level == "mlp" else decided
        np.testing.assert_array_equal(variant.change.labels, heard)
        # Another seed would not do: the second is trained on a sample.
        whole = bool((variant.change.row_weights == 1.0).all())
        assert whole == (variant.replicate == 0 or variant.level == "mlp")


def test_students_of_the_base_networks_own_width_are_not_there_twice(small_task: Task) -> None:
    learner = NetworkLearner((16,))
    start = Network.initialised(small_task.n_features, (16,), 2026)
    found = get_family("distillation").variants(small_task, BaseModel(2026, start), learner)
    assert {variant.level for variant in found} == {"the same layers", "64", "16-16", "64-64"}
