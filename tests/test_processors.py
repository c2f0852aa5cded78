"""Runs give the same bytes whatever processor they run on: the quick preset, and advice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processors import (
    HOST,
    assembly,
    differences,
    kernels_are_the_hosts,
    run_as,
    targets,
)
from changeproof import Plan, Results, run

OTHERS = [name for name in targets() if name != HOST] or [HOST]
# One has everything compiled for it, which takes a minute; the others are those whose kernels are
# the host's. `python -m benchmarks.processors` tries all.
TARGETS = [
    name
    for place, name in enumerate(OTHERS)
    if place == 0 or kernels_are_the_hosts(targets()[name])
]
FEWER: dict[str, Any] = {"methods": ["kdtree", "wachter"], "limit": False}
LEAST_PIECES = 50
# Every method among feasible rows of a mixed table; what is tuned takes a setting instead.
ADVICE = {
    "datasets": ["german-credit"],
    "methods": [
        "apds", "betarce", "kdtree", "rbr", "rnce", "roar-lime(penalty=0.05)", "robx-balanced",
        "wachter(penalty=0.1,learning_rate=0.01)",
    ],
    "families": [
        "bootstrap(replicates=3)", "decision-threshold", "recalibration(replicates=6)",
        "weight-rounding", "magnitude-pruning", "measurement-error(replicates=3)",
    ],
    "base_seeds": [2026],
    "factuals": 8,
}  # fmt: skip


@pytest.fixture
def kernels(target: str, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where kernels for a target stay from one day to the next; new code has them made anew.

    Every target has a folder of its own, so that nobody takes another's for theirs.
    """
    if not hasattr(request.config, "cache"):
        return tmp_path / "kernels"
    settings = json.dumps(targets()[target], sort_keys=True).encode()
    return request.config.cache.mkdir("kernels") / hashlib.sha256(settings).hexdigest()[:16]


@pytest.mark.parametrize("target", TARGETS)
def test_every_piece_is_the_same_on_another_processor(
    target: str,
    kernels: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    first = target == TARGETS[0]
    runs: dict[str, tuple[str, dict[str, Any]]] = {"run": ("quick", FEWER)}
    if first:
        runs = {"run": ("quick", {}), "there": ("recourse", ADVICE)}
    run_as(target, runs, tmp_path, jobs=1, publish=False, kernels=kernels)
    # Asked for now: another test worker had the time to compute it meanwhile.
    quick_run: Results = request.getfixturevalue("quick_run")
    found = differences(quick_run.folder, tmp_path / "run")
    asked = [name for name in found if first or (tmp_path / "run" / name).exists()]
    assert asked == []
    assert len(list((tmp_path / "run").glob("pieces/**/*.*"))) >= LEAST_PIECES
    if first:
        run(Plan.preset("recourse", **ADVICE), tmp_path / "here", jobs=1, publish=False)
        assert differences(tmp_path / "here", tmp_path / "there") == []
    less = f"{target} ({len(FEWER['methods'])} methods)"
    record_property("target", target if first else less)


def test_a_piece_that_differs_is_named(tmp_path: Path) -> None:
    for folder, content in (("one", b"1"), ("other", b"2")):
        for name in ("same", "only here" if folder == "one" else "only there", "changed"):
            path = tmp_path / folder / "pieces" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if name == "changed" else b"0")
    found = differences(tmp_path / "one", tmp_path / "other")
    assert found == ["pieces/changed", "pieces/only here", "pieces/only there"]


@pytest.mark.skipif(TARGETS == [HOST], reason="not an x86 processor with AVX2")
def test_vectors_of_another_width_are_other_kernels() -> None:
    settings = targets()[TARGETS[0]]
    narrow = assembly(settings["NUMBA_CPU_NAME"], settings["NUMBA_CPU_FEATURES"])
    assert "xmm" in narrow and "ymm" not in narrow
    host = settings["NUMBA_CPU_NAME"], settings["NUMBA_CPU_FEATURES"].replace("+prefer-128-bit", "")
    assert "ymm" in assembly(host[0], host[1].rstrip(","))
    assert not kernels_are_the_hosts(settings)
    assert kernels_are_the_hosts(targets()[HOST])
