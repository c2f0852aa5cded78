"""Differences between entries, and groups of no clear difference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof.board.differences import (
    end_to_end_differences,
    enough,
    grouped,
    letters,
    mean_of,
    price_difference,
)
from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Sampled, difference
from changeproof.evaluation.uncertainty import Value


def cell(seed: int, entries: int, bases: int, people: int) -> list[list[People]]:
    """Return entries with people of some base models; base models share some of the people."""
    generator = np.random.default_rng(seed)
    ids = [generator.permutation(2 * people)[:people] for _ in range(bases)]
    return [
        [
            People(
                np.ones(people),
                valid := (generator.uniform(size=people) < 0.9).astype(float),
                valid * generator.integers(number, 5, people) / 4,
                valid * generator.uniform(0.1, 2.0, people),
                row_ids,
            )
            for row_ids in ids
        ]
        for number in range(entries)
    ]


@pytest.mark.parametrize("bases", [1, 5])
def test_all_pairs_at_once_are_what_one_pair_is(bases: int) -> None:
    cells = [cell(seed, 4, bases, 30) for seed in (1, 2, 3)]
    sampled = [[Sampled.of(each, "end_to_end_robustness") for each in entries] for entries in cells]
    found = end_to_end_differences(sampled)
    for row in range(4):
        for column in range(4):
            slow = mean_of(
                [
                    difference(each[column], each[row], same_people=True, same_bases=True)
                    for each in sampled
                ]
            )
            assert found.at(row, column) == pytest.approx(slow, rel=1e-12, abs=1e-12)
    assert found.clear.any()
    np.testing.assert_array_equal(found.clear, found.clear.T)


def test_equal_entries_do_not_differ_and_one_person_says_nothing() -> None:
    (one, two), *_ = cells = [cell(5, 2, 2, 12)]
    same = end_to_end_differences([[Sampled.of(one, "end_to_end_robustness")] * 2 for _ in cells])
    assert not np.abs(np.array(same)).any()
    alone = [
        [Sampled.of([each.some(np.array([0])) for each in entry[:1]], "end_to_end_robustness")]
        for entry in (one, two)
    ]
    both = end_to_end_differences([[alone[0][0], alone[1][0]]])
    assert both.low[0, 1] == -100.0
    assert both.high[0, 1] == 100.0
    assert not both.clear.any()


def test_a_mean_of_intervals_is_narrower_and_keeps_what_is_not_symmetric() -> None:
    found = mean_of([Value(90.0, 84.0, 93.0), Value(70.0, 62.0, 74.0)])
    assert found == (80.0, 80.0 - 10.0 / 2, 80.0 + 5.0 / 2)
    assert math.isnan(mean_of([Value(1.0, 0.0, 2.0), Value(math.nan, 0.0, 0.0)]).value)
    assert math.isnan(mean_of([]).value)


def test_price_is_compared_on_the_people_to_whom_both_give_valid_advice() -> None:
    ids = np.arange(20)
    near = People(np.ones(20), np.ones(20), np.ones(20), np.linspace(1.0, 2.0, 20), ids)
    # Who gets no valid advice from the other is far away, which must not count.
    lacking = np.where(ids < 15, 1.0, 0.0)
    far = near._replace(valid=lacking, distance=lacking * (near.distance + 0.5))
    found, people = price_difference([[far]], [[near]])
    assert found == pytest.approx((0.5, 0.5, 0.5))
    assert people == 15
    nobody = near._replace(valid=np.zeros(20))
    assert math.isnan(price_difference([[far]], [[nobody]])[0].value)
    assert enough(10) and not enough(9)


def test_a_group_has_all_without_a_clear_difference_to_its_first() -> None:
    # 90 and 70 differ; 80 differs from neither; what has no value is in no group.
    clear = np.zeros((5, 5), np.bool_)
    for one, other in ((0, 2), (0, 3), (1, 3)):
        clear[one, other] = clear[other, one] = True
    values = [90.0, 80.0, 70.0, 60.0, math.nan]
    assert grouped(values, clear) == ["A", "A", "B", "B", ""]
    # Turned around, the first is the one with 60.
    assert grouped(values, clear, least=True) == ["B", "B", "A", "A", ""]


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_groups_follow_the_rule_whatever_is_clear(number: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    clear = generator.uniform(size=(number, number)) < 0.5
    clear = np.triu(clear, 1) | np.triu(clear, 1).T
    values = generator.permutation(number).astype(float)
    groups = grouped(list(values), clear)
    assert all(groups)
    for letter in set(groups):
        members = [n for n in range(number) if groups[n] == letter]
        first = max(members, key=lambda n: values[n])
        assert not clear[first, members].any()
        behind = [n for n in range(number) if groups[n] > letter]
        assert clear[first, behind].all()
        assert all(values[n] < values[first] for n in behind)


def test_letters_go_on_behind_z() -> None:
    assert [letters(place) for place in (0, 1, 25, 26, 27, 52)] == ["A", "B", "Z", "AA", "AB", "BA"]
