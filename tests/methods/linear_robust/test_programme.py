"""Among feasible rows, the nearest certified one: compared with all rows that there are."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Factuals, Task, make_method
from changeproof.datasets.custom import own_task
from changeproof.methods.linear_robust.ball import Norm, ParameterBall
from changeproof.methods.linear_robust.programme import nearest_feasible
from changeproof.model import Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe
from mixed_tasks import may_be_told, random_task

NORMS: tuple[Norm, ...] = ("inf", "1", "2")
ROWS = 120
# Rules, and by how many features people may change.
RULES: list[tuple[dict[str, Any], int | None]] = [
    ({}, None),
    ({"months": {"change": "decrease", "by": 3}, "purpose": {"among": ["car", "trip"]}}, None),
    ({"months": {"low": 0, "high": 9, "step": 3}, "owner": {"change": "none"}}, 2),
    ({"purpose": {"order": ["trip", "car", "house"], "change": "increase"}}, 1),
    ({"debts": {"low": 0.5, "high": 5.5, "step": 2}}, None),
]


def loans(seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "months": generator.integers(0, 11, ROWS),
            "debts": generator.integers(0, 6, ROWS),
            "purpose": generator.choice(["car", "house", "trip"], ROWS),
            "owner": generator.choice(["yes", "no"], ROWS),
        }
    )
    score = frame["debts"] - 0.4 * frame["months"] + 2.0 * (frame["purpose"] == "house")
    score += (frame["owner"] == "yes") + generator.normal(size=ROWS)
    return frame.assign(paid=np.where(score > score.median(), "good", "bad"))


def every_row(task: Task) -> Floats:
    """Return all rows there are; values of numbers are those of the data and of stated steps."""
    values = []
    for feature in task.features:
        if feature.categories:
            values.append(list(feature.categories))
            continue
        action = task.declared.get(feature.name)
        found = {*task.frame[feature.name].tolist()}
        if action is not None and action.step is not None:
            found |= {*np.arange(action.low, action.high + 1e-9, action.step).tolist()}
        values.append(sorted(found))
    names = [feature.name for feature in task.features]
    return task.encoded(pd.DataFrame(list(product(*values)), columns=names))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("actions", "most"), RULES)
def test_no_feasible_row_that_is_certified_is_nearer(
    norm: Norm, actions: dict[str, Any], most: int | None
) -> None:
    task = own_task(loans(3), target="paid", favourable="good", actions=actions, most_changes=most)
    learner = EstimatorLearner(LogisticRegression())
    model: Any = learner.train([TrainingRecipe(initialisation_seed=0)], task)[0]
    context = Context(task, model, 0, PrivateLearner(learner), actions=task.actions)
    everything, found = every_row(task), 0
    people = task.rows("test")[:25]
    people = people[[not reason for reason in task.actions.refusals(people)]]
    for radius in (0.0, 0.15, 0.4):
        ball = ParameterBall(model.coefficients, model.intercept, radius, norm)
        certified = everything[ball.worst_logits(everything) >= 0.0]
        asking = people[ball.logits(people) < 0.0]
        rows = nearest_feasible(task.actions, asking, ball, 0.0)
        method = make_method(f'linear-robust(norm="{norm}", radius={radius})').fit(context)
        answers = method.generate(Factuals(np.arange(len(asking)), asking))
        certified_answers = np.where(
            answers.diagnostics["certified"].astype(bool)[:, None], answers.rows, np.nan
        )
        np.testing.assert_array_equal(certified_answers, rows)
        for person, row in zip(asking, rows, strict=True):
            owner = np.repeat(person[None], len(certified), axis=0)
            allowed = certified[task.actions.feasible(owner, certified)]
            if not len(allowed):
                assert np.isnan(row).all()
                continue
            far = task.distances(np.repeat(person[None], len(allowed), axis=0), allowed)
            assert task.actions.feasible(person[None], row[None]).all()
            assert ball.proven_logits(row[None])[0] >= 0.0
            np.testing.assert_allclose(task.distances(person[None], row[None])[0], far.min())
            found += 1
    assert found > 5


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_told_keeps_to_random_rules_and_is_certified(norm: Norm) -> None:
    answered = 0
    for seed in range(6):
        task = random_task(seed, rows=120)
        learner = EstimatorLearner(LogisticRegression(C=0.1))
        model: Any = learner.train([TrainingRecipe(initialisation_seed=seed)], task)[0]
        context = Context(task, model, 2026, PrivateLearner(learner), actions=task.actions)
        people = Factuals(np.arange(40), task.standardise(task.frame.iloc[:40]))
        method = make_method(f'linear-robust(norm="{norm}", radius=0.02)').fit(context)
        answers = method.generate(people)
        found = answers.found
        answered += int(found.sum())
        before, after = (task.readable(e[found]) for e in (answers.factuals, answers.rows))
        told = zip(before.to_dict("records"), after.to_dict("records"), strict=True)
        assert all(may_be_told(task, *pair) for pair in told)
        assert task.encoded(after).tobytes() == answers.rows[found].tobytes()
        ball = ParameterBall(model.coefficients, model.intercept, 0.02, norm)
        proven = ball.proven_logits(answers.rows[found]) >= 0.0
        said = answers.diagnostics["certified"][found].astype(bool)
        np.testing.assert_array_equal(said, proven)
        worst = answers.diagnostics["worst_logit"][found].astype(float)
        np.testing.assert_allclose(worst, ball.worst_logits(answers.rows[found]))
    assert answered > 40
