"""What a check found: passed, failed or merely told; and how to mend it."""

from __future__ import annotations

import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from changeproof.errors import one_line


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
