"""The tables about the limit, and what methods cost beyond it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.evaluation.counting import changes_nothing
from changeproof.evaluation.limit import PERCENTS
from changeproof.model import Floats
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables.cases import Case, cases, mean_and_std
from changeproof.tables.display import METHOD, Form, Heading, measured, spread

WHERE = ["dataset", "family", "share"]
COMPARED = ("empirical_robustness", "distance", "limit", "price")
# How far it is to the limit, by dataset and base model; see `limit_distances`.
Known = dict[tuple[str, int], Floats]


def limit_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the limit by dataset, family and share, and the price of every method over it."""
    if not results.plan.limit:
        return {}
    known = {base: limit_distances(results, *base) for base in results.limits}
    seeds = _seeds(results, known)
    return {"limit": _limit(seeds), "limit_seeds": seeds, "price": _price(results, known)}


def seed_prices(results: StoredResults) -> pd.DataFrame:
    """Return the price of every method over the limit, for each base model that has one."""
    known = {base: limit_distances(results, *base) for base in results.limits}
    return _seed_prices(results, known)


def _seeds(results: StoredResults, known: Known) -> pd.DataFrame:
    """For how many it was found at each share, and its mean distance.

    The mean is over those for whom it was found at every share, so that shares can be compared.
    """
    rows = []
    for (dataset, seed), distances in known.items():
        for family, found in zip((ALL_FAMILIES, *results.limit_families), distances, strict=True):
            everywhere = np.isfinite(found).all(axis=0)
            for percent, each in zip(PERCENTS, found, strict=True):
                mean = each[everywhere].mean() if everywhere.any() else np.nan
                reached = np.isfinite(each).sum()
                rows.append((dataset, seed, family, percent, len(each), reached, mean))
    return pd.DataFrame(
        rows, columns=["dataset", "base_seed", "family", "share", "people", "found", "distance"]
    )


def limit_distances(results: StoredResults, dataset: str, seed: int) -> Floats:
    """Return how far it is [1 + families, shares, people], first over the families that count.

    NaN there where neither the limit over all families nor the one over those that change
    something about this base model is about the families that count.
    """
    limit, task = results.limit(dataset, seed), results.task(dataset)
    distances, families = limit.distances(task), results.limit_families
    if set(results.counting_families) == set(families):
        return distances
    idle = changes_nothing([results.variants(dataset, seed)])
    changing = limit.changing_distances(task)
    same = changing is not None and set(results.counting_families) == set(families) - idle
    distances[0] = changing if same else np.nan
    return distances


def _limit(seeds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over base models, and the sum of their people."""
    grouped = seeds.groupby(WHERE, sort=False)
    return grouped.agg(
        base_models=("base_seed", "count"),
        people=("people", "sum"),
        found=("found", "sum"),
        distance_mean=("distance", "mean"),
        distance_std=("distance", "std"),
    ).reset_index()


def _price(results: StoredResults, known: Known) -> pd.DataFrame:
    """Mean and standard deviation over base models of the distance over that of the limit."""
    frame = _seed_prices(results, known)
    table = mean_and_std(frame, ["dataset", "method"], COMPARED)
    table.insert(0, "people", frame.groupby(["dataset", "method"])["people"].sum())
    return table.reset_index()


def _seed_prices(results: StoredResults, known: Known) -> pd.DataFrame:
    people = {base: pd.Index(results.limit(*base).row_ids) for base in known}
    rows = [
        _compared(case, people[base], known[base][0])
        for case in cases(results)
        if (base := case.key[:2]) in known
    ]
    return pd.DataFrame(rows, columns=["dataset", "base_seed", "method", "people", *COMPARED])


def _compared(case: Case, people: pd.Index[int], distances: Floats) -> dict[str, object]:
    """Compare a method with the limit on the people for whom both have an answer.

    `distances` are those of the limit [shares, people] over the families that count. The limit at
    the method's empirical robustness is interpolated linearly between those at 95, 99 and 100 %;
    below 95 % it is the one at 95 %.
    """
    answers = case.answers
    places = people.get_indexer(pd.Index(answers.row_ids))
    both = answers.base_valid & (places >= 0)
    both[both] = np.isfinite(distances[:, places[both]]).all(axis=0)
    found: dict[str, object] = {**case.key._asdict(), "people": both.sum()}
    if not both.any():
        return found
    robustness = 100.0 * case.survived[both][:, case.models()].mean()
    distance = case.task.distances(answers.factuals[both], answers.rows[both]).mean()
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
        over=spread,
    ),
}
