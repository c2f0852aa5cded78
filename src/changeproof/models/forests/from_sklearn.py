"""Forests of scikit-learn, from its own arrays.

Trees, forests and GradientBoosting round rows to float32 and compare with a float64 threshold;
HistGradientBoosting compares in float64. All of them add up in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from changeproof.model import Booleans, Integers
from changeproof.models.forests.building import (
    OpaqueError,
    last_rounded_to,
    last_single_at_most,
)
from changeproof.models.forests.forest import CodeSet, Forest, Link, Tree

CODES = 256


def read(model: Any) -> Forest:
    name = type(model).__name__
    if name.startswith("HistGradientBoosting"):
        return _read_histogram_boosting(model)
    if name.startswith("GradientBoosting"):
        return _read_boosting(model)
    return _read_averages(model)


def _read_averages(model: Any) -> Forest:
    """Read a tree, or a forest that takes the mean of its trees."""
    if model.n_outputs_ != 1:
        raise OpaqueError("it has several targets")
    members = getattr(model, "estimators_", [model])
    n_classes = int(getattr(model, "n_classes_", 0))
    n_outputs = max(1, n_classes)
    return Forest(
        trees=tuple(_tree(member.tree_, 1.0, n_outputs) for member in members),
        n_features=int(model.n_features_in_),
        n_outputs=n_outputs,
        slots=np.zeros(len(members), np.int64),
        start=np.zeros(n_outputs),
        divisor=float(len(members)),
        link=Link.NONE,
        n_classes=n_classes,
    )


def _read_boosting(model: Any) -> Forest:
    own = model.init_ if isinstance(model.init_, str) else type(model.init_).__name__
    if own not in ("zero", "DummyClassifier", "DummyRegressor"):
        raise OpaqueError(f"it starts from a model of its own, {own}")
    n_outputs = int(model.n_trees_per_iteration_)
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes and model.loss != "log_loss":
        raise OpaqueError(f"its loss is {model.loss}")
    rounds = model.estimators_
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    return Forest(
        trees=tuple(_tree(each.tree_, model.learning_rate, 1) for each in rounds.ravel()),
        n_features=int(model.n_features_in_),
        n_outputs=n_outputs,
        slots=np.tile(np.arange(n_outputs), len(rounds)),
        start=np.asarray(start, np.float64),
        link=boosted_link(n_classes),
        n_classes=n_classes,
        decides_by_margin=True,
        half_is_second=True,
    )


def boosted_link(n_classes: int) -> Link:
    if not n_classes:
        return Link.NONE
    return Link.LOGISTIC if n_classes == 2 else Link.SOFTMAX


def _tree(tree: Any, rate: float, width: int) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=last_rounded_to(last_single_at_most(tree.threshold)),
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        values=rate * tree.value[:, 0, :width],
    )


def _read_histogram_boosting(model: Any) -> Forest:
    n_classes = len(getattr(model, "classes_", ()))
    if not n_classes and model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise OpaqueError(f"its loss is {model.loss}")
    columns, categories = _columns(model)
    known, position = model._bin_mapper.make_known_categories_bitsets()
    sets: list[CodeSet] = []
    trees = [
        _histogram_tree(predictor, columns, _bits(known), position, sets)
        for predictors in model._predictors
        for predictor in predictors
    ]
    n_outputs = int(model.n_trees_per_iteration_)
    return Forest(
        trees=tuple(trees),
        n_features=int(model.n_features_in_),
        n_outputs=n_outputs,
        slots=np.tile(np.arange(n_outputs), len(model._predictors)),
        start=np.asarray(model._baseline_prediction, np.float64).reshape(n_outputs),
        link=boosted_link(n_classes),
        n_classes=n_classes,
        decides_by_margin=True,
        sets=tuple(sets),
        categories=categories,
    )


def _columns(model: Any) -> tuple[Integers, dict[int, tuple[Any, ...]]]:
    """Return which column a split's feature is, and the categories of columns.

    Inside, categorical columns come first, and categories are numbered as they are sorted.
    """
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_), {}
    categorical, numerical = np.flatnonzero(model.is_categorical_), ~model.is_categorical_
    encoder = model._preprocessor.named_transformers_["encoder"]
    found = {
        int(column): tuple(value for value in values if value == value and value is not None)
        for column, values in zip(categorical, encoder.categories_, strict=True)
    }
    return np.concatenate([categorical, np.flatnonzero(numerical)]), found


def _histogram_tree(
    predictor: Any, columns: Integers, known: Booleans, position: Integers, sets: list[CodeSet]
) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    missing_left = nodes["missing_go_to_left"].astype(np.bool_)
    categorical = np.full(len(nodes), -1)
    left_codes = _bits(predictor.raw_left_cat_bitsets)
    for place in np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~leaf):
        missing = bool(missing_left[place])
        own = known[position[nodes["feature_idx"][place]]]
        codes = left_codes[nodes["bitset_idx"][place]] | (~own & missing)
        categorical[place] = len(sets)
        sets.append(CodeSet(codes, missing, missing))
    return Tree(
        feature=columns[nodes["feature_idx"].astype(np.int64)],
        threshold=nodes["num_threshold"].astype(np.float64),
        left=_children(nodes["left"], leaf),
        right=_children(nodes["right"], leaf),
        missing_left=missing_left,
        values=nodes["value"].astype(np.float64)[:, None],
        categorical=categorical,
    )


def _children(places: Any, leaf: Booleans) -> Integers:
    return np.where(leaf, -1, places.astype(np.int64))


def _bits(words: Sequence[Any] | Any) -> Booleans:
    """Return sets [sets, codes] from words of 32 bits."""
    words = np.asarray(words, np.uint32).reshape(-1, CODES // 32)
    return (
        ((words[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1)
        .astype(np.bool_)
        .reshape(-1, CODES)
    )
