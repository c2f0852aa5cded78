"""Dask clusters: reaching one, checking its workers, and having them run jobs.

The whole graph of jobs is handed over, and results come as they are done. What jobs make goes from
worker to worker; this process gets it as well, and keeps it. A worker that dies costs what it held:
Dask has it done again elsewhere. If the scheduler goes and comes back, what is left is handed over
again.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from changeproof.errors import InputError, described, one_line

try:
    import dask
    from dask.utils import parse_timedelta
    from distributed import Client, Future, LocalCluster, Security, as_completed
    from distributed.scheduler import KilledWorker
except ModuleNotFoundError:
    raise InputError("clusters need Dask, an extra: pip install 'changeproof[cluster]'") from None

from changeproof.workers.cluster_workers import (
    Preparation,
    difference,
    environment_of,
    packages_of,
)
from changeproof.workers.jobs import (
    Engine,
    Job,
    Listener,
    Needs,
    Result,
    Supply,
    Work,
    dependencies,
    most_urgent_first,
    producers,
)

LOCAL = "local"
ADDRESS = re.compile(r"[a-z]+://[^\s/]+:[0-9]+")
# Dask's settings that are ours, with what they are by default.
PATIENCE = ("changeproof.patience", "60s")
# Looking at oneself takes processor time: sampling what workers do, ticking fifty times a second.
# Handing back small bits of memory at once takes more.
LOCAL_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.nanny.pre-spawn-environ": {
        f"{library}_NUM_THREADS": 1 for library in ("OMP", "MKL", "OPENBLAS")
    },
}

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
FINISHED_IS_KEPT = "what is finished is kept: run the same command again to go on"


class ClusterError(InputError):
    """A cluster cannot be used, or not any more; what is finished is kept."""


class GoneError(RuntimeError):
    """The scheduler does not answer any more."""


class Certificates(NamedTuple):
    """The files of TLS, as Dask takes them: the authority's, one's own certificate, its key."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@contextmanager
def connected(
    cluster: str, *, jobs: int | None = None, certificates: Certificates | None = None
) -> Iterator[Client]:
    """Connect to a cluster.

    It is an address ("tcp://host:8786"), the file that a scheduler wrote about itself
    ("scheduler.json"), or "local" for a cluster that is started here with so many `jobs` and ends
    with this. Without `certificates` for TLS Dask's own settings count.
    """
    # What happens to a cluster is said in our own words, once.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if cluster == LOCAL:
        with (
            dask.config.set(LOCAL_SETTINGS),
            LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
            ) as here,
            Client(here, set_as_default=False) as client,
        ):
            yield client
        return
    if jobs is not None:
        raise InputError(
            f"--jobs says how many workers there are here; {cluster} has its own. Leave out one"
        )
    with _reached(address_of(cluster), certificates or Certificates()) as client:
        yield client


def address_of(cluster: str) -> str:
    """Return the address of a scheduler, from the file that it wrote if that is what was given."""
    path = Path(cluster)
    if ADDRESS.fullmatch(cluster):
        return cluster
    if "://" in cluster or not (path.suffix == ".json" or path.exists()):
        raise InputError(
            f"cluster {cluster!r}; expected an address such as tcp://HOST:8786 or tls://HOST:8786, "
            f"the file of a scheduler (scheduler.json), or {LOCAL}"
        )
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        return str(content["address"])
    except OSError as error:
        raise InputError(f"cannot read the scheduler's file {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is not a file that a Dask scheduler wrote (dask scheduler --scheduler-file)"
        ) from None


def patience() -> float:
    """Return how many seconds to wait for workers, or for a scheduler that is gone."""
    return float(parse_timedelta(dask.config.get(*PATIENCE)))


def _reached(address: str, certificates: Certificates) -> Client:
    names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
    files = {name: path for name, path in zip(names, certificates, strict=True) if path is not None}
    for path in files.values():
        if not path.is_file():
            raise InputError(f"cannot read the TLS file {path}")
    paths = {name: str(path) for name, path in files.items()}
    given = {"security": Security(require_encryption=True, **paths)} if paths else {}
    try:
        return Client(address, set_as_default=False, **given)
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address} ({one_line(error)}); start one with "
            "'dask scheduler', or mend the address (tls:// with certificates)"
        ) from None


@contextmanager
def _asking() -> Iterator[None]:
    """Say of a scheduler that does not answer that it is gone."""
    try:
        yield
    except (OSError, TimeoutError) as error:
        raise GoneError from error


class TryAgainError(RuntimeError):
    """A job failed as it might not elsewhere, or later."""

    def __init__(self, result: Result) -> None:
        super().__init__("to be tried again")
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return TryAgainError, (self.result,)


class Cluster(Engine):
    """The workers of a Dask cluster, by a client that is connected to it.

    `workers` are those that have been found to be as this process is.
    """

    running = remote = True
    workers = 0

    def __init__(self, client: Client) -> None:
        if not isinstance(client, Client) or client.asynchronous:
            raise InputError(
                "client has to be a distributed.Client that is not asynchronous; got "
                f"{described(client)}"
            )
        self.client = self._given = client
        self.address = str(client.scheduler.address)
        self._seen = time.monotonic()  # when there were workers
        self._known: set[str] = set()

    def start(self, needs: Needs, listener: Listener) -> None:
        """Look at the workers, and prepare them."""
        self._needs, self._listener = needs, listener
        self._packages = packages_of(needs.objects)
        self._environment = environment_of(self._packages)
        listener.note(f"cluster at {self.address}; watch it at {self.client.dashboard_link}")
        try:
            self._prepare()
        except GoneError:
            self._come_back()

    def close(self) -> None:
        if self.client.status == "running":
            self.client.unregister_worker_plugin("changeproof")
        if self.client is not self._given:
            self.client.close()

    def _prepare(self) -> None:
        """Wait for workers, refuse those that differ from the client, compile what is needed."""
        deadline, announced = time.monotonic() + patience(), False
        while not any(found := self._workers()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler at {self.address} has no workers; start some: "
                    f"dask worker {self.address} --nthreads 1"
                )
            if not announced:
                wait = f"waiting for workers of {self.address}, at most {patience():.0f} s"
                self._listener.note(wait)
                announced = True
            time.sleep(PAUSE)
        for worker in sorted(found[1]):
            if differs := self._differs(worker):
                raise ClusterError(f"worker {worker} {differs}")
        plugin = Preparation(self._environment, self._packages, self._needs.kernels)
        with _asking():
            self.client.register_plugin(plugin, name=plugin.name)
        self._look()

    def _look(self) -> int:
        """Say how many workers there are, if that has changed; give up when all are gone."""
        ready, others = self._workers()
        for worker in sorted(others - self._known):
            self._known.add(worker)
            if differs := self._differs(worker):
                self._listener.note(f"worker {worker} is not used: it {differs}")
        if len(ready) != self.workers:
            self.workers = len(ready)
            self._listener.workers(self.workers)
        if ready:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > patience():
            raise ClusterError(f"all workers of {self.address} are gone; {FINISHED_IS_KEPT}")
        return self.workers

    def _come_back(self) -> None:
        """Wait for a scheduler that is gone, and for its workers."""
        deadline = time.monotonic() + patience()
        self._listener.note(
            f"the scheduler at {self.address} is gone; waiting for it, at most {patience():.0f} s"
        )
        while time.monotonic() < deadline:
            try:
                self._reconnect()
                self._prepare()
                return
            except GoneError:
                time.sleep(PAUSE)
        raise ClusterError(f"the cluster at {self.address} is gone; {FINISHED_IS_KEPT}")

    def _reconnect(self) -> None:
        """Have a client that is connected; Dask closes one that has waited too long."""
        if self.client.status == "running":
            return
        if self.client.status not in ("closing", "closed"):
            raise GoneError
        with _asking():
            self.client = Client(
                self.address,
                security=self._given.security,
                timeout=max(1.0, patience() / 10),
                set_as_default=False,
            )

    def _workers(self) -> tuple[set[str], set[str]]:
        """Return the addresses of workers that are ready for work, and of all others."""
        try:
            # Not `scheduler_info`, which may hand out what it was last told without workers.
            known = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except (OSError, TimeoutError, RuntimeError, AttributeError) as error:
            raise GoneError from error
        ours = self._environment.resource
        ready = {worker for worker, facts in known.items() if ours in facts["resources"]}
        return ready, set(known) - ready

    def _differs(self, worker: str) -> str:
        """Say why a worker cannot be used; "" if it can."""
        with _asking():
            threads = self.client.nthreads([worker]).get(worker, 1)
            answers = self.client.run(
                environment_of, self._packages, workers=[worker], on_error="return"
            )
        if threads != 1:
            return (
                f"has {threads} threads; results need workers with one thread each: "
                f"dask worker {self.address} --nworkers {threads} --nthreads 1"
            )
        found = answers.get(worker)
        if isinstance(found, ModuleNotFoundError):
            wanted = f"changeproof[cluster]=={self._environment.versions['changeproof']}"
            return (
                f"has no {found.name}; install there what is installed here: pip install '{wanted}'"
            )
        if isinstance(found, BaseException):
            return f"cannot say what is installed there: {one_line(found)}"
        return difference(found, self._environment) if found is not None else ""

    def run(self, jobs: Sequence[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        """Hand over all jobs, and what is left of them again if the cluster has lost it."""
        left = {job.name: job for job in most_urgent_first(jobs)}
        fruitless = 0
        while left:
            before = len(left)
            try:
                for job, result in self._round(list(left.values()), supply):
                    del left[job.name]
                    yield job, result
            except GoneError:
                self._come_back()
            fruitless = fruitless + 1 if len(left) == before else 0
            if fruitless > ROUNDS:
                raise ClusterError(
                    f"the cluster at {self.address} keeps losing its work; {FINISHED_IS_KEPT}"
                )

    def _round(self, jobs: list[Job], supply: Supply) -> Iterator[tuple[Job, Result]]:
        """Hand over jobs; yield what is done, and what fails by itself."""
        client = self.client
        futures: dict[Future, Job] = {}
        failed: dict[str, tuple[Job, BaseException]] = {}
        try:
            with dask.config.set(LARGE_IS_FINE):
                self._submit(jobs, supply, futures)
            for future, answer in self._ended(list(futures)):
                job = futures.pop(future)
                if future.status == "finished":
                    key, result = answer
                    if key != self._environment.key:
                        raise ClusterError(
                            f"{job.name} was computed by a worker with other versions than the "
                            "client's; it was not kept"
                        )
                    yield job, result
                elif future.status == "error":
                    failed[job.name] = (job, answer[1])
                elif client.status != "running":
                    raise GoneError
            waits_for = dependencies(jobs)
            for job, error in failed.values():
                # What failed because of another one is left for the next round, without that.
                if waits_for[job.name].isdisjoint(failed):
                    yield job, _lost(error)
        finally:
            if client.status == "running":
                client.cancel(list(futures), force=True)

    def _submit(self, jobs: list[Job], supply: Supply, futures: dict[Future, Job]) -> None:
        """Hand over the whole graph; bytes that are there already once each.

        They are jobs, too, and not scattered: what only a worker holds is lost with it.
        """
        made_by, session = producers(jobs), uuid4().hex[:8]
        ready = {self._environment.resource: 1}
        given: dict[str, Future] = {}
        by_name: dict[str, Future] = {}
        for place, job in enumerate(jobs):
            for key in job.inputs:
                if key in made_by or key in given:
                    continue
                if (content := supply(key)) is not None:
                    given[key] = self.client.submit(
                        _given,
                        content,
                        key=f"given-{key}-{session}",
                        priority=len(jobs),
                        resources=ready,
                    )
            earlier = dict.fromkeys(made_by[key].name for key in job.inputs if key in made_by)
            by_name[job.name] = self.client.submit(
                _do,
                job.work,
                job.order,
                {key: given[key] for key in job.inputs if key in given},
                [by_name[name] for name in earlier],
                self._packages,
                key=f"{job.kind}-{job.name}-{session}",  # Dask learns how long what is alike takes
                priority=len(jobs) - place,
                retries=RETRIES,
                resources=ready,
                pure=False,
            )
            futures[by_name[job.name]] = job

    def _ended(self, futures: list[Future]) -> Iterator[tuple[Future, Any]]:
        """Yield futures as they end, with what came of each, keeping an eye on the workers."""
        client = self.client
        waiting = as_completed(futures, loop=client.loop, with_results=True, raise_errors=False)
        looked, idle = time.monotonic(), 0
        while not waiting.is_empty():
            for ended in waiting.next_batch(block=False):
                idle = 0
                yield ended
            if time.monotonic() - looked > LOOK:
                # A worker that joins when no other was left does not hear of the waiting jobs. Then
                # what is left has to be handed over again.
                with _asking():
                    at_rest = self._look() and not any(client.processing().values())
                idle = idle + 1 if at_rest else 0
                if idle > IDLE:
                    return
                looked = time.monotonic()
            if not waiting.has_ready():
                time.sleep(PAUSE)


def _lost(error: BaseException) -> Result:
    if isinstance(error, TryAgainError):
        return error.result
    why = one_line(error)
    if isinstance(error, KilledWorker):
        times = error.allowed_failures + 1
        why = f"its worker died {times} times, last {error.last_worker.address}"
    return Result({}, None, error=why)


def _given(content: bytes) -> bytes:
    """Have bytes go to the workers that need them, once to each."""
    return content


def _do(
    work: Work,
    order: Any,
    given: Mapping[str, bytes],
    earlier: Sequence[tuple[str, Result]],
    packages: tuple[str, ...],
) -> tuple[str, Result]:
    """Do a job on a worker, and say by what code and libraries that was done."""
    contents = dict(given)
    for _, result in earlier:
        contents |= result.outputs
    result = work(order, contents)
    if result.retry:
        raise TryAgainError(result)
    return environment_of(packages).key, result
