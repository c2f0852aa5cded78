"""Jobs done in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from changeproof.workers.jobs import Done, Engine, Job, Supply, most_urgent_first


class Here(Engine):
    """This process."""

    packs = False

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[Done]:
        """Do jobs in an order in which each finds what it needs."""
        for job in most_urgent_first(jobs):
            found = {mark: supply(mark) for mark in job.needs}
            there = {mark: content for mark, content in found.items() if content is not None}
            self.begun(job)
            yield Done(job, job.work(job.told, there))

    def close(self) -> None:
        """Do nothing: nothing was started."""
