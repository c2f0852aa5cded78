"""Placeholder until the branch with given counterfactuals is merged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from changeproof.datasets.task import Task
from changeproof.methods.method import Candidates, Factuals, Method


class GivenCounterfactuals(Method):
    """Placeholder."""

    name = "given"
    summary = ""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def _search(self, factuals: Factuals) -> Candidates:
        raise NotImplementedError


def read_counterfactuals(path: Path, task: Task) -> pd.DataFrame:
    """Placeholder."""
    raise NotImplementedError
