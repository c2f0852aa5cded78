"""Groups in words and as tables to read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from changeproof.report.page.groups import difference_words, left_out_words, not_shown
from changeproof.report.printing import print_files
from changeproof.report.terminal.tables import print_groups
from changeproof.tables.people import DIFFERENCES, GROUPS, LEFT_OUT


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    whose = ("credit", "kdtree", "age:10")
    groups = [
        (*whose, "20 to 29", "coverage", 75.0, 60.0, 90.0, 40),
        (*whose, "30 to 39", "coverage", 95.5, 90.0, 99.0, 60),
        (*whose, "20 to 29", "distance", np.nan, np.nan, np.nan, 4),
    ]
    differences = [
        (*whose, "coverage", 20.5, 3.25, 40.0, "30 to 39", "20 to 29", 40),
        (*whose, "distance", 0.125, -0.03, 0.3, "20 to 29", "30 to 39", 40),
        (*whose, "base_validity", 0.0, -3.0, 3.0, "20 to 29", "30 to 39", 40),
    ]
    return {
        "groups": pd.DataFrame(groups, columns=GROUPS),
        "group_differences": pd.DataFrame(differences, columns=DIFFERENCES),
        "groups_left_out": pd.DataFrame([("credit", "age:10", 10, 2, 13)], columns=LEFT_OUT),
    }


def test_a_sentence_claims_no_more_than_the_interval(tables: dict[str, pd.DataFrame]) -> None:
    rows = tables["group_differences"].to_dict("records")
    values = {("coverage", "20 to 29"): 75.0, ("coverage", "30 to 39"): 95.5}
    assert difference_words(rows, values) == (
        "Coverage is highest for 30 to 39 (95.5 %) and lowest for 20 to 29 (75.0 %): 20.5 points "
        "apart (95 % interval 3.2 to 40.0). No clear difference in distance and base validity: "
        "the intervals of their largest differences cover 0."
    )
    assert difference_words(rows[1:2], {}) == (
        "No clear difference in distance: the interval of its largest difference covers 0."
    )
    assert "nothing to compare" in difference_words([], {})
    # Where everybody has valid advice, both kinds of robustness are one.
    robust = [{**rows[1], "metric": f"{kind}_robustness"} for kind in ("empirical", "end_to_end")]
    assert difference_words(robust, {}).startswith("No clear difference in end-to-end robustness:")


def test_what_is_not_shown_is_counted(tables: dict[str, pd.DataFrame]) -> None:
    said = ["credit by age:10: 2 groups are not shown, 13 people in all; a group needs 10."]
    assert left_out_words(tables) == said
    one = {"groups": 1, "people": 1, "smallest_group": 10}
    assert not_shown(one) == "one group of 1 person is not shown; a group needs 10."
    assert not_shown(one | {"groups": 0, "people": 0}) == ""


def test_show_prints_the_differences(tables: dict[str, pd.DataFrame]) -> None:
    console = Console(width=100)
    with console.capture() as capture:
        print_groups(tables, console)
    lines = [" ".join(line.split()) for line in capture.get().splitlines()]
    assert "KD-tree coverage 30 to 39 20 to 29 20.5 (3.2 to 40.0)" in lines
    assert "KD-tree valid all alike 0.0 (-3.0 to 3.0)" in lines
    assert any(line.startswith("Intervals are over people. A difference") for line in lines)
    assert lines[-1].startswith("credit by age:10: 2 groups are not shown")


def test_groups_are_printed(tables: dict[str, pd.DataFrame]) -> None:
    written = print_files(tables)
    kinds = ("tex", "md", "csv")
    names = ("groups", "group_differences")
    assert set(written) == {f"tables/{name}.{kind}" for name in names for kind in kinds}
    text = written["tables/groups.md"].decode()
    assert "| credit by age:10 | KD-tree | 20 to 29 | coverage | 75.0 (60.0 to 90.0) | 40 |" in text
    assert "too few people" in text
