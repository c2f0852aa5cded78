"""What successors do to letters that are out: in sentences, and person by person on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from changeproof.datasets.threshold import Threshold
from changeproof.report.page.parts import Part, Source, choice, folded, heading, muted, table, text
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import Tables, listed, percent
from changeproof.tables.letters import BREAKS, HOLDS, NO_LETTER, NOT_TODAY
from changeproof.tables.names import dataset_name, family_name, method_name
from changeproof.tables.scores import counted_in

KEY = ["dataset", "base_seed", "method", "successor"]
ORDER = {BREAKS: 0, HOLDS: 1}
MARGINS = ("today_score", "today_margin", "successor_score", "successor_margin")
DISTANCES = ("old", "further", "together", "more")
FACTUAL = "factual:"
DASH = "\N{EN DASH}"
SIMULATED = (
    "family", "models", "letters broken (least / median / most)",
    "decisions changed % (least / median / most)", "models that break at least as many",
    "models that change at least as many",
)  # fmt: skip
RENEWED = (
    "id", "further change", "distance of the letter", "of the further change", "of both",
    "more than the letter",
)  # fmt: skip
MEANING = (
    "A letter breaks if today's model accepts it and the successor does not. Margin: how far the "
    "score is on the favourable side of the threshold. The columns after the letter are what the "
    "person had before any change. Simulated models are fitted on the training part of these "
    "data. All of it is in tables/letters.csv."
)
# So many people are named; the table has them all.
MOST_NAMED = 5


class Sent(NamedTuple):
    """A table of letters and a successor: the rows of each table that are about them."""

    dataset: str
    base_seed: int
    method: str
    successor: str
    compared: pd.DataFrame
    letters: pd.DataFrame
    renewals: pd.DataFrame

    def paragraphs(self, counted: Collection[str]) -> list[list[str]]:
        """Return what breaks and whether that was to be expected, who it is, and renewals."""
        parts = (_verdict(self.compared, counted), _who(self.letters), _renewed(self.renewals))
        return [sentences for part in parts if (sentences := list(part))]


def _sent(tables: Tables) -> Iterator[Sent]:
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return
    beside = [tables.get(name, pd.DataFrame(columns=KEY)) for name in ("letters", "renewals")]
    key: Any
    for key, rows in compared.groupby(KEY, sort=False):
        letters, renewals = (each[(each[KEY] == list(key)).all(axis=1)] for each in beside)
        dataset, seed, method, successor = key
        yield Sent(dataset, seed, method, successor, rows, letters, renewals)


def letter_lines(tables: Tables) -> Iterator[str]:
    """Yield what there is to say of every table of letters and successor, line by line."""
    sent = list(_sent(tables))
    several = len({each.base_seed for each in sent}) > 1
    for each in sent:
        base = f", base model {each.base_seed}" if several else ""
        who = f"{method_name(each.method)} on {dataset_name(each.dataset)}{base}"
        yield f"{who}, under {each.successor}:"
        for sentences in each.paragraphs(counted_in(tables)):
            yield from (f"  {sentence}" for sentence in sentences)


def _verdict(rows: pd.DataFrame, counted: Collection[str]) -> Iterator[str]:
    """Say what a successor changes and breaks, and whether simulated models do as much.

    Those of families that do not count are named where they break more.
    """
    by_family = rows.set_index("family")
    whole = by_family.loc[ALL_FAMILIES].to_dict()
    models, broken = int(whole["models"]), int(whole["broken"])
    known = pd.notna(whole["decisions_changed"])
    changing = int(whole["models_change_as_many"]) if known else 0
    text = f"The successor changes {percent(whole['decisions_changed'])} of decisions"
    if not known:
        yield "The successor is known by its scores of the letters only."
    else:
        yield (
            f"{text}; {_models(changing, models, 'change')} at least as many."
            if models
            else f"{text}."
        )
    text = f"It breaks {broken} of {_count(int(whole['letters']), 'letter')}"
    if not models:
        yield f"{text}. Nothing was simulated beside it."
        return
    most = int(whole["broken_most"])
    each = by_family.drop(index=ALL_FAMILIES)["broken_most"]
    beside = each[[bool(counted) and family not in counted for family in each.index]]
    each = each.drop(index=beside.index)
    more = [family_name(str(family)) for family in beside.index[beside > most]]
    counts = " that counts" if more else ""
    if broken > most == 0:
        text += f"; no simulated model{counts} breaks any"
    elif broken > most:
        text += f"; no simulated family{counts} breaks more than {most}"
    elif broken:
        worst = listed([family_name(str(family)) for family in each.index[each == most]])
        as_many = _models(int(whole["models_break_as_many"]), models, "break")
        text += f"; {as_many} at least as many, and the most is {most} ({worst})"
    yield f"{text}."
    yield _within(changing > 0 if known else None, broken <= most)
    if more:
        yield f"{listed(more)} breaks up to {int(beside.max())}, but does not count."


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
        who = f"{', '.join(names)} and {others} more" if others else listed(names)
        farthest, closest = (abs(float(broken["successor_margin"].iloc[n])) for n in (0, -1))
        apart = f"{closest:.3g} to {farthest:.3g}" if len(broken) > 1 else f"{farthest:.3g}"
        yield f"Broken: {who}; they miss the threshold by {apart}."
    if count := int((letters["verdict"] == NOT_TODAY).sum()):
        yield f"Not counted: {_count(count, 'letter')} that today's model does not accept."
    untested = letters.loc[letters["verdict"] == NO_LETTER, "reason"]
    if len(untested):
        letter = _count(len(untested), "letter")
        yield f"Not counted: {letter} that could not be tested ({_reasons(untested)})."


def _reasons(reasons: pd.Series[Any]) -> str:
    """Return how many letters have each reason, the most frequent first."""
    counts = reasons.value_counts().to_dict()
    found = [f"{count}: {reason}" for reason, count in counts.items()][:MOST_NAMED]
    others = len(counts) - len(found)
    return "; ".join([*found, *(["others: see the table"] if others else [])])


def _renewed(renewals: pd.DataFrame) -> Iterator[str]:
    """Say what renewing broken letters takes."""
    if renewals.empty:
        return
    there = renewals[renewals["accepted"].astype(bool)]
    who = method_name(str(renewals["renewed_by"].iloc[0]))
    yield f"{who} renews {len(there)} of {_count(len(renewals), 'broken letter')}."
    if there.empty:
        return
    old, further, together, more = (float(there[f"distance_{each}"].mean()) for each in DISTANCES)
    yield (
        f"On average, people then have {further:.2f} typical deviations per feature to go from "
        f"where the letter took them. In all, that is {together:.2f} from where they started, "
        f"instead of {old:.2f}: {abs(more):.2f} {'more' if more >= 0 else 'less'}."
    )


def _models(count: int, models: int, verb: str) -> str:
    """Return "8 of the 175 simulated models change"."""
    return f"{count or 'none'} of the {models} simulated models {verb}{'s' if count < 2 else ''}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def letter_section(source: Source) -> list[Part] | None:
    """Return a view per table of letters and successor; None where there are none."""
    named = {
        f"{method_name(each.method)} on {dataset_name(each.dataset)} ({each.base_seed}) under "
        f"{each.successor}": each
        for each in _sent(source.tables)
    }
    if not named:
        return None
    counted = counted_in(source.tables)
    views = [_view(each, each.paragraphs(counted), name) for name, each in named.items()]
    shown = [choice({"Letters and successor": list(named)}, views)] if len(views) > 1 else views[0]
    return [*shown, muted(MEANING)]


def _view(sent: Sent, words: list[list[str]], name: str) -> list[Part]:
    letters = sent.letters
    # Broken ones first, those that are farthest off before.
    order = letters["verdict"].map(ORDER).fillna(len(ORDER))
    letters = letters.assign(order=order, reason=letters["reason"].replace("", None))
    people = letters.sort_values(["order", "successor_margin"], kind="stable")
    features = [name for name in people.columns if name.startswith(FACTUAL)]
    sides = [people[f"{who}_threshold"].iloc[0] for who in ("today", "successor")]
    limits = [Threshold.of(each) for each in sides]
    digits = 1 if any(abs(each.end or each.value) > 1 for each in limits) else 3
    today, successor = (each.words for each in limits)
    columns = ["id", "verdict", f"today ({today})", "margin", f"successor ({successor})", "margin"]
    columns += ["holds in simulated", "letter", *(name.removeprefix(FACTUAL) for name in features)]
    rows = [
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
    compared = [_family(row) for row in sent.compared.to_dict("records")]
    beside = table("Successor and simulated models", SIMULATED, compared)
    parts = [
        *(text(" ".join(sentences)) for sentences in words),
        folded("Compared with the simulated families", [beside]),
        table(f"Letters: {name}", columns, rows, texts=2, long=7, tall=True, file="letters"),
    ]
    if len(sent.renewals):
        renewed = [
            [
                str(row["id"]),
                str(row["changes"]) if bool(row["accepted"]) else f"no renewal: {row['outcome']}",
                *(_text(row[f"distance_{which}"], 2) for which in DISTANCES),
            ]
            for row in sent.renewals.to_dict("records")
        ]
        parts.append(heading("Renewals"))
        parts.append(table(f"Renewals: {name}", RENEWED, renewed, texts=1, long=1, tall=True))
    return parts


def _text(value: Any, digits: int) -> str:
    return DASH if pd.isna(value) else f"{float(value):.{digits}f}"


def _family(row: Mapping[Any, Any]) -> list[Any]:
    """Return how many letters and decisions the models of a family change."""
    name = "all simulated" if row["family"] == ALL_FAMILIES else family_name(str(row["family"]))
    spreads = [
        " / ".join(_text(row[f"{what}_{which}"], digits) for which in ("least", "median", "most"))
        for what, digits in (("broken", 0), ("decisions_changed", 1))
    ]
    counts = [row["models_break_as_many"], row["models_change_as_many"]]
    return [name, int(row["models"]), *spreads, *(_text(count, 0) for count in counts)]
