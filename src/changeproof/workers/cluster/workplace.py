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
        """How many workers there are."""
        try:
            return len(self.client.nthreads())
        except (OSError, TimeoutError, RuntimeError, AttributeError) as error:
            raise GoneError from error

    def start(self, needs: Needs, listener: Listener) -> Engine:
        """Look at the workers, prepare them, and return them."""
        self._needs, self._listener = needs, listener
        self._packages = packages_of(needs.things)
        services = self.client.scheduler_info(n_workers=0).get("services", {})
        watch = f"; watch it at {self.client.dashboard_link}" if "dashboard" in services else ""
        listener.told(f"cluster at {self.address}{watch}")
        try:
            self._prepare()
        except GoneError:
            self.come_back()
        return ClusterEngine(self, self._packages)

    def look(self) -> None:
        """Say how many workers there are, if that has changed; give up when all are gone."""
        count = self.workers
        if count != self._count:
            self._count = count
            self._listener.workers(count)
        if count:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > patience():
            raise ClusterError(f"all workers of {self.address} are gone; {KEPT}")

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
        try:
            self._check_threads()
            self._check_facts()
            ours = facts_of(self._packages)
            self.client.register_plugin(
                Preparing(ours, self._packages, self._needs.kernels.parts), name=Preparing.name
            )
        except (OSError, TimeoutError) as error:
            raise GoneError from error
        self.look()

    def _check_threads(self) -> None:
        for worker, threads in sorted(self.client.nthreads().items()):
            if threads != 1:
                raise ClusterError(
                    f"worker {worker} has {threads} threads; results need workers of one thread: "
                    f"dask worker {self.address} --nworkers {threads} --nthreads 1"
                )

    def _check_facts(self) -> None:
        ours = facts_of(self._packages)
        theirs = self.client.run(facts_of, self._packages, on_error="return")
        for worker, facts in sorted(theirs.items()):
            if isinstance(facts, ModuleNotFoundError):
                wanted = f"changeproof[cluster]=={ours.versions['changeproof']}"
                raise ClusterError(
                    f"worker {worker} has no {facts.name}; install there what is installed here: "
                    f"pip install '{wanted}'"
                )
            if isinstance(facts, BaseException):
                raise ClusterError(f"worker {worker} cannot be asked: {one_line(facts)}")
            if differs := difference(facts, ours):
                raise ClusterError(f"worker {worker} {differs}")

    def _wait_for_workers(self) -> None:
        deadline, told = time.monotonic() + patience(), False
        while not self.workers:
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
