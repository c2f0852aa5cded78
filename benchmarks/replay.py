"""A run on many workers, with pieces replaced by the time that they took when they were recorded.

Jobs are handed out as on a cluster: the most urgent one first, by guesses of what jobs cost, not
by what they turn out to take.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from changeproof import Plan
from changeproof.runs.execute import Jobs, Order
from changeproof.runs.resolve import resolve
from changeproof.runs.timings import piece_efforts
from changeproof.runs.work import pieces_of
from changeproof.workers.jobs import Job, Result, dependencies, most_urgent_first, urgencies

FIRST_SEED = 2026


class Nap(NamedTuple):
    """What stands in for pieces: how long they take, and how many bytes they are, by key."""

    seconds: float
    sizes: Mapping[str, int]


class Simulated(NamedTuple):
    """Jobs that sleep, and the bytes that they need and none of them makes."""

    jobs: list[Job]
    payloads: Mapping[str, bytes]

    @property
    def seconds(self) -> dict[str, float]:
        """What each job takes, by name."""
        return {job.name: job.order.seconds for job in self.jobs}

    @property
    def work(self) -> float:
        """What all jobs take, one after the other."""
        return sum(self.seconds.values())

    @property
    def critical_path(self) -> float:
        """What no number of workers can be faster than: the longest chain of jobs."""
        return max(urgencies([replace(job, cost=job.order.seconds) for job in self.jobs]).values())

    def slower(self, times: float) -> Simulated:
        """Return the same jobs, each taking so many times as long."""
        jobs = [
            replace(job, order=job.order._replace(seconds=times * job.order.seconds))
            for job in self.jobs
        ]
        return Simulated(jobs, self.payloads)


def record(folder: Path) -> pd.DataFrame:
    """Return what the pieces of a run took, with the bytes that they are."""
    sizes = {
        path.relative_to(folder / "pieces").as_posix().rsplit(".", 2)[0]: path.stat().st_size
        for path in (folder / "pieces").rglob("*")
        if path.is_file()
    }
    rows = [
        (*_where(stem), round(effort.processor_seconds, 5), sizes[stem])
        for stem, effort in piece_efforts(folder).items()
    ]
    columns = ["dataset", "piece", "base_seed", "processor_seconds", "bytes"]
    return pd.DataFrame(rows, columns=columns).sort_values(columns[:3], ignore_index=True)


def simulated(recorded: pd.DataFrame, preset: str, base_seeds: int) -> Simulated:
    """Return the jobs of a preset with so many base seeds, as naps.

    Seeds that were not recorded take the times of those that were, in turn.
    """
    seeds = tuple(range(FIRST_SEED, FIRST_SEED + base_seeds))
    run = resolve(Plan.preset(preset, base_seeds=seeds))
    made = Jobs(run, pickled=True, remote=True)
    known = {
        key: rows.sort_values("base_seed")[["processor_seconds", "bytes"]].to_numpy()
        for key, rows in recorded.groupby(["dataset", "piece"])
    }

    def asleep(job: Job) -> Job:
        order: Order = job.order
        seconds, sizes = 0.0, {}
        for piece, _ in order:
            dataset, name, seed = _where(piece.file_stem)
            times = known[dataset, name]
            took, size = times[(seed - FIRST_SEED) % len(times)]
            seconds, sizes[piece.fingerprint] = seconds + took, int(size)
        return replace(job, work=nap, order=Nap(seconds, sizes))

    return Simulated([asleep(job) for job in made.of(pieces_of(run))], made.payloads)


def nap(order: Nap, contents: Mapping[str, bytes]) -> Result:
    """Sleep as long as pieces would take, and return as many bytes."""
    time.sleep(order.seconds)
    return Result({key: bytes(size) for key, size in order.sizes.items()}, None)


def makespan(
    jobs: Sequence[Job], seconds: Mapping[str, float], workers: int, between: float = 0.0
) -> float:
    """Return when the last job is done, if free workers take the most urgent one that is ready.

    `between` is what a worker needs to get a job and to hand over what came of it.
    """
    place = {job.name: place for place, job in enumerate(most_urgent_first(jobs))}
    waits_for = dependencies(jobs)
    followers: dict[str, list[str]] = {name: [] for name in place}
    for name, earlier in waits_for.items():
        for one in earlier:
            followers[one].append(name)
    ready: list[tuple[int, str]] = []
    for name, earlier in waits_for.items():
        if not earlier:
            heappush(ready, (place[name], name))
    running: list[tuple[float, str]] = []
    now, free = 0.0, workers
    while ready or running:
        while ready and free:
            _, name = heappop(ready)
            heappush(running, (now + between + seconds[name], name))
            free -= 1
        now, name = heappop(running)
        free += 1
        for later in followers[name]:
            waits_for[later].discard(name)
            if not waits_for[later]:
                heappush(ready, (place[later], later))
    return now


def _where(stem: str) -> tuple[str, str, int]:
    """Return dataset, name and base seed of a piece, from its file up to the checksum."""
    found = re.fullmatch(r"(.+)/([0-9]+)/(.+)\.[0-9a-f]+", stem)
    assert found is not None, stem
    return found[1], found[3], int(found[2])
