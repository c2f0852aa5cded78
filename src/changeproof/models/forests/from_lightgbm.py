"""Forests of LightGBM, from the text that it saves.

Everything is float64, and 17 digits of the text give every number back.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from changeproof.model import Floats, Integers
from changeproof.models.forests.building import OpaqueError, integers
from changeproof.models.forests.forest import CodeSet, Forest, Link, Tree

LINKS = {
    "binary": Link.LOGISTIC,
    "cross_entropy": Link.LOGISTIC,
    "multiclass": Link.SOFTMAX_IN_ORDER,
    "multiclassova": Link.LOGISTIC_EACH,
    "regression": Link.NONE,
    "regression_l1": Link.NONE,
    "huber": Link.NONE,
    "fair": Link.NONE,
    "quantile": Link.NONE,
    "mape": Link.NONE,
}
# Bits of `decision_type`.
CATEGORICAL, DEFAULT_LEFT, MISSING_TYPE = 1, 2, 12
MISSING_IS_NAN, MISSING_IS_ZERO = 8, 4
# Numbers up to here count as 0.
TINY = float(np.float32(1e-35))


def read(model: Any) -> Forest:
    booster = getattr(model, "booster_", model)
    text = booster.model_to_string()  # up to the best round, as it predicts
    header, *blocks = text.split("\n\nend of trees")[0].split("\nTree=")
    settings = _settings(header)
    objective, *options = settings.get("objective", "none").split(" ")
    plain = (option == "sigmoid:1" or option.startswith("num_class:") for option in options)
    if objective not in LINKS or not all(plain):
        raise OpaqueError(f"its objective is {settings.get('objective', 'a function')}")
    n_outputs = int(settings["num_tree_per_iteration"])
    sets: list[CodeSet] = []
    trees = tuple(_tree(_settings(block), sets) for block in blocks)
    rounds = len(trees) // n_outputs
    return Forest(
        trees=trees,
        n_features=int(settings["max_feature_idx"]) + 1,
        n_outputs=n_outputs,
        slots=np.tile(np.arange(n_outputs), rounds),
        start=np.zeros(n_outputs),
        divisor=float(rounds) if "average_output" in settings else 1.0,
        link=LINKS[objective],
        n_classes=max(2, n_outputs) if LINKS[objective] is not Link.NONE else 0,
        sets=tuple(sets),
        categories=_categories(text, settings["feature_infos"].split(" ")),
    )


def _settings(block: str) -> dict[str, str]:
    lines = (line.partition("=") for line in block.split("\n"))
    return {name: value for name, _, value in lines}


def _numbers(text: str) -> Floats:
    return np.array(text.split(" ") if text else [], np.float64)


def _tree(block: dict[str, str], sets: list[CodeSet]) -> Tree:
    """Inner nodes are counted from 0; a leaf is -1 minus its number."""
    if block.get("is_linear", "0") != "0":
        raise OpaqueError("its leaves have linear models")
    values = _numbers(block["leaf_value"])
    n_inner = int(block["num_leaves"]) - 1
    decisions = integers(_numbers(block.get("decision_type", "")))[:n_inner]
    if ((decisions & MISSING_TYPE) == MISSING_IS_ZERO).any():
        raise OpaqueError("it takes zeros for missing values")
    thresholds = _numbers(block.get("threshold", ""))[:n_inner]
    # Where no value was missing in training, a missing value counts as 0.
    as_zero = (decisions & MISSING_TYPE) != MISSING_IS_NAN
    missing_left = np.where(as_zero, thresholds >= 0.0, (decisions & DEFAULT_LEFT) != 0)
    leaves = np.full(n_inner + 1, -1)
    left, right = (
        np.concatenate([np.where(found < 0, n_inner + ~found, found), leaves])
        for found in (
            integers(_numbers(block.get(f"{side}_child", "")))[:n_inner]
            for side in ("left", "right")
        )
    )
    features = integers(_numbers(block.get("split_feature", "")))[:n_inner]
    return Tree(
        feature=np.concatenate([features, 0 * leaves]),
        threshold=np.concatenate([_past_zero(thresholds), 0.0 * leaves]),
        left=left,
        right=right,
        missing_left=np.concatenate([missing_left, leaves < 0]),
        values=np.concatenate([np.zeros(n_inner), values])[:, None],
        categorical=np.concatenate([_categorical(block, decisions, thresholds, sets), leaves]),
    )


def _past_zero(thresholds: Floats) -> Floats:
    """Return thresholds that tell tiny numbers from 0 no more than LightGBM does."""
    around = np.where(thresholds >= 0.0, TINY, np.nextafter(-TINY, -np.inf))
    return np.where(np.abs(thresholds) <= TINY, around, thresholds)


def _categorical(
    block: dict[str, str], decisions: Integers, thresholds: Floats, sets: list[CodeSet]
) -> Integers:
    numbers = np.full(len(decisions), -1)
    split = np.flatnonzero(decisions & CATEGORICAL)
    if not len(split):
        return numbers
    ends = integers(_numbers(block["cat_boundaries"]))
    words = _numbers(block["cat_threshold"]).astype(np.uint32)
    for node in split:
        place = int(thresholds[node])
        own = words[ends[place] : ends[place + 1]]
        codes = ((own[:, None] >> np.arange(32, dtype=np.uint32)) & 1).astype(np.bool_)
        numbers[node] = len(sets)
        sets.append(CodeSet(codes.ravel(), missing=False, other=False))
    return numbers


def _categories(text: str, infos: list[str]) -> dict[int, tuple[Any, ...]]:
    """Return the categories of columns that were categories of pandas."""
    listed = json.loads(text.rpartition("pandas_categorical:")[2].strip() or "null") or []
    # A number's range is [low:high], a category's are its codes a:b:c.
    columns = [k for k, info in enumerate(infos) if info != "none" and not info.startswith("[")]
    if listed and len(columns) != len(listed):
        raise OpaqueError("it does not say which columns have categories")
    return {column: tuple(values) for column, values in zip(columns, listed, strict=False)}
