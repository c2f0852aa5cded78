"""Intervals over people: the metrics of known cases, and how often intervals cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from changeproof.evaluation.metrics import METRICS, family_weights
from changeproof.evaluation.people import DRAWS, People, drawn, estimates


def some_people(seed: int, number: int = 60) -> People:
    generator = np.random.default_rng(seed)
    found = (generator.random(number) < 0.9).astype(float)
    valid = found * (generator.random(number) < 0.8)
    return People(found, valid, valid * generator.random(number), valid * generator.random(number))


def test_values_are_the_metrics_themselves() -> None:
    people = some_people(1)
    found, valid, held, distance = people
    result = estimates([people], ("test",))
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
        assert result[metric].people == 60


def test_draws_are_those_of_a_plain_bootstrap() -> None:
    people = some_people(2, 40)
    values = drawn([people], ("spread",))["end_to_end_robustness"][1:]
    assert len(values) == DRAWS
    assert values.std() == pytest.approx(100 * people.held.std() / np.sqrt(40), rel=0.08)


def test_base_models_count_alike_and_are_drawn_again_too() -> None:
    same = [some_people(3, 30), some_people(3, 30)]
    apart = [same[0], People(*(0.0 * values for values in same[1]))]
    inside, outside = (estimates(each, ("several",))["coverage"] for each in (same, apart))
    assert outside.value == pytest.approx(inside.value / 2)
    assert outside.high - outside.low > inside.high - inside.low


def test_the_same_address_draws_the_same_people() -> None:
    one, other = some_people(4), some_people(5)
    first = drawn([one], ("paired",))["coverage"] - drawn([other], ("paired",))["coverage"]
    again = drawn([one], ("paired",))["coverage"] - drawn([other], ("paired",))["coverage"]
    assert (first == again).all()
    assert (
        drawn([one], ("else",))["coverage"][1:] != drawn([one], ("paired",))["coverage"][1:]
    ).any()


def test_nobody_and_nothing_valid_are_undefined() -> None:
    nobody = People(*(np.empty(0) for _ in range(4)))
    assert all(np.isnan(each.value) for each in estimates([nobody], ("nobody",)).values())
    nothing = People(*(np.zeros(5) for _ in range(4)))
    result = estimates([nothing], ("nothing",))
    assert result["end_to_end_robustness"].value == 0.0
    assert np.isnan(result["empirical_robustness"].value)
    assert np.isnan(result["distance"].low)


def test_intervals_cover_a_known_share() -> None:
    generator, covered = np.random.default_rng(6), 0
    for trial in range(200):
        held = (generator.random(80) < 0.7).astype(float)
        ones = np.ones(80)
        low, high = estimates([People(ones, ones, held, ones)], ("cover", trial))[
            "end_to_end_robustness"
        ][1:3]
        covered += low <= 70.0 <= high
    assert 180 <= covered <= 198


def test_every_family_counts_the_same() -> None:
    weights = family_weights(["a", "b", "b", "b", "b"])
    assert weights == pytest.approx([0.5, *[0.125] * 4])
    assert (family_weights(["a", "a", "b", "b"]) == 0.25).all()
