"""The base class catches what an author gets wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof import (
    Access,
    Candidates,
    Context,
    Counterfactuals,
    Factuals,
    InputError,
    Method,
    Network,
    Task,
    evaluation_factuals,
    make_method,
)
from changeproof.methods.answers import NOT_FINITE, NOT_FOUND, UNCHANGED


class Scripted(Method):
    name = "scripted"
    summary = "returns what a test wants"

    def __init__(self, *, answer: object = None) -> None:
        self.answer = answer

    def _search(self, factuals: Factuals) -> Candidates:
        return self.answer(factuals)  # type: ignore[operator,no-any-return]


def ask(context: Context, factuals: Factuals, answer: object) -> object:
    return Scripted(answer=answer).fit(context).generate(factuals)


def test_failures_are_told_apart(small_context: Context, small_factuals: Factuals) -> None:
    def answer(factuals: Factuals) -> Candidates:
        rows = factuals.rows + 1.0
        rows[0] = factuals.rows[0]
        rows[1] = np.nan
        rows[2, 3] = np.inf
        rows[3] = np.nan
        rows[4, 0] = np.nan
        reasons = [""] * len(rows)
        reasons[3] = "no way through"
        return Candidates(rows, reasons=reasons, diagnostics={"step": np.arange(len(rows))})

    answers = Scripted(answer=answer).fit(small_context).generate(small_factuals)
    expected = [UNCHANGED, NOT_FOUND, NOT_FINITE, "no way through", NOT_FINITE]
    assert answers.outcomes[:5].tolist() == expected
    assert answers.found.sum() == len(small_factuals) - 5
    assert np.isnan(answers.rows[:5]).all()
    assert not answers.base_valid[:5].any()
    np.testing.assert_array_equal(answers.diagnostics["step"], np.arange(len(small_factuals)))


def test_a_wrong_shape_is_an_error(small_context: Context, small_factuals: Factuals) -> None:
    with pytest.raises(InputError, match=r"'scripted' returned candidates of shape \(1, 5\)"):
        ask(small_context, small_factuals, lambda f: Candidates(f.rows[:1] + 1))


def test_changing_the_factuals_is_an_error(
    small_context: Context, small_factuals: Factuals
) -> None:
    def answer(factuals: Factuals) -> Candidates:
        factuals.rows[0] += 1
        return Candidates(factuals.rows + 1)

    before = small_factuals.rows.copy()
    with pytest.raises(InputError, match="changed the factuals"):
        ask(small_context, small_factuals, answer)
    np.testing.assert_array_equal(small_factuals.rows, before)


def test_columns_must_have_a_value_per_factual(
    small_context: Context, small_factuals: Factuals
) -> None:
    with pytest.raises(InputError, match="2 values of 'steps' for 40 factuals"):
        ask(
            small_context,
            small_factuals,
            lambda f: Candidates(f.rows + 1, diagnostics={"steps": np.zeros(2)}),
        )
    with pytest.raises(InputError, match="1 values of 'reasons' for 40 factuals"):
        ask(small_context, small_factuals, lambda f: Candidates(f.rows + 1, reasons=["x"]))


def test_a_method_must_be_fitted_and_asked_in_shape(
    small_context: Context, small_factuals: Factuals
) -> None:
    with pytest.raises(InputError, match="must be fitted"):
        Scripted().generate(small_factuals)
    with pytest.raises(InputError, match=r"expected factuals of shape \(n, 5\); got \(2, 3\)"):
        Scripted().fit(small_context).generate(Factuals(np.arange(2), np.zeros((2, 3))))


def test_a_model_must_offer_what_a_method_needs(small_context: Context) -> None:
    class Opaque:
        offers = Access.PREDICTIONS

        def probabilities(self, rows: np.ndarray) -> np.ndarray:
            return np.zeros(len(rows))

        def favourable(self, rows: np.ndarray) -> np.ndarray:
            return np.zeros(len(rows), bool)

    class Greedy(Scripted):
        name = "greedy"
        needs = Access.RELU_PARAMETERS

    context = Context(small_context.task, Opaque(), 0)
    Scripted().fit(context)
    with pytest.raises(InputError, match=r"'greedy' needs relu parameters .* offers predictions"):
        Greedy().fit(context)


def test_a_validity_that_was_not_measured_cannot_be_reported(
    small_context: Context, small_factuals: Factuals
) -> None:
    answers = Scripted(answer=lambda f: Candidates(f.rows + 1e-9)).fit(small_context)
    assert not answers.generate(small_factuals).base_valid.any()


def test_repr_rebuilds_the_call() -> None:
    assert repr(Scripted(answer=3)) == "Scripted(answer=3)"


def test_answers_are_readable(small_task: Task, small_network: Network) -> None:
    context = Context(small_task, small_network, 2026)
    factuals = evaluation_factuals(small_task, small_network, 2026, 12)
    answers = make_method("kdtree").fit(context).generate(factuals)
    frame = answers.to_frame()
    pd.testing.assert_frame_equal(frame, answers.to_frame(small_task.feature_names))
    again = Counterfactuals.from_frame(frame, small_task.feature_names)
    pd.testing.assert_frame_equal(again.to_frame(), frame)
    assert repr(answers) == (
        f"<Counterfactuals: 12 people, {answers.found.sum()} answered, "
        f"{answers.base_valid.sum()} accepted by the base model>"
    )
    html = answers._repr_html_()
    assert "&lt;Counterfactuals: 12 people" in html and "and 2 more" in html
    assert html.count("<tr") == 11
    assert answers.first(3).to_frame().equals(frame.head(3))
