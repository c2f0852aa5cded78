"""How many threads numerical libraries may use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the libraries imported so far compute with one thread.

    Sums then come out the same whatever the machine, and workers do not compete.
    """
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    with threadpool_limits(limits=1):
        if torch is not None:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)
