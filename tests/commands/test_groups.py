"""Groups that are wrong, on the command line; docs/who-is-let-down.md has right ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import call
from loans import loans

DATA = ("--data", "loans.csv", "--target", "approved", "--favourable", "yes", "--id-column")
DATA += ("applicant",)
FEW = ("--model", "sklearn:LogisticRegression", "--methods", "kdtree", "--jobs", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loans")
    loans(200).to_csv(folder / "loans.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "wealth"), "unknown column 'wealth'; expected one of: applicant, income"),
        (("--by", "purpose:3"), "column 'purpose' holds 'car'; bands need numbers"),
        (("--by", "income:0"), "groups 'income:0': the width of a band must be above 0"),
        (("--by", "income"), "different numbers; give the width of bands, such as income:"),
        (("--smallest-group", "0"), "smallest_group: input should be greater than or equal to 1"),
    ],
)
def test_wrong_groups_are_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = call("audit", *DATA, *FEW, *arguments, "--out", "wrong", cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "wrong").exists()


def test_embedded_data_without_the_column_are_named(tmp_path: Path) -> None:
    done = call("run", "--datasets", "diabetes", "--by", "sex", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "dataset 'diabetes' has no column 'sex' to group people by; expected" in done.stderr
    assert not (tmp_path / "run").exists()
