"""The store of a run: one file per finished piece, named by fingerprint and checksum.

Files appear by rename, whole or not at all. The checksum in the name is that of the bytes in
the file, so a damaged file is known by reading it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq
import safetensors.numpy

from changeproof.errors import InputError, one_line
from changeproof.files import TEMPORARY, check_table_size, not_through_links, write_whole
from changeproof.runs.pieces import FORMS, RECORD, Kind, Piece

PIECES = "pieces"
T = TypeVar("T")
AGAIN = "`changeproof run` with the same plan computes it again"


@dataclass(frozen=True)
class Inventory:
    """What of a run is done, what is damaged and what is missing."""

    done: list[Piece] = field(default_factory=list)
    damaged: dict[Piece, Path] = field(default_factory=dict)
    missing: list[Piece] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return not self.damaged and not self.missing


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / PIECES
        self._listed: dict[Path, dict[str, Path]] = {}

    def path(self, piece: Piece) -> Path | None:
        """Return the file of a piece, if there is one."""
        stem = self.folder / piece.file_stem
        name = f"{stem.name}.{FORMS[piece.kind].suffix}"
        found = self._listing(stem.parent).get(name)
        if found is None or not found.exists():
            self._listed.pop(stem.parent, None)
            found = self._listing(stem.parent).get(name)
        return found

    def take_inventory(self, pieces: Iterable[Piece]) -> Inventory:
        inventory = Inventory()
        for piece in pieces:
            if (path := self.path(piece)) is None:
                inventory.missing.append(piece)
            elif is_whole(path, piece.kind):
                inventory.done.append(piece)
            else:
                inventory.damaged[piece] = path
        return inventory

    def load(self, piece: Piece) -> bytes:
        path = self.path(piece)
        if path is None:
            raise FileNotFoundError(f"no finished piece {piece.label!r} in {self.folder}")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; {AGAIN}") from None
        if path.suffixes[-2] != f".{checksum(content)}":
            raise InputError(f"damaged file {path}; {AGAIN}")
        return content

    def read(self, piece: Piece, parse: Callable[[bytes], T]) -> T:
        """Return what the bytes of a piece say, or refuse bytes that are something else."""
        content = self.load(piece)
        try:
            return parse(content)
        except Exception as error:  # whatever libraries say of what is not theirs
            raise InputError(
                f"{self.path(piece)} does not hold what its name says ({one_line(error)}); remove "
                f"it, and {AGAIN}"
            ) from None

    def save(self, piece: Piece, content: bytes) -> None:
        stem, suffix = self.folder / piece.file_stem, FORMS[piece.kind].suffix
        path = stem.with_name(f"{stem.name}.{checksum(content)}.{suffix}")
        write_whole(path, content, self.folder.parent)
        # Not listed again: on a network file system that may be an old list.
        self._listing(path.parent)[f"{stem.name}.{suffix}"] = path

    def check_writable(self, pieces: Iterable[Piece]) -> None:
        """Refuse to begin with pieces that could not be kept, as a link is in their way."""
        for folder in dict.fromkeys((self.folder / piece.file_stem).parent for piece in pieces):
            not_through_links(folder, self.folder.parent)

    def remove_damaged(self, path: Path) -> None:
        """Make room for a piece whose file is damaged; what is no file is nobody's to remove."""
        not_through_links(path, self.folder.parent)
        if path.is_dir():
            raise InputError(f"{path} is a directory where a piece should be; move it away")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot remove the damaged file {path}: {error.strerror}") from None

    @property
    def files(self) -> list[Path]:
        """Every file that is kept for a piece, of this plan or another."""
        found = self.folder.glob("*/*/*.*.*.*")
        return sorted(path for path in found if not path.name.startswith(TEMPORARY))

    def label(self, path: Path) -> str:
        """Return what a file holds, without fingerprint and checksum: dataset/seed/kind-whose."""
        return path.relative_to(self.folder).as_posix().rsplit(".", 3)[0]

    def _listing(self, folder: Path) -> dict[str, Path]:
        """Return the files of a folder by name without checksum, listed once."""
        if folder not in self._listed:
            self._listed[folder] = {}
            paths = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
            for path in paths:
                stem, _, suffix = path.name.rpartition(".")
                self._listed[folder][f"{stem.rpartition('.')[0]}.{suffix}"] = path
        return self._listed[folder]


def is_whole(path: Path, kind: Kind) -> bool:
    """Say whether a file can be read and holds the bytes that its name promises."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return path.suffixes[-2] == f".{checksum(content)}" and holds(kind, content)


def holds(kind: Kind, content: bytes) -> bool:
    """Say whether bytes can be a piece of a kind; checksums do not tell what somebody has made."""
    form = FORMS[kind]
    try:
        if form.table:
            about = pq.read_metadata(io.BytesIO(content))
            check_table_size(about.num_rows, about.num_columns, "this kept table")
            return form.holds <= set(about.schema.names)
        arrays = safetensors.numpy.load(content)
        if not form.holds <= set(arrays):
            return False
        return not form.record or form.record in json.loads(arrays[RECORD].tobytes())
    except Exception:  # whatever a library says of bytes that are something else
        return False


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
