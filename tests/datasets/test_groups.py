"""Groups of people by values and by bands, and what cannot be a group."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof import InputError, Task, load_task, own_task
from changeproof.datasets.grouping import Grouping, columns_of
from changeproof.datasets.groups import groups_of


def people(**beside: Any) -> Task:
    rows = len(next(iter(beside.values())))
    frame = pd.DataFrame({"x": np.arange(rows) * 1.0}, index=np.arange(100, 100 + rows))
    return Task("people", frame, np.arange(rows) % 2, beside=pd.DataFrame(beside))


def told(values: list[Any], by: str = "c") -> list[str]:
    repeated = (values * 20)[: max(20, len(values))]
    return groups_of(people(c=repeated), by).astype(str).tolist()[: len(values)]


def test_what_people_write_is_read_in_one_way() -> None:
    assert Grouping.of("sex") == Grouping("sex")
    assert Grouping.of(" age : 10.0 ") == Grouping("age", Decimal(10))
    assert Grouping.of("age:10.00").text == "age:10"
    assert Grouping.of("income:1e3").text == "income:1000"
    assert Grouping.of("rate:0.50").text == "rate:0.5"
    # What is behind the colon is no width, so the colon is part of the name.
    assert Grouping.of("measured:twice").column == "measured:twice"
    assert columns_of(["age:10", "sex", "age:5"]) == ("age", "sex")


@pytest.mark.parametrize("text", ["age:0", "age:-5", "age:nan", "age:inf"])
def test_a_band_has_a_width_above_nothing(text: str) -> None:
    with pytest.raises(InputError, match=f"groups '{text}': the width of a band must be above 0"):
        Grouping.of(text)


def test_a_grouping_has_a_column() -> None:
    with pytest.raises(InputError, match="groups need the name of a column"):
        Grouping.of("  ")


def test_values_are_groups_and_what_is_missing_is_one_behind_them() -> None:
    assert told(["b", None, " a ", ""]) == ["b", "missing", "a", "missing"]
    assert told([2, 1, None, 1.0]) == ["2", "1", "missing", "1"]
    assert told([True, False, None]) == ["True", "False", "missing"]
    found = groups_of(people(c=["b", None, "a"] * 7), "c")
    assert found.cat.categories.tolist() == ["a", "b", "missing"]
    assert found.index.tolist() == list(range(100, 121))


def test_numbers_fall_into_bands() -> None:
    assert told([19, 20, 29, 30, None], "c:10") == [
        "10 to 19", "20 to 29", "20 to 29", "30 to 39", "missing"
    ]  # fmt: skip
    assert told([-1, 0, 4], "c:5") == ["-5 to -1", "0 to 4", "0 to 4"]
    assert told([3, 4], "c:1") == ["3", "4"]
    assert told(["7", "12"], "c:10") == ["0 to 9", "10 to 19"]
    # As people reckon: 0.3 begins the fourth band of 0.1, though 0.3 / 0.1 is 2.99… in binary.
    assert told([0.29, 0.3, 0.7], "c:0.1") == [
        "0.2 to below 0.3", "0.3 to below 0.4", "0.7 to below 0.8"
    ]  # fmt: skip


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=30), st.integers(20, 90))
def test_every_number_is_in_the_band_that_is_named_after_it(values: list[int], width: int) -> None:
    for value, group in zip(values, told([*values], f"c:{width}"), strict=True):
        low, high = (int(end) for end in group.split(" to "))
        assert low <= value <= high == low + width - 1
        assert low % width == 0


def test_features_are_groups_as_well() -> None:
    task = load_task("german-credit")
    sexes = groups_of(task, "personal_status_and_sex")
    assert set(sexes.cat.categories) <= set(
        next(f for f in task.features if f.name == "personal_status_and_sex").categories
    )
    ages = groups_of(task, "age_in_years:10")
    assert ages.loc[task.frame["age_in_years"] == 67.0].unique().tolist() == ["60 to 69"]
    assert groups_of(load_task("employment"), "year").cat.categories[0] == "2015"


@pytest.mark.parametrize(
    ("values", "by", "message"),
    [
        (
            ["a", "b"],
            "d",
            "dataset 'people' has no column 'd' to group people by; expected .*: x, c",
        ),
        (["a", "b"], "c:10", "groups 'c:10': column 'c' holds 'a'; bands need numbers"),
        (list(range(18, 78)), "c", "60 different numbers; give the width .*, such as c:10$"),
        (list(range(60)), "c:0.5", "groups 'c:0.5' are 60 bands; .* at most 50: .* such as c:10$"),
        ([f"name {i}" for i in range(60)], "c", "60 different values, such as 'name 0'"),
        ([1.0, np.inf], "c", "groups 'c': column 'c' holds infinity"),
    ],
)
def test_what_cannot_be_a_group_is_named(values: list[Any], by: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        told(values, by)


def test_columns_beside_the_features_need_not_be_complete() -> None:
    table = pd.DataFrame(
        {"x": np.arange(60.0), "sex": ["f", "m", None] * 20, "ok": ["yes", "no"] * 30}
    )
    task = own_task(table, target="ok", favourable="yes", drop=["sex"], beside=["sex"])
    assert [feature.name for feature in task.features] == ["x"]
    assert groups_of(task, "sex").value_counts().to_dict() == {"f": 20, "m": 20, "missing": 20}
