"""How long advice lasts: the life of one person's advice, and curves and sums of everybody's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from changeproof.evaluation.life import Lives
from changeproof.evaluation.uncertainty import share_interval
from changeproof.report.charts import Axis, Chart, Layer, Panel, Shown
from changeproof.report.page.life_limit import life_limit_words, limit_parts
from changeproof.report.page.parts import Part, Source, chart, choice, muted, table
from changeproof.report.page.robustness import undefined_words
from changeproof.report.scores import AS_IT_WAS, Spread, after
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables, listed, number, numbers, percent
from changeproof.tables.life import GATE, LIFE, NOT_DEPLOYED, PARTS, SHARES, with_ends
from changeproof.tables.names import family_name

# What is drawn of a sequence, and what it is called.
MEASURES = {"held_so_far": "held through every update so far", "holds": "holds at each update"}
# Through how many updates did it hold in nearly all futures? In so many.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Lasting:
    """Through how many updates one person's advice held.

    Attributes
    ----------
    family
        The sequence of updates.
    updates, futures
        How many updates follow each other, in how many futures.
    held_through
        For every update, in how many futures the advice held so far.
    low, high
        95 % interval of the share of futures in which it held to the end.
    sentence
        The same in words.
    done_by, held_until_done
        The last update before the advice is done, if it takes time and the updates have a
        calendar; and in how many futures it held until then. None where that is not known.
    """

    family: str
    updates: int
    futures: int
    held_through: tuple[int, ...]
    low: float
    high: float
    sentence: str
    done_by: int | None = None
    held_until_done: int | None = None

    @classmethod
    def of(
        cls,
        family: str,
        lives: Lives,
        months_between: float | None = None,
        months: float | None = None,
    ) -> Self:
        """Return how long the advice of a single person lasted; futures cut short do not count.

        It is done after so many `months`.
        """
        updates = lives.holds.shape[2]
        through = lives.held_through[0, lives.lengths == updates]
        held = tuple(int((through >= number).sum()) for number in range(1, updates + 1))
        low, high = share_interval(held[-1], len(through))
        sentence = _sentence(held, len(through), f"{100 * low:.0f} % to {100 * high:.0f} %")
        found = cls(family, updates, len(through), held, low, high, sentence)
        if months is None or months_between is None:
            return found
        done_by = updates_within(months, months_between)
        until = held[done_by - 1] if 0 < done_by <= updates else None
        if done_by == 0:
            until = len(through)
        words = _until_done(done_by, until, len(through), updates)
        return replace(
            found, done_by=done_by, held_until_done=until, sentence=f"{sentence} {words}"
        )


def updates_within(months: float, months_between: float) -> int:
    """Return how many updates there are until so many months are over."""
    return int(months / months_between + 1e-9)


def _until_done(done_by: int, until: int | None, futures: int, updates: int) -> str:
    if done_by == 0:
        return "It is done before the first update."
    if until is None:
        return f"It is done after {done_by} updates, more than the {updates} that were simulated."
    what = "update" if done_by == 1 else f"{done_by} updates"
    return f"Through the {what} until it is done, it held in {until} of {futures}."


def _sentence(held: tuple[int, ...], futures: int, interval: str) -> str:
    updates = len(held)
    whole = "its one update" if updates == 1 else f"all {updates} updates"
    if futures == 1:
        through = whole if sum(held) == updates else f"{sum(held)} of {updates} updates"
        return f"Held through {through}."
    words = (
        f"Held through {whole} in {held[-1]} of {futures} simulated futures "
        f"(95 % interval: {interval})"
    )
    if held[-1] >= NEARLY_ALL * futures or updates == 1:
        return f"{words}."
    # Fewer futures hold with every update, so the last update that nearly all survive is a count.
    most = sum(count >= NEARLY_ALL * futures for count in held)
    if most:
        return f"{words}, and through {most} of {updates} in {held[most - 1]} of {futures}."
    return f"{words}; the first update broke it in {futures - held[0]} of {futures}."


def life_section(source: Source) -> list[Part] | None:
    lives, sums = (source.tables.get(name, pd.DataFrame()) for name in ("life", "life_summary"))
    if lives.empty:
        return None
    plan, shown = source.plan, source.shown
    families = [family for family in plan.families if family in set(lives["family"])]

    def over(dataset: str) -> str:
        # With one base model, these intervals are over futures as well.
        several = len(plan.base_seeds) > 1
        return source.covered[dataset].repeated if several else "people and futures"

    caption = (
        "Of the CFEs that the base model accepts, before the first update and after each. A CFE "
        "that holds again after an update that broke it is still broken “so far”. 95 % intervals "
        f"are over {' or '.join(dict.fromkeys(map(over, source.present)))}."
    )
    views = []
    for family in families:
        mine = sums[sums["family"] == family]
        words = life_words(mine, shown)
        for measure in MEASURES:
            drawn = curves(source.tables, family, shown, measure, over)
            views.append([chart(replace(drawn, caption=caption, words=words)), *_sums(mine, shown)])
    named = [f"{shown.name(each)}: {source.results.families[each].summary}" for each in families]
    sequences = {"Sequence": named} if len(families) > 1 else {}
    parts = [choice(sequences | {"Share that": list(MEASURES.values())}, views)]
    limits = [limit_parts(source.scores, shown, source.tables, family) for family in families]
    if not any(limits):
        return parts
    return [*parts, *(limits[0] if len(families) == 1 else [choice(sequences, limits)])]


def _sums(sums: pd.DataFrame, shown: Shown) -> list[Part]:
    rows = {(row["dataset"], row["method"]): row for row in sums.to_dict("records")}
    cells = [
        [shown.name(dataset), shown.name(method)]
        + [with_ends(rows[dataset, method], name) for name in LIFE]
        for dataset in shown.datasets
        for method in shown.methods
        if (dataset, method) in rows
    ]
    columns = ["dataset", "method", *(heading.name.lower() for heading in LIFE.values())]
    return [
        table("How long advice lasts", columns, cells, texts=2),
        muted(
            "In brackets: 95 % intervals. Median life: through how many updates half of the "
            "CFEs held; “>” means that more than half held to the end. Broken per update: the mean "
            f"share that an update breaks of what held so far. {GATE} {_not_deployed(sums, shown)}"
        ),
    ]


def _not_deployed(sums: pd.DataFrame, shown: Shown) -> str:
    """Say on every dataset how many updates were not deployed."""
    first = sums.drop_duplicates("dataset").set_index("dataset")
    parts = [
        f"{row[NOT_DEPLOYED]} of {row['futures'] * row['updates']} on {shown.name(dataset)}"
        for dataset in shown.datasets
        if dataset in first.index
        for row in [first.loc[dataset]]
    ]
    return f"Not deployed: {', '.join(parts)}."


def curves(
    tables: Tables,
    family: str,
    shown: Shown,
    measure: str = "held_so_far",
    over: Callable[[str], str] = lambda dataset: "",
) -> Chart:
    """Return the share of advice that lasts: a panel per dataset, a line per method.

    `measure` is one of `MEASURES`; `over` returns what intervals on a dataset are over.
    """
    life = tables["life"]
    life = life[life["family"] == family]
    by = dict(iter(life.groupby(["dataset", "method"], sort=False)))
    panels, undefined = [], []
    for dataset in (each for each in shown.datasets if each in set(life["dataset"])):
        layers, without = [], []
        for method, (mark, name) in zip(shown.methods, shown.legend, strict=True):
            if (dataset, method) not in by:
                continue
            ends = by[dataset, method]
            mean, low, high = (numbers(ends[f"{measure}_{part}"]) for part in PARTS)
            if mean[0] is None:
                without.append(name)
                continue
            texts = [
                f"update {n}: {Spread(m, None, lo, hi).text(1, over(dataset), ' %')}"
                for n, (m, lo, hi) in enumerate(zip(mean, low, high, strict=True), start=1)
            ]
            layers.append(
                Layer(
                    "steps",
                    list(range(len(mean) + 1)),
                    [100.0, *mean],
                    mark,
                    7,
                    1.5,
                    name=name,
                    hover=[f"{name}\n{text}" for text in ("before the first update", *texts)],
                    low=[100.0, *low],
                    high=[100.0, *high],
                )
            )
        if without:
            undefined.append(f"{', '.join(without)} on {shown.name(dataset)}")
        reached = [v for layer in layers for v in (*layer.y, *(layer.low or ())) if v is not None]
        last = max((len(layer.x) - 1 for layer in layers), default=1)
        step = None if last > 20 else 2 if last > 6 else 1
        panels.append(
            Panel(
                layers,
                Axis("update", low=-0.02 * last, high=1.03 * last, step=step),
                Axis("advice that held (%)", " %", max(-3, min(reached, default=0) - 6), 103),
                shown.name(dataset),
                340,
            )
        )
    columns = [c for c in ("dataset", "method", "family", "update", *SHARES) if c in life]
    notes = [
        f"{shown.name(family)}: of the counterfactuals that are valid on the base model, the share "
        "that held through every update so far. Bars at the end: 95 % intervals.",
        undefined_words(undefined),
        life_limit_words(tables, family, shown),
    ]
    return Chart(
        "life",
        "CFEs that last (%)",
        panels=panels,
        columns=columns,
        rows=[
            [value if isinstance(value, str | int) else number(value) for value in row]
            for row in life[columns].to_numpy(dtype=object)
        ],
        texts=3,
        legend=shown.legend,
        intervals=True,
        notes="\n".join(filter(None, notes)),
    )


def over_all(results: StoredResults) -> str:
    """Return how a sentence about averages begins."""
    if results.unchanged and set(results.counting_families) <= set(results.unchanged):
        return AS_IT_WAS
    sequences = all(results.families[name].sequence for name in results.counting_families)
    return after(None, len(results.counting_families), sequences=sequences)


def about_sequences(results: StoredResults) -> list[str]:
    """Say what averages over all kinds of change are about, where there are sequences."""
    sequences = [family_name(name) for name, family in results.families.items() if family.sequence]
    if not sequences:
        return []
    if len(sequences) == len(results.families):
        return ["All changes here are sequences of updates. Averages are over all updates."]
    return [
        f"Averages over all kinds of change leave out {listed(sequences)}: there, updates follow "
        "each other. See “How long does it last?”."
    ]


def life_words(sums: pd.DataFrame, shown: Shown) -> str:
    """Say on every dataset whose advice lasts longest, and whose shortest."""
    parts = []
    for dataset in shown.datasets:
        mine = sums[(sums["dataset"] == dataset) & sums["held_to_the_end"].notna()]
        if mine.empty:
            continue
        mine = mine.sort_values("held_to_the_end", ascending=False, kind="stable")
        best, worst = mine.iloc[0], mine.iloc[-1]
        part = (
            f"On {shown.name(dataset)}, {percent(best['held_to_the_end'])} of the CFEs by "
            f"{shown.name(str(best['method']))} held through all {best['updates']:.0f} updates"
        )
        if len(mine) > 1:
            part += f", the most, and {_fate(worst, shown)}, the fewest"
        parts.append(f"{part}.")
    return " ".join(parts) or "No base model accepts a CFE, so there is none that could last."


def _fate(row: pd.Series[Any], shown: Shown) -> str:
    words = f"{percent(row['held_to_the_end'])} of those by {shown.name(str(row['method']))}"
    if np.isfinite(row["median_life"]):
        return f"{words} (half are broken by update {row['median_life'] + 1:.0f})"
    return words
