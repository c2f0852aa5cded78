"""Jobs from bytes to bytes, and the engines that run them.

An engine knows nothing of runs. It runs jobs here, in other processes or on other machines, each
after those that make its inputs, and returns what became of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, ClassVar, NamedTuple, Protocol


class Result(NamedTuple):
    """What became of a job: its outputs by key, fewer than promised where something failed.

    `report` is whatever else it returns.
    """

    outputs: Mapping[str, bytes]
    report: Any
    retry: bool = False  # whether another try, perhaps on another machine, may end differently
    error: str = ""  # why it could not be run at all


# Takes a job's order and the inputs that are there, by key.
Work = Callable[[Any, Mapping[str, bytes]], Result]
# Returns the bytes of a key; None if there are none because the job that makes them has failed.
Supply = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Job:
    """Something to do, with the keys of its inputs and of its outputs.

    Jobs of the same `kind` take about the same time.
    """

    name: str
    work: Work
    order: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    cost: float
    kind: str = "job"


class Needs(NamedTuple):
    """What workers have to have: compiled kernels (see `warm_up`), the packages of objects."""

    kernels: Sequence[tuple[str, bool]] = ()
    objects: tuple[Any, ...] = ()


class Listener(Protocol):
    """Follows what happens to workers."""

    def note(self, text: str) -> None: ...
    def workers(self, count: int) -> None: ...


class Engine(ABC):
    """Where jobs run."""

    pickles: ClassVar[bool] = True  # whether jobs leave this process
    remote: ClassVar[bool] = False  # whether they may leave this machine
    running: ClassVar[bool] = False  # whether its workers run already, so that using them is free
    workers: int = 1
    # Called with a job when it starts, by engines that know.
    on_start: Callable[[Job], None] = staticmethod(lambda job: None)

    def start(self, needs: Needs, listener: Listener) -> None:
        """Get the workers ready for work."""
        listener.workers(self.workers)

    @abstractmethod
    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        """Run jobs, each after those that make its inputs; yield each when it has ended.

        `supply` is asked for outputs of a job after it was yielded, and for all other inputs.
        """

    def close(self) -> None:  # noqa: B027 (most have nothing to do)
        """Leave the workers as they were."""


class InProcess(Engine):
    pickles = False

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        for job in most_urgent_first(jobs):
            found = {key: supply(key) for key in job.inputs}
            self.on_start(job)
            there = {key: content for key, content in found.items() if content is not None}
            yield job, job.work(job.order, there)


def producers(jobs: Iterable[Job]) -> dict[str, Job]:
    return {key: job for job in jobs for key in job.outputs}


def dependencies(jobs: Sequence[Job]) -> dict[str, set[str]]:
    """Return the names of the jobs that each job has to wait for."""
    made_by = producers(jobs)
    return {job.name: {made_by[key].name for key in job.inputs if key in made_by} for job in jobs}


def urgencies(jobs: Sequence[Job]) -> dict[str, float]:
    """Return how long it takes from the start of each job until all that waits for it is done.

    With unlimited workers. Jobs are listed after those that they wait for.
    """
    waits_for = dependencies(jobs)
    cost = {job.name: job.cost for job in jobs}
    order = tuple(TopologicalSorter(waits_for).static_order())
    urgency = {name: cost[name] for name in order}
    for name in reversed(order):
        for earlier in waits_for[name]:
            urgency[earlier] = max(urgency[earlier], cost[earlier] + urgency[name])
    return urgency


def most_urgent_first(jobs: Sequence[Job]) -> list[Job]:
    """Return jobs in an order in which they can be run one after the other."""
    urgency = urgencies(jobs)
    place = {name: place for place, name in enumerate(urgency)}
    return sorted(jobs, key=lambda job: (-urgency[job.name], place[job.name]))
