from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from benchmarks.planted_attack import smallest_logit
from changeproof import (
    Context,
    Factuals,
    InputError,
    Network,
    Task,
    TrainingData,
    TrainingRecipe,
    evaluation_factuals,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.methods.proplace import Proplace
from changeproof.methods.rnce import RNCE
from plain_hulls import nearest_in_hull
from worst_cases import worst_logits


def lengths(rows: np.ndarray, factuals: Factuals) -> np.ndarray:
    return np.asarray(np.abs(rows - factuals.rows).sum(axis=1))


def vertices(method: Proplace, factual: np.ndarray) -> np.ndarray:
    """The nearest certified training rows and, where it counts, the person."""
    distances = ((method._certified - factual) ** 2).sum(axis=1)
    rows = method._certified[np.argsort(distances)[: method.neighbours]]
    return np.vstack([rows, factual]) if method.with_factual else rows


def in_hull(row: np.ndarray, corners: np.ndarray) -> bool:
    sides = np.vstack([corners.T, np.ones(len(corners))])
    misses = np.hstack([sides, np.eye(len(sides)), -np.eye(len(sides))])
    costs = np.r_[np.zeros(len(corners)), np.ones(2 * len(sides))]
    return bool(linprog(costs, A_eq=misses, b_eq=np.r_[row, 1.0]).fun < 1e-6)


@pytest.fixture(scope="module")
def narrow(small_task: Task) -> tuple[Context, Factuals]:
    """A network that the published programmes can cope with."""
    recipe = TrainingRecipe(initialisation_seed=2026, hidden=(6,))
    network = train([recipe], TrainingData.of(small_task)).stack[0]
    people = evaluation_factuals(small_task, network, 2026, 8)
    return Context(small_task, network, 2026), people


def test_closed_form_of_one_neuron_and_one_row() -> None:
    """On the way t (1, 4), the worst logit is (2 - r) (3 t - r (5 t + 1)) - 1 - r."""
    network = Network(
        (np.array([[1.0, 0.5]], np.float32), np.array([[2.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([-1.0], np.float32)),
    )
    rows = np.tile([[-1.0, -4.0], [1.0, 4.0]], (20, 1))
    task = Task("two", pd.DataFrame(rows), np.tile([0, 1], 20))
    radius, epsilon = 0.03, 0.01
    method = Proplace(radius=radius, neighbours=1, epsilon=epsilon)
    method.fit(Context(task, network, 2026))
    (corner,) = np.unique(method._certified, axis=0)
    answer = method.generate(Factuals(np.arange(1), np.zeros((1, 2))))
    towards, size = corner[0] + 0.5 * corner[1], np.abs(corner).sum()
    share = ((1.0 + radius + epsilon) / (2.0 - radius) + radius) / (towards - radius * size)
    np.testing.assert_allclose(answer.rows[0], share * corner, atol=1e-6)
    assert answer.diagnostics["certified"].all()


@pytest.mark.parametrize(
    "method", [Proplace(radius=0.01), Proplace(radius=0.01, with_factual=False)]
)
def test_answers_are_in_the_hull_and_survive_an_attack_of_another_kind(
    method: Proplace, small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    people = small_factuals[:15]
    method.fit(small_context)
    answers = method.generate(people)
    assert answers.diagnostics["certified"].all()
    assert (worst_logits(ParameterBox(network, 0.01), answers.rows).lower > 0.0).all()
    for row, factual in zip(answers.rows, people.rows, strict=True):
        assert in_hull(row, vertices(method, factual))
    for row in answers.rows[:2]:
        assert smallest_logit(network, 0.01, row, 1) > 0.0
    np.testing.assert_allclose(answers.diagnostics["l1_distance"], lengths(answers.rows, people))
    rows = RNCE(radius=0.01).fit(small_context).generate(people).rows
    nearer = lengths(answers.rows, people) / lengths(rows, people)
    assert nearer.max() <= 1.0
    assert nearer.mean() < (0.7 if method.with_factual else 0.98)


@pytest.mark.parametrize("with_factual", [True, False])
def test_answers_are_about_as_near_as_the_published_programmes_find_them(
    with_factual: bool, narrow: tuple[Context, Factuals]
) -> None:
    context, people = narrow
    method = Proplace(radius=0.02, neighbours=8, with_factual=with_factual).fit(context)
    answers = method.generate(people)
    assert answers.diagnostics["certified"].all()
    published = [
        nearest_in_hull(method._box, factual, vertices(method, factual), method.epsilon)
        for factual in people.rows
    ]
    longer = lengths(answers.rows, people) / lengths(np.array(published), people)
    # Certified points may lie beyond the margin of epsilon that the published ones keep.
    assert longer.min() > 0.97
    assert longer.max() < 1.02


def test_without_rounds_it_is_the_nearest_certified_row_or_nearer(
    small_context: Context, small_factuals: Factuals
) -> None:
    people = small_factuals[:10]
    method = Proplace(rounds=0, with_factual=False).fit(small_context)
    answers = method.generate(people)
    for row, factual in zip(answers.rows, people.rows, strict=True):
        corners = vertices(method, factual)
        nearest = corners[np.abs(corners - factual).sum(axis=1).argmin()]
        np.testing.assert_array_equal(row, nearest)
    known = lengths(answers.rows, people)
    for rounds in (0, 2, 40):
        method.rounds, method.with_factual = rounds, True
        answers = method.generate(people)
        assert answers.diagnostics["certified"].all()
        assert answers.diagnostics["rounds"].max() <= 2 * rounds
        assert (lengths(answers.rows, people) <= known + 1e-12).all()
        known = lengths(answers.rows, people)


def test_where_no_row_is_certified_there_is_no_hull(
    small_context: Context, small_factuals: Factuals
) -> None:
    answers = Proplace(radius=1.0).fit(small_context).generate(small_factuals)
    assert set(answers.outcomes) == {"no training row is certified favourable at radius 1"}
    assert not answers.diagnostics["certified"].any()


@pytest.mark.parametrize(("setting", "value"), [("radius", -1.0), ("neighbours", 0)])
def test_settings_that_make_no_sense_are_refused(setting: str, value: float) -> None:
    with pytest.raises(InputError, match=setting):
        Proplace(**{setting: value})
