from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from published_run import write_run


@pytest.fixture
def fabricate(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a run directory as published, after some edits."""

    def fabricate(*edit: Any, **plan: object) -> Path:
        return write_run(tmp_path / "run", *edit, **plan)

    return fabricate
