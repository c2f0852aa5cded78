"""Intervals over people: the metrics of known cases, and how often intervals cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from changeproof.evaluation.metrics import METRICS, People, family_weights
from changeproof.evaluation.people import Estimate, estimates


def some_people(seed: int, number: int = 60) -> People:
    generator = np.random.default_rng(seed)
    found = (generator.random(number) < 0.9).astype(float)
    valid = found * (generator.random(number) < 0.8)
    held, distance = (valid * generator.random(number) for _ in range(2))
    return People(found, valid, held, distance, np.arange(number))


def holding(held: np.ndarray, first: int = 0) -> People:
    """People with valid advice, whose row ids begin at a number."""
    ones = np.ones(len(held))
    return People(ones, ones, held.astype(float), ones, first + np.arange(len(held)))


def test_values_are_the_metrics_themselves() -> None:
    people = some_people(1)
    found, valid, held, distance, _ = people
    result = estimates([people])
    expected = (
        100 * found.mean(),
        100 * valid.sum() / found.sum(),
        100 * held.sum() / valid.sum(),
        100 * held.mean(),
        distance.sum() / valid.sum(),
    )
    for metric, value in zip(METRICS, expected, strict=True):
        assert result[metric].value == pytest.approx(value)
        assert result[metric].low <= value <= result[metric].high
    behind = [60, found.sum(), valid.sum(), 60, valid.sum()]
    assert [result[metric].people for metric in METRICS] == behind


def test_many_people_have_the_interval_of_a_mean() -> None:
    held = np.random.default_rng(2).beta(4, 4, 400)
    found = estimates([holding(held)])["end_to_end_robustness"]
    expected = 1.966 * 100 * held.std(ddof=1) / np.sqrt(400)
    assert found.high - found.value == pytest.approx(expected, rel=0.03)
    assert found.value - found.low == pytest.approx(expected, rel=0.03)


def test_base_models_count_alike_and_their_spread_counts_too() -> None:
    same = [some_people(3, 30), some_people(3, 30)]
    apart = [same[0], People(*(0.0 * values for values in same[1][:4]), same[1].row_ids)]
    inside, outside = (estimates(each)["coverage"] for each in (same, apart))
    assert outside.value == pytest.approx(inside.value / 2)
    assert outside.high - outside.low > inside.high - inside.low


def test_the_same_people_do_not_count_as_others() -> None:
    """Asked by four base models, thirty people are thirty people."""
    held = np.random.default_rng(4).random(30)
    (alone,) = (estimates([holding(held)])["end_to_end_robustness"],)
    again = estimates([holding(held)] * 4)["end_to_end_robustness"]
    others = estimates([holding(held, 100 * place) for place in range(4)])["end_to_end_robustness"]
    assert again == pytest.approx(alone) and (again.people, others.people) == (30, 120)
    assert others.high - others.low < 0.7 * (again.high - again.low)


def test_nobody_and_nothing_valid_are_undefined() -> None:
    nobody = People(*(np.empty(0) for _ in range(5)))
    assert all(np.isnan(each.value) for each in estimates([nobody]).values())
    nothing = People(*(np.zeros(5) for _ in range(4)), np.arange(5))
    result = estimates([nothing])
    assert result["end_to_end_robustness"].value == 0.0
    assert np.isnan(result["empirical_robustness"].value)
    assert np.isnan(result["distance"].low)


def test_one_person_says_next_to_nothing() -> None:
    found = estimates([holding(np.ones(1))])
    assert found["end_to_end_robustness"] == pytest.approx(Estimate(100.0, 2.5, 100.0, 1))
    half = estimates([holding(np.full(1, 0.5))])["end_to_end_robustness"]
    assert (half.low, half.high) == (0.0, 100.0)
    assert np.isnan(found["distance"].low) and found["distance"].value == 1.0


def skewed(generator: np.random.Generator, number: int) -> np.ndarray:
    """Advice holds everywhere for nine of ten people, and anyhow for the tenth."""
    odd = generator.random(number) < 0.1
    return np.where(odd, generator.random(number), 1.0)


@pytest.mark.parametrize("number", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.97, 0.99, None])
def test_intervals_cover_a_known_share(number: int, share: float | None) -> None:
    """In 95 % of cases, however few people there are and however near to 1 the share is."""
    generator, covered, trials = np.random.default_rng(2026), 0, 400
    truth = 0.95 if share is None else share
    for _ in range(trials):
        held = skewed(generator, number) if share is None else generator.random(number) < share
        found = estimates([holding(np.asarray(held))])["end_to_end_robustness"]
        assert found.low < found.high
        covered += found.low <= 100 * truth <= found.high
    assert covered / trials >= 0.93


@pytest.mark.parametrize("models", [2, 3, 5, 10])
def test_intervals_cover_what_base_models_have_in_common(models: int) -> None:
    """Of a mean over base models that differ, with the same forty people."""
    generator, covered, trials = np.random.default_rng(2027), 0, 300
    for _ in range(trials):
        persons = generator.normal(0.0, 0.1, 40)
        levels = 0.6 + generator.normal(0.0, 0.05, models)
        groups = [holding(np.clip(level + persons, 0.0, 1.0)) for level in levels]
        found = estimates(groups)["end_to_end_robustness"]
        covered += found.low <= 60.0 <= found.high
    assert covered / trials >= 0.93


def test_every_family_counts_the_same() -> None:
    weights = family_weights(["a", "b", "b", "b", "b"])
    assert weights == pytest.approx([0.5, *[0.125] * 4])
    assert (family_weights(["a", "a", "b", "b"]) == 0.25).all()
