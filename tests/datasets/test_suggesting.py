"""Rules that the rows of a table suggest, in a dataset file to edit."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, load_dataset
from changeproof.datasets.suggesting import suggested_rules

ROWS = 900


@pytest.fixture
def phones(tmp_path: Path) -> Path:
    """A telephone table: charges that follow, limits, and a customer's tenure over the months."""
    draw = np.random.default_rng(1)
    people = ROWS // 3
    frame = pd.DataFrame(
        {
            "customer": np.repeat(np.arange(people), 3),
            "month": np.tile([1, 2, 3], people),
            "age": np.repeat(draw.integers(18, 80, people), 3),
            "day minutes": draw.gamma(4, 45, ROWS).round(1),
            "income": draw.lognormal(8, 0.4, ROWS).round(),
            "debt": draw.gamma(2, 3000, ROWS).round(),
            "home": draw.choice(["owner", "rent", "family"], ROWS),
            "calls": draw.integers(0, 99, ROWS),
        }
    )
    frame["day charge"] = (0.17 * frame["day minutes"]).round(2)
    frame["ratio"] = (frame["debt"] / frame["income"]).round(3)
    frame["seniority"] = np.minimum(draw.integers(0, 50, ROWS), frame["age"] - 16)
    frame["rent"] = np.where(frame["home"] == "owner", 0, draw.normal(800, 200, ROWS).round())
    frame["tenure"] = np.repeat(draw.integers(1, 40, people), 3) + 2 * frame["month"]
    frame["stays"] = np.where(frame["day minutes"] + draw.normal(0, 30, ROWS) < 200, "yes", "no")
    frame.to_csv(tmp_path / "phones.csv", index=False)
    return tmp_path / "phones.csv"


def proposed(text: str) -> set[str]:
    return {line.split('"')[1] for line in text.splitlines() if line.startswith('    # "')}


def test_what_holds_is_proposed_and_nothing_else(phones: Path) -> None:
    text = suggested_rules(phones, target="stays", favourable="yes", drop=["customer"])
    assert proposed(text) == {
        "`day charge` = 0.17 * `day minutes`",
        "ratio = debt / income",
        "seniority <= age - 16",
        "if home == 'owner' then rent == 0",
    }
    assert '# [features."age"]\n# change = "increase"' in text


def test_nothing_is_in_force_and_the_file_loads(phones: Path) -> None:
    text = suggested_rules(phones, target="stays", favourable="yes", drop=["customer"])
    assert tomllib.loads(text)["rules"] == []
    assert "features" not in tomllib.loads(text)
    path = phones.with_suffix(".toml")
    path.write_text(text)
    assert load_dataset(path).name == "phones"


def test_a_rule_that_one_row_breaks_is_not_proposed(phones: Path) -> None:
    frame = pd.read_csv(phones)
    frame.loc[5, "day charge"] += 1.0
    frame.loc[6, "seniority"] = frame.loc[6, "age"] + 1
    frame.loc[frame.index[frame["home"] == "owner"][0], "rent"] = 7
    frame.to_csv(phones, index=False)
    rules = proposed(suggested_rules(phones, target="stays", favourable="yes"))
    assert rules == {"ratio = debt / income"}


def test_what_never_falls_for_a_person_is_proposed_to_increase(phones: Path) -> None:
    by_month = suggested_rules(phones, target="stays", id_column="customer", time="month")
    assert '# [features."tenure"]\n# change = "increase"  # in the order of month' in by_month
    assert "tenure" not in suggested_rules(phones, target="stays", time="month")
    frame = pd.read_csv(phones)
    frame.loc[1, "tenure"] = 0
    frame.to_csv(phones, index=False)
    again = suggested_rules(phones, target="stays", id_column="customer", time="month")
    assert "tenure" not in again


def test_questions_are_left_open_and_mistakes_are_named(phones: Path, tmp_path: Path) -> None:
    text = suggested_rules(phones, out=tmp_path / "deeper" / "file.toml")
    assert 'target = "?"  # fill this in' in text
    assert 'data = "../phones.csv"' in text
    with pytest.raises(InputError, match="unknown column 'stay'"):
        suggested_rules(phones, target="stay")
    pd.read_csv(phones).head(20).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(InputError, match=r"has 20 rows .*; expected at least 50 rows"):
        suggested_rules(tmp_path / "few.csv", target="stays")
