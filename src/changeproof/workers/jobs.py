"""Jobs: what is done somewhere with bytes, and gives bytes; and the engines that have them done.

An engine knows nothing of runs. It has jobs done here, in other processes or on other machines,
each after those that make what it needs, and says what became of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, ClassVar, NamedTuple


class Result(NamedTuple):
    """What a job made, by mark; less than it should where something failed. `said` is the rest.

    `again` says that another try, perhaps on another machine, may end otherwise.
    """

    made: Mapping[str, bytes]
    said: Any
    again: bool = False


# Told what is to be done, with the bytes that are needed and there, by mark.
Work = Callable[[Any, Mapping[str, bytes]], Result]


@dataclass(frozen=True)
class Job:
    """Something to do, with the marks of the bytes that it needs and of those that it makes.

    Jobs that are `like` each other take about the same time.
    """

    name: str
    work: Work
    told: Any
    needs: tuple[str, ...]
    makes: tuple[str, ...]
    cost: float
    like: str = "job"


class Done(NamedTuple):
    """A job with its result; without one, if it could not be done, with the reason.

    There is no reason either where another job is the reason: one that should have made what
    this one needs.
    """

    job: Job
    result: Result | None
    reason: str = ""


# Returns the bytes of a mark; None if there are none because what makes them has failed.
Supply = Callable[[str], bytes | None]


class Engine(ABC):
    """Where jobs are done."""

    packs: ClassVar[bool] = True  # whether jobs leave this process
    far: ClassVar[bool] = False  # whether they may leave this machine
    # Told of a job when work on it begins, by engines that know.
    begun: Callable[[Job], None] = staticmethod(lambda job: None)

    @abstractmethod
    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[Done]:
        """Do jobs, each after those that make what it needs; yield each when it is done.

        What a job has made is asked of `supply` after it was yielded, as is all that no job makes.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of all that was started."""


def makers(jobs: Iterable[Job]) -> dict[str, Job]:
    """Return by mark which job makes it."""
    return {mark: job for job in jobs for mark in job.makes}


def awaited(jobs: Sequence[Job]) -> dict[str, set[str]]:
    """Return the names of the jobs that each job has to wait for."""
    made_by = makers(jobs)
    return {job.name: {made_by[mark].name for mark in job.needs if mark in made_by} for job in jobs}


def urgencies(jobs: Sequence[Job]) -> dict[str, float]:
    """Return how long it takes from the start of each job until all that waits for it is done.

    With as many workers as one likes. Jobs are listed after those that they wait for.
    """
    waits_for = awaited(jobs)
    cost = {job.name: job.cost for job in jobs}
    order = tuple(TopologicalSorter(waits_for).static_order())
    urgency = {name: cost[name] for name in order}
    for name in reversed(order):
        for earlier in waits_for[name]:
            urgency[earlier] = max(urgency[earlier], cost[earlier] + urgency[name])
    return urgency


def most_urgent_first(jobs: Sequence[Job]) -> list[Job]:
    """Return jobs in an order in which they can be done one after the other."""
    urgency = urgencies(jobs)
    place = {name: place for place, name in enumerate(urgency)}
    return sorted(jobs, key=lambda job: (-urgency[job.name], place[job.name]))
