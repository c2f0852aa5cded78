"""Runs with more people than a page lists: the page has some of them, a table all."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from changeproof import Results, build_tables
from changeproof.report.page import people as page
from changeproof.report.page.payload import build_bulk
from changeproof.runs import everyone_tables

LISTED = 4


@pytest.fixture
def short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (everyone_tables, page):
        monkeypatch.setattr(module, "MOST_LISTED", LISTED)


def test_where_the_page_lists_everybody_there_is_no_table(advised_run: Results) -> None:
    assert everyone_tables.NAME not in build_tables(advised_run)
    (network,) = build_bulk(advised_run)[0]["people"]["networks"]
    assert network["asked"] == len(network["ids"]) > LISTED


@pytest.mark.usefixtures("short_list")
def test_the_table_has_everybody(advised_run: Results) -> None:
    made = build_tables(advised_run)[everyone_tables.NAME]
    # As it is written, and read again.
    table = pd.read_csv(StringIO(made.to_csv(index=False, float_format="%.6g")))
    assert len(table) == sum(len(advised_run.counterfactuals(*k)) for k in advised_run.answered)
    for key, part in table.groupby(["dataset", "base_seed", "method"]):
        answers, task = advised_run.counterfactuals(*key), advised_run.task(key[0])
        assert part["id"].tolist() == task.ids.loc[answers.row_ids].tolist()
        assert part["held"].tolist() == advised_run.survival(*key).sum(axis=1).tolist()
        told = part.filter(like="told:").rename(columns=lambda name: name.removeprefix("told:"))
        found = answers.found
        np.testing.assert_array_equal(task.encoded(told[found]), answers.rows[found])
        assert told[~found].isna().all(axis=None)


@pytest.mark.usefixtures("short_list")
def test_the_page_has_those_who_were_drawn_first(
    advised_run: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    (some,) = build_bulk(advised_run)[0]["people"]["networks"]
    monkeypatch.undo()
    (everybody,) = build_bulk(advised_run)[0]["people"]["networks"]
    assert some["asked"] == len(everybody["ids"])
    for name in ("ids", "factuals", "recommended"):
        assert some[name] == everybody[name][:LISTED]
    assert some["methods"] == [answers[:LISTED] for answers in everybody["methods"]]
