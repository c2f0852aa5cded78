"""Forests of CatBoost, from the JSON that it saves.

Rows are rounded to float32; above a border means right. Sums are float64.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from changeproof.model import Floats
from changeproof.models.forests.building import OpaqueError, integers, last_rounded_to
from changeproof.models.forests.forest import Forest, Link, Tree

LINKS = {
    "Logloss": Link.LOGISTIC,
    "CrossEntropy": Link.LOGISTIC,
    "MultiClass": Link.SOFTMAX_IN_ORDER,
    "MultiClassOneVsAll": Link.LOGISTIC_EACH,
    "RMSE": Link.NONE,
    "MAE": Link.NONE,
    "Quantile": Link.NONE,
    "Huber": Link.NONE,
}


def read(model: Any) -> Forest:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        saved = json.loads(path.read_text(encoding="utf-8"))
    loss = saved["model_info"]["params"]["loss_function"]["type"]
    if loss not in LINKS:
        raise OpaqueError(f"its loss is {loss}")
    if border := saved["model_info"].get("binclass_probability_threshold"):
        raise OpaqueError(f"it decides at a probability of {border}")
    scale, bias = saved["scale_and_bias"]
    if scale != 1:
        raise OpaqueError(f"its margins are scaled by {scale}")
    columns = _columns(saved["features_info"])
    width = len(bias)
    if "oblivious_trees" in saved:
        trees = [_oblivious(tree, columns, width) for tree in saved["oblivious_trees"]]
    else:
        trees = [_nested(tree, columns, width) for tree in saved["trees"]]
    return Forest(
        trees=tuple(trees),
        n_features=len(model.feature_names_),
        n_outputs=width,
        slots=np.zeros(len(trees), np.int64),
        start=np.zeros(width),
        bias=np.array(bias, np.float64),
        link=LINKS[loss],
        n_classes=len(model.classes_),
        decides_by_margin=True,
    )


def _columns(features: dict[str, Any]) -> list[tuple[int, bool]]:
    """Return, per numeric feature, its column and whether a missing value goes left."""
    if any(each.get("values") for each in features.get("categorical_features", ())):
        raise OpaqueError("it compares hashes of categories")
    if features.get("ctrs"):
        raise OpaqueError("it turns categories into statistics of the target")
    if features.get("text_features") or features.get("embedding_features"):
        raise OpaqueError("it takes texts or embeddings")
    found = features["float_features"]
    return [(each["flat_feature_index"], each["nan_value_treatment"] != "AsTrue") for each in found]


def _oblivious(tree: dict[str, Any], columns: list[tuple[int, bool]], width: int) -> Tree:
    """A tree that asks one question per level; the answers are the bits of the leaf's number."""
    splits = list(reversed(tree["splits"] or ()))
    n_inner = 2 ** len(splits) - 1
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    at, borders, missing_left = _questions(splits, columns)
    leaves = np.full(n_inner + 1, -1)
    left = np.concatenate([2 * np.arange(n_inner) + 1, leaves])
    values = np.array(tree["leaf_values"], np.float64).reshape(-1, width)
    return Tree(
        feature=np.concatenate([at[level], 0 * leaves]),
        threshold=np.concatenate([borders[level], 0.0 * leaves]),
        left=left,
        right=np.where(left < 0, -1, left + 1),
        missing_left=np.concatenate([missing_left[level], leaves < 0]),
        values=np.concatenate([np.zeros((n_inner, width)), values]),
    )


def _questions(splits: list[Any], columns: list[tuple[int, bool]]) -> tuple[Any, Floats, Any]:
    asked = [columns[split["float_feature_index"]] for split in splits]
    borders = np.array([split["border"] for split in splits], np.float32)
    at, missing_left = integers([k for k, _ in asked]), np.array([m for _, m in asked], np.bool_)
    return at, last_rounded_to(borders), missing_left


def _nested(tree: dict[str, Any], columns: list[tuple[int, bool]], width: int) -> Tree:
    nodes, left, right = [tree], [], []
    for node in nodes:  # grows as it goes
        inner = "split" in node
        left.append(len(nodes) if inner else -1)
        right.append(len(nodes) + 1 if inner else -1)
        nodes += [node["left"], node["right"]] if inner else []
    none = {"float_feature_index": 0, "border": 0.0}
    at, borders, missing_left = _questions([node.get("split", none) for node in nodes], columns)
    values = [np.broadcast_to(node.get("value", 0.0), width) for node in nodes]
    return Tree(at, borders, integers(left), integers(right), missing_left, np.array(values, float))
