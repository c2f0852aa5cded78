"""What was simulated and what was not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from changeproof.changes import builtin_family_names, family_names, published_family_names
from changeproof.report.names import family_name, without_settings
from changeproof.report.words import listed
from changeproof.runs.plan import DEFAULT_MODEL, Plan

# So many levels or names are told one by one; of more only the number.
FEW = 5
# What is real, by the family that stands for it where a run has it.
SUCCESSOR = "successor"
REAL = {SUCCESSOR: "a real successor of the model", "later-data": "data that came later"}
NO_PROMISE = "This is no promise about changes that are not listed."


def in_sentence(family: str) -> str:
    """Return a family's name within a sentence."""
    name = family_name(family)
    known = without_settings(family) in builtin_family_names()
    return f"{name[0].lower()}{name[1:]}" if known else name


def simulated_words(
    plan: Plan,
    variants: pd.DataFrame,
    model: str,
    averaged: Sequence[str] | None = None,
    unchanged: Sequence[str] = (),
) -> str:
    """Say which kinds of change there were, how many models of each, and what is not averaged."""
    real = variants["family"] == SUCCESSOR
    beside = " Beside them stands the real successor." if real.any() else ""
    variants = variants[~real]
    if variants.empty:
        only = "nothing; only the real successor was tested" if beside else "no changed models yet"
        return f"Simulated: {only}."
    sizes = variants.groupby(["dataset", "base_seed", "family"]).size()
    kinds = []
    for family in (name for name in plan.families if name != SUCCESSOR):
        mine = variants[variants["family"] == family]
        levels = list(dict.fromkeys(mine["level"].astype(str)))
        told = f"; {', '.join(levels)}" if 1 < len(levels) <= FEW else ""
        kinds.append(f"{in_sentence(family)} ({_span(sizes.xs(family, level='family'))}{told})")
    total = sizes.groupby(["dataset", "base_seed"]).sum()
    seeds = variants["base_seed"].nunique()
    each = f" for each of {seeds} base models" if seeds > 1 else ""
    model = f"a neural network ({model})" if model.startswith(DEFAULT_MODEL) else model
    one = "one kind" if len(kinds) == 1 else f"{len(kinds)} kinds"
    models = f"{_span(total)} changed models of {model}"
    apart = [in_sentence(name) for name in plan.families if averaged and name not in averaged]
    without = f" The average leaves out {listed(apart)}." if apart else ""
    if unchanged:
        same = listed([in_sentence(name) for name in unchanged])
        without += f" Of these, {same} changed nothing about any answer of the model."
    return f"Simulated: {models} in {one}{each}: {listed(kinds)}.{without}{beside}"


def _span(numbers: pd.Series[int]) -> str:
    low, high = numbers.min(), numbers.max()
    return str(low) if low == high else f"{low} to {high}"


def not_simulated_words(plan: Plan) -> str:
    """Say which kinds of change there were not, and why."""
    reasons = [f"{in_sentence(name)} ({reason})" for name, reason in _left_out(plan)]
    there = {without_settings(name) for name in plan.families}
    named = there | {without_settings(name) for name in plan.left_out}
    others = [name for name in builtin_family_names() if name not in named]
    absent = [in_sentence(name) for name in others if name in published_family_names()]
    beyond = [in_sentence(name) for name in others if name not in published_family_names()]
    if len(beyond) > FEW:
        beyond = [f"{len(beyond)} kinds that the paper does not have"]
    if absent or beyond:
        reasons.append(f"{listed(absent + beyond)} (not asked for)")
    reasons += [what for name, what in REAL.items() if name not in there]
    reasons.append("data of other people")
    return f"Not simulated: {'; '.join(reasons)}. {NO_PROMISE}"


def _left_out(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the families among what the model cannot support."""
    known = family_names()
    for name, reason in plan.left_out.items():
        if without_settings(name) in known:
            yield name, reason
