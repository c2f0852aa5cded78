"""What answers ask of people, and which rules they would have broken."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from changeproof.feasible.rules import WAYS
from changeproof.report.page.parts import (
    NOT_YET,
    Part,
    Source,
    choice,
    folded,
    muted,
    nothing,
    table,
    text,
)
from changeproof.runs.plan import Plan
from changeproof.tables.display import percent
from changeproof.tables.names import dataset_name, method_name

DASH = "\N{EN DASH}"
# What is shown: the quality, its heading and digits. The last three are of proposals.
SHOWN = (
    ("features_changed", "features changed", 1),
    ("inside_data", "inside data (%)", 1),
    ("plausibility", "plausibility", 2),
    ("without_answer", "no answer (%)", 1),
    ("raw_broken", "could not be told (%)", 1),
    ("validity_change", "change in validity", 1),
    ("distance_change", "change in distance", 3),
)
MEANING = (
    "Features changed, inside data and plausibility are of answers that the base model accepts. "
    "Inside data: no value beyond those of the training rows. Plausibility: the distance to the "
    "nearest favourable training rows, where 1 is usual among them. No answer: requests without "
    "an answer that the person can be told."
)
PROPOSED = (
    " Could not be told: of the rows that the method proposed, those that break a rule. "
    "Change in validity (in points) and in distance: of the told rows against the proposals; below "
    "0, fewer are accepted, or they are nearer."
)


def advice_section(source: Source) -> list[Part]:
    """Return the qualities of advice by dataset and method, and what they say in words."""
    found, plan, shown = source.tables.get("advice", pd.DataFrame()), source.plan, source.shown
    if found.empty:
        return nothing(NOT_YET)
    known = {(row["dataset"], row["method"]): row for row in found.to_dict("records")}
    columns = SHOWN if plan.feasible else SHOWN[:5]
    names = [name for _, name, _ in columns]
    if not plan.feasible:
        names[-1] = "cannot be told (%)"
    datasets = [dataset for dataset in plan.datasets if dataset in set(found["dataset"])]
    views = []
    for dataset in datasets:
        methods = [method for method in plan.methods if (dataset, method) in known]
        rows = [
            [shown.name(method)]
            + [_text(known[dataset, method][f"{name}_mean"], digits) for name, _, digits in columns]
            for method in methods
        ]
        asked = table("What answers ask of people", ["method", *names], rows)
        views.append([asked, *_breaches(source, dataset, methods)])
    words = _words(found, plan)
    return [
        *([text(words)] if words else []),
        choice({"Data": shown.called(datasets)}, views),
        muted(MEANING + (PROPOSED if plan.feasible else "")),
    ]


def _breaches(source: Source, dataset: str, methods: Sequence[str]) -> list[Part]:
    """Return which rules answers broke, if they broke any."""
    broken = source.tables.get("breaches", pd.DataFrame())
    rows = broken.to_dict("records")
    shares = {(r["method"], r["breach"]): r["share"] for r in rows if r["dataset"] == dataset}
    ways = [way for way in WAYS if any(shares.get((m, way), 0.0) > 0.0 for m in methods)]
    if not ways:
        return []
    cells = [
        [source.shown.name(m), *(_text(shares.get((m, way), 0.0), 1) for way in ways)]
        for m in methods
    ]
    title = "The gravest rule that an answer broke (% of a method's own answers)"
    columns = ["method", *(f"{way} (%)" for way in ways)]
    summary = "Why answers could not be told as they were"
    return [folded(summary, [table(title, columns, cells)])]


def _text(value: float, digits: int) -> str:
    return DASH if math.isnan(value) else f"{value:.{digits}f}"


def _words(found: pd.DataFrame, plan: Plan) -> str:
    """Say whether people can be told what was tested, and whose answers could not be told most."""
    known = found.dropna(subset=["raw_broken_mean"]).sort_values("raw_broken_mean", kind="stable")
    if known.empty:
        return ""
    worst = known.to_dict("records")[-1]
    share = float(worst["raw_broken_mean"])
    who = f"{method_name(worst['method'])} on {dataset_name(worst['dataset'])}"
    if plan.feasible:
        said = (
            "Every answer that counts as found is one that the person can be told: one category of "
            "each feature, whole steps, inside the range, and no change that is not allowed. "
        )
        if share == 0.0:
            return said + "All that was proposed could be told."
        return f"{said}Most proposals that could not be told were those of {who}: {percent(share)}."
    if share == 0.0:
        return "Answers were tested as the methods gave them, and all of them can be told."
    return (
        "Answers were tested as the methods gave them. Not all of them can be told to a person: "
        "they have categories in part, fractions of whole numbers, or values outside the data. "
        f"Such answers are most frequent for {who}: {percent(share)}."
    )
