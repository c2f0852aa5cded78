"""What every registered method must keep to."""

from __future__ import annotations

import numpy as np
import pytest

from changeproof import Context, Factuals, InputError, Network, Task, get_method, method_names
from changeproof.methods.answers import ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE, FOUND


@pytest.fixture(params=method_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_answers_are_checked_and_honest(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    answers = get_method(name)().fit(small_context).generate(small_factuals)
    assert answers.rows.shape == small_factuals.rows.shape
    found = answers.found
    assert found.any()
    assert np.isfinite(answers.rows[found]).all()
    assert np.isnan(answers.rows[~found]).all()
    assert (answers.rows[found] != small_factuals.rows[found]).any(axis=1).all()
    favourable = small_context.model.favourable(answers.rows[found])
    np.testing.assert_array_equal(answers.base_valid[found], favourable)
    assert (answers.seconds > 0).all()
    np.testing.assert_array_equal(answers.row_ids, small_factuals.row_ids)


def test_answers_do_not_depend_on_batch_or_order(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    method = get_method(name)().fit(small_context)
    together = method.generate(small_factuals).rows
    backwards = method.generate(small_factuals[np.arange(len(small_factuals))[::-1]]).rows
    np.testing.assert_array_equal(backwards[::-1], together)
    for row in (0, 7, 39):
        alone = get_method(name)().fit(small_context).generate(small_factuals[[row]])
        np.testing.assert_array_equal(alone.rows[0], together[row])


def test_people_who_need_no_recourse_or_cannot_be_judged_get_a_reason(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    task = small_context.task
    train = task.rows("train")
    favourable = train[small_context.model.favourable(train)][0]
    rows = np.array([small_factuals.rows[0], favourable, small_factuals.rows[1]])
    rows[2, 1] = np.nan
    answers = get_method(name)().fit(small_context).generate(Factuals(np.arange(3), rows))
    assert answers.outcomes.tolist() == [FOUND, ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE]
    assert np.isnan(answers.rows[1:]).all()
    assert answers.base_valid.tolist() == [True, False, False]
    nobody = get_method(name)().fit(small_context).generate(Factuals(np.arange(0), rows[:0]))
    assert len(nobody) == 0


def test_a_factual_outside_the_training_range_is_answered_or_refused_with_a_reason(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    far = small_factuals.rows[:5] + 40 * np.sign(small_factuals.rows[:5])
    adverse = ~small_context.model.favourable(far)
    assert adverse.any()
    asked = Factuals(np.arange(adverse.sum()), far[adverse])
    answers = get_method(name)().fit(small_context).generate(asked)
    assert all(outcome for outcome in answers.outcomes)
    assert (answers.found == np.isfinite(answers.rows).all(axis=1)).all()


def test_a_network_that_never_says_yes(
    name: str, small_task: Task, small_factuals: Factuals
) -> None:
    network = Network.initialised(5, (4,), 0)
    never = Network(
        (network.weights[0] * 0, network.weights[1]), (network.biases[0], network.biases[1] - 100)
    )
    answers = get_method(name)().fit(Context(small_task, never, 2026)).generate(small_factuals[:3])
    assert not answers.base_valid.any()


def test_settings_rebuild_the_method(name: str) -> None:
    method = get_method(name)()
    again = type(method)(**method.settings())
    assert again.settings() == method.settings()
    assert repr(again) == repr(method)
    assert method.name == name
    assert method.summary


def test_answers_survive_storage(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    answers = get_method(name)().fit(small_context).generate(small_factuals)
    names = small_context.task.feature_names
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
