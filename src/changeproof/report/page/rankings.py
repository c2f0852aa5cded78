"""Methods ranked: the answer first, with a sentence for each, and whether rankings hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.report.charts import Axis, Chart, Shown, cells
from changeproof.report.page.life import over_all
from changeproof.report.page.parts import Part, Source, beside, chart, choice, nothing, scripted
from changeproof.report.scores import (
    AS_IT_WAS,
    Score,
    Scores,
    Spread,
    after,
    frontier_of,
    ranked,
    sentence,
)
from changeproof.runs.plan import Plan
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import numbers, percent
from changeproof.tables.names import dataset_name

END_TO_END = "end_to_end_robustness"
# The columns of the ranking, what it ranks by first; sentences say what base validity comes to.
COLUMNS = [
    METRICS[name]
    for name in dict.fromkeys((END_TO_END, "empirical_robustness", *METRICS))
    if name != "base_validity"
]
# Square roots are not exact: a tau of 1 may be a little less.
SLACK = 1e-9
Floats = npt.NDArray[np.float64]


def answer_section(source: Source) -> list[Part]:
    """Return the ranking for every dataset and change."""
    plan, results = source.plan, source.results
    summaries = [results.families[family].summary for family in plan.families]
    changes = [
        AS_IT_WAS if family in results.unchanged else after(summary)
        for family, summary in zip(plan.families, summaries, strict=True)
    ]
    over = [source.covered[dataset].intervals for dataset in plan.datasets]
    some = " that count in averages" if len(results.counting_families) < len(plan.families) else ""
    kinds = zip(source.shown.called(plan.families), summaries, strict=True)
    seeds = source.tables["seed_results"].groupby(["dataset", "method"])["base_seed"].nunique()
    wanted = len(plan.base_seeds)
    finished = [[int(seeds.get((d, m), 0)) for m in plan.methods] for d in plan.datasets]
    data = {
        "changes": [f"Don't know (all kinds{some})", *(f"{n}: {s}" for n, s in kinds)],
        "columns": ["Method", *(metric.title for metric in COLUMNS)],
        "answers": answers(source.scores, plan, [over_all(results), *changes], over),
        "behind": [
            ["" if own == wanted else f"{own} of {wanted} base models" for own in row]
            for row in finished
        ],
        "meaning": [source.covered[dataset].meaning for dataset in plan.datasets],
    }
    return [scripted("answer", data)]


def answers(
    scores: Scores, plan: Plan, changes: Sequence[str], over: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Return for every dataset and family the methods in order, the frontier, values, sentences.

    `changes` is how sentences begin: about all families, then about each. Intervals are `over`
    these, by dataset.
    """
    return [
        [
            _answer(scores.row(dataset, plan.methods, family), plan.methods, change, whose)
            for change, family in zip(changes, (ALL_FAMILIES, *plan.families), strict=True)
        ]
        for dataset, whose in zip(plan.datasets, over, strict=True)
    ]


def _answer(
    row: Sequence[Score | None], methods: Sequence[str], change: str, over: str
) -> dict[str, Any]:
    return {
        "order": ranked(row),
        "frontier": frontier_of(row, END_TO_END),
        "values": [
            None
            if score is None
            else [_cell(score[metric.name], metric.digits) for metric in COLUMNS]
            for score in row
        ],
        "sentences": [
            "" if score is None else sentence(change, method, score, over)
            for method, score in zip(methods, row, strict=True)
        ],
    }


def _cell(spread: Spread, digits: int) -> list[Any]:
    """Return the value, its text, and its interval in words."""
    if spread.mean is None:
        return [0, "undefined", ""]
    return [spread.mean, f"{spread.mean:.{digits}f}", spread.ends(digits)]


def ranking_section(source: Source) -> list[Part] | None:
    """Return ranks under each family, and how alike families rank; None without a ranking."""
    if len(source.plan.methods) < 2 or len(source.plan.families) < 2:
        return None
    found = rankings(source.tables["family_results"], source.plan, source.results.unchanged)
    if not found:
        return nothing("No method is finished yet under any family.")
    views = [_charts(ranks, tau, source.shown) for ranks, tau in found.values()]
    return [choice({"Data": list(found)}, views)]


def _charts(ranks: Floats, tau: Floats, shown: Shown) -> list[Part]:
    methods, families = (Axis(names=shown.called(each)) for each in (shown.methods, shown.families))
    rank = Chart(
        "ranks",
        "Rank of every method under each family",
        "1 is the highest end-to-end robustness. Methods that tie share the mean of their ranks.",
        rank_words(ranks, shown),
        [cells(methods, families, numbers(ranks), _short(1), _hover("rank", ranks))],
        ["method", *shown.families],
        [[method, *row] for method, row in zip(shown.methods, numbers(ranks), strict=True)],
        scale=(1, len(shown.methods), True),
        single=True,
    )
    alike = Chart(
        "kendall",
        "How alike two families rank the methods (Kendall's tau)",
        "1: the same order. 0: no relation. \N{MINUS SIGN}1: the opposite order.",
        tau_words(tau, shown),
        [cells(families, families, numbers(tau), _short(2), _hover("tau", tau))],
        ["family", *shown.families],
        [[family, *row] for family, row in zip(shown.families, numbers(tau), strict=True)],
        scale=(0, 1, False),
        single=True,
    )
    return [beside([chart(rank)], [chart(alike)])]


def _short(digits: int) -> Callable[[float], str]:
    """Return how numbers are written in cells: .75, 1.5, 3."""
    return lambda value: f"{float(f'{value:.{digits}f}'):g}".replace("0.", ".", 1)


def _hover(what: str, values: Floats) -> list[list[str]]:
    return [
        [f"{what} {'undefined' if np.isnan(each) else f'{each:.2f}'}" for each in row]
        for row in values
    ]


def rankings(
    family_results: pd.DataFrame, plan: Plan, unchanged: Sequence[str] = ()
) -> dict[str, tuple[Floats, Floats]]:
    """Return ranks and Kendall correlations for the mean over datasets, then for each dataset.

    Families that change nothing (`unchanged`) rank nobody.
    """
    results = family_results[~family_results["family"].isin(unchanged)]
    found = {}
    for dataset in plan.datasets:
        wide = results[results["dataset"] == dataset].pivot_table(
            f"{END_TO_END}_mean", "method", "family", dropna=False
        )
        wide = wide.reindex(index=list(plan.methods), columns=list(plan.families)).astype(float)
        if wide.notna().any(axis=None):
            # 1 is the most robust; ties share their mean.
            ranks = wide.rank(ascending=False).to_numpy()
            found[dataset_name(dataset)] = ranks, _correlations(ranks)
    if len(found) < 2:
        return found
    every_rank, every_tau = (np.array(each) for each in zip(*found.values(), strict=True))
    # A correlation is averaged over the datasets that define it.
    mean_tau = np.ma.masked_invalid(every_tau).mean(axis=0).filled(np.nan)
    return {"Mean of all datasets": (every_rank.mean(axis=0), mean_tau), **found}


def _correlations(ranks: Floats) -> Floats:
    """Kendall's tau-b between every two families; NaN where one of them ranks nothing."""
    known = ~np.isnan(ranks).all(axis=0)
    values = ranks[~np.isnan(ranks[:, known]).any(axis=1)]
    # Of every two methods: which of them a family ranks higher.
    ahead = np.sign(values[:, None] - values[None]).reshape(-1, ranks.shape[1])
    agreeing = ahead.T @ ahead
    ordered = np.sqrt(np.diag(agreeing))
    with np.errstate(invalid="ignore"):
        return np.asarray(agreeing / np.outer(ordered, ordered))


def rank_words(ranks: Floats, shown: Shown) -> str:
    known = np.isfinite(ranks).any(axis=0)
    spans = [
        (float(np.ptp(row)), method, float(row.min()), float(row.max()))
        for method, row in zip(shown.methods, ranks[:, known], strict=True)
        if len(row) and np.isfinite(row).all()
    ]
    if not spans:
        return "No method has a rank under every family."
    span, method, best, worst = max(spans)
    if span == 0:
        return "Every method keeps its rank under every family."
    return (
        f"{shown.name(method)} moves the most: from rank {best:.3g} to {worst:.3g} of "
        f"{len(shown.methods)}. {shown.name(min(spans)[1])} moves the least."
    )


def tau_words(tau: Floats, shown: Shown) -> str:
    pairs = [
        (tau[i, j], shown.families[i], shown.families[j])
        for i in range(len(tau))
        for j in range(i)
        if np.isfinite(tau[i, j])
    ]
    if not pairs:
        return "No two families can be compared: under each of them all methods are alike."
    low, first, second = min(pairs)
    if low >= 1.0 - SLACK:
        return "All families rank the methods in the same order."
    if len(pairs) == 1:
        return f"Kendall's tau of {shown.name(first)} and {shown.name(second)} is {low:.2f}."
    agreeing = percent(100.0 * sum(pair[0] >= 0.8 for pair in pairs) / len(pairs))
    return (
        f"{shown.name(first)} and {shown.name(second)} rank the methods least alike: Kendall's "
        f"tau {low:.2f}. {agreeing} of all pairs of families reach 0.8."
    )
