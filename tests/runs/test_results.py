from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changeproof import Results, build_tables
from changeproof.runs.results import AnswerKey
from changeproof.tables.registry import read_tables


@pytest.fixture
def copy(quick_run: Results, tmp_path: Path) -> Path:
    """A finished run that can be taken apart."""
    return Path(shutil.copytree(quick_run.folder, tmp_path / "run"))


def remove(folder: Path, pattern: str) -> int:
    found = list((folder / "pieces").rglob(pattern))
    for path in found:
        path.unlink()
    return len(found)


def test_a_finished_run_is_read_whole(quick_run: Results) -> None:
    results = Results(quick_run.folder)
    plan = quick_run.plan
    assert results.inventory.complete
    assert len(results.answered) == len(plan.datasets) * len(plan.methods)
    assert results.banks == [(dataset, 2026) for dataset in plan.datasets]
    assert results.tunings == [(d, m) for d in plan.datasets for m in ("roar-lime", "wachter")]


def test_answers_count_when_all_that_they_rest_on_is_there(copy: Path) -> None:
    assert remove(copy, "diabetes/2026/survival-kdtree-bootstrap.*") == 1
    assert remove(copy, "breast-cancer/2026/counterfactuals-wachter.*") == 1
    results = Results(copy)
    assert AnswerKey("diabetes", 2026, "kdtree") not in results.answered
    assert AnswerKey("diabetes", 2026, "wachter") in results.answered
    assert AnswerKey("breast-cancer", 2026, "wachter") not in results.answered
    remove(copy, "diabetes/2026/bank-bootstrap.*")
    results = Results(copy)
    assert results.banks == [("breast-cancer", 2026)]
    assert {key.dataset for key in results.answered} == {"breast-cancer"}


def test_tables_of_an_unfinished_run_hold_what_is_finished(copy: Path) -> None:
    whole = read_tables(copy)
    remove(copy, "diabetes/2026/survival-kdtree-bootstrap.*")
    tables = build_tables(Results(copy))
    left = whole["full_results"].query("dataset != 'diabetes' or method != 'kdtree'")
    ours = tables["full_results"]
    assert (
        ours[["dataset", "method"]].values.tolist() == left[["dataset", "method"]].values.tolist()
    )
    assert ours["distance_mean"].to_numpy() == pytest.approx(left["distance_mean"], rel=1e-5)
    assert len(tables["variants"]) == len(whole["variants"])


def test_tables_of_a_run_that_has_nothing_are_empty_and_have_their_columns(copy: Path) -> None:
    whole = read_tables(copy)
    shutil.rmtree(copy / "pieces")
    for name, table in build_tables(Results(copy)).items():
        # The model, the time that pieces took and what counts are known even when they are gone.
        assert table.empty or name in ("model", "timings", "families")
        assert table.columns.tolist() == whole[name].columns.tolist()


def test_damaged_pieces_are_not_read(copy: Path) -> None:
    path = next((copy / "pieces").rglob("diabetes/2026/survival-rbr-bootstrap.*"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    results = Results(copy)
    assert not results.inventory.complete
    assert AnswerKey("diabetes", 2026, "rbr") not in results.answered
