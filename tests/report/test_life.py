"""How long advice lasts, in words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from changeproof.evaluation.life import Lives
from changeproof.report.page.life import Lasting
from changeproof.tables.life import with_ends


def lasting(*held_through: int, updates: int = 12) -> Lasting:
    """One person's advice, which held through so many updates in each future."""
    holds = np.arange(updates) < np.array(held_through)[:, None]
    return Lasting.of("updates", Lives(holds[None], np.full(len(held_through), updates)))


def test_a_person_reads_through_how_many_updates_it_held() -> None:
    found = lasting(*[12] * 92, *[10] * 8)
    assert found.held_through == (100,) * 10 + (92, 92)
    assert found.sentence == (
        "Held through all 12 updates in 92 of 100 simulated futures (95 % interval: 85 % to 96 %)."
    )
    some = lasting(*[12] * 15, *[7] * 9, 0)
    assert some.sentence == (
        "Held through all 12 updates in 15 of 25 simulated futures (95 % interval: 41 % to 77 %), "
        "and through 7 of 12 in 24 of 25."
    )
    early = lasting(12, 0, 0, 0)
    assert early.sentence.endswith("; the first update broke it in 3 of 4.")
    assert (early.updates, early.futures) == (12, 4)


def test_one_future_or_one_update_is_said_plainly() -> None:
    assert lasting(12).sentence == "Held through all 12 updates."
    assert lasting(3).sentence == "Held through 3 of 12 updates."
    assert lasting(1, 0, updates=1).sentence.startswith("Held through its one update in 1 of 2")


def test_futures_that_are_cut_short_say_nothing_of_the_end() -> None:
    holds = np.ones((1, 3, 4), bool)
    found = Lasting.of("updates", Lives(holds, np.array([4, 4, 2])))
    assert found.futures == 2 and found.held_through == (2, 2, 2, 2)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((4.0, 2.0, math.inf), "4 (2 to >12)"),
        ((math.inf,) * 3, ">12"),
        ((1.0, 1.0, 1.0), "1"),
        ((3.0, math.nan, math.nan), "3"),
        ((math.nan,) * 3, "undefined"),
    ],
)
def test_numbers_of_updates(values: tuple[float, ...], text: str) -> None:
    names = ("median_life", "median_life_low", "median_life_high")
    row = dict(zip(names, values, strict=True)) | {"updates": 12}
    assert with_ends(row, "median_life") == text


def test_shares_have_their_interval() -> None:
    row = {"held_to_the_end": 62.94, "held_to_the_end_low": 50.0, "held_to_the_end_high": 74.04}
    assert with_ends(row, "held_to_the_end") == "62.9 (50.0 to 74.0)"
