"""The tables about how long advice lasts, for plans with sequences of updates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from changeproof.evaluation.life import Life, Lives, life_of
from changeproof.runs.results import StoredResults
from changeproof.tables.display import (
    ENDS,
    METHOD,
    Form,
    Heading,
    Row,
    Tables,
    dataset_of,
    fixed,
    spread_over,
    with_interval,
)
from changeproof.tables.names import family_name, in_order

WHERE = ("dataset", "method", "family")
PARTS = ("mean", "low", "high")
SHARES = [f"{name}_{part}" for name in ("held_so_far", "holds") for part in PARTS]
SUMMARISED = ("held_to_the_end", "median_life", "five_percent_broken_by", "broken_per_update")
SUMS = [f"{name}{end}" for name in SUMMARISED for end in ENDS]
COUNTS = ("people", "futures")
# What is counted in updates; all else is a share.
IN_UPDATES = ("median_life", "five_percent_broken_by")


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


def with_ends(row: Row, name: str) -> str:
    """Return a number of the summary with its interval: "62.9 (50.3 to 74.0)", "4 (2 to >6)"."""
    value, low, high = (_text(row, name, float(row[f"{name}{end}"])) for end in ENDS)
    return value if value == low == high else with_interval(value, low, high)


def _text(row: Row, name: str, value: float) -> str:
    if name not in IN_UPDATES:
        return fixed(value, 1)
    return f">{int(row['updates'])}" if math.isinf(value) else fixed(value, 0)


def _over(tables: Tables, frame: pd.DataFrame) -> str:
    """Say what intervals are over."""
    if not (frame["base_models"] > 1).any():
        return "over people and futures"
    return f"over {spread_over(tables, in_order(frame['dataset']))}"


FORMS = {
    "life_summary": Form(
        "How long advice lasts (95 % interval {over})",
        "How long advice lasts under updates that follow each other, of advice that the base model "
        "accepts: the share that held through all updates (%); the median life, in updates; and "
        "the update by which 5 % are broken. In brackets 95 % intervals {over}. More than the last "
        "update: longer than was looked at.",
        (
            METHOD,
            (Heading("Sequence", left=True), lambda row: family_name(row["family"])),
            (
                Heading("Held to the end (%)", "↑", short="Held (%)"),
                partial(with_ends, name="held_to_the_end"),
            ),
            (Heading("Median life", "↑"), partial(with_ends, name="median_life")),
            (
                Heading("5 % broken by", "↑", short="5 % by"),
                partial(with_ends, name="five_percent_broken_by"),
            ),
        ),
        section=dataset_of,
        over=_over,
        screen=3,
    ),
}
