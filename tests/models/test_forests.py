from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from changeproof.errors import InputError
from changeproof.model import Floats
from changeproof.models.forests.building import (
    last_below,
    last_rounded_to,
    last_single_at_most,
)
from changeproof.models.forests.forest import Forest, ForestStack
from changeproof.models.forests.reading import read_forest
from changeproof.models.forests.splits import split_points
from forests import CATEGORIES, CODED, frame, nearest_accepted, on_edges, table

CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(20, random_state=0),
    ExtraTreesClassifier(20, random_state=0, max_leaf_nodes=40),
    GradientBoostingClassifier(n_estimators=50, random_state=0),
    HistGradientBoostingClassifier(max_iter=20, random_state=0),
]


def name(model: Any) -> str:
    return type(model).__name__


def forest_of(model: Any) -> Forest:
    forest, reason = read_forest(model)
    assert forest is not None, reason
    return forest


def few_at_once(forest: Forest, rows: Floats) -> Floats:
    """Margins as the kernel for few rows gives them."""
    return np.concatenate([forest.margins(rows[k : k + 3]) for k in range(0, len(rows), 3)])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_digits_and_decisions_are_those_of_scikit_learn(model: Any, classes: int) -> None:
    missing = not isinstance(model, GradientBoostingClassifier)
    model.fit(*table(0, classes=classes, missing=missing))
    forest = forest_of(model)
    rows = on_edges(table(1, missing=missing)[0], forest, seed=2)
    if isinstance(model, HistGradientBoostingClassifier):  # others take no infinity
        rows[::7, 0], rows[::9, 1] = np.inf, -np.inf
    np.testing.assert_array_equal(forest.probabilities(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(forest.classes(rows), model.predict(rows))
    np.testing.assert_array_equal(few_at_once(forest, rows), forest.margins(rows))
    if hasattr(model, "decision_function"):
        margins = model.decision_function(rows).reshape(len(rows), -1)
        np.testing.assert_array_equal(forest.margins(rows), margins)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(10, random_state=0),
        GradientBoostingRegressor(n_estimators=30, random_state=0),
        HistGradientBoostingRegressor(max_iter=20, random_state=0),
    ],
    ids=name,
)
def test_numbers_of_regressions_are_those_of_scikit_learn(model: Any) -> None:
    rows, labels = table(0, missing=False)
    forest = forest_of(model.fit(rows, labels + rows[:, 2]))
    rows = on_edges(rows, forest, seed=1)
    np.testing.assert_array_equal(forest.probabilities(rows)[:, 0], model.predict(rows))
    with pytest.raises(InputError, match="a regression has no classes"):
        forest.classes(rows)


def test_categories_are_codes_in_the_order_that_the_forest_names() -> None:
    rows, labels = table(0)
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    # As the first column, so that columns change places inside scikit-learn.
    columns = ["e", "a", "b", "c", "d", "f"]
    model.fit(frame(rows)[columns].iloc[::-1], labels[::-1])
    forest = forest_of(model)
    assert forest.categories == {0: tuple(CATEGORIES)}
    order = [CODED, 0, 1, 2, 3, 5]
    asked = frame(rows)[columns]
    np.testing.assert_array_equal(forest.probabilities(rows[:, order]), model.predict_proba(asked))
    # A category that was not seen in training counts as missing.
    known = rows[:, CODED] != 3
    model.fit(frame(rows).loc[known, columns], labels[known])
    np.testing.assert_array_equal(
        forest_of(model).probabilities(_codes(model, rows)[:, order]), model.predict_proba(asked)
    )


def _codes(model: Any, rows: Floats) -> Floats:
    """Return rows with the codes of the model's own categories; an unknown one has none."""
    known = forest_of(model).categories[0]
    places = [known.index(kind) if kind in known else 99 for kind in CATEGORIES]
    found, has = rows.copy(), ~np.isnan(rows[:, CODED])
    found[has, CODED] = np.array(places)[rows[has, CODED].astype(np.int64)]
    return found


SINGLES = st.floats(width=32, allow_nan=False)


@given(SINGLES, st.floats(allow_nan=False), st.integers(-3, 3))
def test_float64_thresholds_stand_for_comparisons_in_float32(
    threshold: float, x: float, steps: int
) -> None:
    limit = np.array([threshold], np.float32)
    at_most, below = last_rounded_to(limit)[0], last_below(limit)[0]
    near = at_most
    for _ in range(abs(steps)):
        near = np.nextafter(near, np.copysign(np.inf, steps))
    with np.errstate(over="ignore"):
        for number in (x, float(near), threshold):
            assert (number <= at_most) == bool(np.float32(number) <= limit[0])
            if threshold > -np.inf:
                assert (number <= below) == bool(np.float32(number) < limit[0])


@given(SINGLES, st.floats(allow_nan=False))
def test_float32_numbers_compare_alike_with_the_float32_below(x: float, threshold: float) -> None:
    (limit,) = last_single_at_most(np.array([threshold]))
    assert (np.float64(x) <= threshold) == bool(np.float32(x) <= limit)


def test_a_stack_gives_what_its_members_give() -> None:
    rows, labels = table(0, missing=False)
    small = GradientBoostingClassifier(n_estimators=150, random_state=1).fit(rows, labels)
    large = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=100, min_samples_leaf=2)
    coded = HistGradientBoostingClassifier(max_iter=20, categorical_features=[CODED])
    other = HistGradientBoostingClassifier(max_iter=9, categorical_features=[CODED, 5])
    rows[:, 5] = np.rint(np.abs(rows[:, 5]) * 3)
    forests = [
        forest_of(small),
        *(forest_of(model.fit(rows, labels)) for model in (coded, other, large)),
    ]
    for stack in (ForestStack(forests), ForestStack(forests[:3])):
        assert (stack.splits is None) == (len(stack) == 4)
        for asked in (rows, *(rows[:count] for count in (0, 1, 2, 7, 8, 9, 16, 25, 33))):
            margins, classes = stack.margins(asked), stack.classes(asked)
            for k, forest in enumerate(stack.forests):
                np.testing.assert_array_equal(margins[k], forest.margins(asked))
                np.testing.assert_array_equal(classes[k], forest.classes(asked))
                np.testing.assert_array_equal(
                    stack.probabilities(asked)[k], forest.probabilities(asked)
                )
    part = ForestStack(forests).part(1, 3)
    assert len(part) == 2
    assert part[1] is forests[2]


def test_a_stack_of_several_links_has_the_probabilities_of_each() -> None:
    rows, labels = table(0, missing=False, classes=3)
    models = [
        HistGradientBoostingClassifier(max_iter=5),
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
    ]
    forests = [forest_of(model.fit(rows, labels)) for model in models]
    together = ForestStack(forests).probabilities(rows)
    assert len({forest.link for forest in forests}) == 2
    for forest, own in zip(forests, together, strict=True):
        np.testing.assert_array_equal(own, forest.probabilities(rows))


def test_a_stack_wants_forests_that_fit_together() -> None:
    rows, labels = table(0, missing=False)
    one = forest_of(DecisionTreeClassifier(max_depth=2).fit(rows, labels))
    other = forest_of(DecisionTreeClassifier(max_depth=2).fit(rows[:, :4], labels))
    with pytest.raises(InputError, match=r"must agree in n_features; got \[4, 6\]"):
        ForestStack([one, other])
    with pytest.raises(InputError, match=r"expected rows of shape \(n, 6\); got \(600, 4\)"):
        one.margins(rows[:, :4])


def test_a_tree_that_is_one_leaf() -> None:
    rows, _ = table(0, missing=False)
    model = DecisionTreeClassifier().fit(rows, np.zeros(len(rows)))
    np.testing.assert_array_equal(forest_of(model).probabilities(rows), np.ones((len(rows), 1)))


def test_between_split_points_nothing_changes_and_at_each_something_may() -> None:
    rows, labels = table(0)
    forests = [
        forest_of(
            HistGradientBoostingClassifier(max_iter=5, random_state=k).fit(rows[k:], labels[k:])
        )
        for k in (0, 50)
    ]
    stack = ForestStack(forests)
    for column, points in enumerate(split_points(forests)):
        assert points.missing
        assert (np.diff(points.last_left) > 0).all()
        np.testing.assert_array_equal(points.first_right, np.nextafter(points.last_left, np.inf))
        for start, stop in zip(points.first_right[:-1], points.last_left[1:], strict=True):
            ends = [np.where(np.arange(6) == column, x, rows[:40]) for x in (start, stop)]
            np.testing.assert_array_equal(stack.margins(ends[0]), stack.margins(ends[1]))
        crossed = 0
        for left, right in zip(points.last_left, points.first_right, strict=True):
            ends = [np.where(np.arange(6) == column, x, rows) for x in (left, right)]
            crossed += bool((stack.margins(ends[0]) != stack.margins(ends[1])).any())
        assert crossed >= 0.9 * len(points.last_left)


def test_categories_that_no_split_tells_apart_are_one_group() -> None:
    rows, labels = table(0)
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features=[CODED])
    forest = forest_of(model.fit(rows, labels))
    groups = split_points([forest])[CODED].groups(9)
    assert groups[7] == groups[8]
    assert 1 < len(set(groups.tolist())) < 9
    by_group: dict[int, Floats] = {}
    for code, group in enumerate(groups.tolist()):
        margins = forest.margins(np.where(np.arange(6) == CODED, code, rows))
        np.testing.assert_array_equal(by_group.setdefault(group, margins), margins)


def test_what_cannot_be_read_says_why() -> None:
    class Own(DecisionTreeClassifier):  # type: ignore[misc]
        pass

    rows, labels = table(0, missing=False)
    own_start = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression())
    for model, reason in (
        (Own(), "Own is not a forest that can be read"),
        (LogisticRegression(), "LogisticRegression is not a forest that can be read"),
        (own_start, "it starts from a model of its own, LogisticRegression"),
        (GradientBoostingClassifier(loss="exponential"), "its loss is exponential"),
        (HistGradientBoostingRegressor(loss="poisson"), "its loss is poisson"),
    ):
        forest, said = read_forest(model.fit(rows, labels))
        assert forest is None
        assert reason in said
    forest, said = read_forest(RandomForestRegressor(2).fit(rows, rows[:, :2]))
    assert said == "RandomForestRegressor cannot be read: it has several targets"


def test_the_nearest_row_of_a_solver_is_accepted_and_the_nearest_of_all_cells() -> None:
    rows, labels = table(0, missing=False)
    rows = rows[:, [0, 2, CODED]]
    model = HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=5, min_samples_leaf=40, categorical_features=[2]
    )
    forest, weights = forest_of(model.fit(rows, labels)), np.array([1.0, 0.7, 0.4])
    points = split_points([forest])
    rejected = rows[forest.classes(rows) == 0][:6]
    for row in rejected:
        answer = nearest_accepted(forest, row, weights)
        assert answer is not None
        found, distance = answer
        assert forest.classes(found[None])[0] == 1
        # Every cell has a point that is nearest to the row: at an end, or the row's own number.
        choices = [
            np.concatenate([[row[k]], points[k].last_left, points[k].first_right]) for k in (0, 1)
        ]
        cells = np.array(np.meshgrid(*choices, np.arange(7.0))).reshape(3, -1).T
        costs = np.abs(cells[:, :2] - row[:2]) @ weights[:2] + 0.4 * (cells[:, 2] != row[2])
        accepted = forest.classes(cells) == 1
        assert distance == pytest.approx(costs[accepted].min(), abs=1e-6)
