from __future__ import annotations

from math import nan

import numpy as np
import pytest

from changeproof.tables.display import Measured, number, numbers, percent


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (97.4, "97.4 %"),
        (99.97, "over 99.9 %"),
        (100.0, "100.0 %"),
        (0.02, "under 0.1 %"),
        (0.0, "0.0 %"),
    ],
)
def test_all_and_none_are_said_only_when_true(value: float, words: str) -> None:
    assert percent(value) == words


def test_mean_and_sd_are_written_in_one_way() -> None:
    both = Measured(97.249, 0.5, 1)
    assert (both.text(), both.mean_text, both.sd_text) == ("97.2 ± 0.5", "97.2", "0.5")
    assert both.text(r" $\pm$ ") == r"97.2 $\pm$ 0.5"
    assert Measured(1.0, nan, 3).text() == "1.000"
    assert Measured(nan, nan, 3).text() == Measured(nan, 0.1, 3).text() == "undefined"
    assert Measured(1.0, nan, 3).sd_text == ""


def test_numbers_have_the_digits_of_the_csv_files() -> None:
    assert number(94.7620449) == float(f"{94.7620449:.6g}")
    assert number(float("nan")) is None
    assert number(float("inf")) is None
    assert numbers(np.array([[1.0, nan], [2.0000001, 3.0]])) == [[1.0, None], [2.0, 3.0]]
