"""Jobs done in worker processes of this machine, which loky keeps.

A worker that dies, for want of memory or by somebody's hand, costs what was being done: that is
done again, one job at a time, so that a job that kills its worker is known and given up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from joblib.externals.loky import get_reusable_executor, process_executor

from changeproof.workers.interpreters import SAFE_PATH, look_less_often
from changeproof.workers.jobs import Done, Engine, Job, Result, Supply, Work, awaited
from changeproof.workers.jobs import most_urgent_first as in_order

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")
# Bytes from so many on go by a file that all workers read, not with every job.
LARGE = 1 << 20
# How often a job that was alone when its worker died is tried again.
TRIES = 2
# Seconds: how long idle workers stay, and how often they look whether they still have a parent.
IDLE, LOOK = 300, 1.0
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
DIED = "its worker process died {} times (perhaps for want of memory: fewer jobs need less)"


class Processes(Engine):
    """Worker processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._shelf = _Shelf()

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[Done]:
        """Do jobs as soon as there is a worker and all that they need."""
        turns = _Turns(jobs)
        flying: dict[Future[Result], Job] = {}
        try:
            yield from self._done(turns, flying, supply)
        finally:
            for future in flying:
                future.cancel()

    def _done(
        self, turns: _Turns, flying: dict[Future[Result], Job], supply: Supply
    ) -> Iterator[Done]:
        deaths: dict[str, int] = {}
        begun: set[str] = set()
        while turns.left or turns.suspects or flying:
            # One more than there are workers, so that none has to wait for this process.
            room = 1 if turns.suspects else self.workers + 1
            while len(flying) < room and (job := turns.next()) is not None:
                flying[self._submit(job, supply)] = job
            for job in list(flying.values())[: self.workers]:  # the others wait for a worker
                if job.name not in begun:
                    begun.add(job.name)
                    self.begun(job)
            alone = len(flying) == 1
            ended, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in ended:
                job = flying.pop(future)
                error = future.exception()
                if not isinstance(error, BrokenExecutor):
                    turns.ended(job)
                    yield Done(job, future.result())  # raises what is not a job's fault
                    continue
                deaths[job.name] = deaths.get(job.name, 0) + alone
                if deaths[job.name] < TRIES:
                    turns.again(job)
                    continue
                turns.ended(job)
                yield Done(job, None, DIED.format(TRIES))

    def close(self) -> None:
        """Remove what was laid out for the workers; they stay for whoever is next."""
        self._shelf.clear()

    def _submit(self, job: Job, supply: Supply) -> Future[Result]:
        order = (job.work, job.told, self._shelf.laid_out(job.needs, supply))
        future: Future[Result]
        try:
            future = _executor(self.workers).submit(_do, order, tuple(sys.path))
        except BrokenExecutor:  # broken since it was last looked at; the next one is new
            future = _executor(self.workers).submit(_do, order, tuple(sys.path))
        return future


def done_elsewhere(
    work: Callable[[Thing], Answer], things: Iterable[Thing], *, workers: int
) -> Iterator[Answer]:
    """Do the same with several things in worker processes; yield the answers in order."""
    executor = _executor(workers)
    answers = [executor.submit(_found, work, thing, tuple(sys.path)) for thing in things]
    for answer in answers:
        yield answer.result()


class _Turns:
    """Whose turn it is: jobs that wait for nothing any more, the most urgent ones first."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.left = in_order(jobs)
        self.waits_for = awaited(jobs)
        self.suspects: deque[Job] = deque()

    def next(self) -> Job | None:
        """Take the next job; one that may have killed a worker comes first, and alone."""
        if self.suspects:
            return self.suspects.popleft()
        for place, job in enumerate(self.left):
            if not self.waits_for[job.name]:
                return self.left.pop(place)
        return None

    def ended(self, job: Job) -> None:
        """Let those go on that waited for a job."""
        for names in self.waits_for.values():
            names.discard(job.name)

    def again(self, job: Job) -> None:
        """Have a job done again, alone."""
        self.suspects.append(job)


class _Shelf:
    """Large things as files that every worker can read."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None

    def laid_out(self, marks: Iterable[str], supply: Supply) -> dict[str, bytes | Path]:
        """Return what there is by mark: small things, and the files of large ones."""
        there: dict[str, bytes | Path] = {}
        for mark in marks:
            path = Path(self._folder.name) / mark if self._folder is not None else None
            if path is not None and path.exists():
                there[mark] = path
            elif (content := supply(mark)) is not None:
                there[mark] = content if len(content) < LARGE else self._laid_out(mark, content)
        return there

    def _laid_out(self, mark: str, content: bytes) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="changeproof-")
        path = Path(self._folder.name) / mark
        path.write_bytes(content)
        return path

    def clear(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class _Contents(Mapping[str, bytes]):
    """Bytes by mark, read when they are asked for."""

    def __init__(self, laid_out: Mapping[str, bytes | Path]) -> None:
        self._laid_out = laid_out

    def __getitem__(self, mark: str) -> bytes:
        found = self._laid_out[mark]
        return found if isinstance(found, bytes) else found.read_bytes()

    def __contains__(self, mark: object) -> bool:
        return mark in self._laid_out

    def __iter__(self) -> Iterator[str]:
        return iter(self._laid_out)

    def __len__(self) -> int:
        return len(self._laid_out)


def _executor(workers: int) -> Any:
    return get_reusable_executor(
        max_workers=workers,
        timeout=IDLE,
        env=ONE_THREAD | SAFE_PATH,
        initializer=_follow,
        initargs=(os.getpid(),),
    )


def _follow(parent: int) -> None:
    """Have a worker end when the process that started it is gone, however that ended.

    And have it stay as long: loky would replace one that has come to hold more memory.
    """
    look_less_often()
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _do(order: tuple[Work, Any, Mapping[str, bytes | Path]], path: Sequence[str]) -> Result:
    _know(path)
    work, told, laid_out = order
    return work(told, _Contents(laid_out))


def _found(work: Callable[[Thing], Answer], thing: Thing, path: Sequence[str]) -> Answer:
    _know(path)
    return work(thing)


def _know(path: Sequence[str]) -> None:
    """Find modules in a worker process where the other one does."""
    sys.path += [place for place in path if place not in sys.path]
