"""What a check found: passed, failed or merely told; and how to mend it."""

from __future__ import annotations

import hashlib
import os
import random
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from changeproof.datasets.task import PARTS, Task
from changeproof.errors import one_line
from changeproof.networks.network import Network

Outcome = Literal["passed", "failed", "told"]


class CheckFailed(Exception):  # noqa: N818 (not an error: it is what was seen)
    """Something does not keep to its contract; the message says what was seen."""


@dataclass(frozen=True)
class Finding:
    """One check: what was seen and, where it failed, how to mend it."""

    check: str
    outcome: Outcome
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
    findings = []
    for check in checks:
        findings.append(_finding(check))
        if findings[0].failed:
            break
    return findings


def findings_table(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return findings as a table to print."""
    rows = [(finding.check, finding.outcome, finding.seen) for finding in findings]
    return pd.DataFrame(rows, columns=["check", "outcome", "seen"])


def demand(condition: Any, seen: str) -> None:
    """Fail the check that is being done unless a condition holds."""
    if not condition:
        raise CheckFailed(seen)


def state_of(task: Task, network: Network, *arrays: Any) -> dict[str, str]:
    """Return hashes of all that a stranger's code has to leave alone, by what it is."""
    parts = [getattr(task.split, part) for part in PARTS]
    content: dict[str, Sequence[Any]] = {
        "the task": [task.frame.to_numpy(), task.labels, *parts, *map(task.rows, PARTS)],
        "the standardised rows of the task": [task.mean, task.scale, *task.training_range],
        "the base network": [*network.weights, *network.biases],
        "what was asked": arrays,
    }
    states = {
        name: hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in kept)).hexdigest()
        for name, kept in content.items()
    }
    # Not torch's: building a module draws from it, though nothing may depend on the draw.
    generators = {
        "numpy's global random generator": np.random.get_state(),  # noqa: NPY002
        "Python's global random generator": random.getstate(),
    }
    return states | {name: repr(state) for name, state in generators.items()}


@contextmanager
def fresh_generators() -> Iterator[None]:
    """Bring the global random generators into a state of their own, and back again."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    seed = int.from_bytes(os.urandom(4), "little")
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with _fresh_pytorch(seed) if find_spec("torch") is not None else nullcontext():
            yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)


@contextmanager
def _fresh_pytorch(seed: int) -> Iterator[None]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


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
