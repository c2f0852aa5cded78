"""Runs give the same bytes whatever processor they run on: the quick preset, and advice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processors import HOST, differences, run_as, targets
from changeproof import Plan, Results, run

TARGETS = [name for name in targets() if name != HOST] or [HOST]
# Every method among realisable rows of a mixed table; what is tuned takes a setting instead.
ADVICE = {
    "datasets": ["german-credit"],
    "methods": [
        "apds", "betarce", "kdtree", "rbr", "rnce", "roar-lime(penalty=0.05)", "robx-balanced",
        "wachter(penalty=0.1,learning_rate=0.01)",
    ],
    "families": ["bootstrap(replicates=3)"],
    "base_seeds": [2026],
    "factuals": 8,
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_every_piece_is_the_same_on_another_processor(
    target: str,
    quick_run: Results,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    run_as(target, "quick", tmp_path, jobs=1, publish=False)
    assert differences(quick_run.folder, tmp_path / "run") == []
    if target == TARGETS[0]:
        run(Plan.preset("recourse", **ADVICE), tmp_path / "here", jobs=1, publish=False)
        run_as(target, "recourse", tmp_path, jobs=1, publish=False, name="there", **ADVICE)
        assert differences(tmp_path / "here", tmp_path / "there") == []
    record_property("target", target)


def test_a_piece_that_differs_is_named(tmp_path: Path) -> None:
    for folder, content in (("one", b"1"), ("other", b"2")):
        for name in ("same", "only here" if folder == "one" else "only there", "changed"):
            path = tmp_path / folder / "pieces" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if name == "changed" else b"0")
    found = differences(tmp_path / "one", tmp_path / "other")
    assert found == ["pieces/changed", "pieces/only here", "pieces/only there"]
