from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from advised import RULES, applicants
from changeproof import Explanation, Results, Task, explain, explain_all, own_task
from changeproof.cli import app
from changeproof.commands.auditing import folder_of
from changeproof.datasets.recourse import MOST_CHANGES, Change
from changeproof.errors import InputError
from changeproof.explanation import comparison_lines, explanation_lines, recommendation
from changeproof.methods.answers import ONLY_PARTS
from changeproof.report.constraints import reasons
from loans import loans

WHY = "Why: age: Nobody gets younger. purpose: It is what the loan is for."


@pytest.fixture(scope="module")
def task(advised_run: Results) -> Task:
    return advised_run.task("data")


def people(results: Results) -> list[str]:
    return [str(person) for person in results.survival()["id"].unique()]


def without_reasons(lines: Iterable[str], answer: Explanation) -> list[str]:
    """Return lines without the reasons for the decision, which come first."""
    first, heading, *others = lines
    assert heading == (
        "  Principal reasons for the decision, derived from this model and these rules:"
    )
    reasons = others[: len(answer.reasons)]
    for number, (line, reason) in enumerate(zip(reasons, answer.reasons, strict=True), start=1):
        assert line == f"    {number}. {reason.sentence} ({reason.words})"
    return [first, *others[len(reasons) :]]


def test_one_method_line_by_line(advised_run: Results, task: Task) -> None:
    answer = explain(advised_run, people(advised_run)[0], "kdtree")
    lines = without_reasons(explanation_lines(answer, task), answer)
    assert lines[0] == f"kdtree on data, for {answer.person}:"
    few = [f"  {sentence}." for sentence in answer.advice[:MOST_CHANGES]]
    assert lines[1 : 1 + len(few)] == few
    assert "  Nothing else changes." in lines
    assert f"  Respected: {RULES}." in lines
    assert f"  {WHY}" in lines
    assert "  Today's model accepts this. " in lines[lines.index(f"  {WHY}") + 1]
    assert lines[-1].lstrip().startswith("all ")
    assert f"{answer.overall.held} of 50" in lines[-1]


def test_smaller_changes_are_on_one_line(advised_run: Results, task: Task) -> None:
    changes = tuple(Change(f"f{n}", "raise", "1", "2", 9.0 - n) for n in range(7))
    known = explain(advised_run, people(advised_run)[0], "kdtree")
    lines = without_reasons(explanation_lines(replace(known, changes=changes), task), known)
    assert lines[5:8] == [
        "  Raise f4 from 1 to 2.",
        "  And 2 smaller changes: f5 from 1 to 2; f6 from 1 to 2.",
        "  Nothing else changes.",
    ]


def test_nothing_to_tell(advised_run: Results, task: Task) -> None:
    answers = [explain(advised_run, person, "unkind-tool") for person in people(advised_run)]
    without = next(answer for answer in answers if answer.counterfactual is None)
    assert without_reasons(explanation_lines(without, task), without)[1:] == [
        f"  No advice: {without.why_not}.",
        f"  Constraints: {RULES}.",
        f"  {WHY}",
    ]
    # As published, a row may differ in parts of categories only.
    found = next(answer for answer in answers if answer.counterfactual is not None)
    only_parts = replace(found, changes=(), partly=("savings",))
    lines = without_reasons(explanation_lines(only_parts, task), found)
    assert lines[1] == f"  {ONLY_PARTS}"
    lines = list(explanation_lines(replace(found, partly=("savings",), breach="no"), task))
    assert "  The tested row is between categories, which nobody can be told: savings." in lines
    assert f"  Not respected: no. Constraints: {RULES}." in lines
    assert "  Nothing else changes." not in lines


def test_several_methods_and_what_to_follow(advised_run: Results, task: Task) -> None:
    for person in people(advised_run):
        answers = explain_all(advised_run, person)
        choice = recommendation(answers)
        lines = without_reasons(comparison_lines(answers, choice, task), answers[0])
        marked = [line for line in lines if line.endswith(" (recommended)")]
        if choice.method is None:
            assert marked == []
            assert choice.reason in lines
        else:
            assert lines[1] == marked[0] == f"  {choice.method} (recommended)"
            assert f"Recommended: {choice.reason}" in lines
        assert {line.split()[0] for line in lines if line[:2] == "  " != line[2:4]} == set(
            advised_run.shown.methods
        )
        assert lines[-2:] == [f"Respected: {RULES}.", WHY]


def test_the_same_reason_is_told_once(advised_run: Results, task: Task) -> None:
    known = explain_all(advised_run, people(advised_run)[0])
    outcome = "factual is already favourable"
    why = "today's model already decides in this person's favour"
    answers = [
        replace(each, counterfactual=None, base_valid=False, outcome=outcome, why_not=why)
        for each in known
    ]
    lines = list(comparison_lines(answers, recommendation(answers), task))
    assert lines == [
        f"For {known[0].person} on data:",
        f"  No advice: {why}.",
        f"Constraints: {RULES}.",
        WHY,
    ]


def test_many_reasons_are_left_to_json(advised_run: Results) -> None:
    names = ["age", "savings", "ratio", "debts", "owner", "member"]
    actions = {name: {"change": "none", "reason": f"So {name}."} for name in names}
    known = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    many = own_task(applicants(), actions=actions, **known)
    assert len(reasons(many)) == 6
    answer = explain(advised_run, people(advised_run)[0], "kdtree")
    assert not any("Why: " in line for line in explanation_lines(answer, many))


def test_other_constraints_are_another_run() -> None:
    known = {"target": "approved", "favourable": "yes", "id_column": "applicant", "name": "loans"}
    tasks = [
        own_task(applicants(), **known),
        own_task(applicants(), actions={"age": {"change": "none"}}, **known),
        own_task(applicants(), actions={"age": {"change": "increase"}}, **known),
        own_task(applicants(), most_changes=3, **known),
    ]
    folders = [folder_of(task) for task in tasks]
    assert folders[0] == Path("runs/explain-loans")
    assert len(set(folders)) == 4


def command(data: Path, folder: Path, *more: str) -> Any:
    table = applicants()
    person = str(table[table["approved"] == "no"]["applicant"].iloc[0])
    given = ["--target", "approved", "--favourable", "yes", "--id-column", "applicant"]
    given += ["--model", "sklearn:LogisticRegression", "--jobs", "1", "--families", "bootstrap"]
    done = CliRunner().invoke(
        app, ["explain", "--data", str(data), *given, "--row", person, "--out", str(folder), *more]
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_takes_several_methods(tmp_path: Path) -> None:
    data, out = tmp_path / "loans.csv", tmp_path / "out"
    applicants().to_csv(data, index=False)
    several = json.loads(command(data, out, "--method", "kdtree,rbr", "--json"))
    assert [answer["method"] for answer in several["explanations"]] == ["kdtree", "rbr"]
    assert several["recommended"]["method"] in ("kdtree", "rbr", None)
    assert several["recommended"]["reason"].endswith(".")
    text = command(data, out, "--method", "kdtree", "--method", "rbr")
    assert several["recommended"]["reason"] in text
    assert "Nothing else changes." in text
    one = json.loads(command(data, out, "--method", "kdtree", "--json"))
    judged = "Judged: LogisticRegression, trained here on 150 rows."
    assert one == {"judged": judged, **several["explanations"][0]}
    assert several["judged"] == judged
    assert text.startswith(judged)
    assert one["feasible"] is True
    # What does not fit the model is left out, with the reason.
    left = command(data, out, "--method", "kdtree,rnce")
    assert "Left out: rnce" in left


def from_a_run(folder: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["explain", "--from", str(folder), *more])


def test_a_finished_audit_is_read(advised_run: Results) -> None:
    person = people(advised_run)[0]
    done = from_a_run(advised_run.folder, "--row", person, "--json")
    assert done.exit_code == 0, done.output
    answers = explain_all(advised_run, person)
    found = json.loads(done.stdout)
    assert [each["method"] for each in found["explanations"]] == [a.method for a in answers]
    assert found["recommended"] == recommendation(answers)._asdict()
    one = from_a_run(advised_run.folder, "--row", person, "--method", "kdtree", "--name", "data")
    first = explain(advised_run, person, "kdtree")
    assert one.stdout.splitlines()[1] == f"kdtree on data, for {person}:"
    assert f"{first.overall.held} of 50" in one.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--data", "loans.csv", "--model", "mlp:8"], "leave out --data, --model"),
        (["--immutable", "age"], "leave out --immutable"),
        (["--name", "other"], "unknown dataset 'other'"),
        (["--method", "nobody"], "nobody"),
    ],
)
def test_what_a_finished_audit_cannot_be_asked(
    advised_run: Results, more: list[str], said: str
) -> None:
    done = from_a_run(advised_run.folder, "--row", people(advised_run)[0], *more)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)


def test_somebody_who_was_not_asked_about(advised_run: Results, task: Task) -> None:
    asked = set(people(advised_run))
    other = next(str(each) for each in task.ids if str(each) not in asked)
    done = from_a_run(advised_run.folder, "--row", other)
    assert isinstance(done.exception, InputError)
    assert f"did not ask about person {other!r}; it has" in str(done.exception)


def test_an_audit_is_not_written_over(advised_run: Results, tmp_path: Path) -> None:
    data = tmp_path / "loans.csv"
    applicants().to_csv(data, index=False)
    plan = (advised_run.folder / "plan.json").read_bytes()
    given = ["--target", "approved", "--favourable", "yes", "--id-column", "applicant"]
    out = ["--row", people(advised_run)[0], "--out", str(advised_run.folder)]
    done = CliRunner().invoke(app, ["explain", "--data", str(data), *given, *out])
    assert isinstance(done.exception, InputError)
    assert "which this would replace" in str(done.exception)
    assert (advised_run.folder / "plan.json").read_bytes() == plan


def test_an_unfinished_audit_is_refused(advised_run: Results, tmp_path: Path) -> None:
    copy = shutil.copytree(advised_run.folder, tmp_path / "copy")
    next(copy.glob("pieces/**/survival-*")).unlink()
    done = from_a_run(copy, "--row", people(advised_run)[0])
    assert isinstance(done.exception, InputError)
    assert "is not finished, or was made by another version" in str(done.exception)


def test_the_table_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "loans.csv"
    loans(120).to_csv(path, index=False)
    reads: list[str] = []
    plain = pd.read_csv

    def counting(*args: Any, **named: Any) -> Any:
        reads.append(str(args[0]))
        return plain(*args, **named)

    monkeypatch.setattr(pd, "read_csv", counting)
    task = own_task(path, target="approved", favourable="yes", id_column="applicant")
    once = len(reads)
    asked = task.ids[task.labels == 0].iloc[0]
    words = f"explain --row {asked} --target approved --favourable yes --id-column applicant"
    words += (
        " --model sklearn:GaussianNB --method kdtree --families bootstrap(replicates=2) --jobs 1"
    )
    files = ("--data", str(path), "--out", str(tmp_path / "run"))
    done = CliRunner().invoke(app, [*words.split(), *files])
    assert done.exit_code == 0, done.output
    assert once > 0 and len(reads) == 2 * once
