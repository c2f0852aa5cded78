"""The tables about the limit of advice that lasts, and what methods cost beyond it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from changeproof.evaluation.limit import PERCENTS, Limit, may_break, may_fail
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.cases import mean_and_std
from changeproof.tables.display import METHOD, Form, Heading, measured, spread
from changeproof.tables.life import lives_of
from changeproof.tables.names import family_name

WHERE = ["dataset", "family", "futures", "may_break"]
COMPARED = ("held_to_the_end", "distance", "limit", "price")


def life_limit_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the limit of every sequence, and the price of every method over it.

    Nothing where the limit was not asked for, or there are no sequences.
    """
    sequences = [name for name, family in results.families.items() if family.sequence]
    if not results.plan.limit or not sequences:
        return {}
    limits = {base: results.limit(*base) for base in results.limits}
    seeds = _seeds(results, limits)
    return {
        "life_limit": _over_base_models(seeds),
        "life_limit_seeds": seeds,
        "life_price": _price(results, limits),
    }


def _futures(results: StoredResults, dataset: str, seed: int, family: str) -> int:
    return int(results.changed(dataset, seed, family)["replicate"].nunique())


def _seeds(results: StoredResults, limits: dict[tuple[str, int], Limit]) -> pd.DataFrame:
    """For how many the limit was found, and its mean distance for those, level by level."""
    rows = []
    for (dataset, seed), limit in limits.items():
        for family in limit.futures:
            futures = _futures(results, dataset, seed, family)
            distances = limit.future_distances(results.task(dataset), family)
            for failures, each in zip(may_break(futures), distances, strict=True):
                found = each[np.isfinite(each)]
                mean = found.mean() if len(found) else np.nan
                where = (dataset, seed, family, futures, failures)
                rows.append((*where, len(each), len(found), mean))
    columns = ["dataset", "base_seed", *WHERE[1:], "people", "found", "distance"]
    return pd.DataFrame(rows, columns=columns)


def _over_base_models(seeds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over base models, and the sum of their people."""
    grouped = seeds.groupby(WHERE, sort=False)
    return grouped.agg(
        base_models=("base_seed", "count"),
        people=("people", "sum"),
        found=("found", "sum"),
        distance_mean=("distance", "mean"),
        distance_std=("distance", "std"),
    ).reset_index()


def _price(results: StoredResults, limits: dict[tuple[str, int], Limit]) -> pd.DataFrame:
    """Mean and standard deviation over base models of the distance over that of the limit."""
    frame, by = _seed_prices(results, limits), ["dataset", "method", "family", *WHERE[2:]]
    table = mean_and_std(frame, by, COMPARED)
    table.insert(0, "people", frame.groupby(by, sort=False)["people"].sum())
    return table.reset_index()


def seed_life_prices(results: StoredResults) -> pd.DataFrame:
    """Return the price of every method over the limit of every sequence, by base model."""
    return _seed_prices(results, {base: results.limit(*base) for base in results.limits})


def _seed_prices(results: StoredResults, limits: dict[tuple[str, int], Limit]) -> pd.DataFrame:
    columns = ["dataset", "base_seed", "method", *WHERE[1:], "people", *COMPARED]
    return pd.DataFrame(list(_compared(results, limits)), columns=columns)


def _compared(
    results: StoredResults, limits: dict[tuple[str, int], Limit]
) -> Iterator[dict[str, object]]:
    """Compare methods with the limit at 95 % of futures, on people for whom both have an answer."""
    for key in (key for key in results.answered if key[:2] in limits):
        limit = limits[key[:2]]
        for family in limit.futures:
            futures = _futures(results, key.dataset, key.base_seed, family)
            failures = may_fail(PERCENTS[-1], futures)
            distances = limit.future_distances(results.task(key.dataset), family)
            least = pd.Series(distances[may_break(futures).index(failures)], limit.row_ids)
            where = {**key._asdict(), "family": family}
            counts = {"futures": futures, "may_break": failures}
            yield where | counts | _price_of(results, key, family, least)


def _price_of(
    results: StoredResults, key: AnswerKey, family: str, limit: pd.Series[float]
) -> dict[str, object]:
    """Return what is compared; `limit` has the distance to the limit by row id."""
    answers = results.counterfactuals(*key)
    valid = answers.base_valid
    least = limit.reindex(answers.row_ids[valid]).to_numpy()
    both = np.isfinite(least)
    if not both.any():
        return {"people": 0}
    held = ~lives_of(results, key, family).broken[both]
    rows, factuals = answers.rows[valid][both], answers.factuals[valid][both]
    distance = results.task(key.dataset).distances(factuals, rows).mean()
    mean = least[both].mean()
    values = (100.0 * held.mean(), distance, mean, distance / mean)
    return {"people": int(both.sum()), **dict(zip(COMPARED, values, strict=True))}


FORMS = {
    "life_price": Form(
        "What lasting advice costs over the limit ({over})",
        "What lasting advice costs over the limit: {over}. The limit is the shortest change that "
        "holds through all updates of 95 % of the futures, found by a search that knows them; how "
        "many futures may break is rounded down. The price is the method's distance over it. "
        "Held: the share of people and futures in which the method's advice held through all "
        "updates. All are of the people for whom the method has a valid answer and the limit was "
        "found.",
        (
            METHOD,
            (Heading("Sequence", left=True), lambda row: family_name(row["family"])),
            (Heading("People"), lambda row: int(row["people"])),
            (Heading("Held to the end (%)", "↑", short="Held (%)"), measured("held_to_the_end", 1)),
            (Heading("Distance", "↓"), measured("distance", 3)),
            (Heading("Limit"), measured("limit", 3)),
            (Heading("Price over the limit", "↓", short="Price"), measured("price", 2)),
        ),
        over=spread,
        compact=True,
    ),
}
