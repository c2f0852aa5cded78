from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import changeproof
from changeproof import Access, Candidates, Context, Factuals, InputError, Method, get_method
from changeproof.methods import REGISTRY
from changeproof.methods.extension import KIND


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_registered", "_imported"):
        monkeypatch.setattr(REGISTRY, name, {})
    yield


def halfway(context: Context, factuals: Factuals) -> Any:
    """Go halfway to the mean of the favourable rows.

    There may be more to say.
    """
    rows = context.task.rows("train")
    return (factuals.rows + rows[context.model.favourable(rows)].mean(axis=0)) / 2


class Shift(Method):
    name, summary = "shift", "add a constant"

    def __init__(self, *, by: float = 0.5) -> None:
        self.by = by

    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(factuals.rows + self.by)


def test_a_function_is_a_method(small_context: Context, small_factuals: Factuals) -> None:
    made = changeproof.method("halfway")(halfway)
    assert get_method("halfway") is made
    assert changeproof.method_names()[-1] == "halfway"
    assert "halfway" not in changeproof.builtin_method_names()
    assert made.summary == "Go halfway to the mean of the favourable rows."
    answers = made().fit(small_context).generate(small_factuals)
    np.testing.assert_array_equal(answers.rows, halfway(small_context, small_factuals))
    assert repr(made()) == "halfway()"


def test_a_function_may_return_candidates_and_say_what_it_needs(
    small_context: Context, small_factuals: Factuals
) -> None:
    @changeproof.method("nothing", summary="never finds anything", needs=Access.GRADIENTS)
    def nothing(context: Context, factuals: Factuals) -> Candidates:
        return Candidates(np.full_like(factuals.rows, np.nan), ["too far"] * len(factuals))

    answers = nothing().fit(small_context).generate(small_factuals)
    assert set(answers.outcomes) == {"too far"}
    assert nothing.needs is Access.GRADIENTS
    assert nothing.summary == "never finds anything"


def test_ways_to_register() -> None:
    assert changeproof.register_method(Shift) is Shift
    assert changeproof.register_method(Shift, name="other-name") is Shift
    assert get_method("shift") is get_method("other-name") is Shift
    assert changeproof.register_method(halfway).name == "halfway"

    @changeproof.register_method(name="shift-more")
    class ShiftMore(Shift):
        pass

    @changeproof.register_method()
    class Third(Shift):
        name = "third"

    assert get_method("shift-more") is ShiftMore
    assert get_method("third") is Third


class Abstract(Method):
    name, summary = "abstract", "lacks its search"


class Nameless(Shift):
    name = None


class Demanding(Shift):
    def __init__(self, *, by: float) -> None:
        super().__init__(by=by)


class BadNeeds(Shift):
    needs = "weights"


class BadTuning(Shift):
    @classmethod
    def tuning_candidates(cls) -> list[Method]:
        raise RuntimeError("no grid")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Abstract, "does not define _search"),
        (Nameless, "Nameless sets no 'name'"),
        (Demanding, r"Demanding\(\) failed with TypeError: .*default"),
        (BadTuning, r"failed with RuntimeError: no grid"),
        (BadNeeds, "needs is 'weights'; expected an Access"),
        (Shift(), "is an object of type Shift; expected a subclass of changeproof.Method"),
        (dict, "is the class dict; expected a subclass"),
        (None, "is None; expected"),
        (lambda factuals: factuals, r"<lambda>\(factuals\) cannot be called with \(context, fact"),
    ],
)
def test_what_cannot_be_a_method(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        KIND.accept(given, "mine")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda rows: rows[:-1],
            r"method 'wrong' returned candidates of shape \(39, 5\); expected",
        ),
        (lambda rows: rows[0], r"shape \(5,\); expected \(40, 5\)"),
        (lambda rows: None, r"shape \(\); expected \(40, 5\)"),
        (lambda rows: "a row", "'wrong' returned an object of type str; expected an array of sha"),
        (lambda rows: [[1.0], [1.0, 2.0]], "returned an object of type list; expected an array"),
    ],
)
def test_wrong_answers_of_functions_are_the_authors(
    answer: Callable[[Any], Any],
    message: str,
    small_context: Context,
    small_factuals: Factuals,
) -> None:
    @changeproof.method("wrong")
    def wrong(context: Context, factuals: Factuals) -> Any:
        return answer(factuals.rows)

    with pytest.raises(InputError, match=message):
        wrong().fit(small_context).generate(small_factuals)


def test_built_ins_cannot_be_replaced() -> None:
    with pytest.raises(InputError, match="'kdtree' is a built-in method"):
        changeproof.method("kdtree")(halfway)
    with pytest.raises(InputError, match="the class Nameless has no name; give one"):
        changeproof.register_method(Nameless)
