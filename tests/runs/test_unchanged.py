"""Families that change nothing about a model: shown, marked, and in no average."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from changeproof import Results, evaluate, gate
from changeproof.gating.judging import Answer
from changeproof.report.page.write import build_payload
from changeproof.report.verdict import verdict
from changeproof.tables.registry import screen_tables, write_tables
from paged import answer, chart

RULE = {"method": "kdtree", "metric": "empirical_robustness", "at_least": 10}
FAMILIES = ["new-initialization", "bootstrap(replicates=4)"]


class TheSame(LogisticRegression):  # type: ignore[misc]
    """A model that has a seed, which nobody knows it does not use."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out: Path = tmp_path_factory.mktemp("unchanged") / "run"
    return evaluate(
        "diabetes",
        TheSame(),
        ["kdtree", "rbr"],
        FAMILIES,
        factuals=20,
        out=out,
        jobs=1,
        publish=False,
    )


def test_what_changes_nothing_is_in_no_average(audited: Results) -> None:
    assert audited.unchanged == ("new-initialization",)
    assert audited.counting_families == ("bootstrap(replicates=4)",)
    table = audited.table("seed_results").set_index(["method", "family"])["empirical_robustness"]
    for method in ("kdtree", "rbr"):
        assert table[method, "new-initialization"] == 100.0
        assert table[method, "all"] == table[method, "bootstrap(replicates=4)"]
    assert table["rbr", "all"] < 100.0


def test_people_are_told(audited: Results) -> None:
    tables = audited.tables()
    said = verdict(audited, tables).simulated
    assert "new initialization changed nothing about any answer of the model." in said
    assert "The average leaves out new initialization." in said
    payload = build_payload(audited, tables)
    assert payload["shown"]["families"] == [
        "New initialization (no change)",
        "Bootstrap (replicates=4)",
    ]
    assert payload["averaged"] == [1]
    whole, same, changed = answer(payload)["answers"][0]
    assert whole["sentences"][0].startswith("Under the one kind of change that counts in averages")
    assert same["sentences"][0].startswith(
        "The changed models are the same as today's, so this is no test"
    )
    assert changed["sentences"][0].startswith("After retraining")
    assert " of 2 cells are at 95 % or more." in chart(payload, "families")["words"]
    ranks = chart(payload, "rankings")
    assert [row[1] for row in ranks["rows"]] == [None, None]
    assert "moves the" in ranks["words"] or "keeps its rank" in ranks["words"]


def test_networks_change_with_their_seed(quick_run: Results) -> None:
    assert quick_run.unchanged == ()
    assert quick_run.counting_families == quick_run.limit_families


def test_if_nothing_changes_anything_nothing_is_said_to_hold(tmp_path: Path) -> None:
    results = evaluate(
        "diabetes",
        TheSame(),
        ["kdtree"],
        FAMILIES[:1],
        factuals=5,
        jobs=1,
        out=tmp_path,
        publish=False,
    )
    assert results.unchanged == results.counting_families == ("new-initialization",)
    (finding,) = verdict(results, results.tables()).findings
    assert finding.sentence.startswith("No changed model decides or scores anybody in another way")
    assert finding.holds is finding.method is None
    first = answer(build_payload(results, results.tables()))["answers"][0][0]
    assert first["sentences"][0].startswith(
        "The changed models are the same as today's, so this is no test"
    )
    write_tables(results)
    (outcome,) = gate(tmp_path, [RULE]).outcomes
    assert outcome.answer is Answer.NOT_DECIDED
    assert "no changed model differs from today's" in outcome.decisive.reason


def test_tables_and_gates_know_it(audited: Results) -> None:
    tables = write_tables(audited)
    (by_family,) = [table for table in screen_tables(tables) if table.name == "family_results"]
    ((_, rows),) = by_family.sections
    assert [row[1] for row in rows] == ["no change", "no change"]
    assert not any(row[2] == "no change" for row in rows)
    named, each, over_all = gate(
        audited.folder, [RULE | {"family": name} for name in ("new-initialization", "each", "all")]
    ).outcomes
    assert named.answer is Answer.NOT_DECIDED
    assert {judged.number.family for judged in each.judged} == {FAMILIES[1]}
    assert over_all.answer is not Answer.NOT_DECIDED or over_all.decisive.number.value < 100.0
