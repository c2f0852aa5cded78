"""Forests of XGBoost, from the JSON that it saves.

Rows are rounded to float32; `x < condition` goes left. Sums are float32 numbers, and start from the
base score. The digits of the JSON give every float32 back.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np

from changeproof.arithmetic.functions import logarithms
from changeproof.model import Floats, Integers
from changeproof.models.forests.building import OpaqueError, integers, last_below, reachable
from changeproof.models.forests.forest import CodeSet, Forest, Link, Tree

LINKS = {
    "binary:logistic": Link.LOGISTIC_SINGLE,
    "multi:softprob": Link.SOFTMAX_SINGLE,
    "reg:squarederror": Link.NONE,
    "reg:absoluteerror": Link.NONE,
    "reg:pseudohubererror": Link.NONE,
    "reg:quantileerror": Link.NONE,
}


def read(model: Any) -> Forest:
    if not math.isnan(missing := getattr(model, "missing", math.nan)):
        raise OpaqueError(f"it takes {missing} for a missing value")
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(booster.save_raw("json"))["learner"]
    parameters, objective = learner["learner_model_param"], learner["objective"]["name"]
    if learner["gradient_booster"]["name"] != "gbtree":
        raise OpaqueError(f"its booster is {learner['gradient_booster']['name']}")
    if objective not in LINKS:
        raise OpaqueError(f"its objective is {objective}")
    if int(parameters["num_target"]) > 1:
        raise OpaqueError("it has several targets")
    found = learner["gradient_booster"]["model"]
    rounds = len(found["iteration_indptr"]) - 1
    if booster is not model or "scikit_learn" in booster.attributes():
        rounds = _best(booster, rounds)
    n_trees = found["iteration_indptr"][rounds]
    n_outputs = max(1, int(parameters["num_class"]))
    sets: list[CodeSet] = []
    return Forest(
        trees=tuple(_tree(tree, sets) for tree in found["trees"][:n_trees]),
        n_features=int(parameters["num_feature"]),
        n_outputs=n_outputs,
        slots=integers(found["tree_info"][:n_trees]),
        start=_start(parameters["base_score"], objective, n_outputs),
        single=True,
        link=LINKS[objective],
        n_classes={"binary": 2, "multi:": n_outputs}.get(objective[:6], 0),
        sets=tuple(sets),
        categories=_categories(found.get("cats", {}).get("enc", [])),
    )


def _best(booster: Any, rounds: int) -> int:
    """Return how many rounds a classifier counts: up to the best, where training stopped early."""
    best = booster.attr("best_iteration")
    return rounds if best is None else int(best) + 1


def _start(written: str, objective: str, n_outputs: int) -> Floats:
    base = np.array(json.loads(written), np.float32).reshape(-1)
    if objective == "binary:logistic":  # given as a probability
        one = np.float32(1.0)
        odds = (one / base - one).astype(np.float64)
        base = -logarithms(odds).astype(np.float32)
    return np.broadcast_to(base.astype(np.float64), n_outputs).copy()


def _tree(tree: dict[str, Any], sets: list[CodeSet]) -> Tree:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise OpaqueError("its leaves have several values")
    conditions = np.array(tree["split_conditions"], np.float32)
    missing_left = np.array(tree["default_left"], np.bool_)
    found = Tree(
        feature=integers(tree["split_indices"]),
        threshold=last_below(conditions),
        left=integers(tree["left_children"]),
        right=integers(tree["right_children"]),
        missing_left=missing_left,
        values=conditions.astype(np.float64)[:, None],
        categorical=_categorical(tree, missing_left, sets),
    )
    return reachable(found) if int(tree["tree_param"]["num_deleted"]) else found


def _categorical(tree: dict[str, Any], missing_left: Any, sets: list[CodeSet]) -> Integers:
    """The categories that are listed go right, all others left."""
    numbers = np.full(len(missing_left), -1)
    parts = (tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"])
    for node, start, size in zip(*parts, strict=True):
        listed = tree["categories"][start : start + size]
        left = np.ones(max(listed) + 1, np.bool_)
        left[listed] = False
        numbers[node] = len(sets)
        sets.append(CodeSet(left, missing=bool(missing_left[node]), other=True))
    return numbers


def _categories(encodings: list[dict[str, Any]]) -> dict[int, tuple[Any, ...]]:
    found: dict[int, tuple[Any, ...]] = {}
    for column, encoding in enumerate(encodings):
        values = encoding["values"]
        if "offsets" in encoding:
            text, ends = bytes(each % 256 for each in values), encoding["offsets"]
            values = [text[i:j].decode() for i, j in pairwise(ends)]
        if values:
            found[column] = tuple(values)
    return found
