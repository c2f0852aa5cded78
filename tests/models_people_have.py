"""A table as lenders keep it, and the models that they fit to it: raw columns, gaps, categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from changeproof import Results

DATA: dict[str, Any] = {"target": "outcome", "favourable": "paid"}
NUMBERS, TEXTS = ["income", "debt", "age"], ["home", "state"]
COLUMNS = [*NUMBERS, *TEXTS, "employed", "applied"]


def table(rows: int = 900) -> pd.DataFrame:
    """Return loans with gaps, blanks in texts, 51 states, dates, and columns for no model."""
    generator = np.random.default_rng(7)
    days = pd.to_timedelta(generator.integers(0, 600, rows), "D")
    frame = pd.DataFrame(
        {
            "sex": generator.choice(["f", "m"], rows),
            "zip": generator.integers(10_000, 99_999, rows).astype(str),
            "applied": pd.Timestamp("2024-01-01") + days,
            "state": generator.choice([f"S{number:02d}" for number in range(51)], rows),
            "home": generator.choice([" rent", " own", " family"], rows),
            "employed": generator.random(rows) < 0.8,
            "age": generator.integers(19, 75, rows),
            "debt": generator.gamma(2, 4_000, rows).round(),
            "income": generator.lognormal(10.3, 0.5, rows).round(-2),
        }
    )
    score = 2 * (np.log(frame["income"]) - 10.3) - frame["debt"] / 8_000 + frame["employed"]
    score += (frame["home"] == " own") + (frame["age"] - 40) / 40
    noise = generator.normal(0, 0.7, rows)
    frame["outcome"] = np.where(score + noise > 0.2, "paid", "defaulted")
    frame.loc[generator.random(rows) < 0.1, "income"] = np.nan
    frame.loc[generator.random(rows) < 0.05, "home"] = np.nan
    return frame


def pipeline(classifier: Any) -> Pipeline:
    """Return a pipeline on raw columns, with an imputer, an encoder and a date of its own."""
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), TEXTS),
        (FunctionTransformer(days_since), ["applied"]),
        ("passthrough", ["employed"]),
    )
    return make_pipeline(columns, classifier)


def days_since(dates: pd.DataFrame) -> pd.DataFrame:
    return (dates - pd.Timestamp("2024-01-01")).apply(lambda column: column.dt.days)


def check_on_the_model(results: Results, frame: pd.DataFrame, predict: Any, wanted: Any) -> int:
    """Check with the model itself that it rejects who asks, and accepts what counts as valid.

    `predict` is the model's own, of a table; `wanted` are the outcomes that people want. Letters
    are what the table `told` says, put into the table by hand. Return how many were checked.
    """
    told, checked = results.table("told"), 0
    (dataset,) = results.shown.datasets
    for method in results.shown.methods:
        answers = results.counterfactuals(dataset, 2026, method)
        people = frame.loc[answers.row_ids]
        assert not np.isin(predict(people), wanted).any()
        letters = people.astype(object)
        for change in told[told["method"] == method].itertuples():
            spelled = {str(value).strip(): value for value in frame[change.feature].unique()}
            value = spelled.get(str(change.after), change.after)
            assert not pd.isna(letters.loc[change.id, change.feature])
            letters.loc[change.id, change.feature] = value
        letters = letters.astype(frame.dtypes)
        valid = letters.loc[answers.row_ids[answers.base_valid]]
        if len(valid):
            assert np.isin(predict(valid), wanted).all()
        checked += len(valid)
    return checked
