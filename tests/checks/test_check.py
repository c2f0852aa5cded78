from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from changeproof import (
    Access,
    BaseModel,
    Candidates,
    Context,
    Factuals,
    Method,
    Network,
    Task,
    TrainingRecipe,
    Variant,
    check_family,
    check_method,
)


class Good(Method):
    """Nothing to be said against it; the others spoil one thing each."""

    name, summary = "good", "towards the mean of the favourable rows"

    def __init__(self, *, share: float = 0.9) -> None:
        self.share = share

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        favourable = rows[self.context.model.favourable(rows)]
        self.goal = favourable.mean(axis=0) if len(favourable) else None

    def rows(self, factuals: Factuals) -> Any:
        return factuals.rows + self.share * (self.goal - factuals.rows)

    def _search(self, factuals: Factuals) -> Candidates:
        if self.goal is None:
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, reasons=["nobody is favourable"] * len(factuals))
        return Candidates(self.rows(factuals))


class LooksAtTheBatch(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals) + factuals.rows.mean(axis=0)


class LooksAtTheOrder(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals) + np.linspace(0, 1e-3, len(factuals))[:, None]


class GlobalRandom(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals) + np.random.normal(size=factuals.rows.shape)  # noqa: NPY002


class Seeding(Good):
    def rows(self, factuals: Factuals) -> Any:
        np.random.seed(3)  # noqa: NPY002
        return super().rows(factuals)


class SeedingPyTorch(Good):
    def rows(self, factuals: Factuals) -> Any:
        torch.manual_seed(3)
        return super().rows(factuals)


class SeedingAForkOfPyTorch(Good):
    def rows(self, factuals: Factuals) -> Any:
        torch.nn.Linear(2, 2)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            return super().rows(factuals)


class Remembers(Good):
    asked = 0

    def rows(self, factuals: Factuals) -> Any:
        self.asked += 1
        return super().rows(factuals) * self.asked


class OwnProcess(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals) + os.getpid() * 1e-6


class ChangesFactuals(Good):
    def rows(self, factuals: Factuals) -> Any:
        factuals.rows[:] += 1.0
        return factuals.rows


class ChangesTheTask(Good):
    def rows(self, factuals: Factuals) -> Any:
        self.context.task.labels[:] = 1 - self.context.task.labels
        return super().rows(factuals)


class GivesTheFactual(Good):
    def rows(self, factuals: Factuals) -> Any:
        return factuals.rows.copy()


class GivesInfinity(Good):
    def rows(self, factuals: Factuals) -> Any:
        return np.full_like(factuals.rows, np.inf)


class GivesNothing(Good):
    def rows(self, factuals: Factuals) -> Any:
        return np.full_like(factuals.rows, np.nan)


class GivesAnArray(Good):
    def _search(self, factuals: Factuals) -> Any:
        return factuals.rows + 1


class GivesAList(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals).tolist()


class WrongShape(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals)[:-1]


class RaisesWithoutFavourable(Good):
    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(self.rows(factuals))


class FactualWithoutFavourable(Good):
    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(factuals.rows.copy() if self.goal is None else self.rows(factuals))


class RaisesWithActions(Good):
    def _search(self, factuals: Factuals) -> Candidates:
        assert self.context.actions is None
        return super()._search(factuals)


class LooksAtTheBatchWithActions(Good):
    def _search(self, factuals: Factuals) -> Candidates:
        found = super()._search(factuals)
        if self.context.actions is None:
            return found
        return Candidates(found.rows + len(factuals))


class UsesWeights(Good):
    def rows(self, factuals: Factuals) -> Any:
        return super().rows(factuals) + 0.0 * self.context.model.weights[0].sum()


class UsesGradients(UsesWeights):
    needs = Access.GRADIENTS


class Straight(Method):
    """Goes straight through the boundary of a linear model."""

    name, summary = "straight", "the shortest way across the boundary"
    needs = Access.LINEAR

    def _search(self, factuals: Factuals) -> Candidates:
        model: Any = self.context.model
        weights = model.coefficients
        logits = (factuals.rows * weights).sum(axis=1) + model.intercept
        steps = (0.01 - logits) / (weights**2).sum()
        return Candidates(factuals.rows + steps[:, None] * weights)


class LosesSettings(Good):
    def __init__(self, *, share: float = 0.9) -> None:
        self.share = share + 0.01


ODD = np.float32(0.9)


class SettingsOfAnyKind(Good):
    def __init__(self, *, share: Any = ODD) -> None:
        self.share = share


class OddDiagnostics(Good):
    def _search(self, factuals: Factuals) -> Candidates:
        found = super()._search(factuals)
        odd = np.array([object() for _ in factuals.rows], dtype=object)
        return replace(found, diagnostics={"odd": odd})


BROKEN = [
    (LooksAtTheBatch, {"batch size", "people who need none", "constraints"}),
    (LooksAtTheOrder, {"batch size", "order", "people who need none", "constraints"}),
    (RaisesWithActions, {"constraints"}),
    (LooksAtTheBatchWithActions, {"constraints"}),
    (
        GlobalRandom,
        {"batch size", "order", "repetition", "another process", "no side effects"}
        | {"people who need none", "constraints"},
    ),
    (Seeding, {"no side effects"}),
    (SeedingPyTorch, {"no side effects"}),
    (Remembers, {"repetition"}),
    (OwnProcess, {"another process"}),
    (ChangesFactuals, {"answers"}),
    (ChangesTheTask, {"no side effects"}),
    (GivesTheFactual, {"answers"}),
    (GivesInfinity, {"answers"}),
    (GivesNothing, {"answers"}),
    (GivesAnArray, {"answers"}),
    (GivesAList, {"answers"}),
    (WrongShape, {"answers"}),
    (RaisesWithoutFavourable, {"no answer exists"}),
    (FactualWithoutFavourable, {"no answer exists"}),
    (UsesWeights, {"needs", "no answer exists"}),
    (UsesGradients, {"needs", "no answer exists"}),
    (LosesSettings, {"name and settings"}),
    (SettingsOfAnyKind, {"name and settings"}),
    (OddDiagnostics, {"storage"}),
]


@pytest.mark.parametrize(
    ("method", "expected"), BROKEN, ids=lambda value: getattr(value, "__name__", "")
)
def test_each_breach_is_found_by_its_check(method: type[Method], expected: set[str]) -> None:
    failed = {finding.check: finding for finding in check_method(method) if finding.failed}
    assert set(failed) <= expected
    assert failed.keys() & expected
    for finding in failed.values():
        assert finding.seen
        assert finding.fix


@pytest.mark.parametrize(
    "method", [Good, SeedingAForkOfPyTorch, Straight, "kdtree", "wachter", "rnce"]
)
def test_good_methods_pass(method: Any) -> None:
    findings = check_method(method)
    assert len(findings) == 14
    assert not [finding for finding in findings if finding.failed]
    (speed,) = [finding for finding in findings if finding.check == "speed"]
    assert speed.outcome == "info"


def test_a_function_can_be_checked() -> None:
    def up(context: Context, factuals: Factuals) -> Any:
        return factuals.rows + 1.0

    assert not [finding for finding in check_method(up) if finding.failed]


def recipes(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    seeds = [base.seed + 50_000 + replicate for replicate in range(3)]
    return [TrainingRecipe(initialisation_seed=seed) for seed in seeds]


def wider(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return [TrainingRecipe(initialisation_seed=base.seed, hidden=(9,), max_epochs=5)]


def at_random(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    seeds = np.random.randint(10**6, size=3).tolist()  # noqa: NPY002
    return [TrainingRecipe(initialisation_seed=seed) for seed in seeds]


def by_process(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return [TrainingRecipe(initialisation_seed=os.getpid())]


def no_change(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return [TrainingRecipe(initialisation_seed=base.seed)]


def twice(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return recipes(task, base) * 2


def flips_in_place(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    task.labels[:3] = 1 - task.labels[:3]
    return recipes(task, base)


def wrong_length(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return [TrainingRecipe(initialisation_seed=1, row_weights=np.ones(len(task.split.train)))]


def asked_and_unchanged(task: Task, base: BaseModel) -> list[Variant]:
    """The base network once more, after it was asked something."""
    network: Any = base.model
    network.probabilities(task.rows("test"))
    return [Variant("same", 0, Network(network.weights, network.biases))]


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (recipes, set()),
        ("parameter-perturbation", set()),
        ("data-addition", set()),
        ("decision-threshold", set()),
        ("recalibration(replicates=6)", set()),
        ("weight-rounding", set()),
        ("magnitude-pruning", set()),
        ("measurement-error(replicates=6)", set()),
        (asked_and_unchanged, {"different changes"}),
        (wider, set()),
        ("feature-change(replicates=6)", set()),
        ("followed-advice(replicates=3)", set()),
        (at_random, {"repetition", "another process", "no side effects"}),
        (by_process, {"another process"}),
        (no_change, {"different changes"}),
        (twice, {"different changes"}),
        (flips_in_place, {"no side effects"}),
        (wrong_length, {"variants"}),
    ],
)
def test_families(family: Any, expected: set[str]) -> None:
    findings = check_family(family)
    assert {finding.check for finding in findings if finding.failed} == expected
    assert all(finding.fix for finding in findings if finding.failed)


def test_a_family_hears_what_it_forgot_to_need() -> None:
    (said,) = (finding for finding in check_family(wider) if finding.check == "needs")
    assert said.outcome == "info"
    assert "sets 'hidden' of the recipe" in said.seen
    assert "one or several of parameters, weights" in said.seen
