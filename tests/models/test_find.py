"""Models by name: what is found, and what is refused before any work."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import shipped
from changeproof import InputError, Task
from changeproof.changes.successors import read_successors
from changeproof.datasets.threshold import Threshold
from changeproof.models.find import (
    MOST_LAYERS,
    MOST_UNITS,
    find_learner,
    find_shipped,
    load_model,
    shipped_learner,
)
from changeproof.models.references import is_elsewhere, name_of, names_file, runs_code
from changeproof.models.shipped import ShippedFunction


@pytest.mark.parametrize(
    "reference",
    [
        "mlp:99999999999",
        f"mlp:{'9' * 5000}",
        f"mlp:8,{MOST_UNITS + 1}",
        f"mlp:{'2,' * MOST_LAYERS}2",
    ],
    ids=["wide", "wider", "second", "deep"],
)
def test_networks_that_nobody_could_train_are_refused(reference: str) -> None:
    with pytest.raises(InputError, match=r"at most 16 hidden layers of at most 4096 units each"):
        find_learner(reference)


def test_wide_networks_are_allowed() -> None:
    assert find_learner(f"mlp:{MOST_UNITS}").name == f"mlp:{MOST_UNITS}"


@pytest.mark.parametrize("reference", ["python:::", "python::", "python:a:", "python::a"])
def test_import_paths_that_lead_nowhere_are_refused(reference: str) -> None:
    with pytest.raises(InputError, match="is not an import path; expected module:attribute"):
        find_learner(reference)


@pytest.fixture(scope="module")
def today(frame: pd.DataFrame) -> Pipeline:
    return shipped.current(frame)


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with a function that scores people, and with what is none."""
    (tmp_path / "bank_of_find.py").write_text(
        "def points(people):\n"
        "    return 300 + people['income'] / 10 - 20 * people['debts']\n"
        "limit = 560\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "bank_of_find"


def test_a_function_by_its_path_judges_people_as_it_is(bank: str, task: Task) -> None:
    reference = f"function:{bank}:points"
    model = find_shipped(reference)
    assert isinstance(load_model(reference), ShippedFunction)
    assert (model.name, model.reference, model.columns) == ("points", reference, None)
    rows, told = task.rows("test"), task.readable(task.rows("test"))
    expected = 300 + told["income"] / 10 - 20 * told["debts"] >= 560
    judged = model.model(task, Threshold(560.0)).favourable(rows)
    np.testing.assert_array_equal(judged, expected)
    learner = shipped_learner(reference, task, threshold="560")
    assert "cannot be fitted again" in learner.traits.no_training
    later = read_successors({"next": f"{reference}@580"}, task, {}, None, None)
    np.testing.assert_array_equal(
        later.at_hand["next"].model(task).favourable(rows),
        300 + told["income"] / 10 - 20 * told["debts"] >= 580,
    )


def test_what_is_no_function_is_refused(bank: str) -> None:
    with pytest.raises(
        InputError, match="limit' is an object of type int; expected a function fro"
    ):
        find_shipped(f"function:{bank}:limit")
    with pytest.raises(InputError, match="an object of type LogisticRegression; expected a func"):
        sys.modules[bank].model = shipped.pipeline()[-1]  # type: ignore[attr-defined]
        find_shipped(f"function:{bank}:model")
    with pytest.raises(InputError, match="has no 'nothing'"):
        find_shipped(f"function:{bank}:nothing")
    with pytest.raises(InputError, match="is not an import path"):
        find_shipped("function:points")


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("lzma", 3), ("xz", 3)])
@pytest.mark.parametrize("kind", ["pickle", "joblib"])
def test_files_of_joblib_are_read(
    kind: str, compress: Any, tmp_path: Path, task: Task, today: Pipeline
) -> None:
    joblib.dump(today, tmp_path / "today.joblib", compress=compress)
    reference = f"{kind}:{tmp_path / 'today.joblib'}"
    with pytest.raises(InputError, match="pass --unpickle-and-run-its-code"):
        find_shipped(reference)
    found = find_shipped(reference, unpickle=True)
    assert (found.name, found.reference) == ("today", reference)
    rows = task.rows("test")
    expected = today.predict_proba(task.readable(rows)[shipped.FEATURES])[:, 1]
    np.testing.assert_array_equal(found.model(task, None).probabilities(rows), expected)


def test_plain_pickles_are_read_whatever_their_kind_is_called(
    tmp_path: Path, today: Pipeline
) -> None:
    for protocol in (0, 2, 5):
        (tmp_path / "today.pkl").write_bytes(pickle.dumps(today, protocol=protocol))
        digests = {
            find_shipped(f"{kind}:{tmp_path / 'today.pkl'}", unpickle=True).digest
            for kind in ("pickle", "joblib")
        }
        assert len(digests) == 1


@pytest.mark.parametrize("compress", [None, 0, 3])
def test_a_pickle_that_needs_a_missing_library_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: int | None
) -> None:
    module = ModuleType("some_library")
    module.Model = type("Model", (), {"__module__": "some_library"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_library", module)
    path = tmp_path / "model.pkl"
    content = {"model": module.Model(), "weights": np.zeros(3)}
    if compress is None:
        path.write_bytes(pickle.dumps(content))
    else:
        joblib.dump(content, path, compress=compress)
    monkeypatch.delitem(sys.modules, "some_library")
    with pytest.raises(InputError) as caught:
        find_shipped(f"pickle:{path}", unpickle=True)
    assert str(caught.value) == f"model file {path} needs some_library, which is not installed"


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"\x80\x05", b"\x1f\x8b"])
def test_a_file_that_is_no_pickle_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(content)
    with pytest.raises(InputError, match=r"model.pkl cannot be loaded: \w+") as caught:
        find_shipped(f"pickle:{tmp_path / 'model.pkl'}", unpickle=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "name", "file", "elsewhere", "code"),
    [
        ("python:lending.models:scorer", "scorer", False, True, False),
        ("function:lending.models:scorer", "scorer", False, True, False),
        ("pickle:models/today.pkl", "today", True, True, True),
        ("joblib:models/today.joblib", "today", True, True, True),
        ("onnx:today.onnx", "today", True, True, False),
        ("scores:scores.csv", "scores", True, True, False),
        ("mlflow:models:/loans/3", "loans", False, True, True),
        ("mlflow:models:/loans@champion", "loans", False, True, True),
        ("mlflow:runs:/0a1b/model", "model", False, True, True),
        ("mlflow:kept/today", "today", True, True, True),
        ("xgboost:today.json", "today", True, True, False),
        ("xgboost:today.UBJ", "today", True, True, False),
        ("lightgbm:today.txt", "today", True, True, False),
        ("catboost:today.cbm", "today", True, True, False),
        ("xgboost:XGBClassifier(max_depth=3)", None, False, False, False),
        ("http://127.0.0.1:8000/v2/score?version=3", "score", False, True, False),
        ("https://models.example/", "models.example", False, True, False),
        ("sklearn:LogisticRegression", None, False, False, False),
        ("mlp", None, False, False, False),
    ],
)
def test_what_references_say(
    reference: str, name: str | None, file: bool, elsewhere: bool, code: bool
) -> None:
    if name is not None:
        assert name_of(reference) == name
    assert names_file(reference) is file
    assert is_elsewhere(reference) is elsewhere
    assert runs_code(reference) is code
