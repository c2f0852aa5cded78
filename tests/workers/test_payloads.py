"""Own methods and families in worker processes, and failures that stay with their owner."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import changeproof
from changeproof import (
    BaseModel,
    Candidates,
    Context,
    Factuals,
    InputError,
    Method,
    PieceFailedError,
    Plan,
    Results,
    Task,
    TrainingRecipe,
    changes,
    methods,
    run,
)
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import resolve
from changeproof.runs.work import pieces_of
from changeproof.workers.payloads import packed
from tabled import tabled

SMALL: dict[str, Any] = {"datasets": ["diabetes"], "factuals": 5}
FACTOR = 0.9


@pytest.fixture(autouse=True)
def clean_registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for registry in (methods.REGISTRY, changes.REGISTRY):
        for name in ("_registered", "_imported"):
            monkeypatch.setattr(registry, name, {})
    yield


class ToTheMean(Method):
    name, summary = "to-the-mean", "move to the mean of the favourable training rows"

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self.goal = rows[self.context.model.favourable(rows)].mean(axis=0)

    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(factuals.rows + FACTOR * (self.goal - factuals.rows))


def halfway(context: Context, factuals: Factuals) -> Any:
    rows = context.task.rows("train")
    return (factuals.rows + rows[context.model.favourable(rows)].mean(axis=0)) / 2


def narrow(task: Task, base: BaseModel) -> list[TrainingRecipe]:
    return [TrainingRecipe(initialisation_seed=base.seed + i, hidden=(4,)) for i in range(3)]


def numbers(folder: Path) -> bytes:
    return (folder / "tables" / "seed_results.csv").read_bytes()


@pytest.mark.usefixtures("always_workers")
def test_workers_know_what_was_registered_here(tmp_path: Path) -> None:
    changeproof.register_method(ToTheMean)
    changeproof.register_method(halfway)
    changeproof.register_family(narrow)
    plan = Plan.preset(
        "quick",
        **SMALL,
        methods=["to-the-mean", "kdtree", "halfway"],
        families=["narrow", "parameter-perturbation"],
    )
    assert plan.methods == ("kdtree", "to-the-mean", "halfway")
    assert plan.families == ("parameter-perturbation", "narrow")
    results = tabled(plan, tmp_path / "two", jobs=2)
    tabled(plan, tmp_path / "one", jobs=1)
    assert numbers(tmp_path / "one") == numbers(tmp_path / "two")
    assert results.survival("diabetes", 2026, "halfway").shape == (5, 28)
    assert results.variants("diabetes", 2026)["family"].tolist()[-3:] == ["narrow"] * 3


@pytest.mark.usefixtures("always_workers")
def test_import_paths_in_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_paths.py").write_text(
        "from changeproof import TrainingRecipe\n"
        "def up(context, factuals):\n    return factuals.rows + 1\n"
        "def narrow(task, base):\n"
        "    return [TrainingRecipe(initialisation_seed=base.seed, hidden=(4,))]\n"
    )
    chosen = {"methods": ["own_paths:up", "kdtree"], "families": ["own_paths:narrow"]}
    plan = Plan.preset("quick", **SMALL, **chosen)
    results = run(plan, tmp_path / "run", jobs=2, publish=False)
    assert results.plan.methods == ("kdtree", "own_paths:up")
    answers = results.counterfactuals("diabetes", 2026, "own_paths:up")
    np.testing.assert_allclose(answers.rows, answers.factuals + 1)
    assert set(results.variants("diabetes", 2026)["family"]) == {"own_paths:narrow"}
    stored = [path.name for path in (tmp_path / "run" / "pieces").rglob("*") if path.is_file()]
    assert any(name.startswith("counterfactuals-own_paths-up.") for name in stored)
    del sys.modules["own_paths"]


def test_a_plan_of_own_methods_can_be_read_where_they_are_not(tmp_path: Path) -> None:
    changeproof.register_method(halfway)
    plan = Plan.preset("quick", **SMALL, methods=["halfway"], families=["parameter-perturbation"])
    tabled(plan, tmp_path, jobs=1)
    del methods.REGISTRY._registered["halfway"]
    from changeproof.tables.registry import read_finished

    assert read_finished(tmp_path)[0] == plan
    assert Results(tmp_path).inventory.complete
    assert len(Results(tmp_path).counterfactuals("diabetes", 2026, "halfway"))


def test_only_the_edited_method_is_computed_again() -> None:
    def pieces() -> dict[str, str]:
        plan = Plan.preset("quick", **SMALL, methods=["kdtree", "mine", "halfway"])
        return {piece.label: piece.fingerprint for piece in pieces_of(resolve(plan))}

    def mine(step: float) -> None:
        @changeproof.method("mine")
        def mine(context: Context, factuals: Factuals) -> Any:
            return factuals.rows + step

    changeproof.register_method(halfway)
    mine(1.0)
    before = pieces()
    mine(2.0)
    after = pieces()
    assert {label for label in before if before[label] != after[label]} == {
        "diabetes 2026 counterfactuals mine",
        *(
            f"diabetes 2026 survival mine under {family}"
            for family in changeproof.published_family_names()
        ),
    }


class Raising(ToTheMean):
    name = "raising"

    def _search(self, factuals: Factuals) -> Candidates:
        raise RuntimeError("the search fell over\nwith details")


class WrongShape(ToTheMean):
    name = "wrong-shape"

    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(factuals.rows[:, :2])


@pytest.mark.parametrize(
    ("failing", "jobs", "refused", "error"),
    [
        (Raising, 2, False, "RuntimeError: the search fell over"),
        (
            WrongShape,
            1,
            True,
            "method 'wrong-shape' returned candidates of shape (5, 2); expected (5, 8)",
        ),
    ],
)
def test_a_failing_method_leaves_the_others_whole(
    tmp_path: Path, failing: type[Method], jobs: int, refused: bool, error: str
) -> None:
    changeproof.register_method(failing)
    families = ["parameter-perturbation"]
    asked = {**SMALL, "families": families}
    plan = Plan.preset("quick", **asked, methods=["kdtree", "wachter", failing.name])
    with pytest.raises(PieceFailedError) as caught:
        run(plan, tmp_path / "with", jobs=jobs)
    assert caught.value.refused == refused
    assert caught.value.summary == [f"counterfactuals of {failing.name} failed: {error}"]
    others = Plan.preset("quick", **asked, methods=["kdtree", "wachter"])
    tabled(others, tmp_path / "without", jobs=1)
    assert numbers(tmp_path / "with") == numbers(tmp_path / "without")
    assert (tmp_path / "with" / "report" / "index.html").exists()
    assert Results(tmp_path / "with").plan == plan


EMPTY = "family 'empty' describes no changed model for this task"


@pytest.mark.parametrize("model", ["mlp", "sklearn:LogisticRegression"])
def test_a_failing_family_leaves_the_others_whole(tmp_path: Path, model: str) -> None:
    changeproof.register_family(lambda task, base: [], name="empty")
    changeproof.register_method(Raising)
    asked = {**SMALL, "model": model}
    plan = Plan.preset(
        "quick", **asked, methods=["kdtree", "raising"], families=["bootstrap", "empty"]
    )
    with pytest.raises(PieceFailedError) as caught:
        run(plan, tmp_path / "with", jobs=1)
    assert f"bank of empty failed: {EMPTY}" in caught.value.summary
    alone = Plan.preset("quick", **asked, methods=["kdtree"], families=["bootstrap"])
    tabled(alone, tmp_path / "without", jobs=1)
    assert numbers(tmp_path / "with") == numbers(tmp_path / "without")
    page = (tmp_path / "with" / "report" / "index.html").read_text()
    assert "failed in this run" in page
    with pytest.raises(PieceFailedError):
        run(plan, tmp_path / "with", jobs=1)
    assert numbers(tmp_path / "with") == numbers(tmp_path / "without")


def test_without_any_family_nothing_is_published(tmp_path: Path) -> None:
    changeproof.register_family(lambda task, base: [], name="empty")
    plan = Plan.preset("quick", **SMALL, methods=["kdtree"], families=["empty"])
    with pytest.raises(PieceFailedError) as caught:
        run(plan, tmp_path, jobs=1)
    assert caught.value.summary == [f"bank of empty failed: {EMPTY}"]
    assert not (tmp_path / "tables").exists()


def test_what_cannot_be_sent_is_unusable_there_and_nothing_else() -> None:
    import threading

    lock = threading.Lock()

    @changeproof.method("locked")
    def locked(context: Context, factuals: Factuals) -> Any:
        with lock:
            return factuals.rows + 1

    made = [methods.make_method(name) for name in ("locked", "kdtree")]
    payload, other = (packed(method.name, method) for method in made)
    assert other.load() is other.load()
    assert repr(other.load()) == repr(made[1])
    with pytest.raises(InputError, match=r"'locked' cannot be sent to worker processes \(TypeErr"):
        payload.load()


def test_kinds_of_pieces_are_the_same_for_own_methods() -> None:
    changeproof.register_method(halfway)
    kinds = [p.kind for p in pieces_of(resolve(Plan.preset("quick", **SMALL, methods=["halfway"])))]
    assert kinds.count(Kind.COUNTERFACTUALS) == 1
    assert kinds.count(Kind.SURVIVAL) == kinds.count(Kind.BANK) == 8
    assert Kind.TUNING not in kinds
