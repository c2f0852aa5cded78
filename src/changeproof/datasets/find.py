"""Tasks by the names that plans use."""

from __future__ import annotations

from changeproof.datasets.builtin import load_task
from changeproof.datasets.task import Task


def find_task(reference: str) -> Task:
    """Return the task of a built-in name."""
    return load_task(reference)
