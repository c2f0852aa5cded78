"""How fragile the choices of tuning are: how far each is ahead of the runner-up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

# A choice that is ahead by more validation rows than this is not mentioned.
FEW_ROWS = 1


def fragile_picks(tuning: pd.DataFrame) -> list[str]:
    """Return for each choice that depends on one validation row, or on none, what it wins by.

    `tuning` is the table of a run; without a column of what separates candidates, there is nothing.
    """
    if "rows_behind" not in tuning.columns:
        return []
    sentences = []
    for (dataset, method), table in tuning.groupby(["dataset", "method"], sort=False):
        (pick,) = table[table["chosen"]].to_dict("records")
        others = table[table["settings"] != pick["settings"]]
        for other in others.sort_values(["rows_behind", "distance"]).head(1).to_dict("records"):
            if other["rows_behind"] <= FEW_ROWS:
                reason = _reason(pick, other) + _waiting(pick, other, others)
                sentences.append(f"{method} on {dataset}: {reason}")
    return sentences


def _waiting(pick: Mapping[Any, Any], named: Mapping[Any, Any], others: pd.DataFrame) -> str:
    """Name who would be chosen with one more valid row: those one row behind and nearer."""
    waiting = others[(others["rows_behind"] == 1) & (others["distance"] < pick["distance"])]
    waiting = waiting[waiting["settings"] != named["settings"]]
    if waiting.empty or pick["valid_rows"] == 0:
        return ""
    settings = [json.loads(text) for text in waiting["settings"]]
    first = _names(json.loads(pick["settings"]), settings[0])[1]
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return f"; one row behind and nearer: {first}{more}"


def _reason(pick: Mapping[Any, Any], other: Mapping[Any, Any]) -> str:
    mine, theirs = _names(json.loads(pick["settings"]), json.loads(other["settings"]))
    rows, valid = pick["validation_rows"], pick["valid_rows"]
    if other["rows_behind"] > 0:
        return f"{mine} wins by {other['rows_behind']} of {rows} validation rows over {theirs}"
    if valid == 0:
        return f"{mine} only comes first: no candidate is valid on any of {rows} validation rows"
    tie = f"{mine} ties with {theirs} ({valid} of {rows} validation rows each)"
    distance = other["distance_behind"]
    if distance == 0:
        return f"{tie} and in distance, and comes first"
    share = 100.0 * distance / pick["distance"]
    return f"{tie} and wins by a distance of {distance:.2g} ({share:.2g} %)"


def _names(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, str]:
    """Name two candidates by the settings in which they differ."""
    names = [name for name in mine if mine[name] != theirs[name]]
    if len(names) == 1:
        return _named(names, mine), _value(theirs[names[0]])
    return _named(names, mine), _named(names, theirs)


def _named(names: list[str], settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_value(settings[name])}" for name in names)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
