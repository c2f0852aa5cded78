"""What everybody was told, as tables; a page lists some of them, where there are many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from advised import advised
from changeproof import Results, build_tables, explain
from changeproof.report.page import people as page
from changeproof.report.page.write import build_bulk
from changeproof.tables import advice as everyone_tables
from changeproof.tables.advice import PEOPLE, PREFIX, TOLD
from changeproof.tables.spreadsheets import csv_bytes, read_table

LISTED = 4
BOTH = (PEOPLE, TOLD)
WHOSE = ["dataset", "base_seed", "method"]


@pytest.fixture
def short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (everyone_tables, page):
        monkeypatch.setattr(module, "MOST_LISTED", LISTED)


@pytest.fixture(scope="module")
def as_published(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return advised(tmp_path_factory.mktemp("as-published"), feasible=False, publish=False)


@pytest.fixture(scope="module")
def made(advised_run: Results) -> dict[str, pd.DataFrame]:
    tables = build_tables(advised_run)
    return {name: tables[name] for name in BOTH}


@pytest.fixture(scope="module")
def read(
    made: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pd.DataFrame]:
    """The tables as they are written, and read again."""
    folder: Path = tmp_path_factory.mktemp("written")
    for name, table in made.items():
        (folder / f"{name}.csv").write_bytes(csv_bytes(table))
    return {name: read_table((folder / f"{name}.csv").read_bytes()) for name in made}


def test_the_summary_counts_features_and_not_their_columns(advised_run: Results) -> None:
    (row,) = build_tables(advised_run)["dataset_summary"].to_dict("records")
    task = advised_run.task(row["dataset"])
    assert row["features"] == len(task.features) < task.n_features


def test_the_table_has_everybody_and_exactly_what_was_tested(
    advised_run: Results, read: dict[str, pd.DataFrame]
) -> None:
    table = read[PEOPLE]
    assert len(table) == sum(len(advised_run.counterfactuals(*k)) for k in advised_run.answered)
    for key, part in table.groupby(WHOSE):
        answers, task = advised_run.counterfactuals(*key), advised_run.task(key[0])
        assert part["id"].tolist() == task.ids.loc[answers.row_ids].tolist()
        assert part["held"].tolist() == advised_run.survival(*key).sum(axis=1).tolist()
        told = part.filter(like=PREFIX).rename(columns=lambda name: name.removeprefix(PREFIX))
        found = answers.found
        np.testing.assert_array_equal(task.encoded(told[found]), answers.rows[found])
        assert told[~found].isna().all(axis=None)


def test_the_words_are_those_that_the_person_reads(
    advised_run: Results, read: dict[str, pd.DataFrame]
) -> None:
    people = read[PEOPLE].fillna({"why_not": "", "advice": ""})
    changes = read[TOLD].groupby(["method", "id"], sort=False)
    outcomes = set()
    for row in people.to_dict("records"):
        said = explain(advised_run, row["id"], row["method"])
        assert row["advice"] == " ".join(f"{sentence}." for sentence in said.advice)
        assert row["features_changed"] == len(said.changes)
        assert (row["outcome"], row["why_not"]) == (said.outcome, said.why_not)
        assert (row["base_valid"], row["feasible"]) == (said.base_valid, said.feasible)
        assert [row["held"], row["models"]] == [said.overall.held, said.overall.models]
        outcomes.add(row["outcome"])
        if said.changes:
            mine = changes.get_group((row["method"], row["id"]))
            for change, line in zip(said.changes, mine.to_dict("records"), strict=True):
                assert (change.feature, change.direction) == (line["feature"], line["direction"])
                for text, value in ((change.before, line["before"]), (change.after, line["after"])):
                    assert text == value if isinstance(value, str) else float(text) == value
    assert len(outcomes) > 1, "some have advice, and some do not"


def test_numbers_are_numbers_in_memory_and_in_the_file(
    made: dict[str, pd.DataFrame], read: dict[str, pd.DataFrame]
) -> None:
    for tables in (made, read):
        kinds = {
            feature: {type(value) for value in part["after"]}
            for feature, part in tables[TOLD].groupby("feature")
        }
        assert kinds["owner"] == {str}
        assert kinds["income"] <= {int, float}
    pd.testing.assert_frame_equal(made[TOLD], read[TOLD], rtol=1e-5)


def test_ids_and_categories_that_look_like_something_else_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"id": ["007", "012"], "told:branch": ["None", "NA"], "before": ["None", -3], "size": 0.5}
    )
    (tmp_path / "told.csv").write_bytes(csv_bytes(table))
    read = read_table((tmp_path / "told.csv").read_bytes())
    assert read.to_dict("list") == table.to_dict("list")
    (tmp_path / "told.csv").write_bytes(csv_bytes(table.assign(id=[7, 12])))
    assert read_table((tmp_path / "told.csv").read_bytes())["id"].tolist() == [7, 12]


def test_answers_as_published_are_no_advice_to_people(as_published: Results) -> None:
    assert not set(BOTH) & build_tables(as_published).keys()
    (network,) = build_bulk(as_published)[0]["people"]["networks"]
    assert network["asked"] == len(network["ids"]) > LISTED


@pytest.mark.usefixtures("short_list")
def test_what_a_page_cannot_list_is_in_the_table(as_published: Results) -> None:
    tables = build_tables(as_published)
    everybody = sum(len(as_published.counterfactuals(*key)) for key in as_published.answered)
    assert len(tables[PEOPLE]) == everybody
    assert not tables[PEOPLE]["feasible"].all()


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
