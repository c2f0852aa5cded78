from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answered import Answered, answered
from changeproof import Task, measure
from changeproof.evaluation.metrics import METRICS, RATES, Metrics, People

SCALE = np.array([0.5, 2.0, 1.0])


class FakeTask(Task):
    """Only the distance scale of a task, so that distances have a closed form."""

    def __init__(self) -> None:
        self.relations = None  # type: ignore[misc]
        self.distance_scale = SCALE  # type: ignore[misc]
        self._varying = slice(None)  # type: ignore[misc]
        self.n_counted = len(SCALE)  # type: ignore[misc]


def measured(case: Answered, task: Task | None = None) -> Metrics:
    return measure(task or FakeTask(), case.answers, case.survived)


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else np.nan


def slowly_measured(case: Answered) -> dict[str, float]:
    """The paper's definitions, one request and one model at a time."""
    requests = range(len(case.found))
    returned = [i for i in requests if case.found[i]]
    valid = [i for i in returned if case.valid[i]]
    survivals, distances, holding = [], [], []
    for i in requests:
        held = [1.0 if survived else 0.0 for survived in case.survived[i]]
        if i in valid:
            survivals += held
            moves = [abs(case.rows[i, j] - case.factuals[i, j]) / SCALE[j] for j in range(3)]
            distances.append(sum(moves) / 3)
        holding += held if i in valid else [0.0] * max(1, len(held))
    return {
        "coverage": 100 * mean([float(i in returned) for i in requests]),
        "base_validity": 100 * mean([float(i in valid) for i in returned]),
        "empirical_robustness": 100 * mean(survivals),
        # Who has nothing base-valid has nothing that holds, whatever the models.
        "end_to_end_robustness": 100 * mean(holding) if survivals or not valid else np.nan,
        "distance": mean(distances),
    }


@given(answered())
def test_metrics_are_what_the_paper_says(case: Answered) -> None:
    assert measured(case).as_dict() == pytest.approx(slowly_measured(case), nan_ok=True)


@given(answered(fewest=1, fewest_models=1))
def test_what_is_undefined_is_nan_and_nothing_else_is(case: Answered) -> None:
    metrics = measured(case)
    undefined = {name for name, value in metrics.as_dict().items() if np.isnan(value)}
    if case.valid.any():
        assert undefined == set()
    elif case.found.any():
        assert undefined == {"empirical_robustness", "distance"}
    else:
        assert undefined == {"base_validity", "empirical_robustness", "distance"}
    if not case.valid.any():
        assert metrics.end_to_end_robustness == 0.0


@given(answered(fewest_models=1))
def test_without_requests_all_is_undefined(case: Answered) -> None:
    assert np.isnan(list(measured(case.requests(slice(0, 0))).as_dict().values())).all()


@given(answered(fewest=1))
def test_without_models_only_robustness_is_undefined(case: Answered) -> None:
    all_models, none = measured(case), measured(case.models(slice(0, 0)))
    for name in ("coverage", "base_validity", "distance"):
        assert getattr(none, name) == pytest.approx(getattr(all_models, name), nan_ok=True)
    assert np.isnan(none.empirical_robustness)
    assert np.isnan(none.end_to_end_robustness) == case.valid.any()


@given(answered(fewest=1, fewest_models=1))
def test_rates_are_percentages_and_end_to_end_is_their_product(case: Answered) -> None:
    metrics = measured(case)
    rates = [getattr(metrics, name) for name in RATES]
    assert all(np.isnan(rate) or 0 <= rate <= 100 for rate in rates)
    if case.valid.any():
        product = np.prod([rate / 100 for rate in rates[:3]])
        assert metrics.end_to_end_robustness == pytest.approx(100 * product)
    assert not metrics.end_to_end_robustness > min(metrics.coverage, rates[2]) + 1e-9
    assert not metrics.distance < 0


@given(answered(), st.randoms())
def test_the_order_of_requests_and_models_does_not_matter(case: Answered, random: object) -> None:
    generator = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    expected = pytest.approx(measured(case).as_dict(), nan_ok=True)
    people = generator.permutation(len(case.found))
    models = generator.permutation(case.survived.shape[1])
    assert measured(case.requests(people)).as_dict() == expected
    assert measured(case.models(models)).as_dict() == expected


def weighted(parts: list[Metrics], name: str, weights: list[int]) -> float:
    pairs = [(getattr(part, name), weight) for part, weight in zip(parts, weights, strict=True)]
    total = sum(weights)
    return sum(value * weight for value, weight in pairs if weight) / total if total else np.nan


@given(answered(fewest=1, fewest_models=1), st.integers(0, 9))
def test_metrics_of_all_requests_are_means_of_those_of_parts(case: Answered, cut: int) -> None:
    """Each rate is a mean over those whom it is defined on: the asked, found or base-valid."""
    parts = [case.requests(slice(0, cut)), case.requests(slice(cut, None))]
    whole, halves = measured(case), [measured(part) for part in parts]
    asked = [len(part.found) for part in parts]
    found = [int(part.found.sum()) for part in parts]
    valid = [int(part.valid.sum()) for part in parts]
    over = dict(zip(METRICS, [asked, found, valid, asked, valid], strict=True))
    for name, weights in over.items():
        expected = weighted(halves, name, weights)
        assert getattr(whole, name) == pytest.approx(expected, nan_ok=True), name


@given(answered(fewest=1, fewest_models=1), st.lists(st.integers(0, 3), min_size=9, max_size=9))
def test_overall_robustness_is_the_mean_of_families_by_their_models(
    case: Answered, families: list[int]
) -> None:
    family_of = np.array(families[: case.survived.shape[1]])
    names = np.unique(family_of)
    metrics = [measured(case.models(family_of == name)) for name in names]
    sizes = [int((family_of == name).sum()) for name in names]
    whole = measured(case)
    for name in ("empirical_robustness", "end_to_end_robustness"):
        expected = weighted(metrics, name, sizes)
        assert getattr(whole, name) == pytest.approx(expected, nan_ok=True)
    for one in metrics:
        for name in ("coverage", "base_validity", "distance"):
            assert getattr(one, name) == pytest.approx(getattr(whole, name), nan_ok=True)


@given(answered(fewest=1, fewest_models=1), st.integers(1, 5))
def test_unanswered_requests_lower_coverage_and_nothing_else(case: Answered, more: int) -> None:
    n = len(case.found)
    longer = case.requests(np.concatenate([np.arange(n), np.zeros(more, dtype=int)]))
    longer.found[n:] = longer.valid[n:] = longer.survived[n:] = False
    before, after = measured(case), measured(longer)
    for name in ("coverage", "end_to_end_robustness"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) * n / (n + more))
    for name in ("base_validity", "empirical_robustness", "distance"):
        np.testing.assert_equal(getattr(after, name), getattr(before, name))


@given(answered(fewest=1, fewest_models=1))
def test_what_is_not_base_valid_counts_for_nothing_but_coverage(case: Answered) -> None:
    """How far it moves and whether it survives does not matter."""
    idle = ~case.valid
    rows, survived = case.rows.copy(), case.survived.copy()
    rows[idle] += 99.0
    survived[idle] = ~survived[idle]
    other = case._replace(rows=rows, survived=survived)
    np.testing.assert_equal(measured(other).as_dict(), measured(case).as_dict())


@pytest.mark.parametrize(("families", "each"), [(8, 25), (4, 5), (9, 5), (10, 25)])
def test_the_share_that_holds_is_at_most_all(families: int, each: int) -> None:
    """Rounded weights of that many models may add up to more than 1."""
    one = Answered(np.zeros((1, 3)), np.ones((1, 3)), *np.ones((2, 1), dtype=bool), np.ones((1, 1)))
    survived = np.ones((1, families * each), dtype=bool)
    family_of = np.repeat(np.arange(families), each).astype(str).tolist()
    (held,) = People.of(FakeTask(), one.answers, survived, family_of).held
    assert 1.0 - 1e-12 < held <= 1.0


@cache
def original_rows() -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(3)
    values = generator.normal(size=(60, 3)) * [1.0, 50.0, 0.1] + [0.0, 400.0, 3.0]
    return pd.DataFrame(values, columns=["a", "b", "c"]), np.arange(60) % 2


units = st.tuples(st.floats(1e-3, 1e3), st.floats(-100, 100))


@given(answered(fewest=1, fewest_models=1), st.lists(units, min_size=3, max_size=3))
@settings(deadline=None, max_examples=30)
def test_the_unit_of_a_feature_does_not_change_distance(
    case: Answered, conversions: list[tuple[float, float]]
) -> None:
    frame, labels = original_rows()
    task = Task("t", frame, labels)
    factors, offsets = (np.array(values) for values in zip(*conversions, strict=True))
    other = Task("t", frame * factors + offsets, labels, task.split)

    def converted(rows: np.ndarray) -> np.ndarray:
        return other.standardise(task.original(rows) * factors + offsets)

    moved = case._replace(factuals=converted(case.factuals), rows=converted(case.rows))
    expected = pytest.approx(measured(case, task).distance, rel=1e-6, nan_ok=True)
    assert measured(moved, other).distance == expected


@given(answered(fewest=1, fewest_models=1), st.permutations(range(3)))
@settings(deadline=None, max_examples=30)
def test_the_order_of_features_does_not_change_distance(case: Answered, order: list[int]) -> None:
    frame, labels = original_rows()
    task = Task("t", frame, labels)
    other = Task("t", frame.iloc[:, order], labels, task.split)
    moved = case._replace(factuals=case.factuals[:, order], rows=case.rows[:, order])
    expected = pytest.approx(measured(case, task).distance, nan_ok=True)
    assert measured(moved, other).distance == expected


def test_invalid_answers_do_not_count_for_robustness_or_distance() -> None:
    found = np.array([True, True, True, False])
    valid = np.array([True, True, False, False])
    rows = np.array([[1.0, 0, 0], [0, 4.0, 0], [99.0, 99, 99], [0, 0, 0]])
    survived = np.array([[1, 1], [1, 0], [1, 1], [0, 0]], dtype=bool)
    metrics = measured(Answered(np.zeros((4, 3)), rows, found, valid, survived))
    assert metrics.coverage == 75
    assert metrics.base_validity == pytest.approx(200 / 3)
    assert metrics.empirical_robustness == 75
    assert metrics.end_to_end_robustness == pytest.approx(37.5)
    assert metrics.distance == pytest.approx(2 / 3)
