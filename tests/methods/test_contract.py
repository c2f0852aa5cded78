"""What every registered method must keep to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from changeproof import (
    Context,
    Factuals,
    InputError,
    evaluation_factuals,
    get_method,
    method_names,
)
from changeproof.methods.answers import ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE, FOUND
from offering import Offered, offering


@pytest.fixture(params=method_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def offered(name: str, small_context: Context) -> Offered:
    return offering(get_method(name).needs, small_context)


@pytest.fixture
def context(offered: Offered) -> Context:
    """The small task, with a model that offers what the method needs."""
    return offered.context


@pytest.fixture
def factuals(context: Context) -> Factuals:
    return evaluation_factuals(context.task, context.model, 2026, 40)


def test_answers_are_checked_and_honest(name: str, context: Context, factuals: Factuals) -> None:
    answers = get_method(name)().fit(context).generate(factuals)
    assert answers.rows.shape == factuals.rows.shape
    found = answers.found
    assert found.any()
    assert np.isfinite(answers.rows[found]).all()
    assert np.isnan(answers.rows[~found]).all()
    assert (answers.rows[found] != factuals.rows[found]).any(axis=1).all()
    favourable = context.model.favourable(answers.rows[found])
    np.testing.assert_array_equal(answers.base_valid[found], favourable)
    assert (answers.seconds > 0).all()
    np.testing.assert_array_equal(answers.row_ids, factuals.row_ids)


def test_answers_do_not_depend_on_batch_or_order(
    name: str, context: Context, factuals: Factuals
) -> None:
    method = get_method(name)().fit(context)
    together = method.generate(factuals).rows
    backwards = method.generate(factuals[np.arange(len(factuals))[::-1]]).rows
    np.testing.assert_array_equal(backwards[::-1], together)
    for row in (0, 7, 39):
        alone = get_method(name)().fit(context).generate(factuals[[row]])
        np.testing.assert_array_equal(alone.rows[0], together[row])


def test_people_who_need_no_recourse_or_cannot_be_judged_get_a_reason(
    name: str, context: Context, factuals: Factuals
) -> None:
    task = context.task
    train = task.rows("train")
    favourable = train[context.model.favourable(train)][0]
    rows = np.array([factuals.rows[0], favourable, factuals.rows[1]])
    rows[2, 1] = np.nan
    answers = get_method(name)().fit(context).generate(Factuals(np.arange(3), rows))
    assert answers.outcomes.tolist() == [FOUND, ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE]
    assert np.isnan(answers.rows[1:]).all()
    assert answers.base_valid.tolist() == [True, False, False]
    nobody = get_method(name)().fit(context).generate(Factuals(np.arange(0), rows[:0]))
    assert len(nobody) == 0


def test_a_factual_outside_the_training_range_is_answered_or_refused_with_a_reason(
    name: str, context: Context, factuals: Factuals
) -> None:
    far = factuals.rows[:5] + 40 * np.sign(factuals.rows[:5])
    adverse = ~context.model.favourable(far)
    assert adverse.any()
    asked = Factuals(np.arange(adverse.sum()), far[adverse])
    answers = get_method(name)().fit(context).generate(asked)
    assert all(outcome for outcome in answers.outcomes)
    assert (answers.found == np.isfinite(answers.rows).all(axis=1)).all()


def test_a_model_that_never_says_yes(name: str, offered: Offered, factuals: Factuals) -> None:
    never = replace(offered.context, model=offered.never)
    answers = get_method(name)().fit(never).generate(factuals[:3])
    assert not answers.base_valid.any()


def test_settings_rebuild_the_method(name: str) -> None:
    method = get_method(name)()
    again = type(method)(**method.settings())
    assert again.settings() == method.settings()
    assert repr(again) == repr(method)
    assert method.name == name
    assert method.summary


def test_answers_survive_storage(name: str, context: Context, factuals: Factuals) -> None:
    answers = get_method(name)().fit(context).generate(factuals)
    names = context.task.feature_names
    frame = answers.to_frame(names)
    back = type(answers).from_frame(frame, names, answers.seconds.sum())
    for field in ("row_ids", "factuals", "rows", "outcomes", "base_valid"):
        np.testing.assert_array_equal(getattr(back, field), getattr(answers, field))
    np.testing.assert_allclose(back.seconds, answers.seconds)
    assert np.isnan(type(answers).from_frame(frame, names).seconds).all()
    assert back.diagnostics.keys() == answers.diagnostics.keys()


def test_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="unknown method 'dice'; expected one of: "):
        get_method("dice")
