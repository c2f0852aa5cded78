"""The tables about the limit, and what methods cost beyond it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.evaluation.limit import PERCENTS
from changeproof.runs.results import ALL_FAMILIES, Answered, StoredResults
from changeproof.tables.display import METHOD, Form, Heading, dataset_of, measured, spread_of

WHERE = ["dataset", "family", "share"]
COMPARED = ("empirical_robustness", "distance", "limit", "price")


def limit_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the limit by dataset, family and share, and the price of every method over it."""
    if not results.plan.limit:
        return {}
    seeds = _seeds(results)
    return {"limit": _limit(seeds), "limit_seeds": seeds, "price": _price(results)}


def _seeds(results: StoredResults) -> pd.DataFrame:
    """For whom it was found at each share, and its mean distance where it was at every share.

    So the distances at all shares are those of the same people.
    """
    rows = []
    for dataset, seed in results.limits:
        distances = results.limit(dataset, seed).distances(results.task(dataset))
        for family, found in zip((ALL_FAMILIES, *results.limit_families), distances, strict=True):
            everywhere = np.isfinite(found).all(axis=0)
            for percent, each in zip(PERCENTS, found, strict=True):
                mean = each[everywhere].mean() if everywhere.any() else np.nan
                counts = (len(each), np.isfinite(each).sum())
                rows.append((dataset, seed, family, percent, *counts, mean))
    return pd.DataFrame(
        rows, columns=["dataset", "base_seed", "family", "share", "people", "found", "distance"]
    )


def _limit(seeds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over base models; people are counted together."""
    grouped = seeds.groupby(WHERE, sort=False)
    return grouped.agg(
        base_models=("base_seed", "count"),
        people=("people", "sum"),
        found=("found", "sum"),
        distance_mean=("distance", "mean"),
        distance_std=("distance", "std"),
    ).reset_index()


def _price(results: StoredResults) -> pd.DataFrame:
    """Mean and standard deviation over base models of the distance over that of the limit."""
    rows = [_compared(results, key) for key in results.answered if key[:2] in results.limits]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "people", *COMPARED])
    grouped = frame.groupby(["dataset", "method"], sort=False)
    table = grouped[list(COMPARED)].agg(["mean", "std"])
    table.columns = ["_".join(column) for column in table.columns]
    table.insert(0, "people", grouped["people"].sum())
    return table.reset_index()


def _compared(results: StoredResults, key: Answered) -> dict[str, object]:
    """Compare a method with the limit on the people for whom both have an answer.

    The limit at the method's empirical robustness lies on the lines between those at 95, 99 and
    100 %; below 95 % it is the one at 95 %.
    """
    task, answers = results.task(key.dataset), results.counterfactuals(*key)
    limit = results.limit(key.dataset, key.base_seed)
    distances = limit.distances(task)[0]
    places = pd.Index(limit.row_ids).get_indexer(pd.Index(answers.row_ids))
    both = answers.base_valid & (places >= 0)
    both[both] = np.isfinite(distances[:, places[both]]).all(axis=0)
    found: dict[str, object] = {**key._asdict(), "people": both.sum()}
    if not both.any():
        return found
    family_of = results.variants(key.dataset, key.base_seed)["family"]
    judged = family_of.isin(results.limit_families).to_numpy()
    robustness = 100.0 * results.survived(*key)[both][:, judged].mean()
    distance = task.distances(answers.factuals[both], answers.rows[both]).mean()
    at_shares = distances[:, places[both]].mean(axis=1)
    least = np.interp(robustness, PERCENTS[::-1], at_shares[::-1])
    return found | dict(zip(COMPARED, (robustness, distance, least, distance / least), strict=True))


FORMS = {
    "price": Form(
        "What methods cost over the limit ({over})",
        "What methods cost over the limit: {over}. The limit is the shortest change that the base "
        "model and a share of the changed models accept, found by a search that knows them; here "
        "at the method's own empirical robustness, between 95 and 100 % (below 95 % at 95 %). The "
        "price is the method's distance over it. All are of the people for whom the method has a "
        "valid answer and the limit was found.",
        (
            METHOD,
            (Heading("People"), lambda row: int(row["people"])),
            (Heading("Emp. robust.", "↑", short="Robust"), measured("empirical_robustness", 1)),
            (Heading("Distance", "↓"), measured("distance", 3)),
            (Heading("Limit"), measured("limit", 3)),
            (Heading("Price over the limit", "↓", short="Price"), measured("price", 2)),
        ),
        section=dataset_of,
        over=spread_of("price_std"),
        screen=4,
    ),
}
