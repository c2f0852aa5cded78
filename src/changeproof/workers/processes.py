"""Jobs in worker processes of this machine, which loky keeps.

A worker that dies, out of memory or killed, costs what it was doing: that is done again, one job at
a time, so that a job that kills its worker is found and given up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import joblib
from joblib.externals.loky import get_reusable_executor, process_executor, reusable_executor
from joblib.externals.loky.backend.utils import kill_process_tree

from changeproof.errors import InputError
from changeproof.workers.interpreter import SAFE_PATH, collect_garbage_rarely
from changeproof.workers.jobs import (
    Engine,
    InProcess,
    Job,
    Listener,
    Needs,
    Result,
    Supply,
    dependencies,
    most_urgent_first,
)
from changeproof.workers.warm_up import compile_kernels

Given = TypeVar("Given")
Answer = TypeVar("Answer")
# Bytes from so many on go by a file that all workers read, not with every job.
LARGE = 1 << 20
# How often a job that was alone when its worker died is tried.
TRIES = 2
# Seconds: how long idle workers stay, and how often they check that their parent is there.
IDLE, LOOK = 300, 1.0
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
DIED = "its worker process died {} times (perhaps out of memory: fewer jobs need less)"


def engine_for(jobs: int | None = None, client: Any = None) -> Engine:
    """Return the cluster of a Dask client, or else so many workers on this machine."""
    if client is None:
        workers = joblib.cpu_count() if jobs is None else jobs
        if workers < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}")
        return InProcess() if workers == 1 else Processes(workers)
    if jobs is not None:
        raise InputError("give either jobs, for workers on this machine, or client; not both")
    from changeproof.workers.cluster import Cluster

    return Cluster(client)


class Processes(Engine):
    """Worker processes on this machine; they stay for whoever is next."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def start(self, needs: Needs, listener: Listener) -> None:
        for _ in map_in_processes(compile_kernels, needs.kernels, workers=self.workers):
            pass
        super().start(needs, listener)

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        flying: dict[Future[Result], Job] = {}
        with TemporaryDirectory(prefix="changeproof-") as folder:
            try:
                yield from self._ended(jobs, supply, Path(folder), flying)
            finally:
                for future in flying:
                    future.cancel()

    def _ended(
        self,
        jobs: Sequence[Job],
        supply: Supply,
        folder: Path,
        flying: dict[Future[Result], Job],
    ) -> Iterator[tuple[Job, Result]]:
        waiting, waits_for = most_urgent_first(jobs), dependencies(jobs)
        unfinished, started = {job.name for job in jobs}, set[str]()
        suspects, deaths = deque[Job](), Counter[str]()  # what may have killed a worker runs alone

        def next_job() -> Job | None:
            if suspects:
                return suspects.popleft()
            for place, job in enumerate(waiting):
                if waits_for[job.name].isdisjoint(unfinished):
                    return waiting.pop(place)
            return None

        while unfinished:
            # One more than there are workers, so that none has to wait for this process.
            room = 1 if suspects else self.workers + 1
            while len(flying) < room and (job := next_job()) is not None:
                inputs = _shared(job.inputs, supply, folder)
                flying[_submitted(self.workers, _run, job, inputs)] = job
            for job in list(flying.values())[: self.workers]:  # the others wait for a worker
                if job.name not in started:
                    started.add(job.name)
                    self.on_start(job)
            alone = len(flying) == 1
            for future in _first_done(flying):
                job = flying.pop(future)
                if isinstance(future.exception(), BrokenExecutor):
                    deaths[job.name] += alone
                    if deaths[job.name] < TRIES:
                        suspects.append(job)
                        continue
                    result = Result({}, None, error=DIED.format(TRIES))
                else:
                    result = future.result()  # raises what is not a job's fault
                unfinished.discard(job.name)
                yield job, result


def map_in_processes(
    work: Callable[[Given], Answer], things: Iterable[Given], *, workers: int
) -> Iterator[Answer]:
    """Call a function with several things in worker processes; yield the answers in order."""
    answers = [_submitted(workers, work, thing) for thing in things]
    for answer in answers:
        _first_done([answer])
        yield answer.result()


def _first_done(futures: Collection[Future[Answer]]) -> set[Future[Answer]]:
    """Wait for the first of some futures, as long as there is somebody to answer."""
    while not (done := wait(futures, timeout=LOOK, return_when=FIRST_COMPLETED).done):
        if (reason := _broken_if_abandoned()) is not None:
            for future in futures:
                if not future.done():
                    future.set_exception(reason)
    return done


def _broken_if_abandoned() -> BrokenExecutor | None:
    """End an executor whose own thread, which manages its workers, has ended; return the reason.

    loky notices workers that die, but not that: a warning ends it where warnings are errors.
    """
    executor = reusable_executor._executor
    manager = getattr(executor, "_executor_manager_thread", None)
    if manager is None or manager.is_alive():
        return None
    reason = BrokenExecutor("the thread that manages worker processes has ended")
    executor._flags.flag_as_broken(reason)
    while executor._processes:
        kill_process_tree(executor._processes.popitem()[1])
    return reason


def _shared(keys: Iterable[str], supply: Supply, folder: Path) -> dict[str, bytes | Path]:
    """Return what there is by key: the bytes of small inputs, the files of large ones."""
    found: dict[str, bytes | Path] = {}
    for key in keys:
        path = folder / key
        if path.exists():
            found[key] = path
        elif (content := supply(key)) is not None:
            found[key] = content
            if len(content) >= LARGE:
                path.write_bytes(content)
                found[key] = path
    return found


class _Inputs(dict[str, Any]):
    """Bytes by key; those in files are read when they are asked for."""

    def __getitem__(self, key: str) -> bytes:
        found: bytes | Path = super().__getitem__(key)
        return found if isinstance(found, bytes) else found.read_bytes()


def _submitted(workers: int, work: Callable[..., Answer], *given: Any) -> Future[Answer]:
    """Have something done by a worker process, which finds modules where this one does."""
    future: Future[Answer]
    try:
        future = _executor(workers).submit(_with_path, tuple(sys.path), work, given)
    except BrokenExecutor:  # broken since it was last looked at; the next one is new
        future = _executor(workers).submit(_with_path, tuple(sys.path), work, given)
    return future


def _executor(workers: int) -> Any:
    _broken_if_abandoned()
    return get_reusable_executor(
        max_workers=workers,
        timeout=IDLE,
        env=ONE_THREAD | SAFE_PATH,
        initializer=_begin,
        initargs=(os.getpid(),),
    )


def _begin(parent: int) -> None:
    """Have a worker end when the process that started it is gone, however that ended.

    And have it stay as long: loky would replace one that has come to hold more memory.
    """
    collect_garbage_rarely()
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _with_path(path: Sequence[str], work: Callable[..., Answer], given: Sequence[Any]) -> Answer:
    sys.path += [place for place in path if place not in sys.path]
    return work(*given)


def _run(job: Job, inputs: dict[str, bytes | Path]) -> Result:
    return job.work(job.order, _Inputs(inputs))
