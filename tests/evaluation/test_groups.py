"""Groups: planted rates come back, intervals cover, and small groups are not shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from changeproof.evaluation.groups import Groups, by_group
from changeproof.evaluation.metrics import METRICS, People


class Asked(NamedTuple):
    """The people of one base model, and their groups."""

    groups: np.ndarray
    people: People


def grouped(asked: Sequence[Asked], order: Sequence[str], smallest: int = 10) -> Groups:
    people = {group: [each.people.some(each.groups == group) for each in asked] for group in order}
    return by_group(people, smallest)


def planted(sizes: Sequence[int], rates: Sequence[float], seed: int) -> Asked:
    """Return people of groups "0", "1", … for whom advice holds everywhere at planted rates."""
    generator = np.random.default_rng(seed)
    groups = np.repeat([str(place) for place in range(len(sizes))], sizes).astype(object)
    number = len(groups)
    held = (generator.random(number) < np.repeat(rates, sizes)).astype(float)
    ones, distance = np.ones(number), generator.random(number)
    return Asked(groups, People(ones, ones, held, distance, np.arange(number)))


def names(number: int) -> list[str]:
    return [str(place) for place in range(number)]


def test_planted_rates_come_back_and_the_farthest_groups_are_named() -> None:
    asked = planted([400, 300, 300], [0.9, 0.5, 0.8], 1)
    found = grouped([asked], names(3))
    rates = {group: found.shown[group]["end_to_end_robustness"] for group in names(3)}
    for group, rate in zip(names(3), [90.0, 50.0, 80.0], strict=True):
        own = asked.people.held[asked.groups == group]
        assert rates[group].value == pytest.approx(100 * own.mean())
        assert rates[group].low < rate < rates[group].high
    assert [each.people for each in rates.values()] == [400, 300, 300]
    largest = found.differences["end_to_end_robustness"]
    assert (largest.highest, largest.lowest) == ("0", "1")
    assert largest.value == pytest.approx(rates["0"].value - rates["1"].value)
    assert 0 < largest.low < 40 < largest.high
    assert list(found.shown["0"]) == list(METRICS)


def test_intervals_cover_what_was_planted() -> None:
    """Also of a small group in which nearly everybody's advice holds."""
    rates, covered, trials = [0.95, 0.8], np.zeros(3), 120
    for trial in range(trials):
        found = grouped([planted([12, 60], rates, trial)], names(2))
        for place, rate in enumerate(rates):
            each = found.shown[str(place)]["end_to_end_robustness"]
            covered[place] += each.low <= 100 * rate <= each.high
        largest = found.differences["end_to_end_robustness"]
        sign = 1.0 if largest.highest == "0" else -1.0
        covered[2] += largest.low <= sign * 15.0 <= largest.high
    assert (covered / trials >= 0.91).all(), covered / trials


def test_groups_that_do_not_differ_are_seldom_said_to() -> None:
    trials = 80
    said = sum(
        grouped([planted([30] * 5, [0.7] * 5, trial)], names(5))
        .differences["end_to_end_robustness"]
        .low
        > 0.0
        for trial in range(trials)
    )
    # Without allowing for the choice of the farthest two of five, about a quarter would be.
    assert said / trials <= 0.08


def test_small_groups_and_numbers_of_few_people_are_not_shown() -> None:
    asked = planted([30, 9, 4], [0.5, 0.5, 0.5], 2)
    found = grouped([asked], names(3), smallest=10)
    assert list(found.shown) == ["0"]
    assert (found.hidden_groups, found.hidden_people) == (2, 13)
    assert all(np.isnan(each.value) for each in found.differences.values())
    assert list(found.differences) == list(METRICS)
    assert list(grouped([asked], names(3), smallest=4).shown) == names(3)
    # Of thirty people nine have advice that the base model accepts.
    few = asked.people._replace(valid=(np.arange(43) < 9).astype(float))
    shown = grouped([asked._replace(people=few)], names(3)).shown["0"]
    assert np.isnan(shown["distance"].value) and np.isnan(shown["empirical_robustness"].low)
    assert shown["base_validity"].value == pytest.approx(30.0)
    assert shown["distance"].people == 9 and shown["coverage"].people == 30


def test_people_of_several_base_models_count_once() -> None:
    asked = planted([12, 8], [0.5, 0.5], 3)
    found = grouped([asked, asked], names(2))
    assert found.shown["0"]["coverage"].people == 12
    assert found.hidden_people == 8


def test_what_base_models_share_does_not_blur_differences_between_groups() -> None:
    groups = np.repeat(["0", "1"], 200).astype(object)
    generator = np.random.default_rng(5)
    persons = np.where(groups == "0", 0.2, 0.0) + 0.02 * generator.random(400)
    ones = np.ones(400)
    asked = [
        Asked(groups, People(ones, ones, level + persons, ones, np.arange(400)))
        for level in (0.1, 0.4, 0.7)
    ]
    found = grouped(asked, names(2))
    shown = found.shown["0"]["end_to_end_robustness"]
    largest = found.differences["end_to_end_robustness"]
    assert shown.high - shown.low > 50.0 and largest.high - largest.low < 5.0
    assert largest.low < 20.0 < largest.high


def test_the_order_of_groups_changes_no_number() -> None:
    asked = planted([20, 30, 40], [0.9, 0.5, 0.7], 6)
    forth, back = (grouped([asked], order) for order in (names(3), names(3)[::-1]))
    apart = {metric: each for metric, each in forth.differences.items() if each.value > 0}
    assert list(apart) == ["empirical_robustness", "end_to_end_robustness", "distance"]
    assert apart == {metric: back.differences[metric] for metric in apart}
    assert {group: forth.shown[group] for group in names(3)} == back.shown


def test_what_everybody_has_is_not_certain() -> None:
    found = grouped([planted([12, 30], [1.0, 1.0], 7)], names(2))
    coverage = found.shown["0"]["coverage"]
    # Twelve of twelve: a share of 0.025 ** (1 / 12) is just possible.
    assert (coverage.low, coverage.high) == pytest.approx((100 * 0.025 ** (1 / 12), 100.0))
    assert found.differences["coverage"].low < 0 < found.differences["coverage"].high
    assert found.differences["coverage"].people == 12
