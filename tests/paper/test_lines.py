from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from changeproof import compare_with_paper
from changeproof.paper.lines import Line, Rule
from published_run import outside, setting

Fabricate = Callable[..., Path]


def test_undefined_is_never_within(fabricate: Fabricate) -> None:
    comparison = compare_with_paper(
        fabricate(setting("full_results", "distance_mean", math.nan, dataset="heloc", method="rbr"))
    )
    assert outside(comparison) == [("full_results", "heloc", "rbr", "distance")]
    for rule in set(Rule) - {Rule.SHOWN}:
        line = Line("t", "d", "m", "x", 1.0, ours=math.nan, rule=rule, tolerance=math.inf)
        assert line.within is False
