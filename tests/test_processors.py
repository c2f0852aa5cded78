"""The quick preset gives the same bytes whatever processor it runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processors import HOST, differences, run_as, targets
from changeproof import Results


@pytest.mark.parametrize("target", [name for name in targets() if name != HOST] or [HOST])
def test_every_piece_is_the_same_on_another_processor(
    target: str,
    quick_run: Results,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    run_as(target, "quick", tmp_path, jobs=1, publish=False)
    assert differences(quick_run.folder, tmp_path / "run") == []
    record_property("target", target)


def test_a_piece_that_differs_is_named(tmp_path: Path) -> None:
    for run, content in (("one", b"1"), ("other", b"2")):
        for name in ("same", "only here" if run == "one" else "only there", "changed"):
            path = tmp_path / run / "pieces" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if name == "changed" else b"0")
    found = differences(tmp_path / "one", tmp_path / "other")
    assert found == ["pieces/changed", "pieces/only here", "pieces/only there"]
