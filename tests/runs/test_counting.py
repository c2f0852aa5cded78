"""Which families count in "all": decided once, and every surface has the same number."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import shipped
from changeproof import Results, compare_runs, evaluate, explain, gate
from changeproof.changes.sequences import Updates
from changeproof.evaluation.counting import Apart, apart, counting_families
from changeproof.evaluation.metrics import METRICS
from changeproof.report.document import document
from changeproof.report.page.robustness import limit_curves
from changeproof.report.page.write import build_payload
from changeproof.report.verdict import verdict
from changeproof.runs.manifest import Description
from changeproof.tables.registry import read_tables, screen_tables, write_tables
from paged import answer
from workbooks import read

utility = pytest.importorskip(
    "xlsxwriter.utility", reason="XlsxWriter is not installed (extra: xlsx)"
)

SAME, SINGLE = "new-initialization", "bootstrap(replicates=4)"
WHAT = "empirical_robustness"


class TheSame(LogisticRegression):  # type: ignore[misc]
    """A model that has a seed, which nobody knows it does not use."""


class MyUpdates(Updates):
    """Updates of one's own, which nothing but the record of a run says to be a sequence."""


def audited(out: Path, *families: Any, **more: Any) -> Results:
    asked = {"factuals": 20, "jobs": 1, "publish": False, **more}
    results = evaluate("diabetes", TheSame(), ["rbr"], list(families), out=out, **asked)
    write_tables(results)
    return results


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A family that changes nothing, one that does, and a sequence of one's own."""
    out = tmp_path_factory.mktemp("counted") / "run"
    return audited(out, SAME, SINGLE, MyUpdates(length=3, replicates=2, every=2), limit=True)


def workbook_rows(results: Results, path: Path, name: str) -> list[dict[str, str]]:
    """Return the rows of a sheet as texts by heading."""
    sheet = read(results.to_xlsx(path))[name]
    table = read_tables(results.folder)[name]
    letters = [utility.xl_col_to_name(place) for place in range(len(table.columns))]
    headings = [sheet.text(f"{letter}1") for letter in letters]
    return [
        {
            heading: sheet.cells.get(f"{letter}{2 + row}", ("", "", 0))[1]
            for heading, letter in zip(headings, letters, strict=True)
        }
        for row in range(len(table))
    ]


def test_every_surface_has_the_same_number_for_all(mixed: Results, tmp_path: Path) -> None:
    tables = read_tables(mixed.folder)
    by_family = tables["family_results"].set_index("family")[f"{WHAT}_mean"]
    expected = by_family[SINGLE]
    assert len(set(by_family)) == 3, "any other choice of families would give another number"
    where = {"method": "rbr", "metric": WHAT}
    (people,) = tables["people_intervals"].query(f"family == 'all' and metric == '{WHAT}'")["value"]
    (seed,) = tables["seed_results"].query("family == 'all'")[WHAT]
    (screen,) = [each for each in screen_tables(tables) if each.name == "full_results"]
    # The method, and its metrics in their order.
    shown = screen.sections[0][1][0][1 + list(METRICS).index(WHAT)]
    (outcome,) = gate(mixed.folder, [where | {"at_least": 50}]).outcomes
    payload = build_payload(mixed, mixed.tables())
    whole = json.loads(json.dumps(document(mixed, tables), default=str))
    row = whole["tables"]["full_results"][0]
    compared = compare_runs(mixed.folder, mixed.folder).table
    (before,) = compared.query(f"family == 'all' and metric == '{WHAT}'")["before"]
    book = workbook_rows(mixed, tmp_path / "book.xlsx", "full_results")
    person = mixed.counterfactuals("diabetes", mixed.plan.base_seeds[0], "rbr").row_ids[0]
    found = {
        "full_results": tables["full_results"][f"{WHAT}_mean"][0],
        "people_intervals": people,
        "seed_results": seed,
        "terminal": shown.mean,
        "gate": outcome.decisive.number.value,
        "page": answer(payload)["answers"][0][0]["values"][0][1][0],
        "verdict": verdict(mixed, mixed.tables()).findings[0].holds,
        "JSON": row[f"{WHAT}_mean"],
        "compare-runs": before,
        # The limit was found for everybody, so that the same people are compared with it.
        "price": tables["price"][f"{WHAT}_mean"][0],
        "workbook": float(book[0][f"{WHAT}_mean"]),
        "price in the workbook": float(
            workbook_rows(mixed, tmp_path / "book.xlsx", "price")[0][f"{WHAT}_mean"]
        ),
    }
    assert found == pytest.approx(dict.fromkeys(found, expected), rel=1e-5)
    assert explain(mixed, person, "rbr").overall.models == 4
    assert payload["averaged"] == [1]


def test_the_limit_is_over_the_same_families(mixed: Results, tmp_path: Path) -> None:
    tables = read_tables(mixed.folder)
    overall = tables["limit"].query("family == 'all'")
    # Of four models that change something none may reject, at whatever share. Of 29 one may.
    assert overall["distance_mean"].nunique() == 1
    (single,) = set(tables["limit"].query(f"family == '{SINGLE}'")["distance_mean"])
    assert single == pytest.approx(overall["distance_mean"].iloc[0], rel=0.05)
    limit, task = mixed.limit("diabetes", 2026), mixed.task("diabetes")
    changing = limit.changing_distances(task)
    assert changing is not None and (limit.distances(task)[0, 2] < changing[2] - 1e-6).any()
    assert overall["distance_mean"].iloc[0] == pytest.approx(changing[0].mean(), rel=1e-5)
    (price,) = tables["price"]["limit_mean"]
    assert price == pytest.approx(changing[0].mean(), rel=1e-5)
    whole = json.loads(json.dumps(document(mixed, tables), default=str))["tables"]
    sheet = workbook_rows(mixed, tmp_path / "book.xlsx", "limit")
    (curve,) = limit_curves(tables).values()
    for place, row in enumerate(overall.to_dict("records")):
        assert whole["limit"][place]["distance_mean"] == row["distance_mean"]
        assert float(sheet[place]["distance_mean"]) == row["distance_mean"]
        assert (row["distance_mean"], row["share"]) in curve


def test_a_run_where_all_count_has_one_limit(quick_run: Results) -> None:
    assert quick_run.limit("diabetes", 2026).changing is None


def test_letters_are_held_against_the_same_families() -> None:
    frame = shipped.table()
    today, later = shipped.current(frame), shipped.stricter(frame)
    results = evaluate(
        frame,
        today,
        families=[SINGLE, MyUpdates(length=3, replicates=2, every=2)],
        counterfactuals={"letters": shipped.letters(frame, today)},
        successors={"next": later},
        jobs=1,
        **shipped.DATA,
    )
    assert results.counting_families == (SINGLE,)
    table = results.table("successors").set_index("family")
    columns = [name for name in table.columns if name.startswith(("models", "broken"))]
    assert table.loc["all", columns].tolist() == table.loc[SINGLE, columns].tolist()
    assert table["models"].tolist() == [4, 4, 6]
    assert set(results.table("letters")["simulated_models"]) == {4}
    assert results.table("letters")["simulated_hold"].max() <= 4


def test_the_record_says_which_count(mixed: Results) -> None:
    table = read_tables(mixed.folder)["families"].fillna("")
    sequence = mixed.shown.families[2]
    assert table.to_numpy().tolist() == [
        [SAME, "no", "changes nothing"],
        [SINGLE, "yes", ""],
        [sequence, "no", "updates in sequence"],
    ]


def test_where_runs_differ_what_counts_in_both_is_compared(mixed: Results, tmp_path: Path) -> None:
    other = audited(tmp_path / "other", SAME, SINGLE, "label-update(replicates=4)")
    table = compare_runs(mixed.folder, other.folder).table
    overall = table.query(f"family == 'all' and metric == '{WHAT}'")
    full = other.table("family_results").set_index("family")[f"{WHAT}_mean"]
    assert overall[["before", "after"]].to_numpy().tolist() == [pytest.approx([full[SINGLE]] * 2)]


def test_other_numbers_of_replicates_are_the_same_family(mixed: Results, tmp_path: Path) -> None:
    fewer = audited(tmp_path / "fewer", "bootstrap(replicates=2)")
    found = compare_runs(mixed.folder, fewer.folder)
    assert found.families == ("bootstrap",)
    assert any("bootstrap(replicates=4) and bootstrap(replicates=2)" in n for n in found.notes)
    assert any("2 changes are in both runs; 2 of the first" in note for note in found.notes)
    assert (found.table["difference"] == 0).all() and found.table["paired"].all()
    (after,) = found.table.query(f"metric == '{WHAT}'")["after"]
    assert after == pytest.approx(fewer.table()[f"{WHAT}_mean"][0])
    assert SINGLE not in found.only_before["families"] and not found.only_after


def test_the_gate_reads_the_record(mixed: Results, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(mixed.folder, tmp_path / "copy"))
    rule = {"method": "rbr", "metric": WHAT, "at_least": 50, "family": SAME}
    (outcome,) = gate(folder, [rule]).outcomes
    assert "no changed model differs from today's" in outcome.decisive.reason


KINDS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(Description, sequence=st.booleans(), real=st.booleans()),
    min_size=1,
)


@given(KINDS, st.sets(st.sampled_from("abcdef")))
def test_something_always_counts(families: dict[str, Description], unchanged: set[str]) -> None:
    found, why = counting_families(families, unchanged), apart(families, unchanged)
    assert found and set(found) <= set(families)
    single = [name for name, each in families.items() if not (each.sequence or each.real)]
    if any(each is Apart.NOT for each in why.values()):
        assert all(why[name] is Apart.NOT for name in found)
    elif single:
        assert set(found) == set(single)
