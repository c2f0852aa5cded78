"""What a verified entry scores: the numbers of the tables of a run, and what became of everybody.

The same functions as for the tables say it. Where a family is a sequence of updates, an answer
holds in a future if it holds through all of its updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from changeproof.board.answers import CERTIFIED, Cell
from changeproof.board.records import ALL, HELD, METRICS, Score
from changeproof.evaluation.life import Lives
from changeproof.evaluation.metrics import People, Requests
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans, Floats
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.life_limit import seed_life_prices
from changeproof.tables.limit import limit_distances, seed_prices

# What the tables call the metrics of a record.
FIELDS = {
    "coverage": "coverage",
    "validity": "base_validity",
    "robustness": "empirical_robustness",
    "end_to_end": "end_to_end_robustness",
    "distance": "distance",
}
# The others are the same under every family.
BY_FAMILY = ("robustness", "end_to_end")


def scores_of(
    results: StoredResults, cells: Sequence[Cell], entry: str
) -> tuple[list[Score], pd.DataFrame]:
    """Return the scores of an entry in a run, and what became of its people."""
    prices = _prices(results)
    scores: list[Score] = []
    people: list[pd.DataFrame] = []
    for cell in cells:
        key = AnswerKey(cell.dataset, cell.base_seed, entry)
        scores += _scores(results, cell, key, prices.get((cell.dataset, cell.base_seed), {}))
        people.append(_people(results, cell, key))
    return scores, pd.concat(people, ignore_index=True)


def held_under(results: StoredResults, key: AnswerKey, family: str) -> Booleans:
    """Return under which changed models, or through which futures, answers hold."""
    held = results.held(*key, family)
    if not results.families[family].sequence:
        return held
    futures = results.changed(key.dataset, key.base_seed, family)["replicate"].tolist()
    return np.asarray(~Lives.of(held, futures).broken)


def _scores(
    results: StoredResults, cell: Cell, key: AnswerKey, price: dict[str, float]
) -> Iterator[Score]:
    requests = Requests(results.task(key.dataset), results.counterfactuals(*key))
    for family in (ALL, *results.families):
        held, family_of = _held(results, key, family)
        measured = requests.under(held, family_of).as_dict()
        values = {name: measured[field] for name, field in FIELDS.items()} | price
        for metric in METRICS if family == ALL else BY_FAMILY:
            value = float(values.get(metric, np.nan))
            yield Score(
                track=cell.track,
                dataset=cell.dataset,
                model=cell.model,
                base_seed=cell.base_seed,
                family=family,
                metric=metric,  # type: ignore[arg-type]  # one of METRICS
                value=value if np.isfinite(value) else None,
            )


def _held(results: StoredResults, key: AnswerKey, family: str) -> tuple[Booleans, list[str]]:
    """Return what holds under a family, or under all that count, and the family of each model."""
    families = results.counting_families if family == ALL else (family,)
    parts = [held_under(results, key, name) for name in families]
    family_of = [name for name, part in zip(families, parts, strict=True) for _ in part.T]
    return np.concatenate(parts, axis=1), family_of


def _prices(results: StoredResults) -> dict[tuple[str, int], dict[str, float]]:
    """Return limit and price by base model, where the track has a limit."""
    if not results.plan.limit:
        return {}
    sequences = all(results.families[name].sequence for name in results.counting_families)
    table = seed_life_prices(results) if sequences else seed_prices(results)
    return {
        (str(row["dataset"]), int(row["base_seed"])): {
            "limit": float(row["limit"]),
            "price": float(row["price"]),
        }
        for row in table.to_dict("records")
    }


def _people(results: StoredResults, cell: Cell, key: AnswerKey) -> pd.DataFrame:
    task, answers = results.task(key.dataset), results.counterfactuals(*key)
    people = People.of(task, answers, *_held(results, key, ALL))
    columns = {
        **{name: getattr(cell, name) for name in ("track", "dataset", "model", "base_seed")},
        "row_id": people.row_ids,
        "found": people.found > 0,
        "base_valid": people.valid > 0,
        "distance": np.where(people.valid > 0, people.distance, np.nan),
        "limit": _limit(results, cell, answers),
        "held": people.held,
        CERTIFIED: _certified(answers),
    }
    for family in results.families:
        each = People.of(task, answers, *_held(results, key, family))
        columns[f"{HELD}{family}"] = each.held
    return pd.DataFrame(columns)


def _certified(answers: Counterfactuals) -> pd.Series[bool]:
    """Return which answers the method certifies; missing where it certifies nothing."""
    known = answers.certified
    return pd.Series([pd.NA] * len(answers) if known is None else known, dtype="boolean")


def _limit(results: StoredResults, cell: Cell, answers: Counterfactuals) -> Floats:
    """Return the shortest change that all changed models accept, NaN where none is known."""
    where = (cell.dataset, cell.base_seed)
    if where not in results.limits:
        return np.full(len(answers), np.nan)
    limit, (first, *_) = results.limit(*where), results.counting_families
    if results.families[first].sequence:
        distances = limit.future_distances(results.task(cell.dataset), first)[0]
    else:
        distances = limit_distances(results, *where)[0, 0]
    known = pd.Series(distances, limit.row_ids)
    return known.reindex(answers.row_ids).to_numpy(dtype=np.float64)
