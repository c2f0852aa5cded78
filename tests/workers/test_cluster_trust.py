"""What is said when a cluster cannot be used, and when it cannot be used any more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

import changeproof
from changeproof import (
    Candidates,
    Factuals,
    InputError,
    Method,
    ModuleLearner,
    Observer,
    PieceFailedError,
    Plan,
    evaluate,
    run,
)
from changeproof.runs.execute import Outcome
from changeproof.workers.cluster import Certificates, address_of, connected
from changeproof.workers.cluster_workers import Preparation, difference, environment_of, packages_of
from clustered import HASTY, SOURCE, ClusterProcesses, free_port, stored

COMMAND = Path(sys.executable).with_name("changeproof")
SMALL: dict[str, Any] = {
    "datasets": ["diabetes"],
    "methods": ["kdtree"],
    "families": ["parameter-perturbation(replicates=2)"],
    "factuals": 3,
    "limit": False,
}


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    quick = {"distributed.comm.timeouts.connect": "2s", "changeproof.patience": "1s"}
    with dask.config.set(quick):
        yield


@pytest.fixture
def workers(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Workers that are threads of this process: as many as asked for, or one."""
    given = {"n_workers": 1, "threads_per_worker": 1, **getattr(request, "param", {})}
    with (
        LocalCluster(processes=False, dashboard_address="127.0.0.1:0", **given) as here,
        Client(here, set_as_default=False) as client,
    ):
        yield client


def module_learner() -> ModuleLearner:
    import torch

    def linear(n_features: int) -> torch.nn.Module:
        return torch.nn.Linear(n_features, 1)

    return ModuleLearner(linear, lambda module, X, y, sample_weight: None)


def small(folder: Path, client: Client, **more: Any) -> None:
    run(Plan.preset("quick", **SMALL), folder, client=client, publish=False, **more)


@pytest.mark.parametrize("cluster", ["nowhere", "tcp://nowhere", "tcp://a b:1"])
def test_what_is_no_address(cluster: str) -> None:
    with pytest.raises(InputError, match=f"cluster '{cluster}'; expected an address such as tcp:"):
        address_of(cluster)


def test_one_line_where_nobody_listens(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "run", "--cluster", f"tcp://127.0.0.1:{free_port()}", "--out", "run"],
        cwd=tmp_path,
        env=os.environ | HASTY | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"},
        capture_output=True,
        text=True,
    )
    *before, last = done.stderr.splitlines()
    assert done.returncode == 2
    assert last.startswith("changeproof: no Dask scheduler answers at tcp://127.0.0.1:")
    assert "start one with 'dask scheduler', or mend the address" in last
    assert all(line.startswith("reaching the cluster") for line in before)
    assert not list(tmp_path.iterdir())


def test_the_file_of_a_scheduler(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text('{"type": "Scheduler", "address": "tcp://10.0.0.1:8786"}')
    assert address_of(str(path)) == "tcp://10.0.0.1:8786"
    with pytest.raises(InputError, match="cannot read the scheduler's file"):
        address_of("gone.json")
    path.write_text("[]")
    with pytest.raises(InputError, match="is not a file that a Dask scheduler wrote"):
        address_of(str(path))


def test_jobs_and_certificates_have_to_fit(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="has its own"),
        connected("tcp://127.0.0.1:1", jobs=2),
    ):
        pass
    with (
        pytest.raises(InputError, match="cannot read the TLS file"),
        connected("tls://127.0.0.1:1", certificates=Certificates(tmp_path / "ca.pem")),
    ):
        pass
    with pytest.raises(InputError, match="that is not asynchronous; got an object of type str"):
        run(Plan.preset("quick", **SMALL), tmp_path / "run", client="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="give either jobs"):
        run(Plan.preset("quick", **SMALL), tmp_path / "run", client="tcp://127.0.0.1:1", jobs=2)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")
def test_certificates_are_handed_to_dask(tmp_path: Path) -> None:
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem"
    subprocess.run(
        [*made.split(), "-subj", "/CN=localhost"], cwd=tmp_path, check=True, capture_output=True
    )
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    with ClusterProcesses(tmp_path / "cluster") as processes:
        options = ["--tls-ca-file", str(cert), "--tls-cert", str(cert), "--tls-key", str(key)]
        processes.scheduler("--protocol", "tls", *options)
        address = processes.address.replace("tcp://", "tls://")
        with connected(address, certificates=Certificates(cert, cert, key)) as client:
            assert client.scheduler.address == address
        with (
            pytest.raises(InputError, match="no Dask scheduler answers at tls://"),
            connected(address),
        ):
            pass


@pytest.mark.parametrize("workers", [{"n_workers": 0}], indirect=True)
def test_a_scheduler_without_workers(tmp_path: Path, workers: Client) -> None:
    with pytest.raises(InputError, match="has no workers; start some: dask worker inproc://"):
        small(tmp_path, workers)
    assert not list((tmp_path).rglob("*.safetensors"))


@pytest.mark.parametrize("workers", [{"threads_per_worker": 2}], indirect=True)
def test_workers_have_one_thread(tmp_path: Path, workers: Client) -> None:
    with pytest.raises(InputError, match=r"has 2 threads.*--nworkers 2 --nthreads 1"):
        small(tmp_path, workers)


def test_workers_of_other_versions_are_named_and_refused(tmp_path: Path) -> None:
    other = tmp_path / "other" / "changeproof"
    shutil.copytree(
        Path(changeproof.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__")
    )
    path = other / "errors.py"
    path.write_text(path.read_text() + "\n# another version\n")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.metadata as m\n"
        "known = m.version\n"
        "def version(name):\n"
        "    if name == 'torch':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "m.version = version\n"
        "m.packages_distributions = dict\n"
    )
    with ClusterProcesses(tmp_path / "cluster") as processes:
        processes.scheduler()
        for environment, says, model in (
            ({"PYTHONPATH": str(other.parent)}, "has other code of changeproof", "mlp"),
            (
                {"PYTHONPATH": f"{hidden}{os.pathsep}{SOURCE}"},
                r"has no torch, which this run needs; install it there: pip install "
                r"'changeproof\[torch\]'",
                module_learner(),
            ),
        ):
            worker = processes.worker(**environment)
            with Client(processes.address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
                with pytest.raises(InputError, match=r"worker tcp://127.0.0.1:\d+ " + says):
                    evaluate("diabetes", model, ["kdtree"], factuals=3, client=client)
                client.retire_workers(list(client.nthreads()))
            worker.wait(timeout=30)


def test_what_differs_is_said_first_by_versions() -> None:
    ours = environment_of(("torch",))
    assert difference(ours, ours) == ""
    older = ours._replace(versions=ours.versions | {"numpy": "1.0"})
    assert difference(older, ours) == (
        f"has numpy 1.0, the client {ours.versions['numpy']}; install the same there"
    )
    assert older.key != ours.key
    with pytest.raises(InputError, match="this worker has numpy"):
        Preparation(older, ("torch",), []).prepare()
    assert "torch" in packages_of([module_learner()])
    assert "torch" not in packages_of([changeproof.make_method("kdtree")])


class Closing(Observer):
    """Ends the cluster when the first piece is there."""

    def __init__(self, cluster: Any) -> None:
        self.cluster, self.texts = cluster, list[str]()

    def finished(self, item: Outcome) -> None:
        self.cluster.close()

    def note(self, text: str) -> None:
        self.texts.append(text)


def test_a_cluster_that_vanishes(tmp_path: Path, workers: Client) -> None:
    observer = Closing(workers.cluster)
    with pytest.raises(InputError, match="is gone; what is finished is kept: run the same command"):
        small(tmp_path, workers, observer=observer)
    assert "is gone; waiting for it, at most 1 s" in observer.texts[-1]
    assert any("pieces" in name for name in stored(tmp_path))
    run(Plan.preset("quick", **SMALL), tmp_path, jobs=1, publish=False)


def test_what_fails_for_want_of_something_is_tried_again(tmp_path: Path, workers: Client) -> None:
    tries = tmp_path / "tries"

    class Unlucky(Method):
        name, summary = "unlucky", "fail twice"

        def _search(self, factuals: Factuals) -> Candidates:
            with tries.open("a") as file:
                file.write("x")
            if tries.stat().st_size < 3:
                raise OSError("no space left")
            return Candidates(factuals.rows + 1)

    class Huge(Method):
        name, summary = "huge", "need too much"

        def _search(self, factuals: Factuals) -> Candidates:
            raise MemoryError("too much")

    def asked(*methods: Any) -> None:
        evaluate(
            "diabetes",
            methods=methods,
            families=["parameter-perturbation(replicates=2)"],
            factuals=3,
            out=tmp_path / "run",
            client=workers,
            publish=False,
        )

    with pytest.raises(PieceFailedError) as failed:
        asked(Unlucky, Huge)
    assert failed.value.summary == ["counterfactuals of huge failed: MemoryError: too much"]
    assert tries.read_text() == "xxx"
    names = [name for name in stored(tmp_path / "run") if "unlucky" in name]
    assert len(names) == 2
