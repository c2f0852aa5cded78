from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

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
from changeproof.models.estimator import EstimatorLearner
from changeproof.runs.resolve import resolve


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_registered", "_imported"):
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


BARE = EstimatorLearner(KNeighborsClassifier())


def test_a_family_says_what_it_needs(small_task: Task) -> None:
    @changeproof.family("moved", needs=("weights", "parameters"), trains=False)
    def moved(task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return [Variant("a", 0, learner.perturbed(base.model, 0.1, base.seed))]

    class Narrow(Wider):
        needs = "hidden"

        def reason_against(self, learner: Learner) -> str | None:
            return "is too narrow" if learner.traits.has_parameters else None

    said = get_family("moved").left_out(BARE, [small_task])
    assert said == "needs weights, as networks and linear models have; this is KNeighborsClassifier"
    assert not get_family("moved").trains
    assert get_family("moved").left_out(NetworkLearner(), [small_task]) == ""
    narrow = Narrow()
    assert narrow.left_out(BARE, [small_task]) == (
        "needs training that follows 'hidden' of a recipe; this is KNeighborsClassifier"
    )
    assert narrow.left_out(NetworkLearner(), [small_task]) == "is too narrow"


def test_a_run_leaves_out_what_a_model_does_not_offer() -> None:
    @changeproof.family("wider", needs="hidden")
    def wider(task: Task, base: BaseModel) -> list[TrainingRecipe]:
        return [TrainingRecipe(initialisation_seed=base.seed, hidden=(3,))]

    def asked(*families: str) -> dict[str, str]:
        values = {"datasets": ["diabetes"], "methods": ["kdtree"], "model": "sklearn:GaussianNB"}
        plan = changeproof.Plan.checked(values | {"families": families}, where="test")
        return dict(resolve(plan).plan.left_out)

    why = "needs training that follows 'hidden' of a recipe; this is GaussianNB"
    assert asked("wider", "bootstrap") == {"wider": why}
    with pytest.raises(InputError, match=f"no family of the plan fits the model: wider {why}"):
        asked("wider")


def fails(task: Task, base: BaseModel) -> Any:
    return {}["nothing"]


def refuses(task: Task, base: BaseModel) -> Any:
    raise InputError("no rows to forget")


def ends_early(task: Task, base: BaseModel) -> Any:
    yield RECIPE
    raise RuntimeError("no more\nand a second line")


@pytest.mark.parametrize(
    ("describe", "message"),
    [
        (fails, "could not describe its changed models: KeyError: 'nothing' (test_extension.py, "),
        (refuses, ": no rows to forget"),
        (ends_early, "could not describe its changed models: RuntimeError: no more (test_ext"),
    ],
)
def test_a_family_that_fails_is_named_in_one_line(
    describe: Callable[..., Any], message: str, small_task: Task, base: BaseModel
) -> None:
    changeproof.register_family(describe, name="mine")
    for made in (variants, lambda family, task, base: build_bank(task, base, [family])):
        with pytest.raises(InputError) as caught:
            made(get_family("mine"), small_task, base)
        assert str(caught.value).startswith("family 'mine'")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


class Confused(Wider):
    def reason_against(self, learner: Learner) -> str | None:
        raise KeyError("nothing")


def test_a_family_that_cannot_say_what_it_needs_is_named(small_task: Task) -> None:
    with pytest.raises(InputError, match="'wider' cannot say whether it fits mlp: KeyError"):
        Confused().left_out(NetworkLearner(), [small_task])


class Abstract(Family):
    name, summary = "abstract", "describes nothing"


class Mute(Wider):
    summary = None


class Greedy(Wider):
    needs = ("weights", "money")


class Countless(Wider):
    needs = 3  # type: ignore[assignment]


class Demanding(Wider):
    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Abstract, "does not define variants"),
        (Mute, "Mute sets no 'summary'"),
        (Demanding, r"Demanding\(\) failed with TypeError: .*every setting needs a default"),
        (Greedy, "family 'mine': unknown need of a family 'money'; expected one of: parameters"),
        (Countless, "unknown need of a family 'an object of type int'"),
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


def test_a_built_in_family_can_be_subclassed_though_its_summary_follows_its_settings() -> None:
    class Gentle(changeproof.CovariateShift):
        name = "gentle-shift"

    changeproof.register_family(Gentle)
    assert "0.25, 0.5 or 1" in get_family("gentle-shift").summary
