"""Jobs done by a Dask cluster: the whole graph is handed over, results come as they are done.

What jobs make goes from worker to worker; this process gets it as well, and keeps it. A worker
that dies costs what it held: Dask has it done again elsewhere. If the scheduler goes and comes
back, what is left is handed over again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from changeproof.errors import one_line
from changeproof.workers.cluster.connection import ClusterError, GoneError, StuckError
from changeproof.workers.cluster.facts import facts_of
from changeproof.workers.jobs import Done, Engine, Job, Result, Supply, Work, awaited, makers
from changeproof.workers.jobs import most_urgent_first as in_order

if TYPE_CHECKING:
    from distributed import Client, Future

    from changeproof.workers.cluster.workplace import Cluster

# How often a job is tried again that failed for want of something that may be had later.
RETRIES = 2
# How often all that is left may be handed over again without anything coming of it.
ROUNDS = 5
# Seconds between looks at results, and at the workers.
PAUSE, LOOK = 0.05, 2.0
# A table may be large, and is sent once.
LARGE_IS_FINE = {"distributed.admin.large-graph-warning-threshold": "1TB"}
# How many looks may find workers and none of them at work.
IDLE = 2


class TryAgainError(RuntimeError):
    """A job failed as it might not elsewhere, or later."""

    def __init__(self, result: Result) -> None:
        super().__init__("to be tried again")
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return TryAgainError, (self.result,)


class ClusterEngine(Engine):
    """The workers of a cluster, who are ready for work."""

    far = True

    def __init__(self, cluster: Cluster, packages: tuple[str, ...]) -> None:
        self.cluster, self.packages = cluster, packages
        self.facts = facts_of(packages)

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[Done]:
        """Hand over all jobs, and what is left of them again if the cluster has lost it."""
        left = {job.name: job for job in in_order(jobs)}
        vain = 0
        while left:
            before = len(left)
            try:
                for done in self._round(list(left.values()), supply):
                    del left[done.job.name]
                    yield done
            except GoneError:
                self.cluster.come_back()
            except StuckError:
                pass  # what is left is handed over again
            vain = vain + 1 if len(left) == before else 0
            if vain > ROUNDS:
                raise ClusterError(
                    f"the cluster at {self.cluster.address} loses all that it is given; what is "
                    "finished is kept"
                )

    def close(self) -> None:
        """Give the workers back."""
        self.cluster.let_go()

    def _round(self, jobs: list[Job], supply: Supply) -> Iterator[Done]:
        """Hand over jobs; yield what is done, and what fails by itself."""
        import dask

        client = self.cluster.client
        futures: dict[Future, Job] = {}
        try:
            with dask.config.set(LARGE_IS_FINE):
                self._submit(client, jobs, supply, futures)
            failed: dict[str, tuple[Job, BaseException]] = {}
            for future, answer in self._ended(client, futures):
                job = futures.pop(future)
                if future.status == "finished":
                    yield Done(job, self._trusted(job, answer))
                elif future.status == "error":
                    failed[job.name] = (job, answer[1])
                elif client.status != "running":
                    raise GoneError
            waits_for = awaited(jobs)
            for job, error in failed.values():
                # What failed because of another one is left for the next round, without that.
                if waits_for[job.name].isdisjoint(failed):
                    yield _lost(job, error)
        finally:
            if client.status == "running":
                client.cancel(list(futures), force=True)

    def _submit(
        self, client: Client, jobs: list[Job], supply: Supply, futures: dict[Future, Job]
    ) -> None:
        """Hand over the whole graph; bytes that are there already once each.

        They are jobs, too, and not scattered: what only a worker holds is lost with it.
        """
        made_by, session = makers(jobs), uuid4().hex[:8]
        ready = {self.facts.resource: 1}
        given: dict[str, Future] = {}
        by_name: dict[str, Future] = {}
        for place, job in enumerate(jobs):
            for mark in job.needs:
                if mark in made_by or mark in given:
                    continue
                if (content := supply(mark)) is not None:
                    given[mark] = client.submit(
                        _given,
                        content,
                        key=f"given-{mark}-{session}",
                        priority=len(jobs),
                        resources=ready,
                    )
            earlier = dict.fromkeys(made_by[mark].name for mark in job.needs if mark in made_by)
            by_name[job.name] = client.submit(
                _do,
                job.work,
                job.told,
                {mark: given[mark] for mark in job.needs if mark in given},
                [by_name[name] for name in earlier],
                self.packages,
                key=f"{job.like}-{job.name}-{session}",  # Dask learns how long what is alike takes
                priority=len(jobs) - place,
                retries=RETRIES,
                resources=ready,
                pure=False,
            )
            futures[by_name[job.name]] = job

    def _ended(self, client: Client, futures: Mapping[Future, Job]) -> Iterator[tuple[Future, Any]]:
        """Yield futures as they end, with what came of each, keeping an eye on the workers."""
        from distributed import as_completed

        waiting = as_completed(
            list(futures), loop=client.loop, with_results=True, raise_errors=False
        )
        looked, idle = time.monotonic(), 0
        while not waiting.is_empty():
            for ended in waiting.next_batch(block=False):
                idle = 0
                yield ended
            if time.monotonic() - looked > LOOK:
                # A worker that comes when no other was left is not told of what waits for it.
                idle = idle + 1 if self.cluster.look() and not self._busy(client) else 0
                if idle > IDLE:
                    raise StuckError
                looked = time.monotonic()
            if not waiting.has_ready():
                time.sleep(PAUSE)

    def _busy(self, client: Client) -> bool:
        try:
            return any(client.processing().values())
        except (OSError, TimeoutError) as error:
            raise GoneError from error

    def _trusted(self, job: Job, answer: tuple[str, Result]) -> Result:
        mark, result = answer
        if mark != self.facts.mark:
            raise ClusterError(
                f"{job.name} was computed by a worker with other versions than the client's; "
                "it was not kept"
            )
        return result


def _lost(job: Job, error: BaseException) -> Done:
    """Say what became of a job that did not come back."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, TryAgainError):
        return Done(job, error.result)
    if isinstance(error, KilledWorker):
        times = error.allowed_failures + 1
        return Done(job, None, f"its worker died {times} times, last {error.last_worker.address}")
    return Done(job, None, one_line(error))


def _given(content: bytes) -> bytes:
    """Have bytes go to the workers that need them, once to each."""
    return content


def _do(
    work: Work,
    told: Any,
    given: Mapping[str, bytes],
    earlier: Sequence[tuple[str, Result]],
    packages: tuple[str, ...],
) -> tuple[str, Result]:
    """Do a job on a worker, and say by what code and libraries that was done."""
    contents = dict(given)
    for _, result in earlier:
        contents |= result.made
    result = work(told, contents)
    if result.again:
        raise TryAgainError(result)
    return facts_of(packages).mark, result
