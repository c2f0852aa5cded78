"""Runs on a real scheduler with real workers, and what befalls them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from changeproof import (
    Candidates,
    Factuals,
    Method,
    Observer,
    PieceFailedError,
    Plan,
    audit,
    evaluate,
    run,
)
from changeproof.runs.timings import piece_efforts
from clustered import HASTY, SOURCE, ClusterProcesses, kill_all, stored, until
from loans import loans

COMMAND = Path(sys.executable).with_name("changeproof")
SMALL: dict[str, Any] = {
    "datasets": ["diabetes", "breast-cancer"],
    "methods": ["kdtree", "rbr", "wachter"],
    "families": ["bootstrap(replicates=3)", "parameter-perturbation"],
    "factuals": 5,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with ClusterProcesses(tmp_path_factory.mktemp("cluster")) as processes:
        processes.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
        processes.worker()
        processes.worker()
        yield processes


@pytest.fixture
def client(cluster: ClusterProcesses) -> Iterator[Client]:
    with Client(cluster.address, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


class Told(Observer):
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.counts: list[int] = []

    def note(self, text: str) -> None:
        self.texts.append(text)

    def workers(self, count: int) -> None:
        self.counts.append(count)


def test_the_same_bytes_as_on_one_machine(tmp_path: Path, client: Client) -> None:
    plan, told = Plan.preset("quick", **SMALL), Told()
    run(plan, tmp_path / "cluster", client=client, observer=told, publish=False)
    run(plan, tmp_path / "here", jobs=2, publish=False)
    assert stored(tmp_path / "cluster") == stored(tmp_path / "here")
    assert told.texts[0].startswith("cluster at tcp://127.0.0.1:")
    assert told.counts == [2]
    efforts = piece_efforts(tmp_path / "cluster")
    assert len(efforts) == len([name for name in stored(tmp_path / "here") if "pieces" in name])
    assert all(effort.processor for effort in efforts.values())
    # What is there is not sent again, and the workers are as they were.
    run(plan, tmp_path / "cluster", client=client, publish=False)
    plugins = client.run(lambda dask_worker: list(dask_worker.plugins))
    assert len(plugins) == 2
    assert not any("changeproof" in names for names in plugins.values())


MODEL = """
import shared

def fit(X, y, sample_weight, seed):
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=shared.DEPTH, random_state=seed)
    tree.fit(X, y, sample_weight=sample_weight)
    return lambda rows: tree.predict_proba(rows)[:, 1]
"""
METHOD = """
from changeproof import Candidates, Method
from shared import halfway

class Halfway(Method):
    name, summary = "halfway", "go halfway to the favourable rows"

    def _prepare(self):
        rows = self.context.task.rows("train")
        self.goal = rows[self.context.model.favourable(rows)].mean(axis=0)

    def _search(self, factuals):
        return Candidates(halfway(factuals.rows, self.goal))
"""
SHARED = "DEPTH = 4\n\ndef halfway(rows, goal):\n    return (rows + 3 * goal) / 4\n"


def test_own_table_model_and_method_arrive_by_value(
    tmp_path: Path,
    cluster: ClusterProcesses,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "own_tree.py").write_text(MODEL)
    (mine / "own_way.py").write_text(METHOD)
    (mine / "shared.py").write_text(SHARED)
    loans(300).to_csv(mine / "loans.csv", index=False)
    given = ["--data", "loans.csv", "--target", "approved", "--favourable", "yes"]
    given += [
        "--id-column",
        "applicant",
        "--model",
        "python:own_tree:fit",
        "--methods",
        "own_way:Halfway,kdtree",
    ]
    given += ["--families", "bootstrap(replicates=2),data-deletion", "--factuals", "5"]
    done = subprocess.run(
        [COMMAND, "audit", *given, "--cluster", cluster.address, "--out", "far"],
        cwd=mine,
        env=os.environ | HASTY | {"PYTHONPATH": f"{mine}{os.pathsep}{SOURCE}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "2 workers" in done.stderr
    monkeypatch.syspath_prepend(mine)
    audit(
        mine / "loans.csv",
        mine / "near",
        target="approved",
        favourable=["yes"],
        id_column="applicant",
        model="python:own_tree:fit",
        methods=["own_way:Halfway", "kdtree"],
        families=["bootstrap(replicates=2)", "data-deletion"],
        factuals=5,
        jobs=1,
        publish=False,
    )
    assert stored(mine / "far") == stored(mine / "near")
    for place in cluster.folder.glob("worker-*"):
        assert not place.is_dir() or not list(place.rglob("*own_tree*"))


# Slow on the cluster, where there has to be time to kill somebody.
SLOW = """
import os
import time
from changeproof import Candidates, Method

class Slow(Method):
    name, summary = "slow", "take your time"

    def _search(self, factuals):
        time.sleep(float(os.environ.get("SECONDS_OF_SLEEP", "0")))
        return Candidates(factuals.rows + 1)
"""
SLOWLY = {"SECONDS_OF_SLEEP": "1.0"}
SIX_TIMES: dict[str, Any] = {
    "datasets": ["diabetes"],
    "methods": ["slow_way:Slow", "kdtree"],
    "families": ["bootstrap(replicates=1)"],
    "base_seeds": [1, 2, 3, 4, 5, 6],
    "factuals": 5,
    "limit": False,
}


RUN = f"""
import sys
from changeproof import Plan, run
from changeproof.commands.progress import ConsoleObserver
from changeproof.workers.cluster import connected

plan = Plan.preset("quick", **{SIX_TIMES!r})
with connected(sys.argv[1]) as client, ConsoleObserver() as observer:
    run(plan, "run", client=client, observer=observer, publish=False)
"""


def test_whatever_is_killed_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_way.py").write_text(SLOW)
    pieces, said = tmp_path / "run" / "pieces", tmp_path / "said"

    def kept() -> int:
        return len([path for path in pieces.rglob("*.*.*.*") if not path.name.startswith(".")])

    def start(address: str) -> subprocess.Popen[bytes]:
        with said.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-c", RUN, address],
                cwd=tmp_path,
                env=os.environ | HASTY,
                stderr=file,
                stdout=file,
            )

    with ClusterProcesses(tmp_path / "cluster") as processes:
        scheduler = processes.scheduler()
        first, second = processes.worker(**SLOWLY), processes.worker(**SLOWLY)
        client = start(processes.address)
        until(lambda: kept() >= 8, "the first pieces")
        kill_all(first)
        before = kept()
        until(lambda: kept() > before + 1, "pieces of the worker that is left")
        kill_all(scheduler)
        kill_all(second)
        processes.scheduler()
        processes.worker(**SLOWLY)
        before = kept()
        until(lambda: kept() > before + 1, "pieces after the scheduler came back")
        client.kill()
        client.wait()
        assert kept() < 36
        again = start(processes.address)
        assert again.wait(timeout=120) == 0, said.read_text()
        assert "pieces are done already" in said.read_text()
    monkeypatch.syspath_prepend(tmp_path)
    run(Plan.preset("quick", **SIX_TIMES), tmp_path / "calm", jobs=1, publish=False)
    assert stored(tmp_path / "run") == stored(tmp_path / "calm")
    assert not list(pieces.rglob(".unfinished-*"))


def test_what_kills_its_worker_is_given_up(tmp_path: Path, client: Client) -> None:
    class Lethal(Method):
        name, summary = "lethal", "end the process"

        def _search(self, factuals: Factuals) -> Candidates:
            os._exit(1)

    with pytest.raises(PieceFailedError, match="its worker died 2 times") as failed:
        evaluate(
            "diabetes",
            methods=[Lethal, "kdtree"],
            families=["parameter-perturbation(replicates=2)"],
            factuals=3,
            out=tmp_path,
            client=client,
            publish=False,
        )
    (line,) = failed.value.summary
    assert line.startswith("counterfactuals of lethal failed: its worker died 2 times, last tcp://")
    names = [name for name in stored(tmp_path) if "pieces" in name]
    assert len(names) == 4
    assert any("survival-kdtree-parameter-perturbation" in name for name in names)
