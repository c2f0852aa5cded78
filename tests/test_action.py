"""The action for GitHub: its scripts are run as GitHub would run them, on a table of this test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loans import loans

yaml: Any = pytest.importorskip("yaml", reason="PyYAML is not installed (extra: dev)")
ROOT = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
RULE = """
[[rule]]
name = "enough | people <b>get</b> advice"
metric = "coverage"
at_least = {least}
decided_by = "{by}"
"""
ASKED = {
    "data": "loans.csv",
    "rules": "rules.toml",
    "target": "approved",
    "favourable": "yes",
    "model": "sklearn:LogisticRegression",
    "options": "--methods=kdtree\n--families=bootstrap(replicates=2)\n\n--factuals\n8\n--jobs=1\n",
    "out": "run here",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a job finds it, with a table and an audit of it."""
    folder = tmp_path_factory.mktemp("action")
    loans(120).drop(columns="applicant").to_csv(folder / "loans.csv", index=False)
    done = run(folder, "Audit")
    assert done.returncode == 0, done.stderr
    assert "people get advice" in done.stdout
    assert (folder / "run here" / "report" / "index.html").is_file()
    return folder


def run(folder: Path, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the action as GitHub runs it, with these inputs."""
    (step,) = (each for each in STEPS if each.get("name") == name)
    defaults = {key: each.get("default", "") for key, each in ACTION["inputs"].items()}
    given = defaults | ASKED | inputs
    variables = {
        key: INPUT.sub(lambda found: given[found[1]], text) for key, text in step["env"].items()
    }
    script = folder / f"{name.lower()}.sh"
    script.write_text(step["run"], encoding="utf-8")
    told = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output.txt"}
    for file in told.values():
        (folder / file).write_text("")
    programs = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join(programs),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env=environment | {key: str(folder / file) for key, file in told.items()} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def gate(folder: Path, least: float, by: str = "value", **inputs: str) -> tuple[int, str, str]:
    """Return the exit code of the gate, the summary of the job and the outputs of the step."""
    (folder / "rules.toml").write_text(RULE.format(least=least, by=by))
    done = run(folder, "Gate", **inputs)
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    return done.returncode, summary, (folder / "output.txt").read_text()


def test_an_open_gate_is_in_the_summary(checkout: Path) -> None:
    code, summary, outputs = gate(checkout, 50)
    assert code == 0 and outputs == "passed=true\n"
    assert summary.startswith("### The gate is open\n")
    assert r"| ✔ pass | enough \| people &lt;b&gt;get&lt;/b&gt; advice |" in summary
    assert "coverage of kdtree is 100" in summary.replace("\\", "")
    assert "Simulated: 2 changed models of LogisticRegression in one kind" in summary
    kept = json.loads((checkout / "run here" / "gate" / "gate.json").read_text(encoding="utf-8"))
    assert kept["passed"] and not kept["strict"]
    assert (checkout / "run here" / "gate" / "gate.xml").read_text().startswith("<?xml")


def test_a_closed_gate_ends_the_job(checkout: Path) -> None:
    (checkout / "rules.toml").write_text(RULE.format(least=50, by="value"))
    (checkout / "strict.toml").write_text(
        '[[rule]]\nmetric = "distance"\nat_most = 0.0001\ndecided_by = "value"\n'
    )
    done = run(checkout, "Gate", rules="strict.toml")
    assert done.returncode == 1
    assert (checkout / "output.txt").read_text() == "passed=false\n"
    summary = (checkout / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### The gate is closed\n") and "| ✘ fail |" in summary


def test_what_is_not_decided_counts_where_it_is_strict(checkout: Path) -> None:
    code, summary, outputs = gate(checkout, 99, "interval", strict="true")
    assert code == 1 and "| ? not decided |" in summary
    assert outputs == "passed=false\n"


def test_rules_that_cannot_be_read_leave_no_summary_of_an_earlier_job(checkout: Path) -> None:
    (checkout / "run here" / "gate").mkdir(exist_ok=True)
    (checkout / "run here" / "gate" / "gate.md").write_text("### The gate is open\n")
    done = run(checkout, "Gate", rules="nowhere.toml")
    assert done.returncode == 2 and "nowhere.toml" in done.stderr
    assert (checkout / "summary.md").read_text() == ""


HOSTILE = [
    "$(touch hacked)",
    "`touch hacked`",
    '"; touch hacked; "',
    "x; touch hacked",
    "* ~ $PATH",
]


@pytest.mark.parametrize("evil", HOSTILE)
def test_inputs_are_never_code(tmp_path: Path, evil: str) -> None:
    """Whatever they hold, the command gets it letter by letter."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "changeproof"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > arguments.txt\n')
    command.chmod(0o755)
    asked = dict.fromkeys(("data", "target", "favourable", "model", "out"), evil)
    assert run(tmp_path, "Audit", **asked, options=f"{evil}\n{evil}").returncode == 0
    given = (tmp_path / "arguments.txt").read_text().splitlines()
    assert given.pop(0) == "audit"
    flags = ["--data", "--model", "--out", "--target", "--favourable"]
    assert given == [word for flag in flags for word in (flag, evil)] + [evil, evil]
    assert run(tmp_path, "Gate", rules=evil, out=evil, strict=evil).returncode == 0
    given = (tmp_path / "arguments.txt").read_text().splitlines()
    assert given[:4] == ["gate", evil, evil, "--junit"] and "--strict" not in given
    assert not (tmp_path / "hacked").exists()


def test_scripts_hold_no_expression_and_quote_every_variable() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) == 3
    for script in scripts:
        assert "${{" not in script
        for line in script.splitlines():
            # What stands outside of double quotes.
            bare = "".join(line.split('"')[::2])
            assert not re.search(r"\$(?!\?)", bare), line


def test_every_input_is_used_and_described() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert all(each["description"].endswith(".") for each in ACTION["inputs"].values())
    for step in STEPS:
        assert step.get("shell") == "bash" if "run" in step else re.search(r"@v\d", step["uses"])
    (kept,) = (step for step in STEPS if "upload-artifact" in step.get("uses", ""))
    assert kept["if"] == "always()" and "report/index.html" in kept["with"]["path"]


def test_it_is_installed_from_the_version_that_is_used() -> None:
    (step,) = (step for step in STEPS if step.get("name") == "Install")
    assert step["env"]["HERE"] == "${{ github.action_path }}"
    assert '"${INSTALL:-$HERE}"' in step["run"]
