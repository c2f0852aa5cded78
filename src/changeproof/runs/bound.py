"""Tables are bound to the run that they were made from: its plan, and its pieces."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from changeproof.errors import InputError
from changeproof.runs.directory import PLAN, TABLES
from changeproof.runs.published import Origin, listed_in
from changeproof.runs.results import StoredResults
from changeproof.runs.store import Store

MOST_NAMED = 3


def origin_of(folder: Path) -> Origin | None:
    """Return what tables of a run directory have to be made from; None if it has no plan."""
    try:
        record = json.dumps(json.loads((folder / PLAN).read_bytes()), sort_keys=True)
    except (OSError, ValueError, RecursionError):
        return None
    store = Store(folder)
    # The name of a file says what went into the piece, and has the checksum of its bytes.
    names = "\n".join(path.relative_to(store.folder).as_posix() for path in store.files)
    return Origin(*(hashlib.sha256(text.encode()).hexdigest() for text in (record, names)))


def check_plan(results: StoredResults) -> None:
    """Refuse to make tables by a plan that is not the one that the pieces were made by.

    If somebody strikes a method out of the record, tables without it would look like a whole run.
    """
    folder, store = results.folder, Store(results.folder)
    remedy = f"to have tables by this plan, go on with: changeproof run --out {folder}"
    listed, here = listed_in(folder / TABLES), origin_of(folder)
    there = None if listed is None else listed.origin
    if here is not None and there is not None and here.plan != there.plan:
        raise InputError(f"{folder / PLAN} is not the plan of the tables beside it; {remedy}")
    named = {piece.file_stem.rpartition(".")[0] for piece in results.run.pieces}
    held = dict.fromkeys(store.label(path) for path in store.files)
    others = [name for name in held if name not in named]
    if others:
        more = ", …" if len(others) > MOST_NAMED else ""
        raise InputError(
            f"{folder / PLAN} does not name all that {store.folder} holds: "
            f"{', '.join(others[:MOST_NAMED])}{more}; {remedy}"
        )
