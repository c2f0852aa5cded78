"""Where work is done: in this process, or in others through joblib."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import joblib

BACKEND = "loky"
Job = TypeVar("Job")
Result = TypeVar("Result")


def execute(
    work: Callable[[Job], Result], jobs: Iterable[Job], *, workers: int, backend: str = BACKEND
) -> Iterator[Result]:
    """Do jobs that do not depend on each other; yield the result of each as it is done.

    Parameters
    ----------
    work
        What is done with a job; a function that other processes can import.
    jobs
        Taken one by one, shortly before they are done.
    workers
        Worker processes; with 1 everything happens in this process.
    backend
        A joblib backend.
    """
    if workers == 1:
        yield from map(work, jobs)
        return
    path = tuple(sys.path)
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        yield from parallel(joblib.delayed(_elsewhere)(work, job, path) for job in jobs)


def _elsewhere(work: Callable[[Job], Result], job: Job, path: Sequence[str]) -> Result:
    """Do a job in a worker process, which finds modules where the other one does."""
    sys.path += [place for place in path if place not in sys.path]
    return work(job)
