from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import shipped
from changeproof import InputError, Task, own_task
from changeproof.datasets.threshold import Threshold
from changeproof.model import Floats
from changeproof.models.asked import Answers
from changeproof.models.find import find_shipped, shipped_learner
from changeproof.models.onnx import OnnxModel, classes_of, read_outputs

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (extra: dev)")


@pytest.fixture(scope="module")
def numbers(frame: pd.DataFrame) -> Task:
    return own_task(frame.drop(columns=["purpose", "owner"]), **shipped.DATA)


def on_numbers(model: Any, frame: pd.DataFrame, target: Any, **options: Any) -> OnnxModel:
    """Return a model of income and debts as ONNX with one input."""
    rows = frame[["income", "debts"]].to_numpy(np.float32)
    fitted = model.fit(rows, target)
    made = skl2onnx.to_onnx(fitted, rows[:1], options=options or None)
    return OnnxModel(made.SerializeToString(), "line", "onnx:line.onnx")


@pytest.mark.parametrize("zipmap", [True, False])
def test_a_pipeline_with_an_input_per_column_judges_as_before(
    frame: pd.DataFrame, task: Task, zipmap: bool
) -> None:
    model = shipped.current(frame)
    kept = OnnxModel(shipped.onnx_bytes(model, zipmap=zipmap), "kept", "onnx:kept.onnx")
    rows = task.rows("test")
    judged = kept.model(task, None)
    expected = model.predict_proba(task.readable(rows)[shipped.FEATURES])[:, 1]
    np.testing.assert_allclose(judged.probabilities(rows), expected, atol=1e-5)
    assert not kept.fitted(task).gives_scores
    # Without its names, too, the favourable outcome is the one that the data call so.
    refused = own_task(frame, **shipped.DATA | {"favourable": "no"})
    other = kept.model(refused, None).probabilities(refused.rows("test"))
    frame_of_others = refused.readable(refused.rows("test"))[shipped.FEATURES]
    np.testing.assert_allclose(other, model.predict_proba(frame_of_others)[:, 0], atol=1e-5)


def test_training_rows_are_judged_once_per_task(
    frame: pd.DataFrame, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    ask = OnnxModel._ask

    def counted(self: OnnxModel, task: Task, rows: Floats) -> Answers:
        counts.append(len(rows))
        return ask(self, task, rows)

    monkeypatch.setattr(OnnxModel, "_ask", counted)
    kept = OnnxModel(shipped.onnx_bytes(shipped.current(frame)), "kept", "onnx:kept.onnx")
    refused = own_task(frame, **shipped.DATA | {"favourable": "no"})
    for each in (task, refused, task, refused):
        kept.fitted(each)
    assert counts == [len(each.rows("train")) for each in (task, refused)]
    again = pickle.loads(pickle.dumps(kept))
    assert len(pickle.dumps(again)) < len(kept.content) + 1000, "tasks are not taken along"


@pytest.mark.parametrize("zipmap", [True, False])
def test_of_several_classes_the_label_decides(frame: pd.DataFrame, zipmap: bool) -> None:
    noise = np.random.default_rng(3).normal(0, 500, len(frame))
    grades = np.array(["c", "b", "a"])[np.digitize(frame["income"] + noise, [2200, 2800])]
    told = frame[["applicant", "income", "debts"]].assign(approved=grades)
    task = own_task(told, **shipped.DATA | {"favourable": "b"})
    options = {} if zipmap else {"zipmap": False}
    kept = on_numbers(LogisticRegression(max_iter=2000), frame, grades, **options)
    rows = task.rows("test")
    numbers = task.readable(rows)[["income", "debts"]].to_numpy(np.float32)
    direct = LogisticRegression(max_iter=2000)
    direct.fit(frame[["income", "debts"]].to_numpy(np.float32), grades)
    accepted = direct.predict(numbers) == "b"
    judged = kept.model(task, None)
    assert (direct.predict_proba(numbers)[accepted, 1] < 0.5).any()
    np.testing.assert_array_equal(judged.favourable(rows), accepted)
    np.testing.assert_array_equal(judged.probabilities(rows) >= 0.5, accepted)


def test_one_input_takes_the_features_in_their_order(frame: pd.DataFrame, numbers: Task) -> None:
    kept = on_numbers(LogisticRegression(), frame, frame["approved"])
    rows = numbers.rows("test")
    direct = LogisticRegression().fit(
        frame[["income", "debts"]].to_numpy(np.float32), frame["approved"]
    )
    expected = direct.predict_proba(numbers.readable(rows).to_numpy(np.float32))[:, 1]
    shares = kept.model(numbers, None).probabilities(rows)
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    again = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(again.model(numbers, None).probabilities(rows), shares)


def test_one_output_is_a_score(frame: pd.DataFrame, numbers: Task) -> None:
    points = frame["income"] / 10 - 20 * frame["debts"]
    kept = on_numbers(LinearRegression(), frame, points)
    rows, told = numbers.rows("test"), numbers.readable(numbers.rows("test"))
    judged = kept.model(numbers, Threshold(240.0))
    expected = told["income"] / 10 - 20 * told["debts"]
    assert kept.fitted(numbers).gives_scores
    np.testing.assert_array_equal(judged.favourable(rows), expected >= 240.0)
    learner = shipped_learner(kept, numbers, threshold="240")
    assert "cannot be fitted again" in learner.traits.no_training


def test_other_inputs_are_named_in_one_line(
    frame: pd.DataFrame, task: Task, numbers: Task, tmp_path: Path
) -> None:
    kept = on_numbers(LogisticRegression(), frame, frame["approved"])
    with pytest.raises(
        InputError,
        match=r"line takes the inputs X \(tensor\(float\) \[.*, 2\]\); expected one input per "
        "feature of 'data': income, debts, purpose, owner",
    ):
        kept.model(task, None)
    three = own_task(
        frame.drop(columns=["purpose", "owner"]).assign(age=range(len(frame))),
        **shipped.DATA,
    )
    with pytest.raises(InputError, match="expected one input of 3 floats, or one input per"):
        kept.model(three, None)
    names = shipped.onnx_bytes(shipped.current(frame))
    with pytest.raises(InputError, match=r"takes the inputs income .* debts .* purpose .* owner"):
        OnnxModel(names, "kept", "onnx:kept.onnx").model(numbers, None)
    words = frame.assign(debts=frame["debts"].map({k: f"d{k}" for k in range(6)}))
    with pytest.raises(
        InputError, match=r"takes 'debts' as tensor\(float\); the data have values such as 'd"
    ):
        OnnxModel(names, "kept", "onnx:kept.onnx").model(own_task(words, **shipped.DATA), None)
    (tmp_path / "no.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"no.onnx is not an ONNX model"):
        find_shipped(f"onnx:{tmp_path / 'no.onnx'}")


def test_classes_that_nobody_names_are_told_by_the_labels() -> None:
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    labels = np.array(["yes", "no", "yes"])
    assert classes_of("m", read_outputs("m", [labels, shares])) == ["yes", "no"]
    assert classes_of("m", read_outputs("m", [shares])) == [0, 1]
    with pytest.raises(InputError, match="does not say of which outcomes"):
        classes_of("m", read_outputs("m", [labels[:1], shares[:1]]))
    with pytest.raises(InputError, match="gives outputs of the shapes"):
        read_outputs("m", [labels])


def test_without_onnxruntime_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"not installed \(extra: onnx\)"):
        OnnxModel(b"whatever", "kept", "onnx:kept.onnx")
