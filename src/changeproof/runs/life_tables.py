"""The tables about how long advice lasts, for plans with sequences of updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from changeproof.evaluation.life import Life, Lives, life_of
from changeproof.runs.results import StoredResults

WHERE = ("dataset", "method", "family")
PARTS = ("mean", "low", "high")
ENDS = ("", "_low", "_high")
SHARES = [f"{name}_{part}" for name in ("held_so_far", "holds") for part in PARTS]
SUMMARISED = ("held_to_the_end", "median_life", "five_percent_broken_by", "broken_per_update")
SUMS = [f"{name}{end}" for name in SUMMARISED for end in ENDS]
COUNTS = ("people", "futures")


def life_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the share that lasts by update, and what sums it up; nothing without sequences.

    Shares are in percent, of advice that the base model accepts. Updates count from 1. A number
    of updates beyond the last is infinite; what is not known is empty.
    """
    if not any(family.sequence for family in results.families.values()):
        return {}
    curves: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for where, groups, people in _lives(results):
        life = life_of(groups)._replace(people=people)
        counts = dict(zip(COUNTS, (life.people, life.futures), strict=True))
        curves += _curves(where, life, counts)
        sums.append(where | _summary(life) | counts | {"base_models": len(groups)})
    return {
        "life": pd.DataFrame(curves, columns=[*WHERE, "update", *SHARES, *COUNTS]),
        "life_summary": pd.DataFrame(
            sums, columns=[*WHERE, "updates", *SUMS, *COUNTS, "base_models"]
        ),
    }


def _lives(results: StoredResults) -> Iterator[tuple[dict[str, Any], list[Lives], int]]:
    """Yield dataset, method and sequence, and the lives of valid advice under each base model.

    And how many different people have valid advice: the same may ask several base models.
    """
    sequences = [name for name, family in results.families.items() if family.sequence]
    answered: dict[tuple[str, str], list[int]] = {}
    for key in results.answered:
        answered.setdefault((key.dataset, key.method), []).append(key.base_seed)
    for (dataset, method), seeds in answered.items():
        answers = [results.counterfactuals(dataset, seed, method) for seed in seeds]
        people = len({row for each in answers for row in each.row_ids[each.base_valid].tolist()})
        for family in sequences:
            where = {"dataset": dataset, "method": method, "family": family}
            lives = [lives_of(results, dataset, seed, method, family) for seed in seeds]
            yield where, lives, people


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
        values = [100.0 * part[place] for part in (*life.held_so_far, *life.holds)]
        shares = dict(zip(SHARES, values, strict=True))
        yield where | {"update": place + 1} | shares | counts


def _summary(life: Life) -> dict[str, Any]:
    to_the_end = [100.0 * part[-1] for part in life.held_so_far]
    broken = [100.0 * value for value in life.hazard]
    values = [*to_the_end, *life.median, *life.few_broken_by, *broken]
    named = dict(zip(SUMS, map(float, values), strict=True))
    return {"updates": len(life.holds.mean)} | named
