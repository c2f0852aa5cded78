"""ONNX files as fitted models."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.feasible.feature import text_of
from changeproof.model import Floats
from changeproof.models.asked import Answers, asked_model
from changeproof.models.learner import FittedModel
from changeproof.models.libraries import required
from changeproof.models.shipped import ShippedModel

FLOATS = ("tensor(float)", "tensor(double)")
KINDS: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
Feeds = dict[str, npt.NDArray[Any]]


class OnnxModel(ShippedModel):
    """An ONNX model, the bytes of its file, run by onnxruntime.

    It takes one input of as many numbers as the task has features, in their order, or one input
    per feature with the feature's name. It gives probabilities of classes, or one score.
    """

    kind = "ONNX model"

    def __init__(self, content: bytes, name: str, reference: str) -> None:
        self.content, self.name, self.reference = content, name, reference
        self.digest = hashlib.sha256(content).hexdigest()
        try:
            session_of(content)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{reference} is not an ONNX model: {one_line(error)}") from error

    def _fitted(self, task: Task) -> FittedModel:
        ask = partial(self._ask, task)
        answers = ask(task.rows("train"))
        classes = None if answers.numbers.ndim == 1 else classes_of(self.name, answers)
        return asked_model(self.name, ask, classes, task)

    def _ask(self, task: Task, rows: Floats) -> Answers:
        feeds = self._feeds(task, rows)
        try:
            given = session_of(self.content).run(None, feeds)
        except Exception as error:
            raise InputError(
                f"ONNX model {self.name} could not judge {len(rows)} rows: {one_line(error)}"
            ) from error
        return read_outputs(self.name, given)

    def _feeds(self, task: Task, rows: Floats) -> Feeds:
        inputs = session_of(self.content).get_inputs()
        names = [feature.name for feature in task.features]
        frame = task.table_rows(rows)
        numeric = not any(feature.categories for feature in task.features)
        first, *others = inputs
        if not others and first.type in FLOATS and numeric and _width(first) in (len(names), None):
            return {first.name: frame.to_numpy(KINDS[first.type])}
        if all(put.name in names and _width(put) in (1, None) for put in inputs):
            return {put.name: _column(self.name, put, frame[put.name]) for put in inputs}
        taken = ", ".join(f"{put.name} ({put.type} {put.shape})" for put in inputs)
        one = f"one input of {len(names)} floats, or " if numeric else ""
        raise InputError(
            f"ONNX model {self.name} takes the inputs {taken}; expected {one}one input per "
            f"feature of {task.name!r}: {', '.join(names)}"
        )


@lru_cache(maxsize=8)
def session_of(content: bytes) -> Any:
    """Return a session that runs a model in one thread."""
    onnxruntime: Any = required("onnxruntime", "an onnx: model", extra="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def read_outputs(name: str, given: Sequence[Any]) -> Answers:
    named = [value for value in given if isinstance(value, list) and value]
    named = [value for value in named if isinstance(value[0], dict)]
    tables = [np.asarray(value) for value in given if not any(value is each for each in named)]
    labels = [t.reshape(-1) for t in tables if t.dtype.kind in "iOUb" and t.size == len(t)]
    if named:
        classes = tuple(named[0][0])
        shares = [[row[each] for each in classes] for row in named[0]]
        return Answers(np.array(shares, dtype=np.float64), classes, labels[0] if labels else None)
    numbers = [table for table in tables if table.dtype.kind == "f"]
    wide = [table for table in numbers if table.ndim == 2 and table.shape[1] > 1]
    if len(wide) == 1:
        return Answers(wide[0].astype(np.float64), labels=labels[0] if labels else None)
    single = [table for table in numbers if table.size == len(table)]
    if len(single) == 1 and not wide:
        return Answers(single[0].reshape(-1).astype(np.float64))
    shapes = ", ".join(str(table.shape) for table in tables)
    raise InputError(
        f"ONNX model {name} gives outputs of the shapes {shapes}; expected probabilities of "
        "classes, or one score per row"
    )


def classes_of(name: str, answers: Answers) -> Sequence[Any]:
    """Return what the columns of probabilities stand for.

    Where the model does not name them, it labels the rows: the surest row of a column has its
    label. Of two columns without any labels, the second is that of 1.
    """
    shares, classes, labels = answers
    if classes:
        return classes
    if labels is None and shares.shape[1] == 2:
        return [0, 1]
    surest = shares.argmax(axis=0)
    if labels is None or (shares[surest].argmax(axis=1) != np.arange(shares.shape[1])).any():
        raise InputError(
            f"ONNX model {name} gives {shares.shape[1]} probabilities per row and does not say of "
            "which outcomes; convert it with their names (ZipMap)"
        )
    return [labels[row] for row in surest]


def _width(put: Any) -> int | None:
    """Return how many values a row of an input has; None where the model does not say."""
    if len(put.shape) < 2:
        return 1
    return put.shape[1] if isinstance(put.shape[1], int) else None


def _column(name: str, put: Any, values: pd.Series[Any]) -> npt.NDArray[Any]:
    try:
        if KINDS[put.type] is object:
            column = np.array([text_of(value) for value in values], dtype=object)
        else:
            column = values.to_numpy().astype(KINDS[put.type])
    except (KeyError, ValueError, TypeError):
        raise InputError(
            f"ONNX model {name} takes {put.name!r} as {put.type}; the data have values such as "
            f"{values.iloc[0]!r}"
        ) from None
    return column.reshape(-1, 1) if len(put.shape) > 1 else column
