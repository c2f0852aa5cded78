"""What successors do to letters that are out: in sentences, and person by person on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import listed, number, percent
from changeproof.tables.letters import BREAKS, HOLDS, NO_LETTER, NOT_TODAY
from changeproof.tables.names import dataset_name, family_name, method_name
from changeproof.tables.scores import counted_in

WHOSE = ["dataset", "base_seed", "method", "successor"]
ORDER = {BREAKS: 0, HOLDS: 1}
MARGINS = ("today_score", "today_margin", "successor_score", "successor_margin")
DISTANCES = ("old", "further", "together", "more")
FACTUAL = "factual:"
# So many people are named; the table has them all.
MOST_NAMED = 5


def letter_paragraphs(tables: Mapping[str, pd.DataFrame]) -> list[list[list[str]]]:
    """Return what there is to say per table of letters and successor, sentence by sentence.

    In three paragraphs: what breaks and whether that was to be expected, who it is, renewals.
    """
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return []
    said = []
    for key, rows in compared.groupby(WHOSE, sort=False):
        letters = letter_part(tables["letters"], key)
        parts = (_verdict(rows, counted_in(tables)), _who(letters), _renewed(tables, key))
        said.append([sentences for part in parts if (sentences := list(part))])
    return said


def letter_lines(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
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


def letter_part(table: pd.DataFrame, key: Any) -> pd.DataFrame:
    """Return the rows of a table about some letters and a successor."""
    chosen = pd.Series(True, index=table.index)
    for column, value in zip(WHOSE, key, strict=True):
        chosen &= table[column] == value
    return table[chosen]


def _verdict(rows: pd.DataFrame, counted: Collection[str]) -> Iterator[str]:
    """Say what a successor changes and breaks, and whether simulated models do as much.

    Those of families that do not count are named where they break more.
    """
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
    beside = each[[bool(counted) and family not in counted for family in each.index]]
    each = each.drop(index=beside.index)
    more = list(beside.index[beside > most])
    counts = " that counts" if more else ""
    worst = listed([family_name(str(family)) for family in each.index[each == most]])
    if broken > most == 0:
        yield f"{text}; no simulated model{counts} breaks any."
    elif broken > most:
        yield f"{text}; no simulated family{counts} breaks more than {most}."
    elif broken:
        others = f"{_models(as_many, models, 'break')} as many, and the most is {most} ({worst})"
        yield f"{text}; {others}."
    else:
        yield f"{text}."
    yield _within(changing > 0 if known else None, broken <= most)
    if more:
        names = listed([family_name(str(family)) for family in more])
        yield f"Apart from that, {names} breaks up to {int(beside.max())}, and does not count."


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


def _renewed(tables: Mapping[str, pd.DataFrame], key: Any) -> Iterator[str]:
    """Say what renewing broken letters takes."""
    table = tables.get("renewals", pd.DataFrame())
    table = table if table.empty else letter_part(table, key)
    if table.empty:
        return
    there = table[table["accepted"].astype(bool)]
    who = method_name(str(table["renewed_by"].iloc[0]))
    yield f"{who} renews {len(there)} of {_count(len(table), 'broken letter')}."
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


def letters(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]] | None:
    """Return a view per table of letters and successor; None where there are none."""
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return None
    said = letter_paragraphs(tables)
    return [
        _view(tables, key, rows, words)
        for (key, rows), words in zip(compared.groupby(WHOSE, sort=False), said, strict=True)
    ]


def _view(
    tables: Mapping[str, pd.DataFrame], key: Any, rows: pd.DataFrame, words: list[list[str]]
) -> dict[str, Any]:
    dataset, seed, method, successor = key
    renewals = tables.get("renewals", pd.DataFrame())
    people = _people(tables, key)
    features = [name for name in people.columns if name.startswith(FACTUAL)]
    return {
        "name": f"{method_name(method)} on {dataset_name(dataset)} ({seed}) under {successor}",
        "words": [" ".join(sentences) for sentences in words],
        "thresholds": [str(people[f"{who}_threshold"].iloc[0]) for who in ("today", "successor")],
        "families": [_family(row) for row in rows.to_dict("records")],
        "features": [name.removeprefix(FACTUAL) for name in features],
        "people": [
            [
                str(row["id"]),
                row["verdict"] if pd.isna(row["reason"]) else f"{row['verdict']}: {row['reason']}",
                *(number(row[name]) for name in MARGINS),
                [int(row["simulated_hold"]), int(row["simulated_models"])],
                "" if pd.isna(row["advice"]) else str(row["advice"]),
                [str(row[name]) for name in features],
            ]
            for row in people.to_dict("records")
        ],
        "renewals": [] if renewals.empty else _renewals(letter_part(renewals, key)),
    }


def _people(tables: Mapping[str, pd.DataFrame], key: Any) -> pd.DataFrame:
    """Return everybody with a letter: broken ones first, those that are farthest off before."""
    table = letter_part(tables["letters"], key)
    order = table["verdict"].map(ORDER).fillna(len(ORDER))
    table = table.assign(order=order, reason=table["reason"].replace("", None))
    return table.sort_values(["order", "successor_margin"], kind="stable")


def _renewals(table: pd.DataFrame) -> list[list[Any]]:
    """Return who, what more there is to change (or why nothing was found), and how far it is."""
    return [
        [
            str(row["id"]),
            str(row["changes"]) if bool(row["accepted"]) else f"no renewal: {row['outcome']}",
            *(number(row[f"distance_{which}"]) for which in DISTANCES),
        ]
        for row in table.to_dict("records")
    ]


def _family(row: Mapping[Any, Any]) -> list[Any]:
    name = "all simulated" if row["family"] == ALL_FAMILIES else family_name(str(row["family"]))
    spread = [
        number(row[f"{what}_{which}"])
        for what in ("broken", "decisions_changed")
        for which in ("least", "median", "most")
    ]
    counts = [row["models_break_as_many"], row["models_change_as_many"]]
    return [name, int(row["models"]), *spread, *(None if pd.isna(n) else int(n) for n in counts)]
