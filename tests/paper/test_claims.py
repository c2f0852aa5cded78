from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from changeproof import compare_with_paper
from changeproof.paper.comparison import TEXT
from published_run import CERTIFIED, outside, setting

Fabricate = Callable[..., Path]


@pytest.mark.parametrize(
    ("method", "family", "dataset", "value", "failed"),
    [
        ("apds", "new-initialization", "breast-cancer", 13.0, 0),
        ("apds", "new-initialization", "breast-cancer", 20.6, 0),  # explained: 9.6 points
        ("apds", "new-initialization", "breast-cancer", 20.7, 1),
        ("apds", "parameter-perturbation", "diabetes", 94.05, 0),
        ("apds", "parameter-perturbation", "diabetes", 94.0, 1),
        ("rbr", "bootstrap", "breast-cancer", 64.0, 0),
        ("rbr", "bootstrap", "breast-cancer", 64.1, 2),  # the family and the lowest of all
        ("rbr", "label-update", "breast-cancer", 59.9, 1),  # another family is the lowest
        ("wachter", "bootstrap", "breast-cancer", 98.1, 1),
        ("betarce", "label-update", "heloc", 91.01, 0),
        ("betarce", "label-update", "heloc", 91.0, 1),
        ("rnce", "architecture", "wine-quality", 94.9, 1),
        ("robx-robust", "bootstrap", "diabetes", 99.4, 1),
        ("robx-balanced", "bootstrap", "diabetes", math.nan, 1),
    ],
)
def test_claims_about_robustness(
    fabricate: Fabricate, method: str, family: str, dataset: str, value: float, failed: int
) -> None:
    where = {"method": method, "family": family, "dataset": dataset}
    folder = fabricate(setting("family_results", "empirical_robustness_mean", value, **where))
    comparison = compare_with_paper(folder)
    assert len(outside(comparison)) == failed
    assert all(key[:3] == (TEXT, dataset, method) for key in outside(comparison))


def test_thresholds_are_claimed_for_every_dataset(fabricate: Fabricate) -> None:
    claimed: dict[str, dict[str, float]] = {}
    for line in compare_with_paper(fabricate()).lines:
        if line.metric == "lowest empirical_robustness of all families (above)":
            claimed.setdefault(line.method_or_family, {})[line.dataset] = line.published
    expected = {"betarce": 91.0, "rnce": 95.0, "robx-balanced": 99.4, "robx-robust": 99.4}
    assert claimed == {name: dict.fromkeys(CERTIFIED, value) for name, value in expected.items()}


@pytest.mark.parametrize(
    ("method", "column", "value", "failed"),
    [
        ("robx-robust", "min", 0.9115, []),
        ("robx-robust", "min", 0.9114, ["threshold (at least)"]),
        ("robx-robust", "max", 0.9736, ["threshold (at most)"]),
        ("apds", "max", 0.0098025, []),
        ("apds", "max", 0.0098026, ["radius (at most)"]),
        ("apds", "min", math.nan, ["radius (at least)"]),
    ],
)
def test_every_base_network_is_inside_the_published_range(
    fabricate: Fabricate, method: str, column: str, value: float, failed: list[str]
) -> None:
    where = {"dataset": "diabetes", "method": method, "base_seed": 2027}
    comparison = compare_with_paper(fabricate(setting("diagnostics", column, value, **where)))
    assert [key[3] for key in outside(comparison)] == failed
