"""Jobs in worker processes: in order, by bytes, and what becomes of those whose worker dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

import pytest

from changeproof.workers.jobs import (
    Engine,
    InProcess,
    Job,
    Result,
    most_urgent_first,
    urgencies,
)
from changeproof.workers.processes import (
    DIED,
    LARGE,
    TRIES,
    Processes,
    _executor,
    map_in_processes,
)
from clustered import until


def joined(told: str, contents: Mapping[str, bytes]) -> Result:
    """Make one text of all that is there; a job that is told so kills its worker."""
    if told == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    text = b"+".join(contents[mark] for mark in sorted(contents))
    return Result({told: text[:20] + told.encode()}, os.getpid())


def job(name: str, *needs: str, cost: float = 1.0, told: str = "") -> Job:
    return Job(name, joined, told or name, needs, (name,), cost)


def done_by(engine: Engine, jobs: Sequence[Job], given: Mapping[str, bytes]) -> dict[str, Result]:
    store, ended = dict(given), {}
    for each, result in engine.run(jobs, store.get):
        store |= result.outputs
        ended[each.name] = result
    engine.close()
    return ended


JOBS = [job("a", "x"), job("b", "a", "y"), job("c", "a"), job("d", "b", "c", "lost")]


@pytest.mark.parametrize("engine", [InProcess(), Processes(2)], ids=["here", "processes"])
def test_each_job_finds_what_it_needs_wherever_it_is_done(engine: Engine) -> None:
    begun: list[str] = []
    engine.on_start = lambda job: begun.append(job.name)
    ended = done_by(engine, [*reversed(JOBS)], {"x": b"1", "y": b"2"})
    made = {name: result.outputs[name] for name, result in ended.items()}
    assert made == {"a": b"1a", "b": b"1a+2b", "c": b"1ac", "d": b"1a+2b+1acd"}
    processes = {result.report for result in ended.values()}
    assert (os.getpid() in processes) == isinstance(engine, InProcess)
    assert sorted(begun) == ["a", "b", "c", "d"]
    assert begun[0] == "a" and begun[-1] == "d"


def test_what_is_waited_for_longest_starts_first() -> None:
    jobs = [job("short", cost=1), job("long", "first", cost=5), job("first", cost=1)]
    assert urgencies(jobs) == {"short": 1, "first": 6, "long": 5}
    assert [each.name for each in most_urgent_first(jobs)] == ["first", "long", "short"]
    free = [job("second", "one", cost=0), job("one", cost=0)]
    assert [each.name for each in most_urgent_first(free)] == ["one", "second"]


def test_a_job_that_kills_its_worker_is_given_up_and_no_other() -> None:
    jobs = [*JOBS, job("killer", told="die"), *(job(f"more-{n}") for n in range(6))]
    jobs += [job("after", "killer", "x")]
    ended = done_by(Processes(2), jobs, {"x": b"1", "y": b"2"})
    assert set(ended) == {each.name for each in jobs}
    assert ended["killer"] == Result({}, None, error=DIED.format(TRIES))
    assert not any(result.error for name, result in ended.items() if name != "killer")
    assert ended["after"].outputs == {"after": b"1after"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_workers_that_nobody_manages() -> None:
    def mislead() -> None:
        """Have the thread end by what it cannot understand."""
        executor = _executor(2)
        executor._ensure_executor_running()
        executor._result_queue.put("nonsense")
        executor._executor_manager_thread.join(10)
        assert not executor._executor_manager_thread.is_alive()

    mislead()
    assert list(map_in_processes(abs, [-1, 2, -3], workers=2)) == [1, 2, 3]
    # And where it ends while somebody waits.
    threading.Timer(0.5, mislead).start()
    with pytest.raises(BrokenExecutor, match="thread that manages"):
        list(map_in_processes(time.sleep, [60.0, 60.0], workers=2))
    ended = done_by(Processes(2), JOBS, {"x": b"1", "y": b"2"})
    assert {name: result.error for name, result in ended.items()} == dict.fromkeys("abcd", "")


def test_large_things_are_laid_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked: list[str] = []
    given = {"x": b"1" * LARGE, "y": b"2"}

    def supply(mark: str) -> bytes | None:
        asked.append(mark)
        return given.get(mark)

    ended = []
    for each, result in Processes(2).run([job(name, "x", "y") for name in "abcdef"], supply):
        ended.append(each.name)
        assert len(result.outputs[each.name]) == 21
        assert [path.name for path in tmp_path.glob("changeproof-*/*")] == ["x"]
    assert sorted(ended) == list("abcdef")
    assert asked.count("x") == 1
    assert not list(tmp_path.glob("changeproof-*"))


ORPHANS = """
import os, sys, time
from changeproof.workers.processes import map_in_processes
def work(_):
    time.sleep(0.2)
    return os.getpid()
print(*set(map_in_processes(work, range(8), workers=2)), flush=True)
time.sleep(600)
"""


def test_workers_end_with_the_process_that_started_them() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        assert workers
        process.kill()
    until(lambda: not any(map(_alive, workers)), "the end of the workers", 20.0)


def _alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def test_what_is_not_a_jobs_fault_is_raised() -> None:
    def wrong(told: Any, contents: Mapping[str, bytes]) -> Result:
        raise AssertionError("a bug")

    with pytest.raises(AssertionError, match="a bug"):
        done_by(Processes(2), [Job("a", wrong, "", (), (), 1.0)], {})


STRANGERS = """
from pathlib import Path
Path("imported").touch()
raise ImportError("a module of the working directory")
"""
SAFELY = """
from changeproof import cli
from changeproof.workers.processes import map_in_processes

def work():
    print(list(map_in_processes(abs, [-1, -2], workers=2)), flush=True)

cli.app = work
cli.main()
"""


def test_no_process_takes_a_module_from_the_working_directory(tmp_path: Path) -> None:
    """That may be a stranger's run directory, and workers are new interpreters."""
    folder, script = tmp_path / "run", tmp_path / "command.py"
    folder.mkdir()
    script.write_text(SAFELY)
    for name in ("joblib", "numpy", "pickle", "multiprocessing"):
        (folder / f"{name}.py").write_text(STRANGERS)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr
    assert not (folder / "imported").exists()
