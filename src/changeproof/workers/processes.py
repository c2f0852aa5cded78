"""Jobs in worker processes of this machine, which loky keeps.

A worker that dies, out of memory or killed, costs what it was doing: that is done again, one job at
a time, so that a job that kills its worker is found and given up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from joblib.externals.loky import get_reusable_executor, process_executor

from changeproof.workers.interpreter import SAFE_PATH, collect_garbage_rarely
from changeproof.workers.jobs import Engine, Job, Result, Supply, dependencies, most_urgent_first

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


class Processes(Engine):
    """Worker processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._files = _SharedFiles()

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        """Run jobs as soon as there are a worker and their inputs."""
        queue = _Queue(jobs)
        flying: dict[Future[Result], Job] = {}
        try:
            yield from self._ended(queue, flying, supply)
        finally:
            for future in flying:
                future.cancel()

    def _ended(
        self, queue: _Queue, flying: dict[Future[Result], Job], supply: Supply
    ) -> Iterator[tuple[Job, Result]]:
        deaths: dict[str, int] = {}
        started: set[str] = set()
        while queue.waiting or queue.suspects or flying:
            # One more than there are workers, so that none has to wait for this process.
            room = 1 if queue.suspects else self.workers + 1
            while len(flying) < room and (job := queue.next()) is not None:
                inputs = self._files.shared(job.inputs, supply)
                flying[_submitted(self.workers, _run, job, inputs)] = job
            for job in list(flying.values())[: self.workers]:  # the others wait for a worker
                if job.name not in started:
                    started.add(job.name)
                    self.on_start(job)
            alone = len(flying) == 1
            ended, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in ended:
                job = flying.pop(future)
                if not isinstance(future.exception(), BrokenExecutor):
                    queue.ended(job)
                    yield job, future.result()  # raises what is not a job's fault
                    continue
                deaths[job.name] = deaths.get(job.name, 0) + alone
                if deaths[job.name] < TRIES:
                    queue.suspects.append(job)
                    continue
                queue.ended(job)
                yield job, Result({}, None, error=DIED.format(TRIES))

    def close(self) -> None:
        """Remove the workers' files; the workers stay for whoever is next."""
        self._files.clear()


def map_in_processes(
    work: Callable[[Given], Answer], things: Iterable[Given], *, workers: int
) -> Iterator[Answer]:
    """Call a function with several things in worker processes; yield the answers in order."""
    answers = [_submitted(workers, work, thing) for thing in things]
    for answer in answers:
        yield answer.result()


class _Queue:
    """Jobs that wait for nothing any more, the most urgent first.

    One that may have killed a worker comes first, and alone.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.waiting = most_urgent_first(jobs)
        self.suspects: deque[Job] = deque()
        self._waits_for = dependencies(jobs)

    def next(self) -> Job | None:
        """Take the next job."""
        if self.suspects:
            return self.suspects.popleft()
        for place, job in enumerate(self.waiting):
            if not self._waits_for[job.name]:
                return self.waiting.pop(place)
        return None

    def ended(self, job: Job) -> None:
        """Release those that waited for a job."""
        for names in self._waits_for.values():
            names.discard(job.name)


class _SharedFiles:
    """Large inputs as files that every worker can read."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None

    def shared(self, keys: Iterable[str], supply: Supply) -> dict[str, bytes | Path]:
        """Return what there is by key: the bytes of small inputs, the files of large ones."""
        found: dict[str, bytes | Path] = {}
        for key in keys:
            path = Path(self._folder.name) / key if self._folder is not None else None
            if path is not None and path.exists():
                found[key] = path
            elif (content := supply(key)) is not None:
                found[key] = content if len(content) < LARGE else self._written(key, content)
        return found

    def _written(self, key: str, content: bytes) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="changeproof-")
        path = Path(self._folder.name) / key
        path.write_bytes(content)
        return path

    def clear(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


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
