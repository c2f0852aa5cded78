"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

TEMPORARY = ".unfinished-"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    temporary.write_bytes(content)
    temporary.replace(path)
