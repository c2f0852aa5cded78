"""The record of a plan in a directory that holds nothing else of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from changeproof import Plan
from changeproof.runs.manifest import FORMAT, PLAN


def write_plan(folder: Path, plan: Plan, tasks: Mapping[str, str] | None = None) -> None:
    content = {"format": FORMAT, "plan": plan.model_dump(mode="json"), "tasks": dict(tasks or {})}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLAN).write_text(json.dumps(content, indent=2) + "\n")
