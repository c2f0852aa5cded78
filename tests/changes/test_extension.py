from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import changeproof
from changeproof import (
    BaseModel,
    Family,
    InputError,
    Learner,
    Network,
    NetworkLearner,
    Task,
    TrainingRecipe,
    Variant,
    build_bank,
    get_family,
)
from changeproof.changes import REGISTRY
from changeproof.changes.bank import checked_variants


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_registered", "_found"):
        monkeypatch.setattr(REGISTRY, name, {})
    yield


@pytest.fixture
def base(small_network: Network) -> BaseModel:
    return BaseModel(2026, small_network)


def variants(family: Family, task: Task, base: BaseModel) -> list[Variant]:
    return checked_variants(family, task, base, NetworkLearner())


class Wider(Family):
    name, summary = "wider", "more units"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        recipe = TrainingRecipe(initialisation_seed=base.seed, max_epochs=2)
        return [Variant(f"{w}", 0, replace(recipe, hidden=(w,))) for w in (8, 9)]


def test_a_function_is_a_family(small_task: Task, base: BaseModel) -> None:
    @changeproof.family("wider")
    def wider(task: Task, base: BaseModel) -> Iterator[TrainingRecipe]:
        """Train wider networks."""
        for width in (8, 9):
            yield TrainingRecipe(initialisation_seed=base.seed, hidden=(width,), max_epochs=2)

    assert changeproof.family_names()[-1] == "wider"
    assert "wider" not in changeproof.builtin_family_names()
    found = get_family("wider")
    assert (found.name, found.summary) == ("wider", "Train wider networks.")
    described = [(v.level, v.replicate) for v in variants(found, small_task, base)]
    assert described == [("all", 0), ("all", 1)]
    bank = build_bank(small_task, base, [found])
    assert [network.hidden for network in bank.stack] == [(8,), (9,)]
    assert set(bank.table["family"]) == {"wider"}


def test_a_class_goes_by_the_name_it_is_asked_for(small_task: Task, base: BaseModel) -> None:
    assert changeproof.register_family(Wider) is Wider
    changeproof.register_family(Wider, name="much-wider")
    for name in ("wider", "much-wider"):
        assert get_family(name).name == name
        assert len(variants(get_family(name), small_task, base)) == 2


RECIPE = TrainingRecipe(initialisation_seed=1)


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (lambda task, base: None, "family 'wrong' returned None; expected a list of variants"),
        (lambda task, base: [], "family 'wrong' describes no changed model"),
        (lambda task, base: [3], "variant 0 is an object of type int; expected a Variant"),
        (
            lambda task, base: [RECIPE, Variant("a", 0, "b")],
            "variant 1 changes to an object of type str; expected a TrainingRecipe or a model",
        ),
        (
            lambda task, base: [Variant("a", 0, Network.initialised(3, (2,), 0))],
            "variant 0 takes 3 features; expected 5",
        ),
        (
            lambda task, base: [replace(RECIPE, row_weights=np.ones(7))],
            r"variant 0 has row_weights of shape \(7,\); expected \(240,\): the training rows",
        ),
        (
            lambda task, base: [replace(RECIPE, row_weights=-np.ones(240))],
            "variant 0 has row_weights that are not finite, negative or all zero",
        ),
        (
            lambda task, base: [replace(RECIPE, labels=np.full(240, 2))],
            "variant 0 has labels other than 0 and 1",
        ),
    ],
)
def test_wrong_descriptions_are_refused(
    describe: Callable[..., Any], message: str, small_task: Task, base: BaseModel
) -> None:
    changeproof.register_family(describe, name="wrong")
    with pytest.raises(InputError, match=message):
        variants(get_family("wrong"), small_task, base)


class Abstract(Family):
    name, summary = "abstract", "describes nothing"


class Mute(Wider):
    summary = None


class Demanding(Wider):
    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Abstract, "does not define variants"),
        (Mute, "Mute sets no 'summary'"),
        (Demanding, r"Demanding\(\) failed with TypeError: .*every setting needs a default"),
        (Wider(), "is an object of type Wider; expected a subclass of changeproof.Family"),
        (lambda task: [], r"<lambda>\(task\) cannot be called with \(task, base, learner\)"),
    ],
)
def test_what_cannot_be_a_family(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        changeproof.register_family(given, name="mine")
    assert "mine" not in changeproof.family_names()


def test_built_ins_cannot_be_replaced() -> None:
    with pytest.raises(InputError, match="'bootstrap' is a built-in family"):
        changeproof.register_family(Wider, name="bootstrap")
