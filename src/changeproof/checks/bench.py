"""What somebody's method or family is tried on, and what checks found: passed, failed or told."""

from __future__ import annotations

import os
import random
import sys
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd

from changeproof.datasets.task import PARTS, Task
from changeproof.errors import one_line
from changeproof.networks.network import Network
from changeproof.plugins import NAME, parsed
from changeproof.workers.payloads import Payload, packed
from changeproof.workers.processes import map_in_processes


class CheckFailed(Exception):  # noqa: N818 (not an error: it is what was seen)
    """Something does not keep to its contract; the message says what was seen."""


@dataclass(frozen=True)
class Finding:
    """One check: what was seen and, where it failed, how to mend it."""

    check: str
    outcome: Literal["passed", "failed", "told"]
    seen: str
    fix: str = ""

    @property
    def failed(self) -> bool:
        """Whether the contract was broken."""
        return self.outcome == "failed"


@dataclass(frozen=True)
class Check:
    """A check by name: a function that says what it saw, or raises."""

    name: str
    look: Callable[[], str]
    fix: str
    judged: bool = True


def examine(checks: Sequence[Check]) -> list[Finding]:
    """Do checks one after the other; when the first one fails the others make no sense."""
    first, *others = checks
    found = _finding(first)
    return [found] if found.failed else [found, *map(_finding, others)]


def findings_table(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return findings as a table to print."""
    return pd.DataFrame(list(findings), columns=["check", "outcome", "seen"])


def demand(condition: Any, seen: str) -> None:
    """Fail the check that is being done unless a condition holds."""
    if not condition:
        raise CheckFailed(seen)


@contextmanager
def fresh_generators() -> Iterator[None]:
    """Bring the global random generators into a state of their own, and back again."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    seed = int.from_bytes(os.urandom(4), "little")
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with ExitStack() as forked:
            # Who draws from PyTorch has imported it; to do so for nobody takes seconds.
            if (torch := sys.modules.get("torch")) is not None:
                forked.enter_context(torch.random.fork_rng(devices=[]))
                torch.manual_seed(seed)
            yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)


def _finding(check: Check) -> Finding:
    try:
        with warnings.catch_warnings(), fresh_generators():
            warnings.simplefilter("ignore")
            seen = check.look()
    except CheckFailed as failed:
        return Finding(check.name, "failed", str(failed), check.fix)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return Finding(check.name, "failed", f"{one_line(error)} ({where})", check.fix)
    return Finding(check.name, "passed" if check.judged else "told", seen)


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
