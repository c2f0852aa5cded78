"""Constraints from the command line: what is said, and every message for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from changeproof import Results
from changeproof.commands.parsing import constraints
from changeproof.errors import InputError
from command_line import call
from loans import loans

DATA = ["--target", "approved", "--favourable", "yes", "--id-column", "applicant"]
SMALL = ["--methods", "kdtree", "--families", "bootstrap(replicates=3)", "--jobs", "1"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "loans.csv"
    loans(200).to_csv(path, index=False)
    return path


def test_options_become_what_own_task_takes() -> None:
    found = constraints(
        {"immutable": ["a", "b"], "only_increase": ["c"], "range": ["c=0:", "d = 1 : 5.5", "e=:9"]}
    )
    assert found == {
        "a": {"change": "none"},
        "b": {"change": "none"},
        "c": {"change": "increase", "low": 0.0},
        "d": {"low": 1.0, "high": 5.5},
        "e": {"high": 9.0},
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"immutable": ["a"], "only_increase": ["a"]},
            "'a' is given to --immutable and to --only-increase",
        ),
        ({"immutable": ["a", "a"]}, "'a' is given to --immutable more than once"),
        ({"range": ["a=1:2", "a=3:4"]}, "'a' is given to --range more than once"),
        ({"range": ["a"]}, "--range 'a'; expected FEATURE=LOW:HIGH"),
        ({"range": ["a=3"]}, "--range 'a=3'; expected FEATURE=LOW:HIGH"),
        ({"range": ["a=:"]}, "--range 'a=:'; expected FEATURE=LOW:HIGH"),
        ({"range": ["a=x:2"]}, "--range 'a=x:2'; expected FEATURE=LOW:HIGH"),
        ({"range": ["=1:2"]}, "--range '=1:2'; expected FEATURE=LOW:HIGH"),
    ],
)
def test_options_that_do_not_fit_together(given: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        constraints(given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--immutable", "age"], "unknown feature 'age'; expected one of: income, debts"),
        (["--range", "income=9:1"], "the range is empty: low 9 is above high 1"),
        (["--range", "purpose=0:1"], "holds categories; low is for numbers"),
        (["--only-increase", "purpose"], "has categories without an order"),
        (["--most-changes", "0"], "most_changes is 0; expected a whole number of 1 or more"),
        (["--immutable", "income,debts,purpose,owner,member"], "no feature may change"),
    ],
)
def test_wrong_constraints_end_with_one_line(
    table: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    out = tmp_path / "run"
    done = call("audit", "--data", table, *DATA, *SMALL, *options, "--out", out)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not out.exists()


def test_an_audit_keeps_to_its_constraints_and_as_published_does_not(
    table: Path, tmp_path: Path
) -> None:
    rules = ["--immutable", "owner,purpose", "--only-decrease", "debts", "--range", "income=0:5000"]
    common = ["audit", "--data", table, *DATA, *SMALL, *rules, "--most-changes", "2"]
    assert call(*common, "--out", tmp_path / "told").returncode == 0
    assert call(*common, "--as-published", "--out", tmp_path / "raw").returncode == 0
    told, raw = Results(tmp_path / "told"), Results(tmp_path / "raw")
    assert told.plan.feasible
    assert not raw.plan.feasible
    for results, broken in ((told, False), (raw, True)):
        (key,) = results.answered
        task, answers = results.task("loans"), results.counterfactuals(*key)
        assert task.most_changes == 2
        found = answers.found
        breaches = task.actions.breaches(answers.factuals[found], answers.rows[found])
        assert breaches.any.any() == broken
    # Other rules are another plan: the directory is refused.
    again = call(*common, "--range", "debts=0:3", "--out", tmp_path / "told")
    assert again.returncode == 2
    assert "other" in again.stderr


def test_explain_prints_the_row_that_was_tested(table: Path, tmp_path: Path) -> None:
    person = loans(200).query("approved == 'no'")["applicant"].iloc[0]
    asked = ["explain", "--data", table, *DATA, "--families", "bootstrap(replicates=3)"]
    rules = ["--immutable", "owner", "--only-decrease", "debts"]
    done = call(
        *asked, *rules, "--row", person, "--method", "kdtree", "--json", "--out", tmp_path / "run"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    told = told[0] if isinstance(told, list) else told
    told = told.get("explanations", [told])[0]
    if told["counterfactual"] is None:
        pytest.fail(f"{person} has no advice: {told['outcome']}")
    results = Results(tmp_path / "run")
    (key,) = results.answered
    task, answers = results.task("loans"), results.counterfactuals(*key)
    row = task.encoded(pd.DataFrame([told["counterfactual"]]))
    assert row.tobytes() == answers.rows.tobytes()


def test_a_dataset_file_says_what_the_data_mean_and_what_may_change(
    table: Path, tmp_path: Path
) -> None:
    described = table.with_name("described.toml")
    described.write_text(
        'data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\nid = "applicant"\n'
        '[features.purpose]\nchange = "increase"\norder = ["study", "car", "house"]\n'
    )
    done = call("audit", "--data", described, *SMALL, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    results = Results(tmp_path / "run")
    assert results.plan.feasible
    assert results.task("described").declared["purpose"].order == ("study", "car", "house")
    person = loans(200).query("approved == 'no'")["applicant"].iloc[0]
    asked = ["explain", "--data", described, "--families", "bootstrap(replicates=3)"]
    one = call(*asked, "--row", person, "--method", "kdtree", "--out", tmp_path / "one")
    assert one.returncode == 0, one.stderr
    assert "purpose may only increase" in one.stdout
    twice = call("audit", "--data", described, *DATA, "--out", tmp_path / "no")
    assert twice.returncode == 2
    assert "says that itself; leave out --target, --favourable, --id-column" in twice.stderr
    rules = call("audit", "--data", described, "--immutable", "owner", "--out", tmp_path / "no")
    assert "says that itself; leave out --immutable" in rules.stderr
    nothing = call("audit", "--data", table, "--out", tmp_path / "no")
    assert nothing.returncode == 2
    assert "--target is missing" in nothing.stderr
    assert not (tmp_path / "no").exists()


def test_an_embedded_dataset_can_be_audited_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("audit", "--data", "german-credit", *SMALL, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert Results(tmp_path / "run").plan.feasible
    described = call("audit", "--data", "german-credit", *DATA, "--out", "no")
    assert described.returncode == 2
    assert "embedded dataset german-credit says that itself" in described.stderr
    Path("german-credit").write_text("a,b\n")  # a file of that name is what it says
    file = call("audit", "--data", "german-credit", "--out", "no")
    assert file.returncode == 2
    assert "--target is missing" in file.stderr
