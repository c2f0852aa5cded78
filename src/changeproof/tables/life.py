"""The tables about how long advice lasts, for plans with sequences of updates."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
import pandas as pd

from changeproof.evaluation.life import MOST_LOST, Lives, deployed, life_of
from changeproof.model import Booleans
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.cases import by_method, stacked
from changeproof.tables.display import (
    ENDS,
    METHOD,
    Form,
    Heading,
    Row,
    Tables,
    fixed,
    spread_over,
    with_interval,
)
from changeproof.tables.names import family_name, in_order

WHERE = ("dataset", "method", "family")
PARTS = ("mean", "low", "high")
SHARES = [f"{name}_{part}" for name in ("held_so_far", "holds") for part in PARTS]
# What sums up how long advice lasts, with its heading; rules of a gate name these.
LIFE = {
    "held_to_the_end": Heading("Held to the end (%)", "↑", short="Held (%)"),
    "held_if_deployed": Heading("Held if deployed (%)", "↑"),
    "median_life": Heading("Median life (updates)", "↑", short="Median life"),
    "five_percent_broken_by": Heading("5 % broken by update", "↑", short="5 % by"),
    "broken_per_update": Heading("Broken per update (%)", "↓"),
}
# A terminal of 80 columns has room for these.
SHOWN = ("held_to_the_end", "median_life", "five_percent_broken_by")
# How many updates were not deployed, of all futures of all base models.
NOT_DEPLOYED = "updates_not_deployed"
GATE = (
    "An update is not deployed if its balanced accuracy on the test rows is more than "
    f"{100 * MOST_LOST:.0f} points below the base model's: the model before it stays."
)
SUMS = [f"{name}{end}" for name in LIFE for end in ENDS]
COUNTS = ("people", "futures")
# What is counted in updates; all else is a share.
IN_UPDATES = ("median_life", "five_percent_broken_by")


def life_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the share that lasts by update, and what sums it up; nothing without sequences.

    Shares are in percent, of advice that the base model accepts. Updates count from 1. A number
    of updates beyond the last is infinite; what is not known is empty.
    """
    sequences = [name for name, family in results.families.items() if family.sequence]
    if not sequences:
        return {}
    gate = cache(partial(_deployed, results))  # methods share base models
    curves, sums = [], []
    for (dataset, method), keys in by_method(results).items():
        answers = [results.counterfactuals(*key) for key in keys]
        # The same people may ask several base models.
        people = len({row for each in answers for row in each.row_ids[each.base_valid].tolist()})
        for family in sequences:
            gates = {key: gate(key.dataset, key.base_seed, family) for key in keys}
            life = life_of([lives_of(results, key, family) for key in keys])
            gated = life_of([lives_of(results, key, family, gates[key]) for key in keys])
            where = {"dataset": dataset, "method": method, "family": family}
            counts = {"people": people, "futures": life.futures}
            updates = len(life.holds.mean)
            shares = zip(SHARES, (*life.held_so_far, *life.holds), strict=True)
            percents = {name: 100.0 * values for name, values in shares}
            curves.append(
                pd.DataFrame({**where, "update": range(1, updates + 1), **percents, **counts})
            )
            to_the_end, if_deployed = (
                [100.0 * part[-1] for part in each.held_so_far] for each in (life, gated)
            )
            broken = [100.0 * value for value in life.hazard]
            parts = (to_the_end, if_deployed, life.median, life.few_broken_by, broken)
            values = (float(value) for part in parts for value in part)
            summary = dict(zip(SUMS, values, strict=True)) | counts | {"base_models": len(keys)}
            summary[NOT_DEPLOYED] = int(sum((~each).sum() for each in gates.values()))
            sums.append({**where, "updates": updates, **summary})
    return {
        "life": stacked(curves, [*WHERE, "update", *SHARES, *COUNTS]),
        "life_summary": pd.DataFrame(
            sums, columns=[*WHERE, "updates", *SUMS, *COUNTS, "base_models", NOT_DEPLOYED]
        ),
    }


def lives_of(
    results: StoredResults, key: AnswerKey, family: str, gate: Booleans | None = None
) -> Lives:
    """Return the lives of a method's valid advice for the people of a base model.

    What the `gate` keeps from being deployed breaks nothing.
    """
    valid = results.counterfactuals(*key).base_valid
    replicates = results.changed(key.dataset, key.base_seed, family)["replicate"]
    held = results.held(*key, family)[valid]
    return Lives.of(held if gate is None else held | ~gate, replicates.tolist())


def _deployed(results: StoredResults, dataset: str, base_seed: int, family: str) -> Booleans:
    """Return which changed models of a sequence are deployed."""
    base = results.balanced_accuracy(dataset, base_seed)
    changed = results.changed(dataset, base_seed, family)
    return deployed(changed["balanced_accuracy"].to_numpy(dtype=np.float64), base)


def with_ends(row: Row, name: str) -> str:
    """Return a number of the summary with its interval: "62.9 (50.3 to 74.0)", "4 (2 to >6)"."""
    value, low, high = (_text(row, name, float(row[f"{name}{end}"])) for end in ENDS)
    return value if value == low == high else with_interval(value, low, high)


def _text(row: Row, name: str, value: float) -> str:
    if name not in IN_UPDATES:
        return fixed(value, 1)
    return f">{int(row['updates'])}" if math.isinf(value) else fixed(value, 0)


def _over(tables: Tables, frame: pd.DataFrame) -> str:
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
            *((LIFE[name], partial(with_ends, name=name)) for name in SHOWN),
        ),
        over=_over,
    ),
}
