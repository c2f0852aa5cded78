"""This interpreter: its threads, its garbage collector, its search path, its processor."""

from __future__ import annotations

import gc
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

# How many new objects trigger a garbage collection.
OBJECTS = 50_000
# For the environment of new interpreters: they would look for modules in the working directory
# first, and that may be a stranger's run directory.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def collect_garbage_rarely() -> None:
    """Collect garbage less often than usual, in a process that is ours alone.

    What is imported stays, and arrays are freed without the collector. It would take up to a
    fourth of a short command.
    """
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage where hundreds of thousands of objects are made that all stay."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the numerical libraries imported so far compute with one thread.

    Sums then come out the same whatever the machine, and workers do not compete.
    """
    from threadpoolctl import threadpool_limits

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


@cache
def processor_name() -> str:
    """Return what the processor is called, or else its architecture."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model"):
                return value.strip()
    return platform.processor() or platform.machine()
