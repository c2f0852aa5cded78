from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import Network, NetworkStack
from changeproof.files import write_whole
from changeproof.runs.piece import Kind, Piece, Subject
from changeproof.runs.store import DamagedPieceError, Store

HELOC = Subject("heloc", "heloc")
NETWORKS = Piece(Kind.BANK, HELOC, 2026, "bootstrap", "abc123")
TABLE = Piece(Kind.SURVIVAL, HELOC, 2026, "kdtree", "def456")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not store.has(NETWORKS)
    stack = NetworkStack.of([Network.initialised(4, hidden, 0) for hidden in [(3,), (2, 2)]])
    store.save_networks(NETWORKS, stack, {"epochs": [1, 2], "level": "10%"})
    loaded, record = store.load_networks(NETWORKS)
    rows = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_array_equal(loaded.logits(rows), stack.logits(rows))
    assert record == {"epochs": [1, 2], "level": "10%"}
    table = pd.DataFrame({"row_id": [3, 1], "survived": [b"\x00\xff", b"\x01\x02"]})
    store.save_table(TABLE, table)
    pd.testing.assert_frame_equal(store.load_table(TABLE), table)
    assert store.has(NETWORKS)
    assert store.has(TABLE)
    assert not store.has(Piece(Kind.BANK, HELOC, 2026, "bootstrap", "abc12"))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damage_is_detected_and_named(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.save_table(TABLE, pd.DataFrame({"a": np.arange(100)}))
    path = store.path(TABLE)
    assert path is not None
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0x10
    path.write_bytes({"flip": content, "cut": content[:-7], "empty": b""}[damage])
    for use in (store.has, store.load_table):
        with pytest.raises(DamagedPieceError, match=path.name):
            use(TABLE)


def test_half_written_files_are_never_seen(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save_table(TABLE, pd.DataFrame({"a": [1]}))
    path = store.path(TABLE)
    assert path is not None
    left = path.with_name(f".unfinished-99-{path.name}")
    left.write_bytes(path.read_bytes()[:10])
    assert store.path(TABLE) == path
    store.clear_unfinished()
    assert not left.exists()
    assert store.has(TABLE)


def test_write_whole_replaces(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]
