"""The two kinds of page, and what only an audit's has."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from changeproof import Results, build_tables, evaluate, gate
from changeproof.report.page.kinds import AUDIT, COMPARISON, Kind, kind_of
from changeproof.report.page.write import build_bulk, build_payload, render
from changeproof.report.verdict import verdict
from changeproof.tables.names import family_name, method_name
from changeproof.tables.registry import read_tables
from loans import loans
from paged import parts


@pytest.fixture(scope="module")
def tables(advised_run: Results) -> dict[str, pd.DataFrame]:
    return build_tables(advised_run)


@pytest.fixture(scope="module")
def shared_audit(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A finished audit with its tables, as the gate wants it."""
    return evaluate(
        loans(300), "sklearn:LogisticRegression", ["kdtree", "robx-robust"],
        ["bootstrap(replicates=80)"], out=tmp_path_factory.mktemp("gated") / "run", jobs=1,
        factuals=40, target="approved", favourable="yes", id_column="applicant",
    )  # fmt: skip


@pytest.fixture(scope="module")
def html(advised_run: Results, tables: dict[str, pd.DataFrame]) -> str:
    return render(build_payload(advised_run, tables), build_bulk(advised_run))


def test_a_run_of_one_dataset_is_an_audit(quick_run: Results, advised_run: Results) -> None:
    assert kind_of(quick_run.shown) is COMPARISON
    assert kind_of(advised_run.shown) is AUDIT
    one = quick_run.shown.model_copy(update={"datasets": ("german-credit",)})
    assert kind_of(one) is AUDIT and AUDIT.subject(one) == "German Credit"
    assert COMPARISON.subject(quick_run.shown) == ""


@pytest.mark.parametrize("kind", [COMPARISON, AUDIT], ids=lambda kind: kind.name)
def test_every_section_has_an_address_of_its_own(kind: Kind) -> None:
    ids = [section.id for section in (*kind.sections, *kind.folded)]
    assert len(ids) == len(set(ids)) and "more" not in ids
    assert all(section.name and section.title for section in (*kind.sections, *kind.folded))


def test_an_audit_shows_everything_that_a_comparison_does() -> None:
    shown = {section.parts for section in (*AUDIT.sections, *AUDIT.folded)}
    assert {section.parts for section in COMPARISON.sections} <= shown


def test_an_audit_goes_from_people_to_methods(
    html: str, advised_run: Results, tables: dict[str, pd.DataFrame]
) -> None:
    said = verdict(advised_run, tables)
    (found,) = said.findings
    assert found.per_person and found.on_average
    text = html.partition('<script type="application/json"')[0]
    assert "<title>data | changeproof audit</title>" in text
    order = [
        "<h1><bdi>data</bdi>: will the advice still hold after the model changes?</h1>",
        f"{said.judged} {said.data}",
        said.base,
        found.headline,
        found.per_person,
        found.on_average,
        said.simulated,
        '<section id="person"',
        '<section id="kinds"',
        '<section id="gate"',
        '<section id="methods"',
        '<h2 id="more"',
        '<section id="answer" class="folded"',
        '<section id="run" class="folded"',
    ]
    places = [unescape(text).find(each) for each in order]
    assert -1 not in places and places == sorted(places)
    navigation = re.findall(r'<li><a href="#(\w+)">', text)
    assert navigation == ["person", "kinds", "gate", "methods", "more"]


def test_a_comparison_is_not_folded(quick_run: Results) -> None:
    payload = build_payload(quick_run, read_tables(quick_run.folder))
    html = render(payload, []).partition('<script type="application/json"')[0]
    assert "<title>changeproof report</title>" in html
    assert "<h1>Will it still hold after the model changes?</h1>" in html
    assert "folded" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    assert not {"kinds", "gate", "methods"} & set(payload["sections"])


def test_methods_come_in_the_order_of_the_verdict_with_its_numbers(
    advised_run: Results, tables: dict[str, pd.DataFrame]
) -> None:
    payload = build_payload(advised_run, tables)
    (shown,) = parts(payload, "methods", "table")
    (found,) = verdict(advised_run, tables).findings
    assert found.method is not None and found.distance is not None and found.holds is not None
    bar = tables["people_above_bar"].set_index("method")
    names = {method_name(method): method for method in advised_run.shown.methods}
    *rows, last = shown["rows"]
    assert {row[0] for row in rows} == set(names) and rows[0][0] == method_name(found.method)
    assert rows[0][1:] == [
        found.asked, found.accepted, found.above, found.sure, f"{found.holds:.1f}",
        f"{found.distance:.2f}",
    ]  # fmt: skip
    for row in rows:
        counts = bar.loc[names[row[0]], ["people", "accepted", "above", "sure"]]
        assert row[1:5] == counts.tolist()
    assert last[3:5] == [bar.loc["any", "above"], bar.loc["any", "sure"]]
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)


def test_changes_are_those_of_the_tables(
    advised_run: Results, tables: dict[str, pd.DataFrame]
) -> None:
    payload = build_payload(advised_run, tables)
    (shown,) = parts(payload, "kinds", "table")
    (found,) = verdict(advised_run, tables).findings
    variants, families = tables["variants"], tables["family_results"]
    assert len(shown["rows"]) == len(advised_run.shown.families) == 2
    for row, family in zip(shown["rows"], advised_run.shown.families, strict=True):
        mine = variants[variants["family"] == family]
        own = families[(families["family"] == family) & (families["method"] == found.method)]
        assert row[0].startswith(family_name(family))
        assert row[1:] == [
            str(len(mine)),
            f"{100 * mine['hard_disagreement'].mean():.2f}",
            f"{own['empirical_robustness_mean'].item():.1f}",
            advised_run.families[family].summary,
        ]


def test_the_gate_reads_the_rules_of_the_page(shared_audit: Results, tmp_path: Path) -> None:
    payload = build_payload(shared_audit, read_tables(shared_audit.folder))
    (offered,) = parts(payload, "gate", "file")
    rules = tmp_path / offered["file"]
    rules.write_text(offered["content"])
    found = gate(shared_audit.folder, rules)
    (finding,) = verdict(shared_audit, read_tables(shared_audit.folder)).findings
    assert len(found.outcomes) == 2 and found.passed()
    judged = found.outcomes[1].decisive
    assert judged.number.method == finding.method
    assert judged.number.value == pytest.approx(finding.distance)
    assert judged.answer == "pass"
