from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from changeproof.models.forests.forest import Forest
from changeproof.models.forests.reaching import Reaching
from changeproof.models.forests.reading import read_forest
from changeproof.models.forests.views import ForestView
from forests import table


def forest_of(model: Any, missing: bool, classes: int = 2) -> Forest:
    forest = read_forest(model.fit(*table(0, missing=missing, classes=classes))).forest
    assert forest is not None
    return forest


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, random_state=0),
        ExtraTreesClassifier(7, random_state=0),
        RandomForestClassifier(1, random_state=0, max_depth=1),
    ],
)
def test_fewer_trees_answer_as_all_of_them_do(model: Any, missing: bool) -> None:
    forest = forest_of(model, missing)
    rows = table(1, n=300, missing=missing)[0]
    for place in (0, 1):
        reaching = Reaching.of(forest, place)
        assert reaching is not None
        likely = forest.probabilities(rows)[:, place]
        # Also at probabilities that rows have, to the last digit.
        edges = [edge for share in np.unique(likely) for edge in (share, np.nextafter(share, 2.0))]
        for least in (0.0, 0.3, 0.5, 1.0, *edges):
            for some in (rows, rows[:1], rows[:0]):
                expected = forest.probabilities(some)[:, place] >= least
                np.testing.assert_array_equal(reaching.reaches(some, least), expected)


def test_rows_are_decided_before_the_last_tree() -> None:
    forest = forest_of(RandomForestClassifier(40, random_state=0), False)
    # If more trees were asked than needed, what the last ones say would not be a number.
    last = [tree._replace(values=np.full_like(tree.values, np.nan)) for tree in forest.trees[-4:]]
    spoiled = replace(forest, trees=(*forest.trees[:-4], *last))
    rows = table(1, n=200, missing=False)[0]
    sure = forest.probabilities(rows)[:, 1] < 0.3
    reaching = Reaching(spoiled, 1)
    vars(reaching)["_rest"] = Reaching(forest, 1)._rest
    assert sure.sum() > 20
    assert not reaching.reaches(rows[sure], 0.7).any()
    assert np.isnan(spoiled.probabilities(rows)).any()


def test_probabilities_that_are_no_sums_are_compared_as_they_are() -> None:
    rows = table(0, missing=False)[0]
    deep = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=100, min_samples_leaf=2)
    forest = forest_of(deep, False)
    assert Reaching.of(forest, 1) is None
    view = ForestView(forest, [1])
    for least in (0.2, 0.5, view.probabilities(rows)[3]):
        np.testing.assert_array_equal(view.reaches(rows, least), view.probabilities(rows) >= least)


def test_a_view_that_decides_as_its_library_does_is_asked_for_its_probabilities() -> None:
    forest = forest_of(RandomForestClassifier(2, random_state=0), False)
    rows = table(1, missing=False)[0]
    view = ForestView(forest, [1], own=True)
    ties = view.forest.probabilities(rows)[:, 1] == 0.5
    assert ties.any()
    np.testing.assert_array_equal(view.reaches(rows, 0.5), view.probabilities(rows) >= 0.5)
