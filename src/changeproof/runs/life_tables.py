"""The tables about how long advice lasts, for plans with sequences of updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from changeproof.evaluation.life import Life, Lives, life_of
from changeproof.runs.results import StoredResults

PARTS = ("mean", "low", "high")


def life_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the share that lasts by update, and what sums it up; nothing without sequences.

    Shares are in percent, of advice that the base model accepts. Updates count from 1. A number
    of updates beyond the last is infinite; what is not known is empty.
    """
    if not any(family.sequence for family in results.run.families.values()):
        return {}
    curves: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for where, groups in _lives(results):
        life = life_of(groups)
        counts = {"people": life.people, "futures": life.futures}
        curves += _curves(where, life, counts)
        sums.append(where | _summary(life) | counts | {"base_models": len(groups)})
    return {"life": pd.DataFrame(curves), "life_summary": pd.DataFrame(sums)}


def _lives(results: StoredResults) -> Iterator[tuple[dict[str, Any], list[Lives]]]:
    """Yield dataset, method and sequence, and the lives of valid advice under each base model."""
    sequences = [name for name, family in results.run.families.items() if family.sequence]
    answered: dict[tuple[str, str], list[int]] = {}
    for key in results.answered:
        answered.setdefault((key.dataset, key.method), []).append(key.base_seed)
    for (dataset, method), seeds in answered.items():
        for family in sequences:
            where = {"dataset": dataset, "method": method, "family": family}
            yield where, [lives_of(results, dataset, seed, method, family) for seed in seeds]


def lives_of(
    results: StoredResults, dataset: str, base_seed: int, method: str, family: str
) -> Lives:
    """Return the lives of a method's valid advice for the people of a base model."""
    variants = results.variants(dataset, base_seed)
    mine = (variants["family"] == family).to_numpy()
    valid = results.counterfactuals(dataset, base_seed, method).base_valid
    survived = results.survived(dataset, base_seed, method)[valid][:, mine]
    return Lives.of(survived, variants.loc[mine, "replicate"].tolist())


def _curves(where: dict[str, Any], life: Life, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    for place in range(len(life.holds.mean)):
        shares = {
            f"{name}_{part}": 100.0 * getattr(getattr(life, name), part)[place]
            for name in ("held_so_far", "holds")
            for part in PARTS
        }
        yield where | {"update": place + 1} | shares | counts


def _summary(life: Life) -> dict[str, Any]:
    last = [100.0 * getattr(life.held_so_far, part)[-1] for part in PARTS]
    values = {
        "held_to_the_end": last,
        "median_life": life.median,
        "five_percent_broken_by": life.few_broken_by,
        "broken_per_update": 100.0 * np.array(life.hazard),
    }
    named = {
        f"{name}{end}": float(value)
        for name, each in values.items()
        for end, value in zip(("", "_low", "_high"), each, strict=True)
    }
    return {"updates": len(life.holds.mean)} | named
