"""The tracks of the benchmark: what every entry is asked, the same for all.

A track is one or several plans without methods. What its data, people and models are is frozen in
`versions/`: answers to anything else are not answers to the track. A change here needs a new
version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from changeproof.changes import published_family_names
from changeproof.datasets import dataset_names, paper_datasets
from changeproof.errors import unknown
from changeproof.runs.plan import BASE_SEEDS, DEFAULT_MODEL, FACTUALS, Plan

VERSION = "2026.1"
# A plan has to name something that answers; this stands for whoever does.
_NOBODY = {"methods": (), "counterfactuals": {"nobody": "nobody"}}


@dataclass(frozen=True)
class Part:
    """One plan of a track: the people and models of one kind of model."""

    track: str
    values: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.values.get("model", DEFAULT_MODEL))

    @cached_property
    def plan(self) -> Plan:
        """The plan, which nobody answers yet."""
        return Plan.checked({**self.values, **_NOBODY})

    def asking(self, method: str) -> Plan:
        """Return the plan that asks a method, by its reference."""
        return Plan.checked({**self.values, "methods": (method,)})

    def judging(self, *entries: str) -> Plan:
        """Return the plan that puts the answers of entries to the changed models."""
        handed = {entry: entry for entry in entries}
        return Plan.checked({**self.values, "methods": (), "counterfactuals": handed})


@dataclass(frozen=True)
class Track:
    """What entries of a track are asked; `words` say it to people."""

    name: str
    title: str
    words: str
    plans: tuple[Mapping[str, Any], ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(self.name, values) for values in self.plans)


_RULED = tuple(name for name in dataset_names() if name not in paper_datasets())
_PAPER = {"datasets": paper_datasets(), "families": published_family_names()}
# Models of other libraries are not kept but trained again for every entry: fewer of what is slow.
_FEW = tuple(f"{name}(replicates=5)" for name in published_family_names())
_FEW_OTHERS = (*published_family_names()[:-2], "architecture(replicates=5)")

TRACKS = {
    track.name: track
    for track in (
        Track(
            "published",
            "As published",
            "The paper's four datasets, networks and eight families of change. Answers are tested "
            "as the methods give them, whatever they ask of people.",
            ({**_PAPER, "base_seeds": BASE_SEEDS, "factuals": FACTUALS, "limit": True},),
        ),
        Track(
            "feasible",
            "Feasible",
            "Three datasets that say what people can change, with networks and the paper's eight "
            "families. Answers that ask anything else of people are refused.",
            (
                {
                    **_PAPER,
                    "datasets": _RULED,
                    "base_seeds": BASE_SEEDS,
                    "factuals": 100,
                    "feasible": True,
                    "limit": True,
                },
            ),
        ),
        Track(
            "trees",
            "Trees",
            "Random forests and gradient boosting, with five models of each of the paper's "
            "families that fit. Answers have to keep to what people can change, where the data "
            "say that. A method that fits one kind of model only has no answers under the other.",
            tuple(
                {
                    "datasets": ("diabetes", "german-credit", "car-loans"),
                    "families": _FEW,
                    "model": model,
                    "base_seeds": BASE_SEEDS,
                    "factuals": 50,
                    "feasible": True,
                    "limit": True,
                }
                for model in (
                    "sklearn:RandomForestClassifier",
                    "sklearn:GradientBoostingClassifier",
                )
            ),
        ),
        Track(
            "linear",
            "Linear",
            "The paper's four datasets with logistic regression, and the paper's families as far "
            "as they fit. Answers are tested as the methods give them.",
            (
                {
                    **_PAPER,
                    "families": _FEW_OTHERS,
                    "model": "sklearn:LogisticRegression",
                    "base_seeds": BASE_SEEDS,
                    "factuals": 100,
                    "limit": True,
                },
            ),
        ),
        Track(
            "lasting",
            "Lasting",
            "The paper's four datasets and networks, which are updated twelve times: each update "
            "starts from the last. An answer holds in a future if no update of it breaks it.",
            (
                {
                    **_PAPER,
                    "families": ("updates",),
                    "base_seeds": BASE_SEEDS,
                    "factuals": 100,
                    "limit": True,
                },
            ),
        ),
        Track(
            "trial",
            "Trial",
            "Ten people of one dataset, one network and two small families: to try how handing in "
            "works. It takes seconds and says nothing about a method.",
            (
                {
                    "datasets": ("diabetes",),
                    "families": ("new-initialization(replicates=5)", "bootstrap(replicates=5)"),
                    "base_seeds": BASE_SEEDS[:1],
                    "factuals": 10,
                    "limit": True,
                },
            ),
        ),
    )
}


def find_track(name: str) -> Track:
    if name not in TRACKS:
        raise unknown("track", name, TRACKS)
    return TRACKS[name]
