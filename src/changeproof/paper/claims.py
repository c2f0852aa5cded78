"""The numbers in the paper's text, each checked against the tables of a run."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from changeproof.paper.lines import PUBLISHED, TEXT, Line, Rule
from changeproof.paper.tables import published_families

# An entry of claims.toml: what the text says of some methods, by dataset.
Claim = Mapping[str, Any]
# What is compared: metric, rule, published value, ours (None where the run has none), our sd.
Compared = tuple[str, Rule, float, float | None, float]
EXTREMES = ("lowest", "highest")


def claim_lines(tables: Mapping[str, pd.DataFrame]) -> Iterator[Line]:
    """Yield what the text says of each dataset and method beside what the run has."""
    claims = tomllib.loads((PUBLISHED / "claims.toml").read_text(encoding="utf-8"))
    for kind, (name, compared) in KINDS.items():
        table = tables.get(name, pd.DataFrame(columns=["dataset", "method", "name"]))
        for claim in claims[kind]:
            for dataset, method in product(claim["published"], claim["methods"]):
                rows = table[(table["dataset"] == dataset) & (table["method"] == method)]
                published = claim["published"][dataset]
                for metric, rule, theirs, ours, sd in compared(claim, rows, published):
                    suffix = "" if rule is Rule.NEAR else f" ({rule})"
                    yield Line(
                        TEXT, dataset, method, metric + suffix, theirs,
                        ours=ours, ours_sd=sd, rule=rule, tolerance=claim["tolerance"],
                    )  # fmt: skip


def _robustness(claim: Claim, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
    """Compare robustness under one family, or the lowest or highest of all families.

    Ours is None where a family is missing, and NaN where one is undefined.
    """
    family, rule = claim["family"], Rule(claim["rule"])
    metric, needed = f"empirical_robustness under {family}", {family}
    if family in EXTREMES:
        metric, needed = f"{family} empirical_robustness of all families", published_families()
    rows = rows[rows["family"].isin(needed)].set_index("empirical_robustness_mean")
    ours, sd = None if len(rows) < len(needed) else math.nan, math.nan
    if ours is not None and rows.index.notna().all():
        ours = float(rows.index.min() if family == "lowest" else rows.index.max())
        sd = float(rows.loc[[ours], "empirical_robustness_std"].iloc[0])
    yield metric, rule, published, ours, sd


def _certified(_: Claim, rows: pd.DataFrame, published: float) -> Iterator[Compared]:
    """Compare the share of requests whose counterfactual is certified."""
    ours, sd = None, math.nan
    if not rows.empty:
        ours, sd = map(float, rows[["certified_share_mean", "certified_share_std"]].iloc[0])
    yield "certified_share", Rule.NEAR, published, ours, sd


def _range(claim: Claim, rows: pd.DataFrame, published: list[float]) -> Iterator[Compared]:
    """Compare both ends of the range over base networks of something a method reports."""
    mine = rows[rows["name"] == claim["name"]]
    lowest = None if mine.empty else float(mine["min"].min(skipna=False))
    highest = None if mine.empty else float(mine["max"].max(skipna=False))
    yield claim["name"], Rule.AT_LEAST, published[0], lowest, math.nan
    yield claim["name"], Rule.AT_MOST, published[1], highest, math.nan


# The kinds of claims: the table that has the run's numbers, and how they are compared.
KINDS: dict[str, tuple[str, Callable[[Claim, pd.DataFrame, Any], Iterator[Compared]]]] = {
    "robustness": ("family_results", _robustness),
    "certified": ("certified", _certified),
    "diagnostic": ("diagnostics", _range),
}
