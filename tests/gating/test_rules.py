"""Wrong rules: one line that names the rule."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import changeproof as cp
from changeproof import InputError
from changeproof.runs.published import origin_of, publish
from gated import OWN_METHOD, rows_of, write_gated
from planned import write_plan

RULE: dict[str, Any] = {"name": "firm", "metric": "coverage", "at_least": 95}


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    sure = (97.0, 96.0, 98.0)
    return write_gated(tmp_path / "run", rows_of("coverage", kdtree=sure, own=sure, letters=sure))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"metrc": 1}, "unknown key 'metrc'; expected one of: name, method, "),
    ({"metric": "accuracy"}, "unknown metric 'accuracy'; expected one of: coverage, "),
    ({"method": "kdtre"}, "method 'kdtre' is not in the run; expected one of: kdtree, "),
    ({"method": "wachter"}, "method 'wachter' was left out of the run (needs gradients)"),
    ({"family": "bootstrp"}, "family 'bootstrp' is not in the run; expected one of: bootstrap, "),
    ({"family": "parameter-perturbation"}, "was left out of the run (no parameters)"),
    ({"dataset": "heloc"}, "dataset 'heloc' is not in the run; expected one of: diabetes, loans"),
    ({"at_most": 99}, "expected one of at_least and at_most; got both"),
    ({"at_least": None}, "expected one of at_least and at_most; got neither"),
    ({"at_least": "95"}, "at_least: input should be a valid number"),
    ({"at_least": 0.95}, "coverage is in percent; at_least = 0.95 is next to nothing"),
    ({"at_least": 120}, "coverage is in percent, 0 to 100; got 120"),
    ({"at_least": float("nan")}, "at_least: input should be a finite number"),
    ({"decided_by": "me"}, "decided_by: input should be 'interval' or 'value'; got 'me'"),
    ({"method": []}, "method is an empty list"),
    ({"by": "sex", "family": "bootstrap"}, "differences between groups are over all families"),
    ({"by": "sex", "metric": "plausibility"}, "plausibility is not known by group"),
    ({"metric": "plausibility", "family": "bootstrap"}, "does not depend on a family"),
    ({"metric": "median_life"}, "there are no sequences of updates"),
    ({"metric": "distance"}, "has no distance of kdtree on diabetes"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_each_mistake_is_one_line_that_names_the_rule(
    gated: Path, change: dict[str, Any], message: str
) -> None:
    wrong = {key: value for key, value in (RULE | change).items() if value is not None}
    with pytest.raises(InputError) as caught:
        cp.gate(gated, [RULE, wrong])
    text = str(caught.value)
    assert "rule 2 (firm): " in text and message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no rule; expected [[rule]] tables"),
        ("rule = 3", "there is no rule"),
        ("rule = [3]", "rule 1: expected keys with values; got 3"),
        ("[[rules]]\nmetric = 'coverage'", "unknown key 'rules'; expected [[rule]] tables"),
        ("[[rule]\n", "is not valid TOML"),
        ("[[rule]]\nat_least = 95", "rule 1: the key 'metric' is missing"),
    ],
)
def test_each_mistake_of_a_file_is_one_line(
    gated: Path, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        cp.gate(gated, path)
    assert str(path) in str(caught.value) and message in str(caught.value)
    with pytest.raises(InputError, match="cannot read rule file"):
        cp.gate(gated, tmp_path / "nothing.toml")


def test_a_file_says_the_same_as_values(gated: Path, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        f"[[rule]]\nname = 'firm'\nmethod = ['kdtree', '{OWN_METHOD}']\nmetric = 'coverage'\n"
        "at_least = 95\n"
    )
    rule = RULE | {"method": ["kdtree", OWN_METHOD]}
    assert cp.gate(gated, path) == cp.gate(str(gated), {"rule": [rule]})


def test_only_a_finished_run_can_be_judged(gated: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run directory"):
        cp.gate(tmp_path / "nowhere", [RULE])
    publish(gated / "tables", {"other.csv": b"family\nbootstrap\n"}, origin_of(gated))
    with pytest.raises(InputError, match=r"rule 1: in .*no intervals over people"):
        cp.gate(gated, [{"metric": "coverage", "at_least": 95}])
    shutil.rmtree(gated / "tables")
    write_plan(gated, cp.Plan.preset("quick"))
    with pytest.raises(InputError, match=r"has no manifest.json; .*go on with: changeproof run"):
        cp.gate(gated, [RULE])
