"""The answer first: the methods ranked by what people get, with a sentence for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from changeproof.report.life import over_all
from changeproof.report.page.parts import Part, Source, scripted
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

# The columns of the ranking: metric, label and digits.
RANKED = (
    ("end_to_end_robustness", "End-to-end robustness (%)", 1),
    ("empirical_robustness", "Of CFEs given (%)", 1),
    ("coverage", "Coverage (%)", 1),
    ("distance", "Distance", 2),
)


def answer(source: Source) -> list[Part]:
    """Return the ranking for every dataset and change."""
    plan, results = source.plan, source.results
    summaries = [results.families[family].summary for family in plan.families]
    changes = [
        AS_IT_WAS if family in results.unchanged else after(summary)
        for family, summary in zip(plan.families, summaries, strict=True)
    ]
    over = [source.covered[dataset].intervals for dataset in plan.datasets]
    some = " that averages are about" if len(results.averaged) < len(plan.families) else ""
    kinds = zip(source.shown.called(plan.families), summaries, strict=True)
    seeds = source.tables["seed_results"].groupby(["dataset", "method"])["base_seed"].nunique()
    behind = [[int(seeds.get((d, m), 0)) for m in plan.methods] for d in plan.datasets]
    return [
        scripted(
            "answer",
            {
                "changes": [f"Don't know (all kinds{some})", *(f"{n}: {s}" for n, s in kinds)],
                "columns": ["Method", *(label for _, label, _ in RANKED)],
                "answers": answers(source.scores, plan, [over_all(results), *changes], over),
                "behind": [
                    [
                        "" if own == len(plan.base_seeds) else _of(own, len(plan.base_seeds))
                        for own in row
                    ]
                    for row in behind
                ],
                "meaning": [source.covered[dataset].meaning for dataset in plan.datasets],
            },
        )
    ]


def _of(finished: int, wanted: int) -> str:
    return f"{finished} of {wanted} base models"


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
        "frontier": frontier_of(row, "end_to_end_robustness"),
        "values": [
            None
            if score is None
            else [_cell(score[metric], digits) for metric, _, digits in RANKED]
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
    ends = ""
    if spread.low is not None and spread.high is not None:
        ends = f"{spread.low:.{digits}f} to {spread.high:.{digits}f}"
    return [spread.mean, f"{spread.mean:.{digits}f}", ends]
