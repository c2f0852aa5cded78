from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answered import N_FEATURES, Answered, answered
from changeproof import Network, NetworkStack, survival
from changeproof.model import Model
from changeproof.models.learner import FittedModel, ModelStack, Stack

SHAPES = [(4,), (8, 8), (4,), (2, 3, 2)]


def network(seed: int) -> Network:
    return Network.initialised(N_FEATURES, SHAPES[seed % len(SHAPES)], seed)


def linear(seed: int) -> FittedModel:
    weights = np.random.default_rng(seed).normal(size=N_FEATURES)

    def predict(rows: np.ndarray) -> np.ndarray:
        assert np.isfinite(rows).all(), "a model was asked about a request without an answer"
        return 1.0 / (1.0 + np.exp(-(rows * weights).sum(axis=1)))

    return FittedModel(predict, f"linear {seed}")


def stacked(kind: str, seeds: list[int]) -> tuple[Stack, list[Model]]:
    models: list[Model]
    if kind == "networks":
        networks = [network(seed) for seed in seeds]
        return NetworkStack.of(networks), [*networks]
    models = [linear(seed) if seed % 2 else network(seed) for seed in seeds]
    return ModelStack(models), models


kinds = pytest.mark.parametrize("kind", ["networks", "any models"])
some_seeds = st.lists(st.integers(0, 40), max_size=6)


@kinds
@given(case=answered(), seeds=some_seeds)
@settings(deadline=None, max_examples=50)
def test_survival_is_each_model_asked_about_each_answer(
    kind: str, case: Answered, seeds: list[int]
) -> None:
    stack, models = stacked(kind, seeds)
    survived = survival(case.answers, stack)
    assert survived.shape == (len(case.found), len(models))
    assert survived.dtype == np.bool_
    for i, found in enumerate(case.found):
        for j, model in enumerate(models):
            expected = found and model.probabilities(case.rows[[i]])[0] >= 0.5
            assert survived[i, j] == expected


@kinds
@given(case=answered(fewest=1), seeds=some_seeds)
@settings(deadline=None, max_examples=50)
def test_requests_without_an_answer_survive_nothing(
    kind: str, case: Answered, seeds: list[int]
) -> None:
    nothing = case._replace(found=np.zeros_like(case.found))
    assert not survival(nothing.answers, stacked(kind, seeds)[0]).any()
    assert not survival(case.answers, stacked(kind, seeds)[0])[~case.found].any()


@kinds
@given(case=answered(), seeds=some_seeds, cut=st.integers(0, 6))
@settings(deadline=None, max_examples=50)
def test_parts_of_a_stack_and_of_the_requests_make_up_the_whole(
    kind: str, case: Answered, seeds: list[int], cut: int
) -> None:
    stack, _ = stacked(kind, seeds)
    whole = survival(case.answers, stack)
    middle = min(cut, len(stack))
    by_models = [stack.part(0, middle), stack.part(middle, len(stack))]
    beside = [survival(case.answers, part) for part in by_models]
    np.testing.assert_array_equal(np.concatenate(beside, axis=1), whole)
    by_requests = [case.requests(slice(0, cut)), case.requests(slice(cut, None))]
    below = [survival(part.answers, stack) for part in by_requests]
    np.testing.assert_array_equal(np.concatenate(below), whole)


def test_a_model_that_cannot_decide_is_favourable() -> None:
    undecided = FittedModel(lambda rows: np.full(len(rows), 0.5), "undecided")
    no = FittedModel(lambda rows: np.full(len(rows), np.nextafter(0.5, 0)), "no")
    yes = np.array([True])
    case = Answered(np.zeros((1, 3)), np.ones((1, 3)), yes, yes, yes[:, None])
    assert survival(case.answers, ModelStack([undecided, no])).tolist() == [[True, False]]
