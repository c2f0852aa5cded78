"""What a run publishes, its tables and its report: whole, listed, and apart from people's files.

A folder that a run has written has a list of the files that are the run's, with their checksums.
New files are written beside the old ones, and replace them when all are there; the list goes first.
So files that do not fit the list are half of a change, or damaged, and are written again.

The list of tables also says what they were made from. Tables of another run, or of another plan,
are not those of the directory, and are made again from its pieces.

The folders are directly in the run directory, and nothing in them is written or removed through a
symbolic link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from changeproof.errors import InputError
from changeproof.files import not_through_links, safe_name, write_together
from changeproof.runs.directory import TABLES
from changeproof.runs.manifest import MANIFEST, PLAN, Manifest, plan_hash
from changeproof.runs.store import Store, checksum

LIST = ".written.json"
MOST_NAMED = 3


class Origin(NamedTuple):
    """What tables are made from, as hashes: the records of the run, and the files of its pieces."""

    plan: str
    pieces: str


class Listed(NamedTuple):
    """The files of a run in a folder, by name with checksum, and whether they are outdated."""

    files: dict[str, str]
    outdated: bool = False
    damaged: bool = False
    origin: Origin | None = None


def publish(folder: Path, contents: Mapping[str, bytes], origin: Origin | None = None) -> None:
    """Replace the files of a run in a folder; names may have folders of their own in them."""
    gone = [name for name in (listed_in(folder) or Listed({})).files if name not in contents]
    _refuse_links(folder, gone)
    checksums = {name: checksum(content) for name, content in contents.items()}
    _write(folder, Listed(checksums, origin=origin), contents)
    _remove(folder, gone)


def add(folder: Path, name: str, content: bytes) -> Path:
    """Write one more file, and list it where there is a list."""
    listed = listed_in(folder)
    if listed is None or listed.damaged:
        write_together({folder / name: content}, folder.parent)
    else:
        more = listed._replace(files=listed.files | {name: checksum(content)})
        _write(folder, more, {name: content})
    return folder / name


def outdate(folder: Path) -> None:
    """Say of the files of a run that they are of an earlier state; they stay where they are."""
    if folder.is_dir():
        listed = listed_in(folder) or Listed({})
        _write(folder, listed._replace(outdated=True, origin=None))


def withdraw(folder: Path) -> None:
    """Remove the files of a run from a folder, and the folder if nothing else is in it."""
    if not folder.is_dir():
        return
    listed = listed_in(folder) or Listed({})
    _refuse_links(folder, listed.files)
    outdate(folder)
    _remove(folder, listed.files)
    if [path.name for path in folder.iterdir()] == [LIST]:
        with suppress(OSError):
            (folder / LIST).unlink()
            folder.rmdir()
    else:
        _write(folder, Listed({}, outdated=True))


def published(folder: Path, origin: Origin | None = None) -> dict[str, bytes]:
    """Return the files of a run in a folder, if all are whole and of this origin; else none."""
    listed = listed_in(folder)
    if listed is None or listed.outdated or listed.damaged or listed.origin != origin:
        return {}
    contents = {}
    for name, expected in listed.files.items():
        with suppress(OSError):
            contents[name] = (folder / name).read_bytes()
        if name not in contents or checksum(contents[name]) != expected:
            return {}
    return contents


def listed_in(folder: Path) -> Listed | None:
    try:
        content: Any = json.loads((folder / LIST).read_bytes())
        files = {_safe(name): str(expected) for name, expected in content["files"].items()}
        made_from = content.get("made_from")
        origin = None if made_from is None else Origin(made_from["plan"], made_from["pieces"])
        return Listed(files, bool(content["outdated"]), origin=origin)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Listed({}, damaged=True)


def _safe(name: str) -> str:
    """Return a name of a list, which may be a stranger's, if it leads nowhere else."""
    return "/".join(safe_name(part, "a file") for part in name.split("/"))


def _write(folder: Path, listed: Listed, contents: Mapping[str, bytes] | None = None) -> None:
    content: dict[str, Any] = {"outdated": listed.outdated, "files": listed.files}
    if listed.origin is not None:
        content["made_from"] = listed.origin._asdict()
    files = {folder / LIST: (json.dumps(content, indent=2) + "\n").encode()}
    files |= {folder / name: each for name, each in (contents or {}).items()}
    write_together(files, folder.parent)


def _refuse_links(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        not_through_links(folder / name, folder.parent)


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files, and folders in which nothing is left; what cannot be removed stays."""
    _refuse_links(folder, names)
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()
            for above in (folder / name).parents:
                if above == folder:
                    break
                above.rmdir()


def origin_of(folder: Path) -> Origin | None:
    """Return what tables of a run directory have to be made from; None if it has no plan."""
    if not (plan := plan_hash(folder)):
        return None
    with suppress(OSError):
        plan += checksum((folder / MANIFEST).read_bytes())
    store = Store(folder)
    # The name of a file says what went into the piece, and has the checksum of its bytes.
    names = "\n".join(path.relative_to(store.folder).as_posix() for path in store.files)
    return Origin(plan, hashlib.sha256(names.encode()).hexdigest())


def check_plan(folder: Path, manifest: Manifest) -> None:
    """Refuse to make tables by a plan that is not the one that the pieces were made by.

    If somebody strikes a method out of the record, tables without it would look like a whole run.
    """
    store = Store(folder)
    remedy = f"to have tables by this plan, go on with: changeproof run --out {folder}"
    listed, here = listed_in(folder / TABLES), origin_of(folder)
    there = None if listed is None else listed.origin
    if here is not None and there is not None and here.plan != there.plan:
        raise InputError(f"{folder / PLAN} is not the plan of the tables beside it; {remedy}")
    named = {piece.file_stem.rpartition(".")[0] for piece in manifest.pieces}
    others = [name for name in dict.fromkeys(map(store.label, store.files)) if name not in named]
    if others:
        more = ", …" if len(others) > MOST_NAMED else ""
        raise InputError(
            f"{folder / PLAN} does not name all that {store.folder} holds: "
            f"{', '.join(others[:MOST_NAMED])}{more}; {remedy}"
        )
