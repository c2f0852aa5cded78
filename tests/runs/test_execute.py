from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import (
    InputError,
    Observer,
    Plan,
    Results,
    load_task,
    run,
    survival,
    take_inventory,
)
from changeproof.errors import BusyError
from changeproof.methods.kdtree import KDTree
from changeproof.runs.directory import claimed
from changeproof.runs.execute import Outcome, PieceFailedError, worth_workers
from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.resolve import resolve
from changeproof.runs.store import Inventory
from changeproof.runs.work import pieces_of
from tabled import tabled


def tables(folder: Path) -> dict[str, bytes]:
    """The tables but for the timings."""
    found = {path.name: path.read_bytes() for path in (folder / "tables").glob("*.csv")}
    assert len(found) == 21
    del found["generation_seconds.csv"], found["timings.csv"]
    return found


def pieces(folder: Path) -> dict[str, bytes]:
    """The files of the store, by name."""
    store = folder / "pieces"
    files = (path for path in store.rglob("*") if path.is_file())
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


class Recorder(Observer):
    def __init__(self) -> None:
        self.computed: list[Piece] = []
        self.named: list[Path] = []
        self.inventory = Inventory()

    def planned(self, inventory: Inventory) -> None:
        self.inventory = inventory

    def damaged(self, path: Path) -> None:
        self.named.append(path)

    def finished(self, item: Outcome) -> None:
        self.computed.append(item.piece)


def test_two_processes_give_the_same_pieces(quick_run: Results, tmp_path: Path) -> None:
    backwards = list(quick_run.plan.methods)[::-1]
    run(
        Plan.preset("quick", methods=["wachter", "apds", "kdtree"]), tmp_path, jobs=2, publish=False
    )
    tabled(Plan.preset("quick", methods=backwards), tmp_path, jobs=2)
    assert pieces(tmp_path) == pieces(quick_run.folder)
    assert len(pieces(tmp_path)) == len(quick_run.manifest.pieces)
    assert tables(tmp_path) == tables(quick_run.folder)


def test_equal_runs_with_own_models_have_equal_pieces(tmp_path: Path) -> None:
    asked = {**SMALL, "methods": ["kdtree", "roar-lime"]}
    asked |= {"families": ["bootstrap(replicates=3)"]}
    for name in ("one", "other"):
        plan = Plan.preset("quick", **asked, model="sklearn:GaussianNB")
        run(plan, tmp_path / name, jobs=1, publish=False)
    found = pieces(tmp_path / "one")
    assert {name.split("/")[-1].split(".")[0].split("-")[0] for name in found} == {
        "base", "tuning", "counterfactuals", "bank", "survival", "limit",
    }  # fmt: skip
    assert pieces(tmp_path / "other") == found


def test_workers_are_called_when_there_is_enough_to_do() -> None:
    small, large = resolve(Plan.preset("quick", **SMALL)), resolve(Plan.preset("quick"))
    assert not worth_workers(pieces_of(small))
    assert worth_workers(pieces_of(large))


def test_nothing_of_ours_needs_pytorch(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Nowhere:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Nowhere())\n"
        "import importlib.util\n"
        "known = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'torch' else known(name)\n"
        "from changeproof import *\n"
        "asked = dict(datasets=['diabetes'], methods=['kdtree', 'wachter', 'apds'], factuals=2)\n"
        "families = ['bootstrap', 'parameter-perturbation']\n"
        "run(Plan.preset('quick', **asked, families=families), sys.argv[1], jobs=1)\n"
        "assert not [finding for finding in check_method('kdtree') if finding.failed]\n"
        "try:\n"
        "    ModuleLearner(None, None)\n"
        "except InputError as error:\n"
        "    assert 'needs PyTorch, which is not installed' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=True)


def test_nothing_is_computed_twice(quick_run: Results, tmp_path: Path) -> None:
    recorder = Recorder()
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    before = tables(folder)
    tabled(quick_run.plan, folder, jobs=1, observer=recorder)
    assert recorder.computed == []
    assert recorder.inventory.complete
    assert tables(folder) == before


SMALL = {
    "datasets": ["diabetes"],
    "methods": ["kdtree"],
    "factuals": 5,
    "families": ["bootstrap", "parameter-perturbation"],
}
FEWER = {**SMALL, "families": ["bootstrap"]}


def test_a_damaged_file_is_named_and_computed_again(tmp_path: Path) -> None:
    plan = Plan.preset("quick", **SMALL)
    tabled(plan, tmp_path, jobs=1)
    expected = tables(tmp_path)
    victim = next((tmp_path / "pieces").rglob("bank-bootstrap*"))
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert list(take_inventory(plan, tmp_path).damaged.values()) == [victim]
    recorder = Recorder()
    tabled(plan, tmp_path, jobs=1, observer=recorder)
    assert recorder.named == [victim]
    assert [piece.label for piece in recorder.computed] == ["diabetes 2026 bank bootstrap"]
    assert tables(tmp_path) == expected
    assert victim.read_bytes() == whole


def test_a_plan_can_grow_in_its_directory(tmp_path: Path) -> None:
    run(Plan.preset("quick", **SMALL), tmp_path, jobs=1, publish=False)
    recorder = Recorder()
    larger = Plan.preset("quick", **{**SMALL, "families": ["bootstrap", "data-deletion"]})
    results = run(larger, tmp_path, jobs=1, observer=recorder, publish=False)
    kinds = [piece.kind for piece in recorder.computed]
    assert kinds == [Kind.BANK, Kind.LIMIT, Kind.SURVIVAL]
    assert results.plan == larger


@pytest.fixture(scope="module")
def baselines_run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Half of the quick preset with the two baselines, in one go."""
    plan = Plan.preset("quick", datasets=["breast-cancer"], methods=["kdtree", "wachter"])
    assert worth_workers(pieces_of(resolve(plan)))
    return tabled(plan, tmp_path_factory.mktemp("runs") / "baselines", jobs=1)


@pytest.mark.parametrize("moment", [1, 11])
def test_a_killed_run_goes_on_with_the_same_result(
    baselines_run: Results, tmp_path: Path, moment: int
) -> None:
    """Kill -9 after some pieces, in the middle of whatever comes next."""
    command = [sys.executable, "-m", "changeproof", "run", "--out", str(tmp_path / "r")]
    command += ["--methods", "kdtree,wachter", "--preset", "quick", "--jobs", "2"]
    command += ["--datasets", "breast-cancer"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    folder = tmp_path / "r" / "pieces"
    while len(list(folder.rglob("[!.]*.*"))) < moment and time.monotonic() < deadline:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "r" / "tables").exists()
    kept = len(take_inventory(baselines_run.plan, tmp_path / "r").done)
    assert kept >= moment
    recorder = Recorder()
    tabled(baselines_run.plan, tmp_path / "r", jobs=1, observer=recorder)
    assert len(recorder.inventory.done) == kept
    assert tables(tmp_path / "r") == tables(baselines_run.folder)
    assert not list((tmp_path / "r").rglob(".unfinished*"))


def test_two_runs_at_once(tmp_path: Path) -> None:
    with claimed(tmp_path), pytest.raises(BusyError, match="another run is at work in"):
        run(Plan.preset("quick", **SMALL), tmp_path, jobs=1)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    run(Plan.preset("quick", **SMALL), tmp_path, jobs=1, publish=False)


def test_directories_that_cannot_be_used_are_left_alone(tmp_path: Path) -> None:
    plan = Plan.preset("quick", **SMALL)
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no changeproof run"):
        run(plan, foreign)
    assert [path.name for path in foreign.iterdir()] == ["chapter.txt"]
    with pytest.raises(InputError, match="is a file; expected a directory"):
        run(plan, foreign / "chapter.txt")
    with pytest.raises(InputError, match="cannot write to output directory"):
        run(plan, foreign / "chapter.txt" / "deeper")
    with pytest.raises(InputError, match="cannot write to output directory"):
        run(plan, "/proc/changeproof")
    with pytest.raises(InputError, match="jobs must be at least 1; got 0"):
        run(plan, tmp_path / "new", jobs=0)
    assert not (tmp_path / "new").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "plan.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="not a plan of this version"):
        run(plan, other)


def test_a_failing_piece_is_reported_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: KDTree, factuals: object) -> None:
        raise RuntimeError("the tree fell over")

    plan = Plan.preset("quick", **{**SMALL, "methods": ["kdtree", "wachter"]})
    with monkeypatch.context() as patch:
        patch.setattr(KDTree, "_search", broken)
        with pytest.raises(PieceFailedError, match="the tree fell over") as caught:
            run(plan, tmp_path, jobs=1)
    assert "diabetes 2026 counterfactuals kdtree" in str(caught.value)
    assert "(2 pieces that need them were not tried)" in str(caught.value)
    assert caught.value.summary == [
        "counterfactuals of kdtree failed: RuntimeError: the tree fell over"
    ]
    table = pd.read_csv(tmp_path / "tables" / "full_results.csv")
    assert set(table["method"]) == {"wachter"}
    inventory = take_inventory(plan, tmp_path)
    assert {piece.label for piece in inventory.missing} == {
        "diabetes 2026 counterfactuals kdtree",
        "diabetes 2026 survival kdtree under bootstrap",
        "diabetes 2026 survival kdtree under parameter-perturbation",
    }
    run(plan, tmp_path, jobs=1)
    assert take_inventory(plan, tmp_path).complete
    table = pd.read_csv(tmp_path / "tables" / "full_results.csv")
    assert set(table["method"]) == {"kdtree", "wachter"}


def test_results_can_be_read_back(quick_run: Results) -> None:
    answers = quick_run.counterfactuals("diabetes", 2026, "wachter")
    bank = quick_run.bank("diabetes", 2026)
    survived = quick_run.survival("diabetes", 2026, "wachter")
    assert survived.shape == (25, 200)
    np.testing.assert_array_equal(survived, survival(answers, bank.stack))
    network = quick_run.base_network("diabetes", 2026)
    np.testing.assert_array_equal(network.favourable(answers.rows), answers.base_valid)
    assert not network.favourable(answers.factuals).any()
    task = load_task("diabetes")
    assert set(answers.row_ids) <= set(task.row_ids("test"))
    pd.testing.assert_frame_equal(bank.table, quick_run.variants("diabetes", 2026))
    assert quick_run.tuning("diabetes", "wachter")["chosen"].sum() == 1
    with pytest.raises(InputError, match="'heloc 2026 base' is not part of the plan"):
        quick_run.base_network("heloc", 2026)
    shown = f"Results({str(quick_run.folder)!r}: 2 datasets, 10 methods, 8 families, 1 base model)"
    assert repr(quick_run) == shown
    with pytest.raises(InputError, match="'diabetes wachter counterfactuals 2026' is not part of"):
        quick_run.counterfactuals("diabetes", "wachter", 2026)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="2026 tuning kdtree' is not part of the plan"):
        quick_run.tuning("diabetes", "kdtree")
