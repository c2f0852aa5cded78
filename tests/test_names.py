"""Names that become parts of paths: one safe alphabet, and nothing is written outside."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import changeproof as cp
from changeproof import InputError, Plan
from changeproof.datasets.custom import default_name
from changeproof.files import LONGEST_NAME, plain_name, safe_name
from changeproof.runs.manifest import table_file, task_file
from command_line import call
from loans import loans

BAD = ["", ".", "..", "../up", "a/b", "/tmp/x", "a\\b", "-a", ".a", "a.", "a b", "a\n", "é", "a\0b"]
BAD += ["x" * (LONGEST_NAME + 1)]
GOOD = ["a", "our-tool", "v1.2_b", "Q3", "x" * LONGEST_NAME]


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_a_name_is_refused_in_one_line(name: str) -> None:
    for make in (task_file, table_file):
        with pytest.raises(
            InputError, match=r"cannot name .*; expected at most 80 letters"
        ) as told:
            make(name)
        assert "\n" not in str(told.value) and len(str(told.value)) < 250


@pytest.mark.parametrize("name", GOOD)
def test_names_are_kept_as_they_are(name: str) -> None:
    assert safe_name(name, "a dataset") == name == plain_name(name, "data")


@pytest.mark.parametrize("text", BAD)
def test_a_file_of_any_name_gives_a_safe_one(text: str) -> None:
    safe_name(plain_name(text, "data"), "a dataset")
    safe_name(default_name(text + ".csv"), "a dataset")


@pytest.mark.parametrize("key", ["counterfactuals", "successors"])
def test_plans_hold_safe_names_only(key: str) -> None:
    values = {"methods": ["kdtree"], "families": ["bootstrap"], key: {"../../../ESCAPED": "x"}}
    for record in (False, True):
        with pytest.raises(InputError, match=f"{key}: '../../../ESCAPED' cannot name"):
            Plan.checked(values, record=record)


def test_tables_whose_files_some_systems_cannot_tell_apart_are_refused() -> None:
    values = {"methods": ["kdtree"], "counterfactuals": {"tool": "x.csv", "Tool": "y.csv"}}
    with pytest.raises(InputError, match="'tool' is given more than once"):
        Plan.checked(values)


def test_a_method_with_an_odd_name_is_refused(tmp_path: Path) -> None:
    class Sly(cp.KDTree):
        name = "../../sly:x"

    with pytest.raises(InputError, match="is not an import path"):
        cp.evaluate("diabetes", "mlp", [Sly()], ["bootstrap"], out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_a_task_made_by_hand_has_a_safe_name(tmp_path: Path) -> None:
    task = cp.load_task("diabetes")
    sly = cp.Task("../../sly", task.frame, task.labels)
    with pytest.raises(InputError, match="sly' cannot name a dataset"):
        cp.evaluate(sly, "mlp", ["kdtree"], ["bootstrap"], out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


ASKED = ["audit", "--data", "loans.csv", "--target", "approved", "--favourable", "yes"]
ASKED += ["--id-column", "applicant", "--out", "a/b/c/out"]


@pytest.mark.parametrize(
    "options",
    [
        ["--counterfactuals", "../../../ESCAPED=cf.csv"],
        ["--counterfactuals", "{here}/ESCAPED=cf.csv"],
        ["--counterfactuals", "=cf.csv"],
        ["--successor", "../x=onnx:next.onnx"],
        ["--name", "../../ESCAPED"],
        ["--name", "x" * 300],
    ],
)
def test_nothing_is_written_for_a_name_that_is_none(tmp_path: Path, options: list[str]) -> None:
    loans(60).to_csv(tmp_path / "loans.csv", index=False)
    pd.DataFrame({"id": ["A001"]}).to_csv(tmp_path / "cf.csv", index=False)
    ended = call(*ASKED, *(text.format(here=tmp_path) for text in options), cwd=tmp_path)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "cannot name" in line and "expected at most 80 letters" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cf.csv", "loans.csv"]
