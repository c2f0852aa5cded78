"""What a gate says, on the terminal and in files."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from changeproof.gating.judging import gate
from changeproof.gating.writing import as_json, as_markdown, junit, words
from command_line import call, call_anew
from gated import OWN_METHOD, rows_of, write_gated

RULES = f"""
[[rule]]
name = "kept"
method = "kdtree"
metric = "coverage"
at_least = 95

[[rule]]
name = "open <& \\"quoted\\""
method = "{OWN_METHOD}"
dataset = "loans"
metric = "coverage"
at_least = 95

[[rule]]
metric = "coverage"
at_least = 95
decided_by = "value"
"""


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    rows = rows_of(
        "coverage", kdtree=(97.0, 96.0, 98.0), own=(94.5, 93.0, 96.0), letters=(80.0, 70.0, 90.0)
    )
    (tmp_path / "rules.toml").write_text(RULES)
    return write_gated(tmp_path / "run", rows)


def test_words(gated: Path) -> None:
    kept, undecided, broken, together = words(gate(gated, gated.parent / "rules.toml"))
    assert kept == (
        "pass         kept: coverage of kdtree on diabetes is 97 (95 % interval 96 to 98, "
        "100 people); required: at least 95 (the worst of 2)"
    )
    assert undecided == (
        f'not decided  open <& "quoted": coverage of {OWN_METHOD} is 94.5 (95 % interval 93 to 96, '
        "100 people); required: at least 95; the interval covers the limit"
    )
    assert broken == (
        "fail         coverage at least 95 (every method): coverage of letters on diabetes is 80 "
        "(100 people); required: at least 95; by the value alone (the worst of 6)"
    )
    assert together == "3 rules: 1 pass, 1 fail, 1 not decided."


def test_junit(gated: Path) -> None:
    found = gate(gated, gated.parent / "rules.toml")
    for strict in (False, True):
        suites = ElementTree.fromstring(junit(found, strict=strict))
        (suite,) = suites
        counts = [suite.get(name) for name in ("tests", "failures", "skipped", "errors")]
        assert counts == (["3", "2", "0", "0"] if strict else ["3", "1", "1", "0"])
        kept, undecided, broken = suite
        assert [child.tag for child in kept] == ["system-out"]
        assert undecided.get("name") == 'open <& "quoted"'
        assert undecided[0].tag == ("failure" if strict else "skipped")
        assert "the interval covers the limit" in (undecided[0].get("message") or "")
        assert broken[0].tag == "failure"
        assert len((broken[-1].text or "").splitlines()) == 6


def test_json(gated: Path) -> None:
    content = json.loads(as_json(gate(gated, gated.parent / "rules.toml")))
    assert content["passed"] is False and content["strict"] is False
    assert [rule["answer"] for rule in content["rules"]] == ["pass", "not decided", "fail"]
    decisive = content["rules"][1]["decisive"]
    assert (decisive["value"], decisive["low"], decisive["high"]) == (94.5, 93.0, 96.0)
    assert (decisive["dataset"], decisive["method"]) == ("loans", OWN_METHOD)


def test_markdown(gated: Path) -> None:
    found = gate(gated, gated.parent / "rules.toml")
    first, _, *table, _, together, _, said = as_markdown(found, ["A | <b>"]).splitlines()
    assert (
        first == "### The gate is closed" and together == "3 rules: 1 pass, 1 fail, 1 not decided."
    )
    assert [line.split(" | ")[0] for line in table[2:]] == [
        "| ✔ pass",
        "| ? not decided",
        "| ✘ fail",
    ]
    assert 'open &lt;&amp; "quoted"' in table[3] and said == r"A \| &lt;b&gt;"
    assert "coverage of letters on diabetes is 80" in table[4]


def test_the_command_ends_with_the_answer(gated: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    xml, found = tmp_path / "new" / "gate.xml", tmp_path / "gate.json"
    done = call("gate", gated, rules, "--junit", xml, "--json", found)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == words(gate(gated, rules))
    assert ElementTree.parse(xml).getroot().get("failures") == "1"
    assert json.loads(found.read_text())["passed"] is False
    undecided = tmp_path / "undecided.toml"
    undecided.write_text("[[rule]]".join(RULES.split("[[rule]]")[:3]))
    assert call("gate", gated, undecided).returncode == 0
    assert call("gate", gated, undecided, "--strict").returncode == 1
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[rule]]\nname = "x"\nmetric = "coverage"\n')
    done = call("gate", gated, wrong)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"changeproof: rule file {wrong}: rule 1 (x): expected one of at_least and at_most; "
        "got neither\n"
    )
    done = call("gate", gated, undecided, "--json", gated)
    assert done.returncode == 2 and "cannot write" in done.stderr


def test_help_shows_a_rule() -> None:
    said = " ".join(call("gate", "--help").stdout.split())
    assert 'metric = "end_to_end_robustness", at_least = 95.' in said


def test_the_gate_needs_no_torch(gated: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    (tmp_path / "absent.py").write_text("raise SystemExit('the model was imported')")
    done = call_anew("gate", gated, tmp_path / "rules.toml", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
