"""Today's model, the one that came next, and the letters between them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from changeproof import Task, own_task
from loans import loans

DATA: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
FEATURES = ["income", "debts", "purpose", "owner"]


def table() -> pd.DataFrame:
    """Return loans that no line tells apart."""
    frame = loans(240).drop(columns="member")
    noise = np.random.default_rng(5).normal(0, 250, len(frame))
    score = frame["income"] - 300 * frame["debts"] - 200 * (frame["purpose"] == "car") + noise
    return frame.assign(approved=np.where(score > 2200, "yes", "no"))


def pipeline() -> Pipeline:
    columns = make_column_transformer(
        (StandardScaler(), ["income", "debts"]), (OneHotEncoder(), ["purpose", "owner"])
    )
    return make_pipeline(columns, LogisticRegression())


def current(frame: pd.DataFrame) -> Pipeline:
    return pipeline().fit(frame[FEATURES], frame["approved"])


def stricter(frame: pd.DataFrame) -> Pipeline:
    """Return a model that was trained when loans of many debts had gone bad."""
    bad = (frame["income"] < 2900) & (frame["income"] > 2300)
    return pipeline().fit(frame[FEATURES], frame["approved"].mask(bad, "no"))


def letters(frame: pd.DataFrame, model: Pipeline, people: int = 25) -> pd.DataFrame:
    """Tell people whom a model rejects to pay back their debts and to earn a little more."""
    rejected = frame[model.predict(frame[FEATURES]) == "no"].head(people)
    told = rejected[FEATURES].assign(debts=0, income=(rejected["income"] + 350).round(2))
    told.insert(0, "id", rejected["applicant"])
    return told


def scores(told: pd.DataFrame, model: Pipeline) -> pd.DataFrame:
    """Return what a model says of letters."""
    shares = model.predict_proba(told[FEATURES])[:, list(model.classes_).index("yes")]
    return pd.DataFrame({"id": told["id"].to_numpy(), "score": shares})


def task(frame: pd.DataFrame) -> Task:
    return own_task(frame, **DATA)


def onnx_bytes(model: Any, **options: Any) -> bytes:
    """Return a pipeline as an ONNX file with one input per column."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    kinds = {"income": FloatTensorType, "debts": FloatTensorType}
    types = [(name, kinds.get(name, StringTensorType)([None, 1])) for name in FEATURES]
    made = to_onnx(model, initial_types=types, options={id(model): options})
    return bytes(made.SerializeToString())


def written(folder: Path) -> Path:
    """Write all that somebody who asks about a successor would have at hand."""
    frame = table()
    today, later = current(frame), stricter(frame)
    told = letters(frame, today)
    frame.to_csv(folder / "loans.csv", index=False)
    told.to_csv(folder / "letters.csv", index=False)
    scores(told, later).to_csv(folder / "scores.csv", index=False)
    (folder / "today.pkl").write_bytes(pickle.dumps(today))
    (folder / "next.pkl").write_bytes(pickle.dumps(later))
    (folder / "next.onnx").write_bytes(onnx_bytes(later))
    return folder
