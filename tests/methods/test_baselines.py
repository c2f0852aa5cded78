from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Factuals, Network, Task, get_method, tune
from changeproof.methods.kdtree import KDTree
from changeproof.methods.tuning import chosen
from changeproof.methods.wachter import Wachter
from changeproof.models.estimator import EstimatorLearner
from changeproof.networks.training import TrainingRecipe


def test_kdtree_is_the_nearest_favourable_training_row(
    small_context: Context, small_factuals: Factuals
) -> None:
    rows = small_context.task.rows("train")
    favourable = [row for row in rows if small_context.model.probabilities(row[None])[0] >= 0.5]
    answers = KDTree().fit(small_context).generate(small_factuals)
    for factual, answer in zip(small_factuals.rows, answers.rows, strict=True):
        nearest = min(favourable, key=lambda row: float(((row - factual) ** 2).sum()))
        np.testing.assert_array_equal(answer, nearest)
    assert answers.base_valid.all()


def test_kdtree_without_a_favourable_row_says_so(
    small_task: Task, small_factuals: Factuals
) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    answers = KDTree().fit(Context(small_task, never, 0)).generate(small_factuals)
    assert set(answers.outcomes) == {"no training row is predicted favourable"}


def plain_wachter(
    network: Network, x: np.ndarray, *, penalty: float, rate: float, max_steps: int
) -> np.ndarray:
    """One factual at a time, with PyTorch's optimiser and autograd."""
    module = network.to_torch().double()
    start = torch.tensor(x)
    here = start.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([here], lr=rate, amsgrad=True)
    for _ in range(max_steps):
        probability = module(here[None])[0, 0]
        optimiser.zero_grad()
        loss = len(x) * -torch.log(probability) + penalty * (here - start).abs().sum()
        loss.backward()
        optimiser.step()
        if probability.item() >= 0.501:
            break
    return here.detach().numpy()


def test_on_a_linear_model_wachter_finds_the_nearest_row_of_the_closed_form() -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(400, 4)) * [1, 5, 0.3, 20] + [0, 10, 1, 100]
    logits = (rows - rows.mean(axis=0)) / rows.std(axis=0) @ [1.5, -1.0, 0.4, 0.7]
    labels = (logits + generator.logistic(size=400) > 0).astype(int)
    fine = {name: {"step": 1e-6} for name in "abcd"}
    task = Task("plane", pd.DataFrame(rows, columns=list("abcd")), labels, actions=fine)
    learner = EstimatorLearner(LogisticRegression())
    model: Any = learner.train([TrainingRecipe(initialisation_seed=1)], task)[0]
    rejected = ~model.favourable(task.rows("test"))
    people = Factuals(task.row_ids("test")[rejected], task.rows("test")[rejected])
    context = Context(task, model, 1, actions=task.actions)
    method = Wachter()
    answers = method.fit(context).generate(people)
    target = np.log(method.target / (1 - method.target))
    # The one feature that gains most for its distance, moved as far as the target needs.
    needed = target - (people.rows @ model.coefficients + model.intercept)
    prices = task.distance_weights / np.abs(model.coefficients)
    assert answers.base_valid.all()
    distances = task.distances(people.rows, answers.rows)
    # Halving seven times leaves a 128th.
    assert (distances >= needed * prices.min() - 1e-9).all()
    assert (distances <= needed * prices.min() * (1 + 2 / 128)).all()


@pytest.mark.parametrize(("penalty", "rate"), [(1.0, 0.01), (0.1, 0.02)])
def test_wachter_walks_as_pytorch_does(
    penalty: float, rate: float, cancer: Task, cancer_network: Network
) -> None:
    rows = cancer.rows("test")
    rows = rows[~cancer_network.favourable(rows)][:12]
    method = Wachter(penalty=penalty, learning_rate=rate).fit(Context(cancer, cancer_network, 0))
    answers = method.generate(Factuals(np.arange(12), rows))
    for x, answer in zip(rows, answers.rows, strict=True):
        slow = plain_wachter(cancer_network, x, penalty=penalty, rate=rate, max_steps=20_000)
        np.testing.assert_allclose(answer, slow, atol=1e-6)
    assert answers.base_valid.all()


def test_wachter_returns_the_last_iterate_when_the_budget_ends(
    cancer: Task, cancer_network: Network
) -> None:
    rows = cancer.rows("test")
    rows = rows[cancer_network.logits(rows) < -3][:5]
    method = Wachter(max_steps=7).fit(Context(cancer, cancer_network, 0))
    answers = method.generate(Factuals(np.arange(5), rows))
    assert answers.found.all()
    assert (answers.diagnostics["steps"] == 7).all()
    slow = plain_wachter(cancer_network, rows[0], penalty=1.0, rate=0.01, max_steps=7)
    np.testing.assert_allclose(answers.rows[0], slow, atol=1e-9)


def test_wachter_grid_is_the_papers() -> None:
    grid = {(m.penalty, m.learning_rate) for m in Wachter.tuning_candidates()}
    assert grid == {(p, r) for p in (0.01, 0.1, 1.0) for r in (0.01, 0.02)}
    assert not KDTree.tuning_candidates()


def test_tuning_prefers_validity_then_distance(
    small_context: Context, small_factuals: Factuals
) -> None:
    candidates = [
        Wachter(max_steps=3),
        Wachter(learning_rate=0.3),
        Wachter(penalty=1.0),
        Wachter(penalty=0.01),
    ]
    table = tune(candidates, small_context, small_factuals)
    valid = table["base_validity"] == table["base_validity"].max()
    best = table[valid]["distance"].idxmin()
    assert table["chosen"].tolist() == [i == best for i in range(4)]
    assert table["base_validity"][0] < 1
    for i, candidate in enumerate(candidates):
        answers = candidate.fit(small_context).generate(small_factuals)
        assert table["base_validity"][i] == answers.base_valid.mean()
    picked = chosen(candidates[0], table)
    assert picked.settings() == candidates[int(best)].settings()
    assert json.loads(table["settings"][1])["learning_rate"] == 0.3


def test_tuning_with_nothing_valid_still_chooses_one(
    small_task: Task, small_factuals: Factuals
) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    candidates = [get_method("wachter")(max_steps=2) for _ in range(2)]
    table = tune(candidates, Context(small_task, never, 0), small_factuals)
    assert table["chosen"].tolist() == [True, False]
    assert isinstance(table, pd.DataFrame)
