"""What successors do to letters that are out: in sentences, and person by person on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from changeproof.report.page.parts import (
    Part,
    Source,
    choice,
    folded,
    heading,
    muted,
    table,
    text,
)
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import Tables, listed, percent
from changeproof.tables.letters import BREAKS, HOLDS, NO_LETTER, NOT_TODAY
from changeproof.tables.names import dataset_name, family_name, method_name

WHOSE = ["dataset", "base_seed", "method", "successor"]
ORDER = {BREAKS: 0, HOLDS: 1}
MARGINS = ("today_score", "today_margin", "successor_score", "successor_margin")
DISTANCES = ("old", "further", "together", "more")
FACTUAL = "factual:"
DASH = "\N{EN DASH}"
SIMULATED = (
    "family", "models", "letters broken (least / median / most)",
    "decisions changed % (least / median / most)", "models that break as many",
    "models that change as many",
)  # fmt: skip
RENEWED = (
    "id", "further change", "distance of the letter", "of the further change", "of both",
    "more than the letter",
)  # fmt: skip
MEANING = (
    "A letter breaks if today's model accepts it and the successor does not. Margin: how far the "
    "score is on the favourable side of the threshold. Columns behind the letter are what the "
    "person had before any change. Simulated models are fitted on the training part of these "
    "data. All of it is in tables/letters.csv."
)
# So many people are named; the table has them all.
MOST_NAMED = 5


def letter_paragraphs(tables: Tables) -> list[list[list[str]]]:
    """Return what there is to say per table of letters and successor, sentence by sentence.

    In three paragraphs: what breaks and whether that was to be expected, who it is, renewals.
    """
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return []
    said = []
    for key, rows in compared.groupby(WHOSE, sort=False):
        letters = letter_part(tables["letters"], key)
        parts = (_verdict(rows), _who(letters), _renewed(tables, key))
        said.append([sentences for part in parts if (sentences := list(part))])
    return said


def letter_lines(tables: Tables) -> Iterator[str]:
    """Yield the same line by line, with who is spoken of before it."""
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return
    keys = compared[WHOSE].drop_duplicates().itertuples(index=False)
    several = len(set(compared["base_seed"])) > 1
    for (dataset, seed, method, successor), said in zip(
        keys, letter_paragraphs(tables), strict=True
    ):
        base = f", base model {seed}" if several else ""
        yield f"{method_name(method)} on {dataset_name(dataset)}{base}, under {successor}:"
        yield from (f"  {sentence}" for sentences in said for sentence in sentences)


def letter_part(frame: pd.DataFrame, key: Any) -> pd.DataFrame:
    """Return the rows of a table about some letters and a successor."""
    chosen = pd.Series(True, index=frame.index)
    for column, value in zip(WHOSE, key, strict=True):
        chosen &= frame[column] == value
    return frame[chosen]


def _verdict(rows: pd.DataFrame) -> Iterator[str]:
    """Say what a successor changes and breaks, and whether simulated models do as much."""
    by_family = rows.set_index("family")
    whole = by_family.loc[ALL_FAMILIES].to_dict()
    models = int(whole["models"])
    broken, letters = int(whole["broken"]), int(whole["letters"])
    as_many = int(whole["models_break_as_many"])
    known = pd.notna(whole["decisions_changed"])
    changing = int(whole["models_change_as_many"]) if known else 0
    text = f"The successor changes {percent(whole['decisions_changed'])} of decisions"
    if not known:
        yield "The successor is known by its scores of the letters only."
    else:
        yield f"{text}; {_models(changing, models, 'change')} as many." if models else f"{text}."
    text = f"It breaks {broken} of {_count(letters, 'letter')}"
    if not models:
        yield f"{text}. Nothing was simulated beside it."
        return
    most = int(whole["broken_most"])
    each = by_family.drop(index=ALL_FAMILIES)["broken_most"]
    worst = listed([family_name(str(family)) for family in each.index[each == most]])
    if broken > most == 0:
        yield f"{text}; no simulated model breaks any."
    elif broken > most:
        yield f"{text}; no simulated family breaks more than {most}."
    elif broken:
        beside = f"{_models(as_many, models, 'break')} as many, and the most is {most} ({worst})"
        yield f"{text}; {beside}."
    else:
        yield f"{text}."
    yield _within(changing > 0 if known else None, broken <= most)


def _within(decisions: bool | None, letters: bool) -> str:
    """Answer: was the real change within what was simulated?"""
    words = {True: "within", False: "beyond"}
    if decisions is None:
        return f"For the letters, the real change is {words[letters]} what was simulated."
    if decisions == letters:
        return f"The real change is {words[letters]} what was simulated."
    return (
        f"In decisions the real change is {words[decisions]} what was simulated; in letters it is "
        f"{words[letters]}."
    )


def _who(letters: pd.DataFrame) -> Iterator[str]:
    """Name people whose letters break, those that are the farthest first, and other letters."""
    broken = letters[letters["verdict"] == BREAKS].sort_values("successor_margin", kind="stable")
    if len(broken):
        names = [str(each) for each in broken["id"].head(MOST_NAMED)]
        others = len(broken) - len(names)
        more = f" and {others} more" if others else ""
        who = f"{', '.join(names)}{more}" if more else listed(names)
        farthest = abs(float(broken["successor_margin"].iloc[0]))
        closest = abs(float(broken["successor_margin"].iloc[-1]))
        apart = f"{closest:.3g} to {farthest:.3g}" if len(broken) > 1 else f"{farthest:.3g}"
        yield f"Broken: {who}; they miss the threshold by {apart}."
    for verdict, words in (
        (NOT_TODAY, "today's model does not accept"),
        (NO_LETTER, "could not be tested (see the reasons in the table)"),
    ):
        if count := int((letters["verdict"] == verdict).sum()):
            yield f"Not counted: {_count(count, 'letter')} that {words}."


def _renewed(tables: Tables, key: Any) -> Iterator[str]:
    """Say what renewing broken letters takes."""
    renewals = tables.get("renewals", pd.DataFrame())
    mine = renewals if renewals.empty else letter_part(renewals, key)
    if mine.empty:
        return
    there = mine[mine["accepted"].astype(bool)]
    who = method_name(str(mine["renewed_by"].iloc[0]))
    yield f"{who} renews {len(there)} of {_count(len(mine), 'broken letter')}."
    if there.empty:
        return
    old, further, together, more = (
        float(there[f"distance_{which}"].mean()) for which in ("old", "further", "together", "more")
    )
    yield (
        f"On average, people then have {further:.2f} typical deviations per feature to go from "
        f"where the letter brought them. In all that is {together:.2f} from where they were, "
        f"instead of {old:.2f}: {abs(more):.2f} {'more' if more >= 0 else 'less'}."
    )


def _models(count: int, models: int, verb: str) -> str:
    """Return "8 of the 175 simulated models change"."""
    return f"{count or 'none'} of the {models} simulated models {verb}{'s' if count < 2 else ''}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def letter_section(source: Source) -> list[Part] | None:
    """Return a view per table of letters and successor; None where there are none."""
    tables = source.tables
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return None
    said = letter_paragraphs(tables)
    keys = list(compared.groupby(WHOSE, sort=False))
    named = [
        f"{method_name(str(method))} on {dataset_name(str(dataset))} ({seed}) under {successor}"
        for (dataset, seed, method, successor), _ in keys
    ]
    views = [
        _view(tables, *key, words, name) for key, words, name in zip(keys, said, named, strict=True)
    ]
    shown = [choice({"Letters and successor": named}, views)] if len(views) > 1 else views[0]
    return [*shown, muted(MEANING)]


def _view(
    tables: Tables, key: Any, rows: pd.DataFrame, words: list[list[str]], name: str
) -> list[Part]:
    renewals = tables.get("renewals", pd.DataFrame())
    people = _people(tables, key)
    features = [name for name in people.columns if name.startswith(FACTUAL)]
    limits = [str(people[f"{who}_threshold"].iloc[0]) for who in ("today", "successor")]
    digits = 1 if any(abs(float(each.removeprefix("<="))) > 1 for each in limits) else 3
    today, successor = (
        f"up to {each[2:]}" if each.startswith("<=") else f"from {each}" for each in limits
    )
    columns = ["id", "verdict", f"today ({today})", "margin", f"successor ({successor})", "margin"]
    columns += ["holds in simulated", "letter", *(name.removeprefix(FACTUAL) for name in features)]
    told = [
        [
            str(row["id"]),
            row["verdict"] if pd.isna(row["reason"]) else f"{row['verdict']}: {row['reason']}",
            *(_text(row[name], digits) for name in MARGINS),
            f"{int(row['simulated_hold'])} of {int(row['simulated_models'])}",
            "" if pd.isna(row["advice"]) else str(row["advice"]),
            *(str(row[name]) for name in features),
        ]
        for row in people.to_dict("records")
    ]
    beside = table(
        "Successor and simulated models",
        SIMULATED,
        [_family(row) for row in rows.to_dict("records")],
    )
    parts = [text(" ".join(sentences)) for sentences in words]
    parts.append(folded("Beside the simulated families", [beside]))
    parts.append(
        table(f"Letters: {name}", columns, told, texts=2, long=7, tall=True, file="letters")
    )
    if not renewals.empty and len(mine := letter_part(renewals, key)):
        renewed = table(f"Renewals: {name}", RENEWED, _renewals(mine), texts=1, long=1, tall=True)
        parts += [heading("Renewals"), renewed]
    return parts


def _text(value: Any, digits: int) -> str:
    return DASH if pd.isna(value) else f"{float(value):.{digits}f}"


def _people(tables: Tables, key: Any) -> pd.DataFrame:
    """Return everybody with a letter: broken ones first, those that are farthest off before."""
    found = letter_part(tables["letters"], key)
    order = found["verdict"].map(ORDER).fillna(len(ORDER))
    found = found.assign(order=order, reason=found["reason"].replace("", None))
    return found.sort_values(["order", "successor_margin"], kind="stable")


def _renewals(renewals: pd.DataFrame) -> list[list[Any]]:
    """Return who, what more there is to change (or why nothing was found), and how far it is."""
    return [
        [
            str(row["id"]),
            str(row["changes"]) if bool(row["accepted"]) else f"no renewal: {row['outcome']}",
            *(_text(row[f"distance_{which}"], 2) for which in DISTANCES),
        ]
        for row in renewals.to_dict("records")
    ]


def _family(row: Mapping[Any, Any]) -> list[Any]:
    """Return how many letters and decisions the models of a family change."""
    name = "all simulated" if row["family"] == ALL_FAMILIES else family_name(str(row["family"]))
    spreads = [
        " / ".join(_text(row[f"{what}_{which}"], digits) for which in ("least", "median", "most"))
        for what, digits in (("broken", 0), ("decisions_changed", 1))
    ]
    counts = [row["models_break_as_many"], row["models_change_as_many"]]
    return [name, int(row["models"]), *spreads, *(_text(count, 0) for count in counts)]
