"""The store of a run: one file per finished piece, named by fingerprint and checksum.

Files appear by rename, whole or not at all. The checksum in the name is that of the bytes in
the file, so a damaged file is known by reading it. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors.numpy

from changeproof.files import TEMPORARY, write_whole
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.runs.piece import Piece

PIECES = "pieces"


class DamagedPieceError(RuntimeError):
    """A stored file does not hold the bytes that its name promises."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"damaged file {path}")
        self.path = path


class Store:
    """Finished pieces in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / PIECES

    def path(self, piece: Piece) -> Path | None:
        """Return the file of a piece, if there is one."""
        stem = self.folder / piece.file_stem
        if not stem.parent.is_dir():
            return None
        ending = f".{piece.suffix}"
        found = [
            entry
            for entry in stem.parent.iterdir()
            if entry.name.startswith(f"{stem.name}.") and entry.name.endswith(ending)
        ]
        return min(found) if found else None

    def has(self, piece: Piece) -> bool:
        """Return whether a piece is there and whole; raise `DamagedPieceError` if damaged."""
        path = self.path(piece)
        if path is None:
            return False
        _read(path)
        return True

    def save_networks(self, piece: Piece, stack: NetworkStack, record: Mapping[str, Any]) -> None:
        """Keep networks, with a record that JSON can hold."""
        tensors = stack.to_tensors()
        self._save(piece, safetensors.numpy.save(tensors, {"record": json.dumps(record)}))

    def load_networks(self, piece: Piece) -> tuple[NetworkStack, dict[str, Any]]:
        """Return the networks of a piece and their record."""
        content = self._load(piece)
        stack = NetworkStack.from_tensors(safetensors.numpy.load(content))
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        record: dict[str, Any] = json.loads(header["__metadata__"]["record"])
        return stack, record

    def load_network(self, piece: Piece) -> Network:
        """Return the only network of a piece."""
        return self.load_networks(piece)[0][0]

    def save_table(self, piece: Piece, table: pd.DataFrame) -> None:
        """Keep a table."""
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        self._save(piece, buffer.getvalue())

    def load_table(self, piece: Piece) -> pd.DataFrame:
        """Return the table of a piece."""
        return pd.read_parquet(io.BytesIO(self._load(piece)))

    def clear_unfinished(self) -> None:
        """Remove what a killed run left half-written."""
        for path in self.folder.rglob(f"{TEMPORARY}*"):
            path.unlink(missing_ok=True)

    def _save(self, piece: Piece, content: bytes) -> None:
        name = f"{piece.file_stem}.{_checksum(content)}.{piece.suffix}"
        write_whole(self.folder / name, content)

    def _load(self, piece: Piece) -> bytes:
        path = self.path(piece)
        if path is None:
            raise FileNotFoundError(f"no finished piece {piece.label!r} in {self.folder}")
        return _read(path)


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffixes[-2] != f".{_checksum(content)}":
        raise DamagedPieceError(path)
    return content


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
