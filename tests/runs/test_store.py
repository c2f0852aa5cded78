from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof.errors import InputError
from changeproof.files import clear_unfinished, write_whole
from changeproof.runs.content import arrays_to_bytes, table_to_bytes
from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.store import Store

NETWORKS = Piece(Kind.BANK, "heloc", 2026, "abc123", family="bootstrap")
TABLE = Piece(Kind.TUNING, "heloc", 2026, "def456", method="kdtree")
HELD = table_to_bytes(pd.DataFrame({"settings": ["{}"], "chosen": [True]}))
BANK = arrays_to_bytes({"record": np.frombuffer(b'{"table": {}}', np.uint8)})


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.path(NETWORKS) is None
    store.save(NETWORKS, BANK)
    store.save(TABLE, HELD)
    assert (store.load(NETWORKS), store.load(TABLE)) == (BANK, HELD)
    other = replace(NETWORKS, fingerprint="abc12")
    assert store.path(other) is None
    with pytest.raises(FileNotFoundError, match="no finished piece 'heloc 2026 bank bootstrap'"):
        store.load(other)
    inventory = store.take_inventory([NETWORKS, other, TABLE])
    assert (inventory.done, inventory.missing) == ([NETWORKS, TABLE], [other])


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damage_is_detected_and_named(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.save(TABLE, HELD)
    path = store.path(TABLE)
    assert path is not None
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0x10
    path.write_bytes({"flip": content, "cut": content[:-7], "empty": b""}[damage])
    assert store.take_inventory([TABLE]).damaged == {TABLE: path}
    with pytest.raises(InputError, match=f"damaged file .*{path.name}; `changeproof run`"):
        store.load(TABLE)


def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(TABLE, HELD)
    path = store.path(TABLE)
    assert path is not None
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=f"cannot read .*{path.name}: Is a directory; "):
        store.load(TABLE)


def test_half_written_files_are_never_seen(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(TABLE, HELD)
    path = store.path(TABLE)
    assert path is not None
    left = path.with_name(f".unfinished-99-{path.name}")
    left.write_bytes(path.read_bytes()[:10])
    assert store.path(TABLE) == path
    clear_unfinished(tmp_path, "pieces")
    assert not left.exists()
    assert store.take_inventory([TABLE]).complete


def test_write_whole_replaces(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]
