"""Counterfactuals from elsewhere: a table with one row per person instead of a search."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
import pandas as pd

from changeproof.errors import InputError
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.model import Floats

ROW_ID, REASON, PREFIX = "row_id", "reason", "counterfactual:"
NOT_IN_TABLE = "not in the table"


class GivenCounterfactuals(Method):
    """Answer from a table instead of searching.

    Parameters
    ----------
    table
        What `read_counterfactuals` returns.
    """

    name = "given"
    summary = "counterfactuals from a table that another tool made"
    searches_feasible = False

    def __init__(self, *, table: pd.DataFrame) -> None:
        lacking = [name for name in (ROW_ID, REASON) if name not in table.columns]
        if lacking:
            raise InputError(
                f"method {self.name!r} needs the table that read_counterfactuals returns; "
                f"this one lacks the columns {lacking}"
            )
        self.table = table

    def __repr__(self) -> str:
        return f"{type(self).__name__}(table=<{len(self.table)} people>)"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that the table says; the order of its rows does not count."""
        ordered = self.table.sort_values(ROW_ID)
        names = [str(name) for name in ordered.columns]
        digest = hashlib.sha256(repr((names, ordered[REASON].to_list())).encode())
        digest.update(ordered[ROW_ID].to_numpy(np.int64).tobytes())
        digest.update(np.ascontiguousarray(_rows_of(ordered)).tobytes())
        return digest.hexdigest()

    def _prepare(self) -> None:
        expected = [PREFIX + name for name in self.context.task.feature_names]
        given = [name for name in self.table.columns if str(name).startswith(PREFIX)]
        if given != expected:
            raise InputError(
                f"method {self.name!r}: the table was read for a task with other features than "
                f"{self.context.task.name!r}; read it again with this task"
            )
        self._rows = _rows_of(self.table)
        self._reasons = self.table[REASON].to_numpy(dtype=object)
        self._index = pd.Index(self.table[ROW_ID])

    def _search(self, factuals: Factuals) -> Candidates:
        places = self._index.get_indexer(pd.Index(factuals.row_ids))
        there = places >= 0
        rows = np.full_like(factuals.rows, np.nan)
        rows[there] = self._rows[places[there]]
        reasons = np.full(len(factuals), NOT_IN_TABLE, dtype=object)
        reasons[there] = self._reasons[places[there]]
        return Candidates(rows, reasons=reasons.tolist())


def _rows_of(table: pd.DataFrame) -> Floats:
    names = [name for name in table.columns if str(name).startswith(PREFIX)]
    return table[names].to_numpy(np.float64)
