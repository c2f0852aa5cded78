"""A Dask cluster as a workplace: workers are looked at, and prepared, before they get work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from changeproof.errors import InputError, described, one_line
from changeproof.workers.cluster.connection import (
    ClusterError,
    GoneError,
    patience,
    require_dask,
)
from changeproof.workers.cluster.engine import ClusterEngine
from changeproof.workers.cluster.facts import difference, facts_of, packages_of
from changeproof.workers.jobs import Engine
from changeproof.workers.workplace import Listener, Needs, Workplace

if TYPE_CHECKING:
    from distributed import Client

PAUSE = 0.2  # seconds
KEPT = "what is finished is kept: run the same command again to go on"


class Cluster(Workplace):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client
        A client that is connected to it.
    """

    elsewhere = True

    def __init__(self, client: Client) -> None:
        require_dask()
        from distributed import Client

        if not isinstance(client, Client) or client.asynchronous:
            raise InputError(
                "client has to be a distributed.Client that is not asynchronous; got "
                f"{described(client)}"
            )
        self.client = client
        self.address = str(client.scheduler.address)
        self._given = client
        self._count = 0
        self._seen = time.monotonic()

    @property
    def workers(self) -> int:
        """How many workers there are that have been found to be as this process is."""
        return len(self._workers(ready=True))

    def start(self, needs: Needs, listener: Listener) -> Engine:
        """Look at the workers, prepare them, and return them."""
        self._needs, self._listener = needs, listener
        self._packages = packages_of(needs.things)
        self._facts = facts_of(self._packages)
        self._known: set[str] = set()
        listener.told(f"cluster at {self.address}; watch it at {self.client.dashboard_link}")
        try:
            self._prepare()
        except GoneError:
            self.come_back()
        return ClusterEngine(self, self._packages)

    def look(self) -> int:
        """Say how many workers there are, if that has changed; give up when all are gone."""
        count = self.workers
        for worker in sorted(self._workers(ready=False) - self._known):
            self._known.add(worker)
            if differs := self._differs(worker):
                self._listener.told(f"no work for {worker}: it {differs}")
        if count != self._count:
            self._count = count
            self._listener.workers(count)
        if count:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > patience():
            raise ClusterError(f"all workers of {self.address} are gone; {KEPT}")
        return count

    def come_back(self) -> None:
        """Wait for a scheduler that is gone, and for its workers."""
        deadline = time.monotonic() + patience()
        self._listener.told(
            f"the scheduler at {self.address} is gone; waiting for it, at most {patience():.0f} s"
        )
        while time.monotonic() < deadline:
            try:
                self._reconnect()
                self._prepare()
                return
            except GoneError:
                time.sleep(PAUSE)
        raise ClusterError(f"the cluster at {self.address} is gone; {KEPT}")

    def let_go(self) -> None:
        """Leave the workers as they were."""
        if self.client.status == "running":
            self.client.unregister_worker_plugin("changeproof")
        if self.client is not self._given:
            self.client.close()

    def _reconnect(self) -> None:
        """Have a client that is connected; Dask closes one that has waited too long."""
        from distributed import Client

        if self.client.status == "running":
            return
        if self.client.status not in ("closing", "closed"):
            raise GoneError
        try:
            self.client = Client(
                self.address,
                security=self._given.security,
                timeout=max(1.0, patience() / 10),
                set_as_default=False,
            )
        except (OSError, TimeoutError) as error:
            raise GoneError from error

    def _prepare(self) -> None:
        """Wait for workers, refuse those that differ from the client, compile what is needed."""
        from changeproof.workers.cluster.preparing import Preparing

        self._wait_for_workers()
        for worker in sorted(self._workers(ready=False)):
            if differs := self._differs(worker):
                raise ClusterError(f"worker {worker} {differs}")
        plugin = Preparing(self._facts, self._packages, self._needs.kernels.parts)
        try:
            self.client.register_plugin(plugin, name=plugin.name)
        except (OSError, TimeoutError) as error:
            raise GoneError from error
        self.look()

    def _workers(self, *, ready: bool) -> set[str]:
        """Return the addresses of workers that are ready for work, or of all others."""
        try:
            # Not `scheduler_info`, which may hand out what it was last told without workers.
            told = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except (OSError, TimeoutError, RuntimeError, AttributeError) as error:
            raise GoneError from error
        mark = self._facts.resource
        return {worker for worker, facts in told.items() if (mark in facts["resources"]) == ready}

    def _differs(self, worker: str) -> str:
        """Say why a worker cannot be used; "" if it can."""
        try:
            threads = self.client.nthreads([worker]).get(worker, 1)
            facts = self.client.run(facts_of, self._packages, workers=[worker], on_error="return")
        except (OSError, TimeoutError) as error:
            raise GoneError from error
        if threads != 1:
            return (
                f"has {threads} threads; results need workers of one thread: "
                f"dask worker {self.address} --nworkers {threads} --nthreads 1"
            )
        found = facts.get(worker)
        if isinstance(found, ModuleNotFoundError):
            wanted = f"changeproof[cluster]=={self._facts.versions['changeproof']}"
            return (
                f"has no {found.name}; install there what is installed here: pip install '{wanted}'"
            )
        if isinstance(found, BaseException):
            return f"cannot be asked what it has: {one_line(found)}"
        return difference(found, self._facts) if found is not None else ""

    def _wait_for_workers(self) -> None:
        deadline, told = time.monotonic() + patience(), False
        while not (self._workers(ready=True) or self._workers(ready=False)):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler at {self.address} has no workers; start some: "
                    f"dask worker {self.address} --nthreads 1"
                )
            if not told:
                wait = f"waiting for workers of {self.address}, at most {patience():.0f} s"
                self._listener.told(wait)
                told = True
            time.sleep(PAUSE)
