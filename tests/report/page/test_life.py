"""What the page says about how long advice lasts, also where there is nothing else."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.console import Console

from changeproof import Plan, Results
from changeproof.report.life import life
from changeproof.report.page.payload import build_bulk, build_payload
from changeproof.report.printing import print_files
from changeproof.report.terminal.tables import print_tables
from changeproof.tables.registry import build_tables
from lasting import CHAIN, LATER, SINGLE, lasting


@pytest.fixture(scope="module")
def mixed() -> Results:
    return lasting(None)


@pytest.fixture(scope="module")
def tables(mixed: Results) -> dict[str, pd.DataFrame]:
    return build_tables(mixed)


def test_curves_have_the_numbers_of_the_table(
    mixed: Results, tables: dict[str, pd.DataFrame]
) -> None:
    plan = mixed.shown
    found = life(tables, plan)
    assert found is not None
    assert found["families"] == [1, 2]
    for place, family in enumerate((LATER, CHAIN)):
        for number, method in enumerate(plan.methods):
            rows = tables["life"].set_index(["family", "method"]).loc[(family, method)]
            curve = found["curves"][place][0][number]
            expected = rows[found["columns"]].to_numpy().tolist()
            for mine, theirs in zip(curve, expected, strict=True):
                assert mine == pytest.approx(theirs, rel=1e-5)
            assert len(found["sums"][place][0][number]) == 4
    best = tables["life_summary"].query("family == @CHAIN")["held_to_the_end"].max()
    assert f"On data, {best:.1f} % of the CFEs by " in found["words"][1]
    assert "held through all 4 updates, the most, and " in found["words"][1]


def test_what_is_not_there_is_left_out(tables: dict[str, pd.DataFrame]) -> None:
    plan = Plan(datasets=("diabetes",), methods=("kdtree",))
    assert life({}, plan) is None
    assert life({name: table.iloc[:0] for name, table in tables.items()}, plan) is None


def test_averages_say_what_they_are_about(mixed: Results, tables: dict[str, pd.DataFrame]) -> None:
    payload = build_payload(mixed, tables)
    assert payload["averaged"] == [0]
    first = payload["answers"][0][0]
    said = first["sentences"][first["order"][0]]
    assert said.startswith("Under the one kind of change that averages are about, ")
    (note,) = [note for note in payload["state"]["notes"] if "leave out" in note]
    assert note.startswith("Averages over all kinds of change leave out Later data (")
    assert "and Chain of updates (" in note
    people = build_bulk(mixed)[0]["people"]["networks"][0]
    assert people["models"] == [4, 6, 12]


def test_a_page_of_sequences_alone_is_about_updates() -> None:
    results = lasting(None, LATER, CHAIN)
    payload = build_payload(results, build_tables(results))
    assert payload["averaged"] == [0, 1]
    first = payload["answers"][0][0]
    said = first["sentences"][first["order"][0]]
    assert said.startswith("Averaged over all updates of 2 sequences, ")
    assert any("Averages are over all updates" in note for note in payload["state"]["notes"])
    assert "nothing" not in payload["rankings"]


def test_print_and_terminal_have_it(tables: dict[str, pd.DataFrame]) -> None:
    written = {name.rpartition("/")[2] for name in print_files(tables)}
    assert {"life.pdf", "life-of-sequence-2.svg", "life_summary.tex"} <= written
    console = Console(width=80)
    with console.capture() as capture:
        print_tables(tables, console)
    assert "How long advice lasts (95 % interval over people and futures)" in capture.get()
    assert "Chain of updates" in capture.get()
    assert SINGLE.partition("(")[0] not in [name.partition(".")[0] for name in written]
