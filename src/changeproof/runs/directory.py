"""The run directory: whose it is, who works in it, and what going on with it may import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from changeproof.errors import BusyError, InputError
from changeproof.files import TEMPORARY, not_through_links
from changeproof.plugins import importing_only, parsed
from changeproof.runs.manifest import (
    DATA,
    KEPT_TABLE,
    KEPT_TASK,
    MANIFEST,
    PLAN,
    read_plan,
    read_record,
)
from changeproof.runs.plan import from_elsewhere
from changeproof.runs.store import PIECES
from changeproof.runs.timings import LOG

LOCK, TABLES, REPORT = ".lock", "tables", "report"
# Where a run writes files, in its directory.
FOLDERS = (PIECES, DATA, TABLES, REPORT)
FLAG = "--import-its-code"


def check_free(folder: Path) -> None:
    """Refuse a path that is not a run directory and not free to become one."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output directory {folder} is a file; expected a directory")
    if (folder / PLAN).exists():
        read_record(folder)
    elif folder.is_dir() and not _only_ours(folder):
        raise InputError(
            f"output directory {folder} is not empty and holds no changeproof run ({PLAN}); "
            "expected a new, an empty or a run directory"
        )


def _only_ours(folder: Path) -> bool:
    """Say whether all in a directory without a plan is what a run leaves that was cut short.

    Its plan may be lost, or it was killed before it was written.
    """
    there = {entry.name for entry in folder.iterdir() if not entry.name.startswith(TEMPORARY)}
    kept = [entry for entry in (folder / DATA).glob("**/*") if entry.is_file()]
    endings = (KEPT_TASK, KEPT_TABLE)
    return (
        there <= {LOCK, LOG, MANIFEST, *FOLDERS}
        and all(e.name.startswith(TEMPORARY) or e.name.endswith(endings) for e in kept)
        # Others have folders of these names, too.
        and (PIECES in there or there <= {LOCK, DATA})
    )


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a run directory, so that no other run works in it at the same time.

    The system lets go of the lock when the process ends, however it ends.
    """
    check_free(folder)
    for name in (PLAN, MANIFEST, LOCK, LOG, *FOLDERS):
        not_through_links(folder / name, folder)
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


@contextmanager
def without_its_code(folder: Path, given: Mapping[str, Any]) -> Iterator[None]:
    """Import nothing for a while that only the plan of a directory names.

    What the fields of the plan name that somebody has `given` anew may be imported.
    """
    named = from_elsewhere(read_plan(folder))
    every = [name for field, names in named.items() if field not in given for name in names]
    if every:
        raise InputError(
            f"continuing {folder} would import {', '.join(dict.fromkeys(every))}, which only its "
            f"{PLAN} names. If you trust it, pass {FLAG}, or name it again"
        )
    paths = [parsed(name)[0] for key in ("methods", "families") for name in given.get(key, ())]
    with importing_only(paths, f"only {folder / PLAN} names it. If you trust it, pass {FLAG}"):
        yield
