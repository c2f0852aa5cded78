"""How a method or family is checked: what it is tried on, and what checks find.

>>> def test_my_method():
...     assert not [finding for finding in cp.check_method(MyMethod) if finding.failed]
"""

from __future__ import annotations

import os
import random
import sys
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np

from changeproof.datasets.find import load_task
from changeproof.datasets.split import PARTS
from changeproof.datasets.task import Task
from changeproof.errors import one_line
from changeproof.networks.network import Network
from changeproof.networks.training import HIDDEN, TrainingData, TrainingRecipe, train
from changeproof.plugins import NAME, parsed
from changeproof.workers.payloads import Payload, packed
from changeproof.workers.processes import map_in_processes

DATASET, BASE_SEED = "diabetes", 2026


class CheckFailed(Exception):  # noqa: N818 (not an error: it is what was seen)
    """Something does not keep to its contract; the message says what was seen."""


@dataclass(frozen=True)
class Finding:
    """One check: what was seen and, where it failed, how to fix it; "info" is not judged."""

    check: str
    outcome: Literal["passed", "failed", "info"]
    seen: str
    fix: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"


@dataclass(frozen=True)
class Check:
    """A check: a function that says what it saw, or raises. Without a fix it only informs."""

    name: str
    run: Callable[[], str]
    fix: str = ""

    def finding(self) -> Finding:
        try:
            with warnings.catch_warnings(), fresh_generators():
                warnings.simplefilter("ignore")
                seen = self.run()
        except CheckFailed as failed:
            return Finding(self.name, "failed", str(failed), self.fix)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            return Finding(self.name, "failed", f"{one_line(error)} ({where})", self.fix)
        return Finding(self.name, "passed" if self.fix else "info", seen)


def require(condition: Any, seen: str) -> None:
    """Fail the check that is running unless a condition holds."""
    if not condition:
        raise CheckFailed(seen)


@contextmanager
def fresh_generators() -> Iterator[None]:
    """Seed the global random generators with something new, and restore them afterwards."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    seed = int.from_bytes(os.urandom(4), "little")
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with ExitStack() as forked:
            # Code that draws from PyTorch has imported it; importing it here would take seconds.
            if (torch := sys.modules.get("torch")) is not None:
                forked.enter_context(torch.random.fork_rng(devices=[]))
                torch.manual_seed(seed)
            yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)


def task_and_network(hidden: tuple[int, ...] = HIDDEN) -> tuple[Task, Network]:
    """Return a small real task, a copy that the checked code may damage, and its base network."""
    task = load_task(DATASET)
    task = Task(task.name, task.frame.copy(), task.labels.copy(), task.split)
    recipe = TrainingRecipe(initialisation_seed=BASE_SEED, hidden=hidden)
    return task, train([recipe], TrainingData.of(task)).stack[0]


@dataclass(frozen=True, eq=False)
class Bench(ABC):
    """A method or family, and what it is tried on; every check begins with a new copy of it."""

    subject: Any
    task: Task
    network: Network

    @abstractmethod
    def checks(self) -> list[Check]:
        """Return all checks, each with how to fix what it finds."""

    @abstractmethod
    def _result(self) -> Any:
        """Return what a new copy answers."""

    @abstractmethod
    def _same(self, result: Any, how: str) -> str:
        """Require that a result is the one that was seen first."""

    def findings(self) -> list[Finding]:
        """Run all checks; if the first one fails, the others make no sense."""
        first, *others = self.checks()
        found = first.finding()
        return [found] if found.failed else [found, *(check.finding() for check in others)]

    def _fresh(self) -> Any:
        return type(self.subject).named(self.subject.name, self.subject.given_settings())

    def name(self) -> str:
        """A name that plans can use."""
        name = parsed(self.subject.name)[0]
        require(NAME.fullmatch(name) or ":" in name, name)
        require(self.subject.summary, "no summary")
        return f"{name}: {self.subject.summary}"

    def another_process(self) -> str:
        job = (packed(self.subject.name, self._fresh()), replace(self, subject=None))
        (result,) = map_in_processes(_result_elsewhere, [job], workers=2)
        return self._same(result, "in another process")

    def side_effects(self) -> str:
        """Nothing that it was given is changed, and no global generator is used."""
        before = self._state()
        self._result()
        after = self._state()
        changed = [name for name, state in before.items() if after[name] != state]
        require(not changed, f"changed: {', '.join(changed)}")
        return "inputs and global random generators are as they were"

    def _state(self) -> dict[str, str]:
        """Return hashes of all that the checked code must not change."""
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
        return {name: joblib.hash(value) for name, value in content.items()}


def _result_elsewhere(job: tuple[Payload, Bench]) -> Any:
    payload, bench = job
    return replace(bench, subject=payload.load())._result()
