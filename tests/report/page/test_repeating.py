"""What the page says to repeat a run can be followed from anywhere."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.linear_model import LogisticRegression

from changeproof import Plan, Results, evaluate
from changeproof.report.page.provenance import provenance
from changeproof.report.page.write import build_bulk, build_payload, page_of
from command_line import call
from loans import loans


def test_the_plan_of_own_data_runs_in_another_directory(tmp_path: Path) -> None:
    results = evaluate(
        loans(200),
        "sklearn:GaussianNB",
        ["kdtree"],
        ["bootstrap(replicates=2)"],
        factuals=5,
        target="approved",
        favourable="yes",
        id_column="applicant",
        out=tmp_path / "run",
        jobs=1,
        publish=False,
    )
    told = provenance(results)
    assert told["repeat"].startswith(f"Repeat it with: {told['command']}. The plan names files")
    assert told["beside"] and 'datasets = [\n    "data/data.task.parquet",\n]' in told["plan"]
    # Somebody else has it now, somewhere else.
    there = tmp_path / "theirs" / "run"
    shutil.copytree(results.folder, there)
    shutil.rmtree(results.folder)
    (there / "plan.toml").write_text(told["plan"], encoding="utf-8")
    other = tmp_path / "elsewhere"
    other.mkdir()
    *words, plan = told["command"].split()
    assert words[0] == "changeproof" and plan == "plan.toml"
    for where, path in ((other, "../theirs/run/plan.toml"), (there, "plan.toml")):
        out = ["--out", str(tmp_path / f"again-{where.name}"), "--jobs", "1"]
        done = call(*words[1:], path, *out, cwd=where)
        assert done.returncode == 0, done.stderr
        again = Results(tmp_path / f"again-{where.name}").table()
        pd.testing.assert_frame_equal(again, Results(there).table(), check_dtype=False)


def test_what_no_run_keeps_has_to_be_passed_again(tmp_path: Path) -> None:
    """A plan that names an object repeats nothing, so nobody is told to try."""
    described = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    table = loans(200)
    rows = table[["income", "debts"]]
    model = LogisticRegression(max_iter=1000).fit(rows, table["approved"])

    def no_debts(context: Any, factuals: Any) -> Any:
        return factuals.rows + 1.0

    results = evaluate(
        table, model, [no_debts, "kdtree"], ["bootstrap(replicates=2)"], factuals=3,
        out=tmp_path / "run", jobs=1, publish=False, **described,
    )  # fmt: skip
    told = provenance(Results(tmp_path / "run"))
    assert told["command"] == ""
    assert "keeps no copy of the model and no-debts. Repeat the command" in told["repeat"]
    tables = results.tables()
    page = page_of(results, tables).decode()
    assert told["repeat"] in page and "run --plan plan.toml" not in page


def test_a_page_does_not_say_where_somebody_keeps_a_run(tmp_path: Path) -> None:
    told = pd.DataFrame({"id": ["A000"], "income": [9000.0], "debts": [0]})
    results = evaluate(
        loans(200).drop(columns=["purpose", "owner", "member"]),
        "sklearn:GaussianNB",
        ["kdtree"],
        ["bootstrap(replicates=2)"],
        counterfactuals={"letters": told},
        factuals=5,
        target="approved",
        favourable="yes",
        id_column="applicant",
        out=tmp_path / "run",
        jobs=1,
    )
    tables = results.tables()
    assert str(tmp_path) not in page_of(results, tables).decode()
    assert str(tmp_path) not in json.dumps([build_payload(results, tables), build_bulk(results)])
    assert 'letters = "data/letters.counterfactuals.parquet"' in provenance(results)["plan"]


def test_files_are_looked_for_beside_the_plan_file(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'datasets = ["diabetes", "data/loans.toml", "/srv/others.toml"]\n'
        'counterfactuals = {letters = "letters.csv"}\n'
        'model = "onnx:today.onnx"\nreplacements = ["mlp", "onnx:other.onnx"]\n'
        'successors = {next = "scores:next.csv@0.6", code = "python:module:name"}\n'
    )
    plan = Plan.from_toml(tmp_path / "plan.toml")
    assert plan.datasets == ("diabetes", f"{tmp_path}/data/loans.toml", "/srv/others.toml")
    assert plan.counterfactuals == {"letters": f"{tmp_path}/letters.csv"}
    assert plan.model == f"onnx:{tmp_path}/today.onnx"
    assert plan.replacements == ("mlp", f"onnx:{tmp_path}/other.onnx")
    assert plan.successors == {
        "next": f"scores:{tmp_path}/next.csv@0.6",
        "code": "python:module:name",
    }
    # What is said beside it is where it is said.
    given = Plan.from_toml(tmp_path / "plan.toml", datasets=["mine.toml"])
    assert given.datasets == ("mine.toml",)


def test_built_in_data_are_named_as_they_are(quick_run: Results) -> None:
    found = Plan.checked(tomllib.loads(provenance(quick_run)["plan"]))
    assert found.datasets == quick_run.plan.datasets
