"""What the page says about how long advice lasts, also where there is nothing else."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from changeproof import Results
from changeproof.report.charts import Shown
from changeproof.report.page.life_limit import cost_of_lasting, life_limit_words
from changeproof.report.page.write import build_bulk, build_payload
from changeproof.report.printing import print_charts, print_files
from changeproof.report.scores import Scores
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


def notes(payload: dict[str, Any]) -> list[str]:
    """Return what the page of an audit says of its numbers."""
    (part,) = parts(payload, "methods", "list")
    found: list[str] = part["list"]
    return found


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
    assert all(len(row) == len(sums["columns"]) == 7 for row in sums["rows"])
    not_deployed = tables["life_summary"].query("family == @LATER")["updates_not_deployed"][0]
    (note, *_) = [part["text"] for part in parts(payload, "life", "text")]
    assert note.endswith(f"the model before it stays. Not deployed: {not_deployed} of 6 on data.")


def test_what_is_not_there_is_left_out(mixed: Results, tables: dict[str, pd.DataFrame]) -> None:
    without = {**tables, "life": tables["life"].iloc[:0]}
    assert "life" not in build_payload(mixed, without)["sections"]


def test_averages_say_what_they_are_about(mixed: Results, tables: dict[str, pd.DataFrame]) -> None:
    payload = build_payload(mixed, tables)
    assert payload["averaged"] == [0]
    first = answer(payload)["answers"][0][0]
    said = first["sentences"][first["order"][0]]
    assert said.startswith("Under the one kind of change that counts in averages, ")
    (note,) = [note for note in notes(payload) if "leave out" in note]
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
    assert any("Averages are over all updates" in note for note in notes(payload))
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


@pytest.fixture(scope="module")
def limited() -> Results:
    return lasting(None, limit=True)


def test_the_limit_is_drawn_with_what_methods_cost(limited: Results) -> None:
    tables = build_tables(limited)
    payload = build_payload(limited, tables)
    drawn = [part["chart"] for part in parts(payload, "life", "chart")]
    shown = [chart for chart in drawn if chart["id"] == "life-price"]
    levels = [part for part in parts(payload, "life", "table") if "limit" in part["table"]]
    assert len(shown) == len(levels) == 2
    for family, chart, level in zip((LATER, CHAIN), shown, levels, strict=True):
        limit, sums, prices = (
            tables[name][tables[name]["family"] == family]
            for name in ("life_limit", "life_summary", "life_price")
        )
        (panel,) = chart["panels"]
        points = {layer["name"]: layer for layer in panel["layers"] if layer["kind"] == "points"}
        assert set(points) == {"KD-tree", "Wachter"}
        assert points["KD-tree"]["y"] == pytest.approx(
            sums.loc[sums["method"] == "kdtree", "held_to_the_end"].to_numpy()
        )
        dots = panel["layers"][-1]
        nearest_first = limit.sort_values("may_break", ascending=False)
        assert dots["x"] == pytest.approx(nearest_first["distance_mean"], rel=1e-5)
        futures, may_break = nearest_first["futures"], nearest_first["may_break"]
        assert dots["y"] == pytest.approx(100 * (futures - may_break) / futures, rel=1e-5)
        every = int(futures.iloc[0])
        assert [row[1] for row in level["rows"]] == [
            f"all {every} futures", f"{every - 1} of {every} futures",
        ]  # fmt: skip
        assert f"on data {limit['distance_mean'].iloc[0]:.2f} in all {every}" in chart["words"]
        assert [row[1] for row in chart["rows"]] == prices["method"].tolist()
        assert [row[-1] for row in chart["rows"]] == pytest.approx(prices["price_mean"], rel=1e-5)


def test_without_a_limit_nothing_is_said_of_it(
    mixed: Results, tables: dict[str, pd.DataFrame]
) -> None:
    payload = build_payload(mixed, tables)
    drawn = [part["chart"] for part in parts(payload, "life", "chart")]
    assert {chart["id"] for chart in drawn} == {"life"}
    assert not any(name.endswith("price.pdf") for name in print_files(tables))


def test_print_has_the_limit(limited: Results) -> None:
    tables = build_tables(limited)
    written = {name.rpartition("/")[2] for name in print_files(tables)}
    assert {"life-price.pdf", "life-of-sequence-2-price.svg", "life_price.tex"} <= written
    (life, *_) = [chart for name, chart in print_charts(tables) if name == "life"]
    assert "The limit for advice that holds through all updates: on data " in life.notes


def test_levels_found_for_few_are_not_drawn_but_told(limited: Results) -> None:
    tables = build_tables(limited)
    limit = tables["life_limit"]
    limit.loc[limit["may_break"] == 0, ["found", "distance_mean"]] = 2, 0.25
    shown = Shown.of(tables["life"])
    chart = cost_of_lasting(Scores(tables), shown, tables, CHAIN)
    assert len(chart.panels[0].layers[-1].x) == 1
    assert "on data 0.25 in all 3 futures (found for 2 of 11 people), " in chart.words
    limit.loc[limit["may_break"] == 0, "found"] = 0
    assert "on data none found in all 3 futures, " in life_limit_words(tables, CHAIN, shown)
