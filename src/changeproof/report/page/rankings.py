"""Do rankings hold: the rank of every method per family, and how alike families rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.report.charts import Axis, Chart, Shown, cells
from changeproof.report.page.parts import Part, Source, beside, chart, choice, nothing
from changeproof.runs.plan import Plan
from changeproof.tables.display import numbers, percent
from changeproof.tables.names import dataset_name, family_name, method_name

METRIC = "end_to_end_robustness_mean"
Floats = npt.NDArray[np.float64]


def ranking_section(source: Source) -> list[Part] | None:
    """Return ranks under each family, and how alike families rank; None without a ranking."""
    plan, shown = source.plan, source.shown
    found = rankings(source.tables["family_results"], plan, source.results.unchanged)
    if found is None or "nothing" in found:
        return None if found is None else nothing(found["nothing"])
    views = [_charts(view, shown) for view in found["views"]]
    return [choice({"Data": [view["name"] for view in found["views"]]}, views)]


def _charts(view: dict[str, Any], shown: Shown) -> list[Part]:
    methods, families = (Axis(names=shown.called(each)) for each in (shown.methods, shown.families))
    ranks, tau = view["ranks"], view["tau"]
    rank = Chart(
        "ranks",
        "Rank of every method under each family",
        "1 is the highest end-to-end robustness. Methods that tie share the mean of their ranks.",
        view["rank_words"],
        [cells(methods, families, ranks, _short(1), _told("rank", ranks))],
        ["method", *shown.families],
        [[method, *row] for method, row in zip(shown.methods, ranks, strict=True)],
        scale=(1, len(shown.methods), True),
        single=True,
    )
    alike = Chart(
        "kendall",
        "How alike two families rank the methods (Kendall's tau)",
        "1: the same order. 0: no relation. \N{MINUS SIGN}1: the opposite order.",
        view["tau_words"],
        [cells(families, families, tau, _short(2), _told("tau", tau))],
        ["family", *shown.families],
        [[family, *row] for family, row in zip(shown.families, tau, strict=True)],
        scale=(0, 1, False),
        single=True,
    )
    return [beside([chart(rank)], [chart(alike)])]


def _short(digits: int) -> Callable[[float], str]:
    """Return how numbers are written in cells: .75, 1.5, 3."""
    return lambda value: f"{float(f'{value:.{digits}f}'):g}".replace("0.", ".", 1)


def _told(what: str, values: Sequence[Sequence[float | None]]) -> list[list[str]]:
    return [
        [f"{what} {'undefined' if each is None else f'{each:.2f}'}" for each in row]
        for row in values
    ]


def rankings(
    family_results: pd.DataFrame, plan: Plan, unchanged: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return ranks and Kendall correlations for the mean over datasets, then for each dataset.

    None where there is one method or one family: there is nothing to rank. Families that change
    nothing (`unchanged`) rank nobody.
    """
    if len(plan.methods) < 2 or len(plan.families) < 2:
        return None
    family_results = family_results[~family_results["family"].isin(unchanged)]
    ranks = [_ranks(family_results, dataset, plan) for dataset in plan.datasets]
    whole = [(d, r) for d, r in zip(plan.datasets, ranks, strict=True) if r.notna().any(axis=None)]
    if not whole:
        return {"nothing": "No method is finished yet under any family."}
    taus = [_correlations(r) for _, r in whole]
    views = [
        _view(dataset_name(dataset), rank.to_numpy(), tau, plan)
        for (dataset, rank), tau in zip(whole, taus, strict=True)
    ]
    if len(whole) > 1:
        mean_rank = np.mean([r.to_numpy() for _, r in whole], axis=0)
        # Where it is defined on some dataset.
        mean_tau = np.ma.masked_invalid(taus).mean(axis=0).filled(np.nan)
        views.insert(0, _view("Mean of all datasets", mean_rank, mean_tau, plan))
    return {"views": views}


def _ranks(family_results: pd.DataFrame, dataset: str, plan: Plan) -> pd.DataFrame:
    """Rank methods (rows) per family (columns): 1 is the most robust, ties share their mean."""
    mine = family_results[family_results["dataset"] == dataset]
    wide = mine.pivot_table(METRIC, "method", "family", dropna=False)
    wide = wide.reindex(index=list(plan.methods), columns=list(plan.families)).astype(float)
    return wide.rank(ascending=False)


def _correlations(ranks: pd.DataFrame) -> Floats:
    """Kendall's tau-b between every two families; NaN where one of them ranks nothing."""
    known = ranks.notna().any()
    values = ranks[ranks.loc[:, known].notna().all(axis=1)].to_numpy()
    # Of every two methods: which of them a family ranks higher.
    ahead = np.sign(values[:, None] - values[None]).reshape(-1, len(known))
    agreeing = ahead.T @ ahead
    ordered = np.sqrt(np.diag(agreeing))
    with np.errstate(invalid="ignore"):
        return np.asarray(agreeing / np.outer(ordered, ordered))


def _view(name: str, ranks: Floats, tau: Floats, plan: Plan) -> dict[str, Any]:
    return {
        "name": name,
        "ranks": numbers(ranks),
        "tau": numbers(tau),
        "rank_words": _rank_words(ranks, plan),
        "tau_words": _tau_words(tau, plan),
    }


def _rank_words(ranks: Floats, plan: Plan) -> str:
    known = np.isfinite(ranks).any(axis=0)
    spans = [
        (float(row.max() - row.min()), method, float(row.min()), float(row.max()))
        for method, row in zip(plan.methods, ranks[:, known], strict=True)
        if len(row) and np.isfinite(row).all()
    ]
    if not spans:
        return "No method has a rank under every family."
    span, method, best, worst = max(spans)
    if span == 0:
        return "Every method keeps its rank under every family."
    return (
        f"{method_name(method)} moves the most: from rank {best:.3g} to {worst:.3g} of "
        f"{len(plan.methods)}. {method_name(min(spans)[1])} moves the least."
    )


def _tau_words(tau: Floats, plan: Plan) -> str:
    pairs = [
        (tau[i, j], plan.families[i], plan.families[j])
        for i in range(len(tau))
        for j in range(i)
        if np.isfinite(tau[i, j])
    ]
    if not pairs:
        return "No two families can be compared: under each of them all methods are alike."
    low, first, second = min(pairs)
    agreeing = percent(100.0 * sum(pair[0] >= 0.8 for pair in pairs) / len(pairs))
    return (
        f"{family_name(first)} and {family_name(second)} rank the methods least alike: Kendall's "
        f"tau {low:.2f}. {agreeing} of all pairs of families reach 0.8."
    )
