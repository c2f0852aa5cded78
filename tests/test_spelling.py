"""Messages name settings as the interface in use spells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from changeproof.errors import InputError, setting
from changeproof.spelling import as_keys, as_options
from tests.command_line import call
from tests.loans import loans


@pytest.mark.parametrize(
    ("said", "option", "key"),
    [
        (setting(missing="impute"), "--missing impute", 'missing = "impute"'),
        (setting(id_column="who"), "--id-column who", 'id = "who"'),
        (setting(categorical=["a b", "c"]), "--categorical 'a b,c'", 'categorical = ["a b", "c"]'),
        (setting(most_changes=3), "--most-changes 3", "most_changes = 3"),
        (setting(over_time=True), "--over-time", "over_time = true"),
        ("`name=` is kept", "`name=` is kept", "`name=` is kept"),
        ("`x=y`", "`x=y`", "`x=y`"),
    ],
)
def test_a_setting_is_said_in_three_ways(said: str, option: str, key: str) -> None:
    assert as_options(f"ask for {said}.") == f"ask for {option}."
    assert as_keys(f"ask for {said}.") == f"ask for {key}."


def test_the_command_line_and_dataset_files_name_their_own(tmp_path: Path) -> None:
    frame = loans()
    frame.loc[3, "income"] = None
    frame.to_csv(tmp_path / "loans.csv", index=False)
    named = ("--target", "approved", "--favourable", "yes", "--drop", "applicant")
    out = ("--out", tmp_path / "audit")
    table = call("audit", "--data", tmp_path / "loans.csv", *named, *out)
    assert (table.returncode, table.stderr.count("\n")) == (2, 1)
    assert "drop the column, or ask for --missing impute\n" in table.stderr
    described = tmp_path / "loans.toml"
    described.write_text('data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\n')
    described.write_text(described.read_text() + 'drop = ["applicant"]\n')
    file = call("audit", "--data", described, *out)
    assert file.returncode == 2
    assert 'drop the column, or ask for missing = "impute"\n' in file.stderr


def test_python_is_told_of_arguments() -> None:
    from changeproof.datasets.custom import own_task

    with pytest.raises(InputError, match="ask for `missing='impute'`"):
        own_task(
            loans().assign(income=[None, *loans()["income"][1:]]),
            target="approved",
            favourable="yes",
            drop=["applicant"],
        )
