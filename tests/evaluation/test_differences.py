"""Differences between two evaluations: known ones come back, paired or not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Verdict
from changeproof.evaluation.people import metric_changes as changes


def people(held: np.ndarray, distance: float = 1.0) -> People:
    ones = np.ones(len(held))
    return People(ones, ones, held.astype(float), distance * ones, np.arange(len(held)))


def shares(seed: int, number: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).random(number)


def test_the_same_people_are_compared_one_by_one() -> None:
    before = shares(1)
    after = before - 0.05 - 0.02 * shares(2)
    paired = changes([people(before)], [people(after)], paired=True)
    apart = changes([people(before)], [people(after)], paired=False)
    for found in (paired, apart):
        change = found["end_to_end_robustness"]
        assert change.difference == pytest.approx(100 * (after - before).mean())
        assert (change.before, change.after) == pytest.approx(
            (100 * before.mean(), 100 * after.mean())
        )
        assert change.low <= change.difference <= change.high
    # What the same people have in common does not blur the difference.
    assert paired["end_to_end_robustness"].verdict is Verdict.WORSE
    assert apart["end_to_end_robustness"].verdict is Verdict.UNCLEAR
    mean, spread = (after - before).mean(), (after - before).std(ddof=1)
    reach = t.ppf(0.975, 59) * spread / np.sqrt(60)
    expected = (100 * (mean - reach), 100 * (mean + reach))
    assert paired["end_to_end_robustness"][3:5] == pytest.approx(expected)
    # Two runs may number their rows differently.
    moved = people(after)._replace(row_ids=1000 + np.arange(60))
    assert changes([people(before)], [moved], paired=True) == paired


def test_nearer_is_better() -> None:
    held = shares(3)
    noise = 0.1 * shares(4)
    far = people(held)._replace(distance=2.0 + noise)
    near = people(held)._replace(distance=1.0 + noise)
    assert changes([far], [near], paired=True)["distance"].verdict is Verdict.BETTER
    assert changes([near], [far], paired=True)["distance"].verdict is Verdict.WORSE
    same = changes([near], [near], paired=True)
    assert all(each.difference == 0.0 for each in same.values())
    assert {each.verdict for each in same.values()} == {Verdict.UNCLEAR}


def test_what_one_has_not_is_undefined() -> None:
    nothing = People(*(np.zeros(20) for _ in range(4)), np.arange(20))
    found = changes([people(shares(5, 20))], [nothing], paired=True)
    assert found["distance"].verdict is Verdict.UNDEFINED
    assert np.isnan(found["empirical_robustness"].difference)
    assert found["end_to_end_robustness"].after == 0.0


def test_everybody_in_a_few_is_not_everybody() -> None:
    few, many = people(np.ones(8)), people((shares(6, 200) < 0.9).astype(float))
    change = changes([many], [few], paired=False)["end_to_end_robustness"]
    assert change.verdict is Verdict.UNCLEAR and change.difference > 5


def test_few_people_decide_nothing() -> None:
    for number, verdict in ((9, Verdict.UNCLEAR), (10, Verdict.WORSE)):
        before, after = people(np.ones(number)), people(0.1 * shares(7, number))
        assert changes([before], [after], paired=True)["end_to_end_robustness"].verdict is verdict


def test_where_nothing_changed_few_differences_are_clear() -> None:
    trials = 150
    clear = {True: 0, False: 0}
    for trial in range(trials):
        generator = np.random.default_rng(trial)
        before, after = (generator.random(40) < 0.7 for _ in range(2))
        for paired in clear:
            found = changes([people(before)], [people(after)], paired=paired)
            clear[paired] += found["end_to_end_robustness"].verdict is not Verdict.UNCLEAR
    assert all(0 < count / trials < 0.1 for count in clear.values()), clear
