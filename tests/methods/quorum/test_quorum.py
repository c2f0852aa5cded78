"""quorum: what it says of its answers is so, for networks, other models and feasible rows."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from changeproof import (
    Context,
    Counterfactuals,
    Factuals,
    InputError,
    Quorum,
)
from changeproof.arithmetic.votes import least_share
from changeproof.datasets.split import Part
from changeproof.methods.quorum.agreement import Agreement
from changeproof.methods.quorum.points import AgreedPoints
from changeproof.model import Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe
from changeproof.randomness import stream
from constrained import asked, loans_task
from plain_searches import alike, plain_agreement

SMALL = {"members": 8, "judges": 8, "witnesses": 12, "people": 50, "target": 0.95}


@cache
def answered(feasible: bool) -> tuple[Context, Factuals, Quorum, Counterfactuals]:
    context, people = asked(loans_task(None), 30)
    if not feasible:
        context = replace(context, actions=None)
    method = Quorum(**SMALL).fit(context)
    return context, people, method, method.generate(people)


@pytest.mark.parametrize("feasible", [False, True])
def test_the_base_model_accepts_and_the_pool_agrees(feasible: bool) -> None:
    context, people, method, answers = answered(feasible)
    assert answers.found.all()
    assert answers.base_valid.all()
    agreed, threshold = answers.diagnostics["agreement"], method.calibrated.threshold
    assert (agreed >= threshold).mean() > 0.5
    assert set(answers.diagnostics["threshold"]) == {threshold}
    models = [method._agreement.models[place] for place in range(9)]
    np.testing.assert_array_equal(
        models[0].probabilities(people.rows), context.model.probabilities(people.rows)
    )
    again = plain_agreement(models[1:], context.task.rows("train"), answers.rows)
    np.testing.assert_allclose(agreed, again, rtol=1e-9)
    accepted = method._witnesses.stack.favourable(answers.rows).sum(axis=0)
    np.testing.assert_array_equal(answers.diagnostics["accepted"], accepted)
    exact = [least_share(0.95, votes, 12) for votes in accepted]
    np.testing.assert_array_equal(answers.diagnostics["at_least"], exact)
    assert set(answers.diagnostics["asked"]) == {12}
    # Nothing is promised to whoever cannot reach the threshold.
    promised = np.where(agreed >= threshold, 0.95, np.nan)
    np.testing.assert_array_equal(answers.diagnostics["promised"], promised)
    assert method.calibrated.people == method.calibrated.unfitted == 50
    if feasible:
        assert context.actions is not None
        assert context.actions.feasible(people.rows, answers.rows).all()
    else:
        low, high = context.task.training_range
        outside = (answers.rows < np.minimum(low, people.rows) - 1e-12) | (
            answers.rows > np.maximum(high, people.rows) + 1e-12
        )
        assert not outside.any()


@pytest.mark.parametrize("feasible", [False, True])
def test_answers_do_not_depend_on_batch_or_order(feasible: bool) -> None:
    _, people, method, answers = answered(feasible)
    backwards = method.generate(people[np.arange(len(people))[::-1]])
    np.testing.assert_array_equal(backwards.rows[::-1], answers.rows)
    alone = method.generate(people[[4]])
    np.testing.assert_array_equal(alone.rows[0], answers.rows[4])


def adverse(context: Context, *parts: Part) -> Floats:
    """Rows that the base model rejects, in the order in which quorum draws them."""
    rows = np.concatenate([context.task.rows(part) for part in parts])
    rows = rows[~context.model.favourable(rows)]
    draw = stream(context.task.name, context.base_seed, "quorum people", *parts)
    return rows[draw.permutation(len(rows))]


def test_the_calibrated_share_is_what_the_judges_say() -> None:
    context, _, method, _ = answered(False)
    chosen, again = method.calibrated, copy(method)
    assert chosen.estimate >= 0.95
    people = adverse(context, "validation", "update")[:50]
    # Counted slowly: of every person the most that is lost with this threshold or a larger one.
    lost = np.zeros(50)
    for again._threshold in [each for each in method._thresholds if each >= chosen.threshold]:
        for place, row in enumerate(people):
            answer = again.generate(Factuals(np.zeros(1, np.int64), row[None])).rows
            if method._agreement.log_odds(answer)[0] < again._threshold:
                continue
            accepted = method._judges.jury.stack.favourable(answer)[:, 0]
            # Eight judges, one of every kind.
            lost[place] = max(lost[place], 1.0 - accepted.mean())
    assert lost.any()
    assert chosen.estimate == pytest.approx(1.0 - (lost.sum() + 1.0) / 51.0)


def test_three_sets_of_people_and_three_of_models() -> None:
    """Others than training rows choose the threshold; who asks has a part in nothing."""
    context, people, method, _ = answered(False)
    trying = method._people()
    assert trying.unfitted == len(trying.people) == 50
    others = adverse(context, "validation", "update")
    np.testing.assert_array_equal(trying.people.rows, others[:50])
    assert not set(trying.people.row_ids) & set(people.row_ids)
    # Too few for a target: training rows are added, up to as many as are asked for.
    few = copy(method)
    few.target, few.people = 0.99, 150
    trying = few._people()
    assert (trying.unfitted, len(trying.people)) == (54, 150)
    np.testing.assert_array_equal(trying.people.rows[:54], others)
    np.testing.assert_array_equal(trying.people.rows[54:], adverse(context, "train")[:96])
    # Enough for another target, and as many as are asked for of a third.
    few.target, few.people = 0.96, 150
    assert len(few._people().people) == 54
    few.target, few.people = 0.999, 40
    assert few._people().unfitted == len(few._people().people) == 40


def test_sparsity_spares_features_at_a_price_that_is_kept() -> None:
    context, people, _, _ = answered(False)
    lengths, changed = [], []
    for sparsity in (0.0, 0.15):
        base, *pool = alike(context.task.n_features, 4)
        agreement = Agreement.of(base, pool, context.task.rows("train"))
        points = AgreedPoints(agreement, context.task, sparsity)
        rows = points.search(people.rows, 0.5)
        there = np.isfinite(rows).all(axis=1)
        assert there.mean() > 0.5
        lengths.append(context.task.distances(people.rows, rows))
        changed.append((rows != people.rows)[there].sum())
    assert changed[1] < changed[0]
    there = np.isfinite(lengths[0])
    assert (lengths[1][there] <= 1.15 * lengths[0][there] + 1e-9).all()


def test_models_without_gradients_are_searched_by_predictions() -> None:
    task = loans_task(2)
    learner = EstimatorLearner(HistGradientBoostingClassifier(max_iter=20, random_state=0))
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    rows = task.rows("test")
    adverse = np.flatnonzero(~model.favourable(rows))[:12]
    people = Factuals(task.row_ids("test")[adverse], rows[adverse])
    context = Context(task, model, 2026, PrivateLearner(learner), task.actions)
    method = Quorum(members=6, judges=6, witnesses=4, people=30, target=0.9).fit(context)
    answers = method.generate(people)
    assert answers.base_valid[answers.found].all()
    assert answers.found.sum() > 6
    assert task.actions.feasible(people.rows[answers.found], answers.rows[answers.found]).all()
    found = answers.found
    pool = [method._agreement.models[place] for place in range(1, 7)]
    again = plain_agreement(pool, task.rows("train"), answers.rows[found])
    np.testing.assert_allclose(answers.diagnostics["agreement"][found], again, rtol=1e-9)
    assert (again >= method.calibrated.threshold - 1e-9).any()
    alone = method.generate(people[[3]])
    np.testing.assert_array_equal(alone.rows[0], answers.rows[3])


def test_an_odd_member_does_not_send_everybody_away() -> None:
    context, people, method, _ = answered(False)
    training = context.task.rows("train")
    pool = [method._agreement.models[place] for place in range(1, 9)] * 3
    first = pool[0]
    # One that refuses nearly everything.
    odd = replace(first, biases=(*first.biases[:-1], first.biases[-1] - np.float32(50.0)))
    far = []
    for members in (pool, [*pool[:-1], odd]):
        points = AgreedPoints(Agreement.of(context.model, members, training), context.task, 0.0)
        rows = points.search(people.rows, 2.0)
        assert np.isfinite(rows).all()
        far.append(context.task.distances(people.rows, rows).mean())
    assert far[0] < far[1] < 1.3 * far[0]


def test_who_cannot_have_the_threshold_gets_the_largest_that_there_is() -> None:
    _, people, method, _ = answered(False)
    method = copy(method)
    method._threshold = 20.0
    assert method._points is not None
    rows = method._nearest_points(method._points, people.rows)
    assert method.context.model.favourable(rows).all()
    agreed = method._agreement.log_odds(rows)
    # The best of all training rows agrees no more, but for a step of the coarse thresholds.
    assert (agreed >= min(method._agreed.max(), 4.5) - 0.5).mean() > 0.5
    assert (agreed < 20.0).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"target": 1.0}, "target should be less than 1; got 1.0"),
        ({"members": 0}, "members should be greater than 0; got 0"),
        ({"sparsity": -0.1}, "sparsity should be greater than or equal to 0; got -0.1"),
        ({"expect": "weather"}, "unknown kind of change 'weather'"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Quorum(**settings)  # type: ignore[arg-type]


def test_what_cannot_happen_to_a_model_cannot_be_expected() -> None:
    task = loans_task(None)
    learner = EstimatorLearner(HistGradientBoostingClassifier(max_iter=3, random_state=0))
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    context = Context(task, model, 2026, PrivateLearner(learner))
    with pytest.raises(InputError, match="expects 'parameter-perturbation', which cannot happen"):
        Quorum(expect=("parameter-perturbation",)).fit(context)
