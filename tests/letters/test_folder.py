"""Letters: what they say is what was tested; they are whole, and can be taken by the next audit."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from advised import ACTIONS, LOGISTIC, applicants
from changeproof import (
    InputError,
    Observer,
    Results,
    evaluate,
    explain,
    own_task,
    read_counterfactuals,
    recommend,
    write_letters,
)
from changeproof.errors import as_options
from changeproof.letters.pdf import as_pdf, find_browser
from command_line import call

WORDS: dict[str, Any] = {
    "income": {"label": "monthly income", "unit": "EUR", "format": ",.2"},
    "debts": {"label": "number of debts"},
    "owner": {"to": {"yes": "Buy the home that you live in"}},
}
LETTER = {"sender": "The Bank", "title": "Your loan"}


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluate(
        applicants(),
        LOGISTIC,
        ["kdtree", "rbr"],
        ["bootstrap(replicates=20)"],
        out=tmp_path_factory.mktemp("letters") / "audit",
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions=ACTIONS,
        words=WORDS,
        letter=LETTER,
        factuals=8,
        jobs=1,
    )


@pytest.fixture(scope="module")
def letters(audit: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "letters"
    written = write_letters(audit, out, methods=["kdtree", "rbr"], pdf=False)
    assert (written.letters, written.new, written.why_no_pdf) == (8, True, "")
    return out


def copies(folder: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {letter["person"]: letter for letter in found}


def test_numbers_and_sentences_are_those_of_the_audit(audit: Results, letters: Path) -> None:
    people = audit.table("people").set_index(["id", "method"])
    for person, letter in copies(letters).items():
        markdown = next(letters.glob(f"*-{person}.md")).read_text()
        html = next(letters.glob(f"*-{person}.html")).read_text()
        assert letter["decision"] == "refused"
        assert letter["ways"]
        for way in letter["ways"]:
            row = people.loc[(person, way["method"])]
            assert (way["held"], way["models"]) == (row["held"], row["models"])
            said = [change["sentence"] for change in way["changes"]]
            assert " ".join(f"{each}." for each in said) == row["advice"]
            for sentence in said:
                assert f"- {sentence}." in markdown
                assert f"<li>{sentence}.</li>" in html
            counts = f"{row['held']} of {row['models']}"
            assert counts in markdown or row["held"] == row["models"]
        told = explain(audit, person, "kdtree").reasons
        assert [each["sentence"] for each in letter["reasons"]] == [each.sentence for each in told]
        assert f"1. {told[0].sentence}\n" in markdown
        assert markdown.startswith("The Bank\n\nReference: ")
        assert "# Your loan\n" in markdown
    assert "Raise monthly income from" in "".join(p.read_text() for p in letters.glob("*.md"))


def test_the_index_has_the_checksum_of_every_document(letters: Path) -> None:
    index = pd.read_csv(letters / "letters.csv")
    assert list(index.columns) == ["id", "document", "file", "method", "sha256"]
    assert set(index["method"]) == {"kdtree, rbr"}
    assert {path.name for path in letters.iterdir()} == {"letters.csv", *index["file"]}
    for row in index.to_dict("records"):
        content = (letters / row["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == row["sha256"]


def test_the_same_letters_are_left_and_others_refused(audit: Results, letters: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in letters.iterdir()}
    again = write_letters(audit, letters, methods=["kdtree", "rbr"], pdf=False)
    assert not again.new
    with pytest.raises(InputError, match="holds other letters"):
        write_letters(audit, letters, methods=["kdtree"], pdf=False)
    assert before == {path.name: path.stat().st_mtime_ns for path in letters.iterdir()}
    assert not list(letters.parent.glob(".unfinished*"))


def test_the_next_audit_takes_the_letters_as_they_went_out(
    audit: Results, letters: Path, tmp_path: Path
) -> None:
    task = audit.task(audit.shown.datasets[0])
    told = copies(letters)
    assert {len(letter["ways"]) for letter in told.values()} == {2}
    families = ["bootstrap(replicates=3)"]
    later = evaluate(task, LOGISTIC, [], families, counterfactuals={"letters": letters}, jobs=1)
    # A person's second way is under a name of its own.
    assert list(later.methods) == ["letters", "letters-2"]
    answers = {m: audit.counterfactuals(task.name, 2026, m) for m in ("kdtree", "rbr")}
    for number, name in enumerate(later.methods):
        again = later.counterfactuals(task.name, 2026, name)
        for row_id, found, row in zip(again.row_ids, again.found, again.rows, strict=True):
            ways = told[task.ids.loc[row_id]]["ways"]
            assert found == (len(ways) > number)
            if found:
                mine = answers[ways[number]["method"]]
                (place,) = np.flatnonzero(mine.row_ids == row_id)
                assert row.tobytes() == mine.rows[place].tobytes()
    changed = tmp_path / "changed"
    shutil.copytree(letters, changed)
    path = next(changed.glob("*.md"))
    path.write_text(path.read_text().replace("model", "muddle"))
    with pytest.raises(InputError, match=f"{path.name} is not as it went out"):
        read_counterfactuals(changed, task)
    with pytest.raises(InputError, match="is no folder of letters"):
        read_counterfactuals(tmp_path, task)


def test_further_choices_of_a_method_are_ways(tmp_path: Path, audit: Results) -> None:
    task, families = audit.task(audit.shown.datasets[0]), ["bootstrap(replicates=3)"]
    results = evaluate(
        task,
        LOGISTIC,
        ["kdtree"],
        families,
        out=tmp_path / "run",
        factuals=4,
        alternatives=3,
        jobs=1,
    )
    write_letters(results, tmp_path / "letters", pdf=False)
    for person, letter in copies(tmp_path / "letters").items():
        first = explain(results, person, "kdtree")
        every = [each for each in (first, *first.alternatives) if each.option.usable]
        assert [way["row"] for way in letter["ways"]] == [each.counterfactual for each in every]
        assert letter["methods"] == ["kdtree"]
        assert len(letter["ways"]) > 1


def test_letters_in_german(audit: Results, tmp_path: Path) -> None:
    (tmp_path / "loans.de.toml").write_text(
        'language = "de"\n[letter]\ntitle = "Ihr Kredit"\n'
        '[words.income]\nlabel = "Monatseinkommen"\nunit = "Euro"\n'
    )
    out = tmp_path / "briefe"
    language = str(tmp_path / "loans.de.toml")
    write_letters(audit, out, methods=["kdtree"], language=language, pdf=False)
    texts = [path.read_text() for path in sorted(out.glob("*.md"))]
    assert all("# Ihr Kredit\n\nSehr geehrte Damen und Herren,\n" in text for text in texts)
    found = re.search(r"- Monatseinkommen von (\S+) auf (\S+) Euro erhöhen\.", "".join(texts))
    assert found is not None
    assert re.fullmatch(r"\d\.\d{3},\d\d", found[2])
    assert all("Von dem, was sich überhaupt ändern lässt, sprach" in text for text in texts)
    assert all("Thank you" not in text and "The Bank" in text for text in texts)


DATA: dict[str, Any] = {"target": "approved", "favourable": "yes"}
BRIEF: dict[str, Any] = {"families": ["bootstrap(replicates=2)"], "jobs": 1}


def by_age() -> pd.DataFrame:
    """Return applicants whose age counts."""
    table = applicants()
    approved = table["income"] - 300 * table["debts"] + 60 * table["age"] > 5000
    return table.assign(approved=np.where(approved, "yes", "no"))


class TestLettersAlone:
    """Audits that only test letters: nobody is advised."""

    def test_nothing_hints_at_what_to_rule_out(self) -> None:
        """Following it would refuse the letters that did not have to keep the rule."""
        refused = by_age().query("approved == 'no'").head(3)
        sent = refused.drop(columns="approved").assign(age=60).rename(columns={"applicant": "id"})
        task = own_task(by_age(), id_column="applicant", **DATA)
        assert "advice may ask people to change 'age'" in " ".join(task.notes)
        told: dict[bool, list[str]] = {}
        for alone in (True, False):
            observer = Remembered()
            evaluate(
                task,
                LOGISTIC,
                [] if alone else ["kdtree"],
                counterfactuals=sent,
                observer=observer,
                **BRIEF,
            )
            told[alone] = observer.notes
        assert not [note for note in told[True] if "'age'" in note]
        assert [note for note in told[False] if "'age'" in note]
        assert "'age'" in " ".join(task.notes)

    def test_ids_of_a_column_that_nobody_named_say_which_option_helps(self, letters: Path) -> None:
        bare = applicants().drop(columns="applicant")
        with pytest.raises(InputError, match="is not in task") as caught:
            evaluate(bare, LOGISTIC, [], counterfactuals={"sent": letters}, **DATA, **BRIEF)
        message = as_options(str(caught.value))
        assert "its ids are 0, 1, 2, ..., the numbers of its rows" in message
        assert message.endswith("if a column has the ids, pass --id-column COLUMN")
        # A column that no model takes is known: it is named.
        task = own_task(applicants(), beside=["applicant"], drop=["applicant"], **DATA)
        with pytest.raises(InputError, match="is not in task") as caught:
            read_counterfactuals(letters, task)
        assert as_options(str(caught.value)).endswith("of its rows; pass --id-column applicant")


class Remembered(Observer):
    """What an observer was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class TestRefusals:
    def test_who_gets_no_advice_gets_an_honest_letter(self, audit: Results, tmp_path: Path) -> None:
        task = audit.task(audit.shown.datasets[0])
        nothing = pd.DataFrame({"id": audit.table("people")["id"].unique()})
        nothing = nothing.reindex(columns=["id", *(f.name for f in task.features)])
        families = ["bootstrap(replicates=3)"]
        results = evaluate(
            task, LOGISTIC, [], families, counterfactuals=nothing, out=tmp_path / "run", jobs=1
        )
        out = tmp_path / "letters"
        written = write_letters(results, out, pdf=False)
        assert (written.with_advice, written.methods, written.notes) == (0, {}, ())
        assert not write_letters(results, out, pdf=False).new
        text = next(out.glob("*.md")).read_text()
        assert "found none. That does not prove that there is none" in text
        assert "How sure" not in text
        assert "Of what can change at all, this counted most against" in text

    def test_whom_the_model_accepts_is_told_so(self, audit: Results, tmp_path: Path) -> None:
        task, families = audit.task(audit.shown.datasets[0]), ["bootstrap(replicates=3)"]
        approved = task.frame.index[task.labels == 1][:2].tolist()
        # Methods that are asked by nobody have nothing to measure.
        results = evaluate(
            task, LOGISTIC, ["rbr"], families, rows=approved, out=tmp_path / "run", jobs=1
        )
        out = tmp_path / "letters"
        assert write_letters(results, out, methods=["rbr"], pdf=False).with_advice == 0
        for letter in copies(out).values():
            assert (letter["decision"], letter["reasons"], letter["ways"]) == ("accepted", [], [])
        text = next(out.glob("*.md")).read_text()
        assert "it can be accepted as it stands" in text
        assert "What" not in text

    def test_answers_as_published_are_no_letters(self, tmp_path: Path) -> None:
        families = ["bootstrap(replicates=3)"]
        results = evaluate("diabetes", LOGISTIC, ["kdtree"], families, factuals=3, jobs=1)
        with pytest.raises(InputError, match="people cannot be told"):
            write_letters(results, tmp_path / "letters", pdf=False)

    def test_at_most_three_methods_of_the_run(self, audit: Results, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no method 'wachter' in this run"):
            write_letters(audit, tmp_path / "x", methods=["wachter"], pdf=False)
        with pytest.raises(InputError, match="at most 3 different ones"):
            write_letters(audit, tmp_path / "x", methods=["rbr", "rbr"], pdf=False)
        assert not (tmp_path / "x").exists()


def test_the_command_writes_what_is_recommended(audit: Results, tmp_path: Path) -> None:
    out = tmp_path / "letters"
    person = str(audit.table("people")["id"][0])
    given = ["letters", str(audit.folder), "--out", str(out), "--no-pdf", "--row", person]
    done = call(*given, "--date", "18 November 2026", "--until", "June 2027")
    assert done.returncode == 0, done.stderr
    (letter,) = copies(out).values()
    choice = recommend(audit, person)
    assert choice.method is None  # from 20 models nobody can tell
    assert letter["methods"] == [choice.most_often]
    assert f"1 letter, 1 of them with advice (by {choice.most_often}), in {out}" in done.stdout
    assert "1 letter tells advice that is not recommended: none for this person is" in done.stdout
    text = next(out.glob("*.md")).read_text()
    assert "18 November 2026\n" in text
    assert "until June 2027." in text


def test_everybody_gets_what_is_recommended_to_them(tmp_path: Path) -> None:
    """Some by one method and some by another; the next audit reads all of them as one table."""
    methods, families = ["kdtree", "rbr", "robx-balanced"], ["bootstrap(replicates=80)"]
    results = evaluate(
        applicants(),
        LOGISTIC,
        methods,
        families,
        out=tmp_path / "audit",
        target="approved",
        favourable="yes",
        id_column="applicant",
        factuals=14,
        jobs=1,
    )
    out = tmp_path / "letters"
    written = write_letters(results, out, pdf=False)
    told, choices = copies(out), {person: recommend(results, person) for person in copies(out)}
    best = {p: str(each.method or each.most_often) for p, each in choices.items()}
    assert {person: letter["methods"] for person, letter in told.items()} == {
        person: [method] for person, method in best.items()
    }
    index = pd.read_csv(out / "letters.csv")
    assert dict(zip(index["id"], index["method"], strict=True)) == best
    assert written.methods == pd.Series(best).value_counts().to_dict()
    assert len(written.methods) > 1
    unsure = [person for person, each in choices.items() if each.method is None]
    assert unsure == [person for person, letter in told.items() if not letter["recommended"]]
    shares = [100 * way["held"] // way["models"] for p in unsure for way in told[p]["ways"][:1]]
    assert 0 < len(unsure) < len(told)
    (said,) = (note for note in written.notes if "recommended" in note)
    assert said.startswith(f"{len(unsure)} letter")
    assert f"{min(shares)} to {max(shares)} %" in said or len(set(shares)) == 1
    task = results.task(results.shown.datasets[0])
    few = ["bootstrap(replicates=3)"]
    later = evaluate(task, LOGISTIC, [], few, counterfactuals={"letters": out}, jobs=1)
    answers = later.counterfactuals(task.name, 2026, "letters")
    assert list(later.methods) == ["letters"]
    for row_id, row in zip(answers.row_ids, answers.rows, strict=True):
        mine = results.counterfactuals(task.name, 2026, best[task.ids.loc[row_id]])
        (place,) = np.flatnonzero(mine.row_ids == row_id)
        assert row.tobytes() == mine.rows[place].tobytes()


def test_letters_that_change_an_age_are_counted(audit: Results, tmp_path: Path) -> None:
    """The data have no rule about it; where there is one, nothing is said."""
    results = evaluate(
        by_age(),
        LOGISTIC,
        ["kdtree"],
        ["bootstrap(replicates=3)"],
        out=tmp_path / "audit",
        target="approved",
        favourable="yes",
        factuals=8,
        id_column="applicant",
        jobs=1,
    )
    written = write_letters(results, tmp_path / "letters", methods=["kdtree"], pdf=False)
    told = copies(tmp_path / "letters").values()
    asked = sum("age" in [c["feature"] for c in each["ways"][0]["changes"]] for each in told)
    assert asked
    # Without a word for it, a reason names a column as the table does.
    reasons = [reason for each in told for reason in each["reasons"]]
    assert all(each["sentence"].startswith(f"{each['feature']}: ") for each in reasons)
    assert "age" in {each["feature"] for each in reasons}
    rule = "`actions={'age': {'change': 'increase'}}`"
    assert written.notes == (
        f"Of {len(told)} letters, {asked} ask{'s' * (asked == 1)} to change 'age', which no rule "
        f"is about; if people cannot, audit again with {rule}.",
    )
    out = tmp_path / "again"
    done = call("letters", str(results.folder), "--out", str(out), "--no-pdf")
    assert "audit again with --only-increase age." in done.stdout
    assert write_letters(audit, tmp_path / "ruled", methods=["kdtree"], pdf=False).notes == ()


@pytest.mark.skipif(find_browser() is None, reason="no browser is installed")
def test_a_browser_prints_the_same_page_to_the_same_bytes(audit: Results, tmp_path: Path) -> None:
    person = [str(audit.table("people")["id"][0])]
    out = tmp_path / "letters"
    assert write_letters(audit, out, methods=["kdtree"], people=person).why_no_pdf == ""
    (pdf,), (html,) = out.glob("*.pdf"), out.glob("*.html")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert as_pdf(str(find_browser()), html) == pdf.read_bytes()
    assert not write_letters(audit, out, methods=["kdtree"], people=person).new
    index = pd.read_csv(out / "letters.csv")
    assert sorted(index["document"]) == ["html", "json", "md", "pdf"]


def test_a_browser_that_fails_is_said_in_one_line(
    audit: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chromium").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    written = write_letters(audit, tmp_path / "letters", methods=["kdtree"])
    assert "could not print" in written.why_no_pdf
    assert not list((tmp_path / "letters").glob("*.pdf"))
    monkeypatch.setenv("PATH", str(tmp_path / "letters"))
    written = write_letters(audit, tmp_path / "others", methods=["kdtree"])
    assert written.why_no_pdf == "no browser was found; Chromium would print PDFs"


def test_hostile_ids_names_and_categories_are_only_text(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    ids = ["../../escaped", "=HYPERLINK(1)", "<b>x</b>", "CON", "a/b", *map(str, range(195))]
    score, bad = "[pay](javascript:alert(1))", "<img src=x onerror=alert(1)>"
    table = pd.DataFrame(
        {
            "who": ids,
            score: generator.normal(50, 10, 200).round(),
            "{after} <script>": generator.choice([bad, "{{ 7*7 }}", "**none**"], 200),
        }
    )
    good = table[score] + 8 * (table["{after} <script>"] == "**none**") > 53
    table["ok"] = np.where(good, "yes", "no")
    rejected = table["who"][:5][~good[:5]].tolist()
    assert len(rejected) >= 2
    results = evaluate(
        table, LOGISTIC, ["kdtree"], ["bootstrap(replicates=3)"], out=tmp_path / "run", jobs=1,
        rows=[ids.index(each) for each in rejected], target="ok", favourable="yes", id_column="who",
    )  # fmt: skip
    out = tmp_path / "letters"
    assert write_letters(results, out, pdf=False).with_advice
    assert {path.name for path in tmp_path.iterdir()} == {"run", "letters"}
    index = pd.read_csv(out / "letters.csv")
    assert all(re.fullmatch(r"\d-[A-Za-z0-9._-]+", name) for name in index["file"])
    assert not index["id"].str.startswith("=").any()
    allowed = {"p", "h1", "h2", "ul", "ol", "li", "body", "html"}
    for path in out.glob("*.html"):
        body = path.read_text().partition("<body>")[2]
        assert set(re.findall(r"</?(\w+)", body)) <= allowed
    text = "".join(path.read_text() for path in out.glob("*.html"))
    assert "[pay](javascript:alert(1))" in text
    again = read_counterfactuals(out, results.task(results.shown.datasets[0]))
    assert len(again) == len(rejected)
