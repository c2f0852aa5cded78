"""The contract of a family of change as checks on a small real task."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import joblib
import numpy as np

from changeproof.changes import get_family
from changeproof.changes.bank import build_bank
from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.changes.magnitude import change_magnitudes
from changeproof.checks.findings import Check, demand, state_of
from changeproof.datasets.task import Task
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe
from changeproof.registry import NAME
from changeproof.workers.extensions import Shipment, install, shipment_of

UNDER_CHECK = "family-under-check"
MOST_TRAINED = 5


class Few(Family):
    """The first variants of a family, already described."""

    name = UNDER_CHECK
    summary = "the first variants"

    def __init__(self, few: Sequence[Variant]) -> None:
        self.few = few

    def variants(self, task: Task, base: BaseModel) -> Sequence[Variant]:
        """Return them."""
        return self.few


@dataclass(frozen=True, eq=False)
class FamilyBench:
    """A family and what it is tried on; `author` is the class as somebody wrote it."""

    family: type[Family]
    author: type[Family]
    task: Task
    base: BaseModel

    @cached_property
    def described(self) -> Sequence[Variant]:
        """The variants against which others are held."""
        return self.family().variants(self.task, self.base)

    @property
    def network(self) -> Network:
        """The base network."""
        assert isinstance(self.base.network, Network)
        return self.base.network

    def checks(self) -> list[Check]:
        """Return all checks; each says how to mend what it finds."""
        return [
            Check("variants", self.variants, _VARIANTS),
            Check("name", self.name, _NAME),
            Check("repetition", self.repetition, _RANDOMNESS),
            Check("another process", self.process, _RANDOMNESS),
            Check("left alone", self.left_alone, _LEFT_ALONE),
            Check("a change at all", self.a_change, _CHANGE),
            Check("training", self.training, _VARIANTS),
            Check("other base networks", self.other_seeds, "", judged=False),
            Check("speed", self.speed, "", judged=False),
        ]

    def variants(self) -> str:
        """All of them fit to be trained, with a level and a replicate."""
        for position, variant in enumerate(self.described):
            fine = isinstance(variant.level, str) and isinstance(variant.replicate, int)
            demand(fine, f"variant {position}: level {variant.level!r}, {variant.replicate!r}")
        levels = {variant.level for variant in self.described}
        return f"{len(self.described)} variants at {len(levels)} levels"

    def name(self) -> str:
        """A name that plans can use."""
        name = getattr(self.author, "name", self.family.name)
        demand(NAME.fullmatch(name) or ":" in name, name)
        demand(self.family.summary, "no summary")
        return f"{name}: {self.family.summary}"

    def repetition(self) -> str:
        """The second time as the first."""
        again = self.family().variants(self.task, self.base)
        return self._same(identities(again), "asked again")

    def process(self) -> str:
        """In another process as in this one."""
        shipment = shipment_of("family", UNDER_CHECK, self.author)
        work = joblib.delayed(_identities_elsewhere)(shipment, self.task, self.base)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            (marks,) = joblib.Parallel()([work])
        return self._same(marks, "in another process")

    def left_alone(self) -> str:
        """Nothing that it was given is changed, no global generator used."""
        before = state_of(self.task, self.network)
        self.family().variants(self.task, self.base)
        after = state_of(self.task, self.network)
        changed = [name for name, state in before.items() if after[name] != state]
        demand(not changed, f"changed: {', '.join(changed)}")
        return "inputs and global random generators are as they were"

    def a_change(self) -> str:
        """No variant is the base network, and no two are the same."""
        recipe = TrainingRecipe(initialisation_seed=self.base.seed)
        unchanged = {identity(recipe), identity(self.base.network)}
        marks = identities(self.described)
        same = [position for position, mark in enumerate(marks) if mark in unchanged]
        demand(not same, f"variants {same} are the base network itself")
        twice = len(marks) - len(set(marks))
        demand(not twice, f"{twice} of {len(marks)} variants are the same as another one")
        return f"{len(marks)} different changes"

    def training(self) -> str:
        """The first variants can be trained, and predict something else."""
        few = self.described[:MOST_TRAINED]
        bank = build_bank(self.task, self.base, [Few(few)])
        measured = change_magnitudes(self.task, self.network, bank.stack)
        share = 100.0 * measured["hard_disagreement"]
        return (
            f"{len(few)} trained; they disagree with the base network on "
            f"{share.min():.1f} to {share.max():.1f} % of the test rows"
        )

    def other_seeds(self) -> str:
        """Whether the changes of another base seed are others."""
        other = BaseModel(self.base.seed + 1, self.base.network)
        theirs = set(identities(self.family().variants(self.task, other)))
        common = len(theirs.intersection(identities(self.described)))
        return f"{common} of {len(self.described)} variants are the same for another base seed"

    def speed(self) -> str:
        """How long the description takes; training is not part of it."""
        started = time.perf_counter()
        self.family().variants(self.task, self.base)
        return f"{1e3 * (time.perf_counter() - started):.3g} ms to describe all variants"

    def _same(self, marks: Sequence[str], how: str) -> str:
        mine = identities(self.described)
        demand(len(marks) == len(mine), f"{len(mine)} variants, but {len(marks)} {how}")
        unlike = [i for i, (one, other) in enumerate(zip(mine, marks, strict=True)) if one != other]
        demand(not unlike, f"{len(unlike)} of {len(mine)} variants differ {how}: {unlike[:5]}")
        return f"the same variants {how}"


def identities(variants: Sequence[Variant]) -> list[str]:
    """Return all that makes each variant what it is, hashed."""
    return [identity(variant.change) for variant in variants]


def identity(change: object) -> str:
    """Hash a recipe or a finished network."""
    digest = hashlib.sha256()
    if isinstance(change, Network):
        for array in (*change.weights, *change.biases):
            digest.update(array.tobytes())
    elif isinstance(change, TrainingRecipe):
        for field in fields(change):
            value = getattr(change, field.name)
            plain = value is None or isinstance(value, int | float | str | tuple)
            content = repr(value).encode() if plain else np.asarray(value, np.float32).tobytes()
            digest.update(field.name.encode() + content)
    return digest.hexdigest()


def _identities_elsewhere(shipment: Shipment, task: Task, base: BaseModel) -> list[str]:
    install(shipment)
    return identities(get_family(UNDER_CHECK).variants(task, base))


_VARIANTS = (
    "return TrainingRecipes, or Variants with a level (text), a replicate (a number) and a recipe; "
    "row_weights and labels cover the training rows, then the update pool"
)
_NAME = "name: lower-case letters, digits and hyphens; summary: one line for lists"
_RANDOMNESS = (
    "derive every seed from base.seed (np.random.default_rng(base.seed + 50_000 + replicate)), "
    "never from a global generator, and keep the order of the variants"
)
_LEFT_ALONE = "copy arrays before changing them; a family describes and trains nothing"
_CHANGE = "give every variant something of its own: a seed, weights, labels or settings"
