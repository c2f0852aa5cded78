"""Workplaces: this machine with so many workers, or a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import joblib

from changeproof.errors import InputError
from changeproof.workers.jobs import Engine, InProcess
from changeproof.workers.processes import Processes
from changeproof.workers.warm_up import Kernels, warm_up


class Needs(NamedTuple):
    """What workers have to have: compiled kernels, and the packages of these objects."""

    kernels: Kernels
    objects: tuple[Any, ...] = ()


class Listener(Protocol):
    """Follows what happens to workers."""

    def told(self, text: str) -> None:
        """Pass on what people should know."""

    def workers(self, count: int) -> None:
        """Say how many workers there are, at first and when that changes."""


class Workplace(ABC):
    """Where work can be done."""

    running: bool = False  # whether workers run already, so that using them costs nothing

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many workers there are."""

    @abstractmethod
    def start(self, needs: Needs, listener: Listener) -> Engine:
        """Return the workers, ready for work."""


class ThisMachine(Workplace):
    """Worker processes on this machine; with one, everything happens in this process.

    Parameters
    ----------
    jobs
        How many workers; as many as there are cores by default.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = joblib.cpu_count() if jobs is None else jobs
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}")

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return self.jobs

    def start(self, needs: Needs, listener: Listener) -> Engine:
        """Return the workers, who have compiled what they need."""
        if self.jobs == 1:
            return InProcess()
        warm_up(needs.kernels, jobs=self.jobs)
        listener.workers(self.jobs)
        return Processes(self.jobs)


def workplace_of(jobs: int | None = None, client: Any = None) -> Workplace:
    """Return the cluster of a Dask client, or else this machine."""
    if client is None:
        return ThisMachine(jobs)
    if jobs is not None:
        raise InputError("give either jobs, for workers on this machine, or client; not both")
    from changeproof.workers.cluster import Cluster

    return Cluster(client)
