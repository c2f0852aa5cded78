"""Whose a run directory is: data that change, other data, other plans, two runs at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from changeproof import InputError, Observer, Plan, Results, audit, run
from changeproof.errors import BusyError
from changeproof.runs.directory import claimed
from changeproof.runs.execute import Outcome
from loans import loans
from tabled import tabled

FEW: dict[str, Any] = {
    "methods": ["kdtree", "robx-robust"],
    "families": ["bootstrap"],
    "factuals": 5,
}
LOANS: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}


def dataset_file(folder: Path, table: pd.DataFrame) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "loans.csv", index=False)
    path = folder / "loans.toml"
    path.write_text(
        'data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\nid = "applicant"\n'
    )
    return str(path)


def poorer() -> pd.DataFrame:
    table = loans(200)
    return table.assign(income=table["income"] * 0.5)


def numbers(results: Results) -> bytes:
    return (results.folder / "tables" / "seed_results.csv").read_bytes()


class Meddler(Observer):
    """Edits the data after the first piece, and takes the edit back after the fourth."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.finished_pieces = folder, 0

    def finished(self, item: Outcome) -> None:
        self.finished_pieces += 1
        if self.finished_pieces in (1, 4):
            dataset_file(self.folder, poorer() if self.finished_pieces == 1 else loans(200))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("always_workers")
def test_a_run_works_on_the_data_that_it_began_with(tmp_path: Path, jobs: int) -> None:
    path = dataset_file(tmp_path / "data", loans(200))
    plan = Plan.preset("quick", datasets=[path], **FEW)
    calm = tabled(plan, tmp_path / "calm", jobs=1)
    meddler = Meddler(tmp_path / "data")
    disturbed = tabled(plan, tmp_path / "disturbed", jobs=jobs, observer=meddler)
    assert meddler.finished_pieces > 4
    assert numbers(disturbed) == numbers(calm)


def test_a_run_is_read_from_its_own_copy_of_the_data(tmp_path: Path) -> None:
    path = dataset_file(tmp_path / "data", loans(200))
    plan = Plan.preset("quick", datasets=[path], **FEW)
    results = run(plan, tmp_path / "run", jobs=1, publish=False)
    Path(path).unlink()
    again = Results(tmp_path / "run")
    assert again.inventory.complete
    assert again.task("loans").fingerprint == results.task("loans").fingerprint


def test_other_data_for_a_directory_are_refused_by_name(tmp_path: Path) -> None:
    path = dataset_file(tmp_path / "data", loans(200))
    plan = Plan.preset("quick", datasets=[path], **FEW)
    before = numbers(tabled(plan, tmp_path / "run", jobs=1))
    dataset_file(tmp_path / "data", poorer())
    with pytest.raises(InputError, match="holds a run on other data: 'loans'"):
        run(plan, tmp_path / "run", jobs=1)
    assert numbers(Results(tmp_path / "run")) == before


def state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_refused_audit_writes_nothing(tmp_path: Path) -> None:
    asked = {**LOANS, **FEW, "jobs": 1, "model": "sklearn:LogisticRegression"}
    audit(loans(200), tmp_path / "out", **asked)
    before = state(tmp_path / "out")
    with claimed(tmp_path / "out"):
        with pytest.raises(BusyError, match="another run is at work in"):
            audit(poorer(), tmp_path / "out", **asked)
        assert state(tmp_path / "out") == before
    with pytest.raises(InputError, match="holds a run on other data: 'data'"):
        audit(poorer(), tmp_path / "out", **asked)
    for key, other in {"model": "sklearn:GaussianNB", "methods": ["kdtree"], "factuals": 9}.items():
        with pytest.raises(InputError, match=f"holds another audit: {key} is .* there and .* here"):
            audit(loans(200), tmp_path / "out", **{**asked, key: other})
    assert state(tmp_path / "out") == before
    audit(loans(200), tmp_path / "out", publish=False, **asked)


def test_two_datasets_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [dataset_file(tmp_path / name, loans(200)) for name in ("one", "two")]
    with pytest.raises(InputError, match=r"one/loans.toml and .*two/loans.toml are both called"):
        run(Plan.preset("quick", datasets=paths, **FEW), tmp_path / "run", jobs=1)
    assert not (tmp_path / "run").exists()
