"""Counterfactuals of Alibi.

Alibi 0.9.6 needs NumPy 1 and changeproof NumPy 2, so the two live in different environments:
save `explanation.to_json()` in one and give the text to `from_alibi` in the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from changeproof.adapters.tables import one_row_each
from changeproof.errors import InputError


def from_alibi(explanations: Any, ids: Sequence[Any], feature_names: Sequence[str]) -> pd.DataFrame:
    """Turn what Alibi explained into a table for `read_counterfactuals`.

    Parameters
    ----------
    explanations
        One explanation or a list of them. Each is an Alibi `Explanation`, the text of its
        `to_json()`, or that text parsed. Explainers for one person at a time (`Counterfactual`,
        `CounterfactualProto`) give one explanation per person. Explainers for a batch
        (`CounterfactualRL`) give one explanation with a row per person.
    ids
        The row id of every person, in the order they were given to Alibi.
    feature_names
        The name of every column that Alibi saw.

    Returns
    -------
    pandas.DataFrame
        Ids and features, one row per person, empty if Alibi found nothing. The features have the
        units that Alibi saw; if those were scaled, bring them back to the units of the data. Alibi
        computes in single precision, so unchanged features may differ in the eighth digit.
    """
    single = isinstance(explanations, str | Mapping) or hasattr(explanations, "data")
    rows: list[Sequence[Any] | None] = []
    for number, explanation in enumerate([explanations] if single else explanations, start=1):
        rows += _rows(number, explanation, len(feature_names))
    return one_row_each("Alibi", ids, feature_names, rows)


def _rows(number: int, explanation: Any, n_features: int) -> list[Sequence[Any] | None]:
    if isinstance(explanation, str):
        try:
            explanation = json.loads(explanation)
        except json.JSONDecodeError as error:
            raise InputError(
                f"explanation {number}: expected the text that to_json() returns; {error}"
            ) from error
    data = explanation.get("data") if isinstance(explanation, Mapping) else None
    data = getattr(explanation, "data", data)
    if not isinstance(data, Mapping) or "cf" not in data:
        raise InputError(
            f"explanation {number}: expected a counterfactual explanation of Alibi "
            f"(with data['cf']); got {type(explanation).__name__}"
        )
    if data["cf"] is None:
        return [None]
    rows = np.asarray(data["cf"]["X"], dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise InputError(
            f"explanation {number}: expected counterfactuals of shape (people, {n_features}), "
            f"one value per feature name; got {rows.shape}"
        )
    return list(rows.tolist())
