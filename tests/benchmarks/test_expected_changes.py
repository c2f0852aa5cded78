"""What quorum was built for, and what it was tested on: measured, summed up, and drawn."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from benchmarks.expected_changes import (
    ALL_BUT_ONE,
    ALL_KINDS,
    PICTURE,
    choices,
    fitting_families,
    measured,
    summary,
)
from benchmarks.expected_changes_picture import picture
from benchmarks.machine import RESULTS
from benchmarks.report import expected_section
from changeproof import paper_datasets


def test_each_kind_is_expected_alone_and_left_out_once() -> None:
    found = list(choices())
    assert len({choice[:2] for choice in found}) == 17
    for choice in found[:8]:
        assert choice.expect == (choice.built_for,)
    for choice in found[9:]:
        assert len(choice.expect) == 7
        assert choice.without not in choice.expect


def test_all_single_changes_fit_the_papers_tables() -> None:
    fitting, left_out = fitting_families(paper_datasets())
    assert len(fitting) == 20
    assert not left_out
    assert "updates" not in fitting


def test_what_was_not_expected_holds_less_often() -> None:
    by_name = {choice[:2]: choice for choice in choices()}
    some = [by_name["parameter-perturbation", ""], by_name[ALL_KINDS, ""]]
    rows = pd.DataFrame(measured("diabetes", 4201, 10, ["bootstrap", "weight-rounding"], some))
    assert set(rows["n_people"]) == {10}
    found = summary(rows)
    assert list(found.columns) == ["bootstrap", "weight-rounding", "distance"]
    assert found.loc["parameter-perturbation", "bootstrap"] < found.loc[ALL_KINDS, "bootstrap"] - 5
    assert found.loc["parameter-perturbation", "distance"] < 1.0


def of(
    built_for: str, without: str, robustness: dict[str, float], distance: float, dataset: str = "a"
) -> list[dict[str, object]]:
    names = {"dataset": dataset, "base_seed": 1, "built_for": built_for, "without": without}
    return [
        {**names, "tested_on": family, "robustness": share, "distance": distance}
        for family, share in robustness.items()
    ]


TABLE = pd.DataFrame(
    [
        *of("bootstrap", "", {"bootstrap": 0.99, "recalibration": 0.9}, 1.0),
        *of("bootstrap", "", {"bootstrap": 0.97, "recalibration": 0.5}, 1.0, "b"),
        *of(ALL_KINDS, "", {"bootstrap": 1.0, "recalibration": 1.0}, 2.0),
        *of(ALL_KINDS, "", {"bootstrap": 1.0, "recalibration": 1.0}, 4.0, "b"),
        *of(ALL_KINDS, "bootstrap", {"bootstrap": 0.8, "recalibration": 0.1}, 1.8),
        *of(ALL_KINDS, "architecture", {"bootstrap": 0.1, "recalibration": 0.1}, 0.2),
    ]
)


def test_base_networks_count_the_same() -> None:
    found = summary(TABLE)
    assert list(found.index) == ["bootstrap", ALL_KINDS, ALL_BUT_ONE]
    assert found.loc["bootstrap"].to_list() == pytest.approx([98.0, 70.0, 0.375])
    assert found.loc[ALL_KINDS].to_list() == pytest.approx([100.0, 100.0, 1.0])
    # Of those without a kind only the one that is tested on it.
    assert found.loc[ALL_BUT_ONE, "bootstrap"] == pytest.approx(80.0)
    assert np.isnan(found.loc[ALL_BUT_ONE, "recalibration"])
    assert found.loc[ALL_BUT_ONE, "distance"] == pytest.approx(0.9)
    # Nothing left out reads as NaN from a file.
    read = pd.read_csv(io.StringIO(TABLE.to_csv(index=False)))
    pd.testing.assert_frame_equal(summary(read), found)
    assert "| recalibration | 70.00 | 100.00 | - |" in expected_section(TABLE)


def test_the_picture_shows_the_table_that_is_kept() -> None:
    kept = summary(pd.read_csv(RESULTS / "expected_changes.csv"))
    assert kept.shape == (10, 21)
    # Arithmetic in the last digit may shade an edge otherwise; another digit is far more.
    drawn, committed = (
        np.asarray(Image.open(file).convert("RGB"), dtype=float)
        for file in (io.BytesIO(picture(kept)), PICTURE)
    )
    assert drawn.shape == committed.shape
    assert (np.abs(drawn - committed).max(axis=-1) > 64).sum() < 10
