"""What somebody's method or family is tried on, and the checks that both have."""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np

from changeproof.checks.findings import demand
from changeproof.datasets.task import PARTS, Task
from changeproof.networks.network import Network
from changeproof.plugins import NAME, parsed
from changeproof.workers.payloads import Payload, packed
from changeproof.workers.processes import map_in_processes


@dataclass(frozen=True, eq=False)
class Bench(ABC):
    """Something and what it is tried on; every check begins with a new one like it."""

    tried: Any
    task: Task
    network: Network
    base_seed: int

    @abstractmethod
    def _asked(self) -> Any:
        """Return the answers of a new one."""

    @abstractmethod
    def _same(self, answers: Any, how: str) -> str:
        """Demand that answers are those against which others are held."""

    def _fresh(self) -> Any:
        """Return a new one like that which is tried."""
        return type(self.tried).named(self.tried.name, self.tried.given_settings())

    def name(self) -> str:
        """A name that plans can use."""
        name = parsed(self.tried.name)[0]
        demand(NAME.fullmatch(name) or ":" in name, name)
        demand(self.tried.summary, "no summary")
        return f"{name}: {self.tried.summary}"

    def process(self) -> str:
        """In another process as in this one."""
        job = (packed(self.tried.name, self._fresh()), replace(self, tried=None))
        (answers,) = map_in_processes(_asked_elsewhere, [job], workers=2)
        return self._same(answers, "in another process")

    def left_alone(self) -> str:
        """Nothing that it was given is changed, no global generator used."""
        before = self._state()
        self._asked()
        after = self._state()
        changed = [name for name, state in before.items() if after[name] != state]
        demand(not changed, f"changed: {', '.join(changed)}")
        return "inputs and global random generators are as they were"

    def _state(self) -> dict[str, str]:
        """Return hashes of all that a stranger's code has to leave alone, by what it is."""
        task, network = self.task, self.network
        parts = [getattr(task.split, part) for part in PARTS]
        content: dict[str, Any] = {
            "the task": [task.frame.to_numpy(), task.labels, *parts, *map(task.rows, PARTS)],
            "the standardised rows of the task": [task.mean, task.scale, *task.training_range],
            "the base network": [*network.weights, *network.biases],
            "numpy's global random generator": np.random.get_state(),  # noqa: NPY002
            "Python's global random generator": random.getstate(),
        }
        if "torch" in sys.modules:
            # Its seed and not its state: building a module draws, though nothing may depend on it.
            seed = sys.modules["torch"].initial_seed()
            content["the seed of PyTorch's global random generator"] = seed
        return {name: joblib.hash(kept) for name, kept in content.items()}


def _asked_elsewhere(job: tuple[Payload, Bench]) -> Any:
    payload, bench = job
    return replace(bench, tried=payload.load())._asked()
