"""What sections of the page are made of, and what they are made from.

A section is a list of parts. The page shows each kind in one way, so a section that needs no more
than words, tables, charts and choices has no script of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, Shown, for_page, tall
from changeproof.report.scores import Covered, Scores, covered
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables
from changeproof.tables.names import dataset_name, different_names, family_name, method_name

Part = dict[str, Any]
NOT_YET = "No method is finished yet."


@dataclass(frozen=True)
class Source:
    """A run and its tables, and what is asked of them more than once."""

    results: StoredResults
    tables: Tables

    @property
    def plan(self) -> Plan:
        return self.results.shown

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.tables)

    @cached_property
    def covered(self) -> dict[str, Covered]:
        """What the spread of scores covers, by dataset."""
        return dict(zip(self.plan.datasets, covered(self.tables, self.plan), strict=True))

    @cached_property
    def shown(self) -> Shown:
        """What is shown, and what it is called: families that change nothing say so."""
        plan = self.plan
        names = different_names(plan.datasets, dataset_name)
        names |= different_names(plan.methods, method_name)
        for family, name in different_names(plan.families, family_name).items():
            names[family] = f"{name} (no change)" if family in self.results.unchanged else name
        over = {dataset: each.intervals for dataset, each in self.covered.items()}
        return Shown(plan.datasets, plan.methods, plan.families, names, over)

    @cached_property
    def present(self) -> list[str]:
        """The datasets that have something to show."""
        return self.scores.present(self.plan.datasets)

    def best(self, dataset: str) -> str | None:
        """Return the method that the verdict names; None where nobody has advice that holds."""
        order = self.scores.best_first(dataset, self.plan.methods)
        best = self.plan.methods[order[0]] if order else None
        known = best and self.scores.of("empirical_robustness", dataset, best).mean is not None
        return best if known else None

    def meaning(self, datasets: Sequence[str]) -> str:
        """Say what spreads are over, once for all datasets that say the same."""
        return " ".join(dict.fromkeys(self.covered[dataset].meaning for dataset in datasets))


def text(words: str, kind: str = "", name: str = "") -> Part:
    """Return a paragraph; `kind` is its class, `name` its id."""
    return {"text": words} | ({"class": kind} if kind else {}) | ({"id": name} if name else {})


def muted(words: str) -> Part:
    return text(words, "muted")


def heading(words: str) -> Part:
    return {"heading": words}


def nothing(reason: str) -> list[Part]:
    return [{"nothing": reason}]


def chart(specification: Chart) -> Part:
    return {"chart": for_page(specification)}


def named_panel(
    names: Sequence[str],
    across: Axis,
    layers: Sequence[Layer],
    title: str = "",
    *,
    each: float = 30,
    rest: float = 70,
) -> Panel:
    """Return a panel with names down its side, and in every layer a point and its text for each."""
    placed = [
        replace(
            layer,
            y=list(range(len(names))),
            hover=[f"{name}\n{text}" for name, text in zip(names, layer.hover, strict=True)],
        )
        if layer.hover is not None
        else layer
        for layer in layers
    ]
    return Panel(placed, across, Axis(names=names), title, tall(len(names), each, rest))


def spans(ends: Sequence[tuple[float | None, float | None]], mark: Mark, width: float) -> Layer:
    """Return lines from one end to the other, one for each name of a panel."""
    x = [end for pair in ends for end in (*pair, None)]
    y = [place for n in range(len(ends)) for place in (n, n, None)]
    return Layer("line", x, y, mark, width=width)


def table(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    texts: int = 1,
    long: int = -1,
    tall: bool = False,
    file: str = "",
) -> Part:
    """Return a table: its first columns hold text, one may be `long`, and it may be a file, too."""
    look = {"texts": texts, "long": long, "tall": tall}
    return {"table": name, "columns": list(columns), "rows": list(rows), "look": look, "file": file}


def folded(summary: str, parts: Sequence[Part], *, long: bool = False) -> Part:
    """Return parts that are folded; `long` ones stay so in print."""
    return {"folded": summary, "parts": list(parts), "long": long}


def beside(*columns: Sequence[Part]) -> Part:
    return {"beside": [list(parts) for parts in columns]}


def choice(
    options: Mapping[str, Sequence[str]],
    views: Sequence[Sequence[Part]],
    chosen: Sequence[int] = (),
) -> Part:
    """Return what depends on choices: labels with their options, and the parts for each choice.

    Views come in the order of `itertools.product` of the options.
    """
    assert len(views) == len(list(product(*options.values())))
    return {
        "choice": [[label, list(names)] for label, names in options.items()],
        "views": [list(view) for view in views],
        "chosen": list(chosen) or [0] * len(options),
    }


def scripted(name: str, data: Any = None) -> Part:
    """Return a part that a script of its own shows."""
    return {"script": name, "data": data}
