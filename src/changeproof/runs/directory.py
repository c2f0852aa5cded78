"""The run directory: whose it is, who works in it, and what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from changeproof.errors import BusyError, InputError
from changeproof.files import write_whole
from changeproof.runs.plan import Plan

PLAN = "plan.json"
LOCK = ".lock"
FORMAT = 1


def check_free(folder: Path) -> None:
    """Refuse a path that is not a run directory and not free to become one."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output directory {folder} is a file; expected a directory")
    if (folder / PLAN).exists():
        read_plan(folder)
    elif folder.is_dir() and any(entry.name != LOCK for entry in folder.iterdir()):
        raise InputError(
            f"output directory {folder} is not empty and holds no changeproof run ({PLAN}); "
            "expected a new, an empty or a run directory"
        )


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a run directory, so that no other run works in it at the same time.

    The system lets go of the lock when the process ends, however it ends.
    """
    check_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f"another run is at work in {folder}; wait for it or name another"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write to output directory {folder}: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def write_plan(folder: Path, plan: Plan) -> None:
    """Record what was asked."""
    content = {"format": FORMAT, "plan": plan.model_dump(mode="json")}
    write_whole(folder / PLAN, (json.dumps(content, indent=2) + "\n").encode())


def read_plan(folder: Path) -> Plan:
    """Return what was asked of a run directory."""
    path = folder / PLAN
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} is not a run directory: it has no {PLAN}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not a plan of this version of changeproof")
    return Plan.checked(content["plan"], where=str(path), record=True)
