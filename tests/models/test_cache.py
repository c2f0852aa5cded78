from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from changeproof import FunctionLearner, Task, TrainingRecipe
from changeproof.errors import InputError
from changeproof.models import cache
from changeproof.models.cache import OFF, VARIABLE, cache_folder, model_cache
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import ModelStack

RECIPES = [TrainingRecipe(initialisation_seed=seed) for seed in (1, 2)]
BASE = b"a base model"
TRAINED: list[int] = []


def fit(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    TRAINED.append(seed)
    weights = np.random.default_rng(seed).normal(size=X.shape[1])
    return lambda rows: 1 / (1 + np.exp(-rows @ weights))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "models"))
    monkeypatch.setattr(cache, "WORTH_SECONDS", -1.0)
    TRAINED.clear()
    yield tmp_path / "models"


def trained(task: Task, base: bytes = BASE, learner: Any = None) -> ModelStack:
    with model_cache(base):
        return (learner or FunctionLearner(fit)).train(RECIPES, task)


def test_a_model_is_trained_once(small_task: Task, place: Path) -> None:
    first, again = trained(small_task), trained(small_task)
    assert TRAINED == [1, 2]
    rows = small_task.rows("test")
    np.testing.assert_array_equal(first.probabilities(rows), again.probabilities(rows))
    assert len(list(place.iterdir())) == 2


def test_neither_data_nor_learner_are_written(small_task: Task, place: Path) -> None:
    forest = EstimatorLearner(RandomForestClassifier(n_estimators=2, max_depth=2))
    first, again = trained(small_task, learner=forest), trained(small_task, learner=forest)
    rows = small_task.rows("test")
    np.testing.assert_array_equal(first.probabilities(rows), again.probabilities(rows))
    assert again[0] is not first[0]
    assert again[0].task is small_task  # type: ignore[attr-defined]
    assert max(path.stat().st_size for path in place.iterdir()) < small_task.rows("train").nbytes


def test_another_base_model_or_another_recipe_is_another_model(
    small_task: Task, place: Path
) -> None:
    trained(small_task)
    trained(small_task, b"another base model")
    assert TRAINED == [1, 2, 1, 2]
    weights = np.ones(len(small_task.split.train) + len(small_task.split.update))
    weighed = [TrainingRecipe(initialisation_seed=1, row_weights=weights + d) for d in (0, 1e-12)]
    for recipe in weighed:
        with model_cache(BASE):
            FunctionLearner(fit).train([recipe], small_task)
    assert TRAINED == [1, 2, 1, 2, 1, 1]


def test_nothing_is_cache_unless_a_run_asks(small_task: Task, place: Path) -> None:
    FunctionLearner(fit).train(RECIPES, small_task)
    assert not place.exists()


def test_quick_ones_and_large_ones_are_not_worth_it(
    small_task: Task, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH_SECONDS", 60.0)
    trained(small_task)
    monkeypatch.setattr(cache, "WORTH_SECONDS", -1.0)
    monkeypatch.setattr(cache, "LARGEST", 10)
    trained(small_task)
    assert list(place.iterdir()) == []


def test_what_is_damaged_is_trained_again(small_task: Task, place: Path) -> None:
    trained(small_task)
    damaged = sorted(place.iterdir())[0]
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    trained(small_task)
    assert len(TRAINED) == 3
    assert damaged.read_bytes() == content


class Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, ("trapped",)


def test_a_folder_that_others_may_write_to_is_not_read(
    small_task: Task, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained(small_task)
    for path in place.iterdir():
        content = pickle.dumps(Trap())
        path.write_bytes(cache.hashlib.sha256(content).digest() + content)
    place.chmod(0o777)
    trained(small_task)
    assert len(TRAINED) == 4
    assert not (tmp_path / "trapped").exists()


def test_what_cannot_be_pickled_or_written_is_trained_again(
    small_task: Task, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = Lock()

    def odd(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        TRAINED.append(seed)
        return lambda rows: np.full(len(rows), 0.5) if handle else rows

    for _ in range(2):
        trained(small_task, learner=FunctionLearner(odd))
    assert len(TRAINED) == 4
    monkeypatch.setenv(VARIABLE, f"{os.devnull}/models")
    trained(small_task)
    assert len(TRAINED) == 6


def test_the_oldest_make_room(
    small_task: Task, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(small_task)
    old, new = sorted(place.iterdir())
    os.utime(old, (1, 1))
    (place / ".unfinished-1").write_bytes(b"left by a killed process")
    os.utime(place / ".unfinished-1", (2, 2))
    monkeypatch.setattr(cache, "MOST", new.stat().st_size)
    with model_cache(BASE):
        FunctionLearner(fit).train([], small_task)
    assert list(place.iterdir()) == [new]


def test_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, OFF)
    assert cache_folder() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "changeproof" / "models"


@pytest.mark.parametrize("said", ["", ".", "cache", "~/cache"])
def test_no_folder_of_the_working_directory_is_believed(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", said)
    assert cache_folder() == tmp_path / "home" / ".cache" / "changeproof" / "models"
    monkeypatch.setenv("HOME", "here")
    place = cache_folder()
    assert place is None or (place.is_absolute() and not place.is_relative_to(tmp_path))
    if said:
        monkeypatch.setenv(VARIABLE, said)
        with pytest.raises(InputError, match="expected an absolute path, or off"):
            cache_folder()
