"""Runs with their tables, but without page and print, which take longer than small runs do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from changeproof import Plan, Results, run
from changeproof.tables.registry import write_tables


def tabled(plan: Plan, out: Path, **more: Any) -> Results:
    """Run a plan, and write the tables that publishing would."""
    results = run(plan, out, publish=False, **more)
    write_tables(results)
    return results
