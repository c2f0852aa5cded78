"""The embedded datasets that say what people may change."""

from __future__ import annotations

import tomllib
from typing import Any

import pandas as pd
import pytest

from changeproof import dataset_names, load_task, paper_datasets
from changeproof.datasets import FILES

NAMES = [name for name in dataset_names() if name not in paper_datasets()]
KEYS = {"change", "low", "high", "by", "step", "order", "cost", "reason"}
SHARES = {"german-credit": 0.7, "car-loans": 0.499, "employment": 0.728}


def written(name: str) -> dict[str, Any]:
    return tomllib.loads((FILES / f"{name}.toml").read_text(encoding="utf-8"))


def table(name: str) -> pd.DataFrame:
    return pd.read_parquet(FILES / f"{name}.parquet")


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_has_an_action_and_a_reason(name: str) -> None:
    actions = written(name)["features"]
    assert list(actions) == [f.name for f in load_task(name).features if f.name in actions]
    assert set(actions) == {feature.name for feature in load_task(name).features}
    for action in actions.values():
        assert set(action) <= KEYS
        assert action["change"] in ("any", "none", "increase", "decrease")
        assert action["reason"].endswith(".")
    assert sum(action["change"] != "none" for action in actions.values()) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_orders_list_all_categories(name: str) -> None:
    for feature in load_task(name).features:
        action = written(name)["features"][feature.name]
        if "order" in action:
            assert sorted(action["order"]) == sorted(feature.categories)
        else:
            directed = action["change"] in ("increase", "decrease")
            assert not (directed and feature.categories), feature.name


@pytest.mark.parametrize("name", NAMES)
def test_everybody_is_inside_the_stated_ranges(name: str) -> None:
    rows = table(name)
    for feature, action in written(name)["features"].items():
        if "low" in action:
            assert rows[feature].min() >= action["low"]
        if "high" in action:
            assert rows[feature].max() <= action["high"]


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_complete_and_read_like_words(name: str) -> None:
    rows = table(name)
    assert not rows.isna().any(axis=None)
    texts = [c for c in rows if not pd.api.types.is_numeric_dtype(rows[c]) and c != "timestamp"]
    assert texts
    for column in texts:
        values = rows[column].unique()
        assert 2 <= len(values) <= 10
        assert all(value == value.strip() and value for value in values)


@pytest.mark.parametrize("name", NAMES)
def test_favourable_shares_and_splits(name: str) -> None:
    task = load_task(name)
    assert task.labels.mean() == pytest.approx(SHARES[name], abs=1e-3)
    assert len(task.row_ids("train")) == len(task.frame) // 2


def test_german_credit_is_that_of_uci() -> None:
    rows = table("german-credit")
    # A copy in circulation has this column sorted; the first person is a single man of 67.
    first = rows.iloc[:2][["personal_status_and_sex", "age_in_years", "credit_risk"]]
    assert first.to_numpy().tolist() == [
        ["male, single", 67, "good"],
        ["female, divorced, separated or married", 22, "bad"],
    ]
    assert rows["telephone"].value_counts().to_dict() == {"none": 596, "registered": 404}


def test_samples_are_spread_evenly_over_time() -> None:
    loans, people = table("car-loans"), table("employment")
    assert loans["timestamp"].is_monotonic_increasing
    assert set(loans["timestamp"].dt.strftime("%Y-%m").value_counts()) == {500}
    assert people["year"].is_monotonic_increasing
    assert people["year"].value_counts().to_dict() == dict.fromkeys(range(2015, 2019), 2500)
    assert people["age"].between(18, 64).all()
    for rows in (loans, people):
        assert rows["id"].is_unique
