"""Which model was judged comes first, everywhere, in the same words."""

from __future__ import annotations

import json
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import shipped
from changeproof import Results
from changeproof.cli import app
from changeproof.report.formats import results_html
from changeproof.report.judged import judged_words
from changeproof.report.page.write import build_payload, render
from changeproof.tables.model import COLUMNS, MODEL
from changeproof.tables.registry import build_tables, read_tables
from paged import parts
from workbooks import read

AUDIT = ["audit", "--data", "loans.csv", "--target", "approved", "--favourable", "yes"]
AUDIT += ["--id-column", "applicant", "--model", "pickle:today.pkl", "--factuals", "12"]
AUDIT += ["--methods", "kdtree,rbr", "--families", "bootstrap(replicates=2),parameter-perturbation"]
AUDIT += ["--unpickle-and-run-its-code", "--jobs", "1"]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, str]:
    folder = shipped.written(tmp_path_factory.mktemp("judged"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, [*AUDIT, "--out", "audit"])
    assert done.exit_code == 0, done.output
    return Results(folder / "audit"), done.stdout


def test_it_comes_first_on_every_surface(audited: tuple[Results, str], tmp_path: Path) -> None:
    results, said = audited
    words = judged_words(results.tables())
    assert words.startswith(
        "Judged: the Pipeline ending in LogisticRegression (sklearn) of pickle:today.pkl, as it "
        "is. A refit of it on the 120 training rows decides "
    )
    assert said.splitlines()[0] == words and "Left out: parameter" in said.splitlines()[1]
    assert str(results).splitlines()[0] == words
    told = json.loads(results.to_json())
    assert next(iter(told)) == "judged" and told["judged"] == words
    assert told["verdict"]["lines"][0] == words
    assert unescape(results._repr_html_()).split("<p", 2)[1].endswith(f">{words}</p>\n")
    shown = CliRunner().invoke(app, ["show", str(results.folder)])
    assert shown.stdout.splitlines()[0] == words
    assert "Advice that a refit refuses" in shown.stdout
    page = unescape((results.folder / "report" / "index.html").read_text())
    first = page.index('id="verdict"')
    model, _, refit = words.partition(" A refit of it ")
    told = f' class="judged">{model} Data: 240 rows with 4 features.<'
    assert page[first:].split("<p", 2)[1].startswith(told)
    refit = refit.replace("--split", "<code>--split</code>")
    assert page.count(f'<p class="judged">A refit of it {refit}</p>') == 1
    pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed (extra: xlsx)")
    sheets = read(results.to_xlsx(tmp_path / "audit.xlsx"))
    assert sheets["verdict"].text("B2") == words and MODEL in sheets


def test_its_numbers_are_those_of_the_table(audited: tuple[Results, str]) -> None:
    results, _ = audited
    tables = read_tables(results.folder)
    first, *others = tables[MODEL].to_dict("records")
    words = judged_words(tables)
    for name, of, what in (
        ("people_differ", "test_rows", "people"),
        ("letters_refused", "letters", "pieces of advice"),
    ):
        share = f"{first[name]} of {first[of]} {what} ({first[f'{name}_percent']:.1f} %)"
        assert share in words
    assert sum(row["letters"] for row in others) == first["letters"]
    payload = build_payload(results, tables)
    (listed,) = (part for part in parts(payload, "run", "table") if "refit" in part["table"])
    assert [row[1:3] for row in listed["rows"]] == [
        [str(row["letters"]), str(row["letters_refused"])] for row in others
    ]
    (facts, *_) = parts(payload, "run", "facts")
    assert ["from", "pickle:today.pkl"] in facts["facts"]


def test_a_finished_run_says_it_at_its_end(
    audited: tuple[Results, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the model is no longer at hand."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(audited[0].folder, "audit")
    done = CliRunner().invoke(app, ["run", "--out", "audit", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == judged_words(audited[0].tables())


def row(**values: Any) -> dict[str, Any]:
    usual = {
        "dataset": "loans", "method": "all", "model": "today", "reference": "pickle:today.pkl",
        "kind": "GradientBoostingClassifier (sklearn)", "source": "as it is", "no_refit": "",
        "refit_by": "",
        "training_rows": 2000, "test_rows": 1200, "people_differ": 37,
        "people_differ_percent": 37 / 12, "letters": 60, "letters_refused": 4,
        "letters_refused_percent": 4 / 0.6,
    }  # fmt: skip
    return usual | values


REMEDY = "If it was fitted on other rows and you know which, name them with --split COLUMN."
JUDGED = "Judged: the GradientBoostingClassifier (sklearn) of pickle:today.pkl, as it is. "
NONE: dict[str, Any] = {"letters_refused": 0, "letters_refused_percent": 0.0}
SAME: dict[str, Any] = {"people_differ": 0, "people_differ_percent": 0.0}
HERE: dict[str, Any] = {"source": "trained here", "people_differ": float("nan")}
CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "other": (
        [row(), row(method="kdtree", letters=30)],
        f"{JUDGED}A refit of it on the 2,000 training rows decides 37 of 1,200 people (3.1 %) "
        "differently and refuses 4 of 60 pieces of advice (6.7 %) that the judged model accepts: "
        f"read the families that retrain with that in mind. {REMEDY}",
    ),
    "another learner": (
        [row(refit_by="sklearn:LogisticRegression")],
        f"{JUDGED}Its refits are by sklearn:LogisticRegression. Trained on the 2,000 training "
        "rows, this decides 37 of 1,200 people (3.1 %) differently and refuses 4 of 60 pieces of "
        "advice (6.7 %) that the judged model accepts: read the families that retrain with that in "
        "mind.",
    ),
    "the same": (
        [row(**SAME, **NONE)],
        f"{JUDGED}A refit of it on the 2,000 training rows decides all 1,200 people as it does, "
        "and accepts all 60 pieces of advice that it accepts.",
    ),
    "no letters": (
        [row(letters=0, letters_refused=0, letters_refused_percent=float("nan"))],
        f"{JUDGED}A refit of it on the 2,000 training rows decides 37 of 1,200 people (3.1 %) "
        f"differently: read the families that retrain with that in mind. {REMEDY}",
    ),
    "no refit": (
        [row(no_refit="today is used as it is and cannot be fitted again")],
        f"{JUDGED}There is no refit to compare it with: today is used as it is and cannot be "
        "fitted again.",
    ),
    "not yet": (
        [row(people_differ=float("nan"))],
        f"{JUDGED}How a refit differs from it is not known yet.",
    ),
    "passed": (
        [row(reference="object:x", model="GradientBoostingClassifier", no_refit="it fails")],
        "Judged: the GradientBoostingClassifier (sklearn) that was passed, as it is. There is no "
        "refit to compare it with: it fails.",
    ),
    "a function": (
        [row(reference="object:score", model="score", kind="function", no_refit="it fails.")],
        "Judged: the function score that was passed, as it is. There is no refit to compare it "
        "with: it fails.",
    ),
    "here": ([row(**HERE)], "Judged: today, trained here on 2,000 rows."),
    "networks": (
        [row(**HERE, model="mlp"), row(**HERE, model="mlp", dataset="heloc", training_rows=10)],
        "Judged: a neural network (mlp), trained here on 2,000 rows of loans and 10 rows of HELOC.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    rows, words = CASES[case]
    assert judged_words({MODEL: pd.DataFrame(rows, columns=COLUMNS)}) == words


def test_earlier_versions_say_nothing() -> None:
    assert judged_words({}) == "" == judged_words({MODEL: pd.DataFrame(columns=COLUMNS)})


def test_whatever_is_in_a_reference_is_text(audited: tuple[Results, str]) -> None:
    results, _ = audited
    evil = "pickle:<script>alert(1)</script>&.pkl"
    tables = build_tables(results)
    tables[MODEL] = tables[MODEL].assign(reference=evil)
    assert "<script>" not in results_html(tables) and evil in unescape(results_html(tables))
    assert "<script>alert" not in render(build_payload(results, tables), [])
