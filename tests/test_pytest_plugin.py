"""The fixture for other people's tests, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from changeproof import Results
from gated import rows_of, write_gated

pytest_plugins = ["pytester"]
PLUGIN = "changeproof.pytest_plugin"
RULES = """
[[rule]]
name = "advice survives a retrain"
method = "kdtree"
family = "bootstrap"
metric = "end_to_end_robustness"
at_least = {least}
"""
SUITE = """
def test_advice_survives(changeproof_gate):
    found = changeproof_gate("audit", "rules.toml"{more})
    assert len(found.outcomes) == 1
"""


def run(pytester: pytest.Pytester, least: float, more: str = "", *arguments: str) -> str:
    """Run a suite of one test in an interpreter of its own, in which every warning is an error."""
    rows = rows_of("end_to_end_robustness", kdtree=(90.0, 85.0, 95.0))
    write_gated(pytester.path / "audit", rows)
    (pytester.path / "rules.toml").write_text(RULES.format(least=least))
    (pytester.path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (pytester.path / "tests").mkdir(exist_ok=True)
    (pytester.path / "tests" / "test_advice.py").write_text(SUITE.format(more=more))
    done = pytester.run(sys.executable, "-m", "pytest", "-p", PLUGIN, "tests", *arguments)
    return f"{done.ret}\n{done.stdout.str()}{done.stderr.str()}"


def test_a_suite_passes_where_the_gate_does(pytester: pytest.Pytester) -> None:
    told = run(pytester, 80, "", "-rP")
    assert told.startswith("0\n") and "1 passed" in told
    assert "pass         advice survives a retrain: end_to_end_robustness of kdtree" in told


def test_it_fails_with_the_lines_of_the_gate_and_nothing_else(pytester: pytest.Pytester) -> None:
    told = run(pytester, 96)
    assert told.startswith("1\n") and "1 failed" in told
    assert "fail         advice survives a retrain: end_to_end_robustness of kdtree" in told
    assert "(95 % interval 85 to 95, 100 people); required: at least 96" in told
    assert "1 rule: 1 fail." in told
    assert "Traceback" not in told and "pytest_plugin.py" not in told


@pytest.mark.parametrize(("more", "code"), [("", 0), (", strict=True", 1)])
def test_what_is_not_decided_fails_where_it_is_strict(
    pytester: pytest.Pytester, more: str, code: int
) -> None:
    told = run(pytester, 90, more)
    assert told.startswith(f"{code}\n")
    assert ("not decided  advice survives" in told) == bool(code)


def test_paths_begin_at_the_root_wherever_pytest_was_started(pytester: pytest.Pytester) -> None:
    run(pytester, 80)
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "test_advice.py"]
    done = subprocess.run(command, cwd=pytester.path / "tests", capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_cannot_be_read_fails_in_one_line(pytester: pytest.Pytester) -> None:
    run(pytester, 80)
    (pytester.path / "rules.toml").write_text("[[rule]]\nmetric = 'coverages'\nat_least = 90\n")
    done = pytester.run(sys.executable, "-m", "pytest", "-p", PLUGIN, "tests")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["changeproof gate: rule file *unknown metric 'coverages'*"])


def test_results_and_rules_of_the_test_itself_are_taken_as_well(
    pytester: pytest.Pytester, advised_run: Results
) -> None:
    suite = f"""
import changeproof as cp

def test_advice_survives(changeproof_gate):
    rule = {{"metric": "coverage", "method": "kdtree", "at_least": 50, "decided_by": "value"}}
    changeproof_gate(cp.Results({str(advised_run.folder)!r}), [rule])
"""
    pytester.makepyfile(suite)
    done = pytester.run(sys.executable, "-m", "pytest", "-p", PLUGIN)
    assert done.ret == 0, done.stdout.str()


def test_who_does_not_ask_pays_next_to_nothing() -> None:
    code = f"""
import sys, time
import pytest
begun = time.perf_counter()
import {PLUGIN}
seconds = time.perf_counter() - begun
heavy = {{"numpy", "pandas", "pydantic", "changeproof.gating"}} & set(sys.modules)
print(seconds, sorted(heavy))
"""
    times = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        seconds, heavy = done.stdout.split(" ", 1)
        assert heavy.strip() == "[]", done.stderr
        times.append(float(seconds))
    assert min(times) < 0.05


def test_pytest_finds_it_where_the_package_is_installed() -> None:
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # By the name of the module, so that "-p" and what is installed are the same plug-in.
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
