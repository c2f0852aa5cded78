"""What the page says about how long advice lasts, also where there is nothing else."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.console import Console

from changeproof import Results
from changeproof.report.page.write import build_bulk, build_payload
from changeproof.report.printing import print_files
from changeproof.report.terminal.tables import print_tables
from changeproof.tables.registry import build_tables
from lasting import CHAIN, LATER, SINGLE, lasting
from paged import answer, parts


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
    payload = build_payload(mixed, tables)
    drawn = [part["chart"] for part in parts(payload, "life", "chart")]
    views = [(family, measure) for family in (LATER, CHAIN) for measure in ("held_so_far", "holds")]
    for (family, measure), chart in zip(views, drawn, strict=True):
        (panel,) = chart["panels"]
        for method, layer in zip(plan.methods, panel["layers"], strict=True):
            rows = tables["life"].set_index(["family", "method"]).loc[(family, method)]
            for name, part in (("y", "mean"), ("low", "low"), ("high", "high")):
                expected = [100, *rows[f"{measure}_{part}"]]
                assert layer[name] == pytest.approx(expected, rel=1e-5)
    best = tables["life_summary"].query("family == @CHAIN")["held_to_the_end"].max()
    assert f"On data, {best:.1f} % of the CFEs by " in drawn[2]["words"]
    assert "held through all 4 updates, the most, and " in drawn[2]["words"]
    sums = parts(payload, "life", "table")[0]
    assert all(len(row) == len(sums["columns"]) == 6 for row in sums["rows"])


def test_what_is_not_there_is_left_out(mixed: Results, tables: dict[str, pd.DataFrame]) -> None:
    without = {**tables, "life": tables["life"].iloc[:0]}
    assert "life" not in build_payload(mixed, without)["sections"]


def test_averages_say_what_they_are_about(mixed: Results, tables: dict[str, pd.DataFrame]) -> None:
    payload = build_payload(mixed, tables)
    assert payload["averaged"] == [0]
    first = answer(payload)["answers"][0][0]
    said = first["sentences"][first["order"][0]]
    assert said.startswith("Under the one kind of change that counts in averages, ")
    (note,) = [note for note in payload["state"]["notes"] if "leave out" in note]
    assert note.startswith("Averages over all kinds of change leave out Later data (")
    assert "and Chain of updates (" in note
    people = build_bulk(mixed)[0]["people"]["networks"][0]
    assert people["models"] == [4, 6, 12]


def test_a_page_of_sequences_alone_is_about_updates() -> None:
    results = lasting(None, LATER, CHAIN)
    payload = build_payload(results, build_tables(results))
    assert payload["averaged"] == [0, 1]
    first = answer(payload)["answers"][0][0]
    said = first["sentences"][first["order"][0]]
    assert said.startswith("Averaged over all updates of 2 sequences, ")
    assert any("Averages are over all updates" in note for note in payload["state"]["notes"])
    assert "nothing" not in payload["sections"]["rankings"][0]


def test_print_and_terminal_have_it(tables: dict[str, pd.DataFrame]) -> None:
    written = {name.rpartition("/")[2] for name in print_files(tables)}
    assert {"life.pdf", "life-of-sequence-2.svg", "life_summary.tex"} <= written
    console = Console(width=80)
    with console.capture() as capture:
        print_tables(tables, console)
    assert "How long advice lasts (95 % interval over people and futures)" in capture.get()
    assert "Chain of updates" in capture.get()
    assert SINGLE.partition("(")[0] not in [name.partition(".")[0] for name in written]
